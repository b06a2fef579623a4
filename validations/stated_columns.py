"""What release.json states of each feature: its kind, and how exactly and in which groups it is published."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from validations.cell_grammar import DIGITS, cell_kind


class _Entry(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class StatedHierarchy(_Entry):
    """How the values of a feature are grouped: where its hierarchy is from, and a builder's setting."""

    made: Literal["file", "prefix", "ranges", "dates", "rare"]
    prefix: Annotated[list[Annotated[int, Field(ge=0, lt=2**63)]], Field(min_length=1)] | None = None
    ranges: (
        Annotated[list[Annotated[float, Field(gt=0, allow_inf_nan=False)]], Field(min_length=1)] | None
    ) = None
    dates: Annotated[list[Literal["month", "quarter", "year"]], Field(min_length=1)] | None = None
    rare: Annotated[int, Field(ge=2, lt=2**63)] | None = None

    @property
    def settings(self) -> dict[str, object]:
        """The builders' settings that are stated, by their names."""
        return self.model_dump(exclude={"made"}, exclude_none=True)


class StatedColumn(_Entry):
    """A feature."""

    name: str
    kind: Literal["integer", "decimal", "fixed", "date", "categorical"]
    fragment: Annotated[int, Field(ge=1)]
    scale: Annotated[int, Field(ge=1, le=DIGITS)] | None = None
    precision: Literal["day", "month", "quarter", "year"] | None = None
    hierarchy: StatedHierarchy | None = None
    label: str | None = None

    @property
    def cell_kind(self) -> str:
        """The kind of its cells; see `validations.cell_grammar.cell_kind`."""
        return cell_kind(self.kind, self.scale, self.precision, hierarchy=self.hierarchy is not None)


def of_kind(column: StatedColumn) -> Iterator[str]:
    """Yield what a feature's kind contradicts.

    Parameters
    ----------
    column
        What is stated of the feature.
    """
    if (column.scale is not None) != (column.kind == "fixed"):
        yield "`scale` is stated exactly for features of the kind fixed"
    if (column.precision is not None) != (column.kind == "date"):
        yield "`precision` is stated exactly for features of the kind date"
    if column.hierarchy is None:
        return
    if column.kind != "categorical":
        yield "`hierarchy` is stated only for features of the kind categorical"
    made = column.hierarchy.made
    if set(column.hierarchy.settings) != {made} - {"file"}:
        yield "`hierarchy` states the setting of the builder that made it, and no other"
