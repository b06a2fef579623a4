"""The configuration of a release: one frozen model, also the parameter of the flow."""

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from tasks.errors import ConfigurationError

Format = Literal["csv", "tsv", "parquet"]
Strategy = Literal["none", "naive", "dependency_graph", "delta_selectivity", "min_distortion", "coarsen"]
Guarantee = Literal["join", "records"]
Learner = Literal["tree", "neighbours", "forest"]
Engine = Literal["prefect", "plain"]
Diversity = Literal["distinct", "entropy", "recursive"]
Distance = Literal["equal", "ordered", "hierarchical"]

FORMATS: dict[str, Format] = {
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
DELIMITERS = {"csv": ",", "tsv": "\t"}

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

    path: Place = Field(description="The table: CSV or TSV (gzip too), or Parquet")
    format: Format | None = Field(default=None, description="Told by the file's name unless given")
    missing: tuple[str, ...] = Field(default=("",), description="Texts that stand for a missing value")
    delimiter: str | None = Field(
        None, min_length=1, max_length=1, description="Between the cells of a CSV file"
    )
    encoding: Literal["utf-8", "latin-1", "utf-16"] = Field(default="utf-8", description="Of a CSV file")

    @property
    def written_as(self) -> Format:
        """The format, from the file's name where it is not given."""
        suffixes = [suffix.lower() for suffix in self.path.suffixes]
        if suffixes and suffixes[-1] == ".gz":
            suffixes.pop()
        if self.format is not None:
            return self.format
        if suffixes and suffixes[-1] in FORMATS:
            return FORMATS[suffixes[-1]]
        known = ", ".join(sorted(FORMATS))
        raise ConfigurationError(
            f"input.format: cannot be told from the file's name (known: {known}): set it"
        )

    @property
    def separator(self) -> str:
        """What stands between two cells."""
        return self.delimiter or DELIMITERS[self.written_as]


class Columns(Section):
    """The role of every column; each has exactly one."""

    class_attribute: Column = Field(alias="class", description="What every fragment carries")
    features: Literal["rest"] | tuple[Column, ...] = Field(
        description='What is released generalised: names, or "rest" for all that have no other role'
    )
    identifiers: tuple[Column, ...] = Field(
        default=(), description="Direct identifiers: never released, never used"
    )
    sensitive: tuple[Column, ...] = Field(
        default=(), description="Attributes to protect beside the class; each is published in one fragment"
    )
    drop: tuple[Column, ...] = Field(default=(), description="Left out")
    types: dict[str, Literal["numeric", "categorical"]] = Field(
        default_factory=dict, description="Where a column is not what its values look like"
    )
    orders: dict[str, Order] = Field(
        default_factory=dict, description="The values of the class or a sensitive attribute, lowest first"
    )
    hierarchies: dict[str, Place] = Field(
        default_factory=dict,
        description="For the class or a sensitive attribute: a CSV file of value;level1;level2;...",
    )


class Privacy(Section):
    """What the release promises."""

    k: int = Field(ge=2, description="The fewest records that share a combination of released values")
    guarantee: Guarantee = Field(
        default="join", description="What joins rest on: at least k rows, or k records of every class joined"
    )
    enforcement: Strategy = Field(default="min_distortion", description="How joins are made safe")
    delta: float | None = Field(
        None, gt=0, le=1, description="For delta_selectivity: the share of safe joins"
    )
    l: float | None = Field(  # noqa: E741 - the field's own letter
        default=None, gt=1, description="How diverse the class and every sensitive attribute stay"
    )
    l_model: Diversity = Field(default="distinct", description="How diversity is measured")
    c: float | None = Field(None, gt=0, le=1e6, description="For recursive (c, l)-diversity")
    t: float | None = Field(
        None, ge=0, lt=1, description="How far an equivalence class may be from its whole fragment"
    )
    t_distance: Distance = Field(default="equal", description="How that distance is measured")
    strict_segments: bool = Field(
        default=False, description="Make joins of different segments safe too, which no record has"
    )

    @property
    def protects_values(self) -> bool:
        """Whether values are protected beyond k-anonymity, by l or t."""
        return self.l is not None or self.t is not None

    @model_validator(mode="after")
    def _delta_belongs_to_delta_selectivity(self) -> Self:
        if (self.delta is not None) != (self.enforcement == "delta_selectivity"):
            raise ValueError('delta is needed with enforcement = "delta_selectivity", and only there')
        return self

    @model_validator(mode="after")
    def _model_belongs_to_l(self) -> Self:
        if (self.c is not None) != (self.l_model == "recursive"):
            raise ValueError('c is needed with l_model = "recursive", and only there')
        if self.l_model != "distinct" and self.l is None:
            raise ValueError(f'l must be set with l_model = "{self.l_model}"')
        if self.l is not None and self.l_model != "entropy" and not self.l.is_integer():
            raise ValueError(f"l must be a whole number, unless it is measured by entropy: {self.l:g} is not")
        return self

    @model_validator(mode="after")
    def _distance_belongs_to_t(self) -> Self:
        if self.t is None and self.t_distance != "equal":
            raise ValueError(f't must be set with t_distance = "{self.t_distance}"')
        if self.strict_segments and not self.protects_values:
            raise ValueError("strict_segments needs l or t: without them there is one segment")
        return self

    @model_validator(mode="after")
    def _strategy_keeps_values_diverse(self) -> Self:
        if self.protects_values and self.enforcement == "naive":
            raise ValueError(
                'enforcement = "naive" gives every equivalence class one class value, which breaks every l '
                'and nearly every t: use "min_distortion"'
            )
        if self.protects_values and self.enforcement == "delta_selectivity":
            raise ValueError(
                'enforcement = "delta_selectivity" hides how often a class value occurs, so l and t could '
                'not be checked on the files: use "min_distortion"'
            )
        return self


class FragmentationSettings(Section):
    """How columns are cut into fragments."""

    fragments: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        default=2, description='How many; 1 leaves the table whole, "auto" tries which number serves best'
    )
    max_fragments: int = Field(default=8, ge=1, description='The most that "auto" tries')
    objective: Literal["f_measure", "information_loss"] = Field(
        default="f_measure", description='What "auto" goes by: what can be learnt, or what is lost'
    )
    time_budget: int = Field(default=300, ge=1, description='Seconds after which "auto" tries no more')
    bins: int = Field(
        default=10, ge=2, le=1000, description="Equal-frequency bins of numbers, for mutual information"
    )


class Segmentation(Section):
    """How records are cut into segments before they are anonymized, where l or t is asked."""

    min_segment: int | None = Field(
        default=None, ge=2, description="The fewest records of a segment; told by k and l unless given"
    )
    level: Literal["exact", "floor"] = Field(
        default="floor", description="Equivalence classes reach their segment's own l, or its whole part"
    )


class Anonymization(Section):
    """How a fragment is made k-anonymous."""

    algorithm: Literal["mondrian"] = Field(
        default="mondrian", description="What forms the equivalence classes"
    )
    mode: Literal["strict", "relaxed"] = Field(
        default="strict", description="Whether equal values stay together"
    )
    split: Literal["median", "infogain"] = Field(
        default="median", description="Cut at medians, or where the class is told best first"
    )
    bounds: Literal["tight", "cuts"] = Field(
        default="tight", description="Released bounds: of the members, or of the cuts"
    )


class Limits(Section):
    """A release poorer than this is not published."""

    max_information_loss: float | None = Field(
        default=None, ge=0, le=1, description="Share of the columns' ranges"
    )
    max_changed_class_values: float | None = Field(
        default=None, ge=0, le=1, description="Share over all fragments"
    )


class Evaluation(Section):
    """What can be learnt from the release, tried with records that are kept out of a trial of it."""

    learners: tuple[Learner, ...] = Field(default=(), description="Classifiers to try; none costs no time")
    test_share: float = Field(default=0.3, gt=0, lt=1, description="Of the records, kept out for testing")
    attacks: int = Field(
        default=1000, ge=0, le=10_000, description="Records that each attack aims at; 0 attacks nothing"
    )
    population: int | None = Field(
        default=None,
        ge=1,
        le=10**12,
        description="People that the records are drawn from; the journalist risk is of them",
    )


class Output(Section):
    """Where the release goes."""

    directory: Place = Field(default=Path("releases"), description="Holds one folder per release name")
    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")] = Field(
        description="Of the release"
    )


class RunSettings(Section):
    """How the release is run."""

    seed: int = Field(default=0, ge=0, description="Chooses where enforcement starts; never published")
    keep_workspace: bool = Field(default=False, description="Keep the private store after a release")
    engine: Engine = Field(default="prefect", description="Record every step in Prefect, or run plainly")
    workspace: Place = Field(default=Path("workspace"), description="Holds the private stores")


class Config(Section):
    """A release, as its steward asked for it."""

    input: Input
    columns: Columns
    privacy: Privacy
    fragmentation: FragmentationSettings = FragmentationSettings()
    segmentation: Segmentation = Segmentation()
    anonymization: Anonymization = Anonymization()
    limits: Limits = Limits()
    evaluation: Evaluation = Evaluation()
    output: Output
    run: RunSettings = RunSettings()

    @model_validator(mode="after")
    def _segments_belong_to_protected_values(self) -> Self:
        if self.segmentation.min_segment is not None and not self.privacy.protects_values:
            raise ValueError("segmentation.min_segment: is used with privacy.l or privacy.t only")
        return self

    @model_validator(mode="after")
    def _sensitive_attributes_are_protected(self) -> Self:
        protected = {self.columns.class_attribute, *self.columns.sensitive}
        if self.columns.sensitive and not self.privacy.protects_values:
            raise ValueError("columns.sensitive: says what l or t protect: set privacy.l or privacy.t")
        for setting, given in (("orders", self.columns.orders), ("hierarchies", self.columns.hierarchies)):
            for name in given:
                if name not in protected:
                    raise ValueError(
                        f"columns.{setting}: {name!r} is neither the class nor a sensitive attribute"
                    )
        return self

    @model_validator(mode="after")
    def _distances_have_what_they_need(self) -> Self:
        distance, columns = self.privacy.t_distance, self.columns
        if columns.orders and distance != "ordered":
            raise ValueError('columns.orders: is used with privacy.t_distance = "ordered" only')
        if columns.hierarchies and distance != "hierarchical":
            raise ValueError('columns.hierarchies: is used with privacy.t_distance = "hierarchical" only')
        if distance == "hierarchical":
            for name in (columns.class_attribute, *columns.sensitive):
                if name not in columns.hierarchies:
                    raise ValueError(
                        f'columns.hierarchies: {name!r} has none, which t_distance = "hierarchical" needs'
                    )
        return self

    @property
    def fragments(self) -> int:
        """How many fragments there are, once that is known.

        Raises
        ------
        ConfigurationError
            If the number has not been chosen yet.
        """
        number = self.fragmentation.fragments
        if number == "auto":
            raise ConfigurationError('fragmentation.fragments: "auto" has not been resolved to a number')
        return number

    def with_fragments(self, number: int) -> Self:
        """Return the configuration with a number of fragments."""
        fragmentation = self.fragmentation.model_copy(update={"fragments": number})
        return self.model_copy(update={"fragmentation": fragmentation})

    @property
    def join_scope(self) -> Literal["all", "segments"]:
        """Whether all joins are made safe, or those within segments: no record is in any other."""
        segmented = self.privacy.protects_values and self.fragments > 1
        return "segments" if segmented and not self.privacy.strict_segments else "all"

    @property
    def sha256(self) -> str:
        """A digest of what shapes the release; paths, the seed and how it is run stay out of it."""
        shaping = self.model_dump(
            mode="json",
            by_alias=True,
            exclude={
                "run": True,
                "output": {"directory"},
                "input": {"path"},
                "columns": {"hierarchies"},
            },
        )
        return hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()
