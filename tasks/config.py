"""The configuration of a release: one frozen model, also the parameter of the flow."""

import hashlib
import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from tasks.errors import ConfigurationError
from tasks.signing.settings import Signing
from tasks.table_settings import Builder, Column, Columns, Input, Place, Section

Strategy = Literal["none", "naive", "dependency_graph", "delta_selectivity", "min_distortion", "coarsen"]
Guarantee = Literal["join", "records"]
Learner = Literal["tree", "neighbours", "forest"]
Engine = Literal["prefect", "plain", "dask"]
Diversity = Literal["distinct", "entropy", "recursive"]
Distance = Literal["equal", "ordered", "hierarchical"]


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


class Drift(Section):
    """What an earlier release was like, to be told where the table is not like it any more."""

    earlier: Place | None = Field(
        default=None, description="The folder of an earlier release, or of all releases of a name"
    )
    refuse: bool = Field(default=False, description="Publish nothing when the table is not like it")

    @model_validator(mode="after")
    def _refuse_needs_a_release(self) -> Self:
        if self.refuse and self.earlier is None:
            raise ValueError("earlier must be set with refuse: it says what the table must be like")
        return self


class Repeats(Section):
    """How a release is held against the earlier versions of it."""

    check: Literal["refuse", "flag", "off"] = Field(
        default="refuse", description="What happens where versions together tell more than asked"
    )
    person: Column | None = Field(
        default=None, description="The identifier that tells in every version who is who; never released"
    )
    keep: bool = Field(default=True, description="Keep privately what later versions are held against")


class RunSettings(Section):
    """How the release is run."""

    seed: int = Field(default=0, ge=0, description="Chooses where enforcement starts; never published")
    keep_workspace: bool = Field(default=False, description="Keep the private store after a release")
    retention_days: int | None = Field(
        default=None, ge=0, description="Days after which a later run removes a private store that was kept"
    )
    memory: float | None = Field(
        default=None,
        ge=0.5,
        description="Gigabytes that the run may take; three quarters of the machine's if unset",
    )
    engine: Engine = Field(
        default="prefect",
        description="Record every step in Prefect, or run plainly, or share the work on a Dask cluster",
    )
    scheduler: str | None = Field(
        default=None,
        description="Address of a Dask cluster's scheduler; unset, a cluster is started on this machine",
    )
    workspace: Place = Field(default=Path("workspace"), description="Holds the private stores")

    @model_validator(mode="after")
    def _scheduler_belongs_to_dask(self) -> Self:
        if self.scheduler is None:
            return self
        if self.engine != "dask":
            raise ValueError('scheduler is used with engine = "dask" only')
        if not re.fullmatch(r"(tcp|tls)://[^\s/]+:\d+", self.scheduler):
            raise ValueError("scheduler must look like tls://host:8786 or tcp://host:8786")
        return self


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
    drift: Drift = Drift()
    repeats: Repeats = Repeats()
    output: Output
    signing: Signing = Signing()
    run: RunSettings = RunSettings()

    @model_validator(mode="after")
    def _segments_belong_to_protected_values(self) -> Self:
        if self.segmentation.min_segment is not None and not self.privacy.protects_values:
            raise ValueError("segmentation.min_segment: is used with privacy.l or privacy.t only")
        return self

    @model_validator(mode="after")
    def _sensitive_attributes_are_protected(self) -> Self:
        if self.columns.sensitive and not self.privacy.protects_values:
            raise ValueError("columns.sensitive: says what l or t protect: set privacy.l or privacy.t")
        for name in self.columns.orders:
            if name not in self._protected:
                raise ValueError(f"columns.orders: {name!r} is neither the class nor a sensitive attribute")
        return self

    @model_validator(mode="after")
    def _distances_have_what_they_need(self) -> Self:
        distance, columns = self.privacy.t_distance, self.columns
        if columns.orders and distance != "ordered":
            raise ValueError('columns.orders: is used with privacy.t_distance = "ordered" only')
        for name in self._protected:
            if (name in columns.hierarchies) != (distance == "hierarchical"):
                raise ValueError(
                    f'columns.hierarchies: {name!r} has none, which t_distance = "hierarchical" needs'
                    if distance == "hierarchical"
                    else f"columns.hierarchies: that of {name!r}, which is published as it is, is used with "
                    'privacy.t_distance = "hierarchical" only'
                )
        return self

    @model_validator(mode="after")
    def _persons_can_be_counted(self) -> Self:
        if self.columns.entity is None:
            return self
        if self.privacy.enforcement == "delta_selectivity":
            raise ValueError(
                'columns.entity: enforcement = "delta_selectivity" hides how often a class value occurs, so '
                'persons could not be counted: use "min_distortion"'
            )
        if self.privacy.l_model != "distinct" or self.privacy.t is not None:
            raise ValueError(
                "columns.entity: shares of records are not those of persons: l must be distinct, t not set"
            )
        if self.segmentation.min_segment is not None:
            raise ValueError(
                "columns.entity: persons have records in several segments: leave out min_segment"
            )
        return self

    @model_validator(mode="after")
    def _persons_can_be_followed(self) -> Self:
        columns, person = self.columns, self.repeats.person
        if person is not None and columns.entity not in {None, person}:
            raise ValueError("repeats.person: columns.entity tells who is who: leave it out")
        if person not in {None, columns.entity, *columns.identifiers}:
            raise ValueError(f"repeats.person: {person!r} must be one of columns.identifiers")
        return self

    @property
    def followed(self) -> str | None:
        """The column by which persons are followed from version to version; None if nobody is."""
        if self.repeats.check == "off" and not self.repeats.keep:
            return None
        identifiers = self.columns.identifiers
        only = identifiers[0] if len(identifiers) == 1 else None
        return self.columns.entity or self.repeats.person or only

    @property
    def _protected(self) -> tuple[str, ...]:
        return (self.columns.class_attribute, *self.columns.sensitive)

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
        """A digest of what shapes the release.

        Paths, the seed, how it is run and how it is held against others stay out of it.
        """
        shaping: dict[str, Any] = self.model_dump(
            mode="json",
            by_alias=True,
            exclude={
                "run": True,
                "drift": True,
                "signing": True,
                "repeats": True,
                "output": {"directory"},
                "input": {"path"},
                "columns": {"hierarchies"},
            },
        )
        shaping["columns"]["hierarchies"] = {
            name: made.model_dump(mode="json") if isinstance(made, Builder) else "a file"
            for name, made in self.columns.hierarchies.items()
        }
        return hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()
