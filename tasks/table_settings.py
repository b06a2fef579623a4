"""The parts of the configuration that say what the table is: how it is written, and each column's role."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from tasks.domain import Precision
from tasks.errors import ConfigurationError

Format = Literal["csv", "tsv", "parquet", "excel", "spss", "stata", "duckdb", "sqlite"]

FORMATS: dict[str, Format] = {
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".xlsx": "excel",
    ".xls": "excel",
    ".ods": "excel",
    ".sav": "spss",
    ".zsav": "spss",
    ".dta": "stata",
    ".duckdb": "duckdb",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
}
TEXTS = ("csv", "tsv")
PACKED = (".gz", ".zst")

Column = Annotated[str, StringConstraints(min_length=1)]


def _without_nul(path: Path) -> Path:
    if "\0" in str(path):
        raise ValueError("must be a path")
    return path


def _without_twins(order: tuple[str, ...]) -> tuple[str, ...]:
    twins = sum(places > 1 for places in Counter(order).values())
    if twins:
        raise ValueError(f"must name every value once, but names {twins} of them more often")
    return order


Place = Annotated[Path, AfterValidator(_without_nul)]
Order = Annotated[tuple[str, ...], AfterValidator(_without_twins)]


class Section(BaseModel):
    """A part of the configuration; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Input(Section):
    """Where the table is and how it is written."""

    path: Place = Field(description="The table: a text, Parquet, Excel, SPSS or Stata file, or a database")
    format: Format | None = Field(default=None, description="Told by the file's name unless given")
    missing: tuple[str, ...] = Field(default=("",), description="Texts that stand for a missing value")
    missing_in: dict[str, tuple[str, ...]] = Field(
        default_factory=dict, description="Further texts that stand for missing, in one column"
    )
    dates: dict[str, str] = Field(
        default_factory=dict, description="Columns of dates or times, and how they are written: %d.%m.%Y"
    )
    delimiter: str | None = Field(
        None, min_length=1, max_length=1, description="Between the cells of a text file; found unless given"
    )
    quote: str | None = Field(
        None, min_length=1, max_length=1, description="Around cells of a text file; found unless given"
    )
    encoding: str | None = Field(default=None, description="Of a text file; found unless given")
    sheet: str | None = Field(
        None, min_length=1, description="Of a workbook with several; its only one unless given"
    )
    query: str | None = Field(None, min_length=1, description="The SELECT that gives the table of a database")
    labels: bool = Field(default=True, description="Of SPSS and Stata: values by their labels, not codes")

    @property
    def written_as(self) -> Format:
        """The format, from the file's name where it is not given.

        Raises
        ------
        ConfigurationError
            If the name does not tell it.
        """
        suffixes = [suffix.lower() for suffix in self.path.suffixes]
        if suffixes and suffixes[-1] in PACKED:
            suffixes.pop()
        if self.format is not None:
            return self.format
        if suffixes and suffixes[-1] in FORMATS:
            return FORMATS[suffixes[-1]]
        known = ", ".join(sorted(FORMATS))
        raise ConfigurationError(
            f"input.format: cannot be told from the file's name (known: {known}): set it"
        )


class Builder(Section):
    """How to make a hierarchy; one of the four."""

    prefix: tuple[Annotated[int, Field(ge=0)], ...] | None = Field(
        None, min_length=1, description="Lengths of prefixes that values have in common, the longest first"
    )
    ranges: tuple[Annotated[float, Field(gt=0)], ...] | None = Field(
        None, min_length=1, description="Widths of ranges of numbers, each a multiple of the one before"
    )
    dates: tuple[Literal["month", "quarter", "year"], ...] | None = Field(
        None, min_length=1, description="Spans of time, the shortest first"
    )
    rare: int | None = Field(
        None, ge=2, description="Values of fewer records are one group, below which the rest is"
    )

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if len(self.model_fields_set) != 1:
            raise ValueError("must have one of prefix, ranges, dates, rare")
        return self


class Columns(Section):
    """The role of every column; each has exactly one."""

    class_attribute: Column = Field(alias="class", description="What every fragment carries")
    features: Literal["rest"] | tuple[Column, ...] = Field(
        description='What is released generalised: names, or "rest" for all that have no other role'
    )
    identifiers: tuple[Column, ...] = Field(
        default=(), description="Direct identifiers: never released, never used"
    )
    entity: Column | None = Field(
        default=None, description="Tells which records are of one person; never released"
    )
    sensitive: tuple[Column, ...] = Field(
        default=(), description="Attributes to protect beside the class; each is published in one fragment"
    )
    drop: tuple[Column, ...] = Field(default=(), description="Left out")
    types: dict[str, Literal["numeric", "float", "categorical"]] = Field(
        default_factory=dict, description="Where a column is not what its values look like"
    )
    precision: dict[str, Precision] = Field(
        default_factory=dict, description="How exactly dates are published; the day unless given"
    )
    orders: dict[str, Order] = Field(
        default_factory=dict, description="The values of the class or a sensitive attribute, lowest first"
    )
    hierarchies: dict[str, Place | Builder] = Field(
        default_factory=dict,
        description="How values of a feature are grouped: a CSV file of value;level1;level2;..., or how to "
        "make one; of the class or a sensitive attribute: how far apart they are",
    )
