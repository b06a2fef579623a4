"""What a release promises, read from its manifest or stated by the run that made it."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tasks.errors import InputError
from validations.contradictions import refuse_contradictions
from validations.person_figures import PersonFigures
from validations.protection import (
    Closeness,
    Diversity,
    OfRecords,
    ProtectedPromise,
    Reached,
    WithinSegments,
)
from validations.stated import (
    ClassValues,
    Guarantee,
    JoinScope,
    Manifest,
    StatedFragment,
    StatedGuarantees,
    read_manifest,
)

PROMISES = (
    "hashes",
    "fragments",
    "records",
    "order",
    "formats",
    "k",
    "l",
    "t",
    "classes",
    "joins",
    "join_records",
    "segments",
    "persons",
    "delta",
    "limits",
    "manifest",
)
"""The short name of every promise that a release can make."""


@dataclass(frozen=True)
class FragmentPromise:
    """What is promised about one fragment; None where nothing is stated.

    Attributes
    ----------
    csv, parquet
        File names inside the folder.
    features, sensitive
        Names of the fragment's features and of its sensitive attributes, each in input order.
    equivalence_classes, smallest_class
        How many equivalence classes (ECs) there are and how many records the smallest holds.
    csv_sha256, parquet_sha256
        Hexadecimal digests of the files.
    stated
        What the manifest states as reached for the class and the sensitive attributes.
    """

    csv: str
    parquet: str
    features: tuple[str, ...]
    sensitive: tuple[str, ...] = ()
    equivalence_classes: int | None = None
    smallest_class: int | None = None
    csv_sha256: str | None = None
    parquet_sha256: str | None = None
    stated: tuple[Reached, ...] = ()


class DocumentPromise(NamedTuple):
    """A file beside the fragments; without a digest only that it is there.

    Attributes
    ----------
    file
        Its name inside the folder.
    sha256
        Its digest in hexadecimal.
    """

    file: str
    sha256: str | None


@dataclass(frozen=True)
class Promises:
    """Everything the gate holds the written files against.

    Attributes
    ----------
    records
        Rows of every fragment.
    class_attribute
        Name of the column that every fragment carries.
    class_values
        "per_record": every row has its class value. "per_class": every EC lists its values once.
    k
        Fewest records of an EC and fewest rows of a join that has any.
    guarantee
        What joins promise. "join": every one that holds any rows holds at least k. "records": each of its
        ECs also has at least k records with a class that all of them have.
    delta
        Smallest allowed share of versions with a safe join (eta); None where not asked.
    enforcement
        Name of the strategy that made the joins safe.
    features
        Every feature in input order with the kind of its cells, see `validations.cell_grammar.cell_kind`.
    fragments
        One promise per fragment, in order.
    diversity, closeness
        What l and t ask of every EC, for every protected attribute; None where not asked.
    protected
        The class, then the sensitive attributes in input order; empty where neither l nor t is asked.
    join_scope
        Which joins hold no or at least k rows: "all", or those of ECs of one segment.
    counts_persons
        Whether k and l are also promised in persons, of whom several records can be.
    information_loss, changed_share
        The release's measures, between 0 and 1.
    changed
        Class values that enforcement changed, per fragment.
    max_information_loss, max_changed_class_values
        The limits asked for those measures.
    documents
        The report, the validation documents and the signature; empty where they are not stated.
    stated_k, stated_smallest_join, stated_smallest_records, stated_record_share, \
stated_choices, stated_delta, stated_l, stated_t, within_segments, stated_persons
        What the manifest states as achieved; compared with what is found where it is not None.
    """

    records: int
    class_attribute: str
    class_values: ClassValues
    k: int
    guarantee: Guarantee
    delta: float | None
    enforcement: str
    features: tuple[tuple[str, str], ...]
    fragments: tuple[FragmentPromise, ...]
    diversity: Diversity | None = None
    closeness: Closeness | None = None
    protected: tuple[ProtectedPromise, ...] = ()
    join_scope: JoinScope = "all"
    counts_persons: bool = False
    information_loss: float | None = None
    changed_share: float | None = None
    changed: tuple[int, ...] = ()
    max_information_loss: float | None = None
    max_changed_class_values: float | None = None
    documents: tuple[DocumentPromise, ...] = ()
    stated_k: int | None = None
    stated_smallest_join: int | None = None
    stated_smallest_records: int | None = None
    stated_record_share: float | None = None
    stated_choices: int | None = None
    stated_delta: float | None = None
    stated_l: float | None = None
    stated_t: float | None = None
    within_segments: WithinSegments | None = None
    stated_persons: PersonFigures | None = None

    def __post_init__(self) -> None:
        """Refuse class values per class without a delta, and a delta without them.

        Raises
        ------
        InputError
            Because neither joins nor eta could be held against such a release.
        """
        if (self.class_values == "per_class") != (self.delta is not None):
            raise InputError(
                "release.json cannot be used: class values are published per class exactly when "
                "delta is asked."
            )

    @property
    def protects_values(self) -> bool:
        """Whether l or t is asked."""
        return self.diversity is not None or self.closeness is not None

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive attributes beside the class, in input order."""
        return tuple(each.column for each in self.protected if each.column != self.class_attribute)

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of every column's cells: those of its feature, "sensitive" or "class"."""
        return (
            dict(self.features) | dict.fromkeys(self.sensitive, "sensitive") | {self.class_attribute: "class"}
        )

    def protected_in(self, number: int) -> tuple[ProtectedPromise, ...]:
        """Return the protected attributes that a fragment publishes, the class first.

        Parameters
        ----------
        number
            The fragment's number, from 1.
        """
        published = {self.class_attribute, *self.fragments[number - 1].sensitive}
        return tuple(each for each in self.protected if each.column in published)


def read_published(folder: Path) -> Promises:
    """Read what a published folder promises; a draft is none, for no gate has passed it.

    Parameters
    ----------
    folder
        A published folder.

    Raises
    ------
    InputError
        See `read_promises`; also if the manifest does not state that the gate was passed.
    """
    if read_manifest(folder).validation.success is None:
        raise InputError("release.json is a draft: it does not state that the release passed its gate.")
    return read_promises(folder)


def read_promises(folder: Path) -> Promises:
    """Read what a folder promises from its manifest, release.json.

    Parameters
    ----------
    folder
        A published folder, or one that is about to be.

    Raises
    ------
    InputError
        If the manifest is missing, cannot be read, or states something no release can state.
    """
    manifest = read_manifest(folder)
    refuse_contradictions(manifest)
    guarantees = manifest.guarantees
    return Promises(
        records=manifest.records,
        class_attribute=manifest.class_attribute,
        class_values=manifest.class_values,
        k=guarantees.k.asked,
        guarantee=guarantees.guarantee.asked,
        delta=guarantees.delta.asked,
        enforcement=manifest.enforcement,
        features=tuple((column.name, column.cell_kind) for column in manifest.columns),
        fragments=tuple(_fragment_promise(fragment) for fragment in manifest.fragments),
        diversity=_diversity(guarantees),
        closeness=_closeness(guarantees),
        protected=_protected(manifest),
        join_scope=manifest.joins.scope,
        counts_persons=manifest.persons is not None,
        information_loss=manifest.measures.information_loss.fragmented,
        changed_share=manifest.changed_class_values.share,
        changed=tuple(manifest.changed_class_values.per_fragment),
        max_information_loss=manifest.limits.max_information_loss,
        max_changed_class_values=manifest.limits.max_changed_class_values,
        documents=_documents(manifest),
        stated_k=guarantees.k.achieved,
        stated_smallest_join=manifest.joins.smallest_join,
        stated_smallest_records=manifest.joins.smallest_records,
        stated_record_share=manifest.joins.smallest_record_share,
        stated_choices=manifest.joins.choices,
        stated_delta=guarantees.delta.achieved,
        stated_l=guarantees.l.achieved,
        stated_t=guarantees.t.achieved,
        within_segments=_within_segments(manifest),
        stated_persons=_persons(manifest),
    )


def _diversity(stated: StatedGuarantees) -> Diversity | None:
    if stated.l.asked is None or stated.l_model.asked is None:
        return None
    return Diversity(stated.l_model.asked, stated.l.asked, stated.c.asked)


def _closeness(stated: StatedGuarantees) -> Closeness | None:
    if stated.t.asked is None or stated.t_distance.asked is None:
        return None
    return Closeness(stated.t.asked, stated.t_distance.asked)


def _protected(manifest: Manifest) -> tuple[ProtectedPromise, ...]:
    return tuple(
        ProtectedPromise(
            column=each.column,
            fragment=each.fragment,
            order=None if each.order is None else tuple(each.order),
            hierarchy=None
            if each.hierarchy is None
            else {value: tuple(ancestors) for value, ancestors in each.hierarchy.items()},
        )
        for each in manifest.protected
    )


def _documents(manifest: Manifest) -> tuple[DocumentPromise, ...]:
    stated = [DocumentPromise(file, digest) for file, digest in manifest.documents.items()]
    signature = [DocumentPromise(manifest.signature.file, None)] if manifest.signature else []
    return (*stated, *signature)


def _within_segments(manifest: Manifest) -> WithinSegments | None:
    stated = manifest.joins.within_segments
    if stated is None:
        return None
    sensitive = tuple((each.column, each.l) for each in stated.sensitive)
    of_records = OfRecords(stated.of_records.l, stated.of_records.t)
    return WithinSegments(stated.at_least, stated.l, sensitive, of_records, stated.records)


def _persons(manifest: Manifest) -> PersonFigures | None:
    stated = manifest.persons
    if stated is None:
        return None
    return PersonFigures(
        stated.number, stated.smallest_class, stated.smallest_join, stated.smallest_records, stated.l
    )


def _fragment_promise(fragment: StatedFragment) -> FragmentPromise:
    return FragmentPromise(
        csv=fragment.csv,
        parquet=fragment.parquet,
        features=tuple(fragment.features),
        sensitive=tuple(fragment.sensitive),
        equivalence_classes=fragment.equivalence_classes,
        smallest_class=fragment.smallest_class,
        csv_sha256=fragment.sha256.csv,
        parquet_sha256=fragment.sha256.parquet,
        stated=tuple(Reached(each.column, each.l, each.t) for each in fragment.protected),
    )
