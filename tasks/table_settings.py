"""The parts of the configuration that say what the table is: how it is written, and each column's role."""

import io
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    ValidationInfo,
    field_validator,
    model_validator,
)

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
TEXTS: tuple[Format, ...] = ("csv", "tsv")
PACKED = (".gz", ".zst")

USED_WITH: dict[str, tuple[str, tuple[Format, ...]]] = {
    "delimiter": ("text", TEXTS),
    "quote": ("text", TEXTS),
    "encoding": ("text", TEXTS),
    "sheet": ("Excel", ("excel",)),
    "query": ("DuckDB and SQLite", ("duckdb", "sqlite")),
    "labels": ("SPSS and Stata", ("spss", "stata")),
}

Span = Literal["month", "quarter", "year"]
PRECISIONS = get_args(Precision)

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


def _known_encoding(name: str) -> str:
    try:
        io.TextIOWrapper(io.BytesIO(), encoding=name)
    except (LookupError, ValueError):
        raise ValueError("is not an encoding") from None
    return name


def _within_a_line(sign: str) -> str:
    if sign in "\0\r\n":
        raise ValueError("must be a character within a line")
    return sign


def _ascii(sign: str) -> str:
    if not sign.isascii():
        raise ValueError("must be an ASCII character")
    return sign


def _format(path: Path) -> Format | None:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    return FORMATS.get(suffixes[-1]) if suffixes else None


Place = Annotated[Path, AfterValidator(_without_nul)]
Sign = Annotated[str, StringConstraints(min_length=1, max_length=1), AfterValidator(_within_a_line)]
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
    delimiter: Sign | None = Field(
        default=None, description="Between the cells of a text file; found unless given"
    )
    quote: Annotated[Sign, AfterValidator(_ascii)] | None = Field(
        default=None, description="Around cells of a text file; found unless given"
    )
    encoding: Annotated[str, AfterValidator(_known_encoding)] | None = Field(
        default=None, description="Of a text file; found unless given"
    )
    sheet: str | None = Field(
        None, min_length=1, description="Of a workbook with several; its only one unless given"
    )
    query: str | None = Field(None, min_length=1, description="The SELECT that gives the table of a database")
    labels: bool = Field(default=True, description="Of SPSS and Stata: values by their labels, not codes")

    @field_validator("delimiter", "quote", "encoding", "sheet", "query", "labels")
    @classmethod
    def _is_of_the_format(cls, value: str | bool | None, known: ValidationInfo) -> str | bool | None:  # noqa: FBT001 - as pydantic gives it
        kinds, formats = USED_WITH[str(known.field_name)]
        written_as = known.data.get("format") or _format(known.data.get("path", Path()))
        if value not in {None, True} and written_as not in {None, *formats}:
            raise ValueError(f"is used with {kinds} files only")
        if known.field_name == "quote" and value is not None and value == known.data.get("delimiter"):
            raise ValueError("must differ from the delimiter")
        return value

    @property
    def written_as(self) -> Format:
        """The format, from the file's name where it is not given.

        Raises
        ------
        ConfigurationError
            If the name does not tell it.
        """
        written_as = self.format or _format(self.path)
        if written_as is not None:
            return written_as
        known = ", ".join(sorted(FORMATS))
        raise ConfigurationError(
            f"input.format: cannot be told from the file's name (known: {known}): set it"
        )


class Builder(Section):
    """How to make a hierarchy; one of the four."""

    prefix: tuple[Annotated[int, Field(ge=0)], ...] | None = Field(
        default=None, description="Lengths of prefixes that values have in common, the longest first"
    )
    ranges: tuple[Annotated[float, Field(gt=0, allow_inf_nan=False)], ...] | None = Field(
        default=None, description="Widths of ranges of numbers, each a multiple of the one before"
    )
    dates: tuple[Span, ...] | None = Field(default=None, description="Spans of time, the shortest first")
    rare: int | None = Field(
        None, ge=2, description="Values of fewer records are one group, below which the rest is"
    )

    @field_validator("prefix", "ranges", "dates")
    @classmethod
    def _names_some(cls, levels: tuple[object, ...] | None) -> tuple[object, ...] | None:
        if levels == ():
            raise ValueError("must name at least one level")
        return levels

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if sum(levels is not None for _, levels in self) != 1:
            raise ValueError("must have one of prefix, ranges, dates, rare")
        return self

    @field_validator("prefix")
    @classmethod
    def _shortens(cls, lengths: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if any(longer <= shorter for longer, shorter in pairwise(lengths or ())):
            raise ValueError("must name the longest prefix first, and each length once")
        return lengths

    @field_validator("ranges")
    @classmethod
    def _widens(cls, widths: tuple[float, ...] | None) -> tuple[float, ...] | None:
        exact = [Fraction(repr(width)) for width in widths or ()]
        if any(wide <= width or wide % width for width, wide in pairwise(exact)):
            raise ValueError("must be widths of which each is a multiple of the one before")
        return widths

    @field_validator("dates")
    @classmethod
    def _lengthens(cls, spans: tuple[Span, ...] | None) -> tuple[Span, ...] | None:
        if not all(_is_longer(longer, span) for span, longer in pairwise(spans or ())):
            raise ValueError("must name the shortest span first, and each once")
        return spans


def _how(made: object) -> str:
    return "union[builder]" if isinstance(made, dict | Builder) else "union[file]"


Hierarchy = Annotated[
    Annotated[Place, Tag("union[file]")] | Annotated[Builder, Tag("union[builder]")], Discriminator(_how)
]


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
    hierarchies: dict[str, Hierarchy] = Field(
        default_factory=dict,
        description="How values of a feature are grouped: a CSV file of value;level1;level2;..., or how to "
        "make one; of the class or a sensitive attribute: how far apart they are",
    )

    @field_validator("hierarchies")
    @classmethod
    def _fit_their_columns(
        cls, hierarchies: dict[str, Path | Builder], known: ValidationInfo
    ) -> dict[str, Path | Builder]:
        protected = {known.data.get("class_attribute"), *known.data.get("sensitive", ())}
        for name, made in hierarchies.items():
            precision = known.data.get("precision", {}).get(name)
            misfit = _misfit(made, precision) if isinstance(made, Builder) else None
            if name in protected and isinstance(made, Builder):
                misfit = "is no feature, so its hierarchy says how far apart values are: it must be a file"
            if misfit:
                raise ValueError(f"{name!r} {misfit}")
        return hierarchies


def _misfit(builder: Builder, precision: Precision | None) -> str | None:
    """Return why a feature cannot have a hierarchy that is made so, or None."""
    if precision and not builder.dates:
        return "has a precision, but its hierarchy is not one of dates"
    if precision and builder.dates and not _is_longer(builder.dates[0], precision):
        return f"has the precision {precision}: its hierarchy must start with a longer span"
    return None


def _is_longer(span: Precision, than: Precision) -> bool:
    return PRECISIONS.index(span) > PRECISIONS.index(than)
