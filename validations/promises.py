"""What a release promises, read from its manifest or stated by the run that made it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tasks.errors import InputError

PROMISES = (
    "hashes",
    "fragments",
    "records",
    "order",
    "formats",
    "k",
    "classes",
    "joins",
    "delta",
    "limits",
    "manifest",
)
"""The short name of every promise that a release can make."""

ROUNDING = 1e-6
"""Shares are stated to six digits."""

ClassValues = Literal["per_record", "per_class"]


@dataclass(frozen=True)
class FragmentPromise:
    """What is promised about one fragment; None where nothing is stated.

    Attributes
    ----------
    csv, parquet
        File names inside the folder.
    features
        Names of the fragment's features, in input order.
    equivalence_classes, smallest_class
        How many equivalence classes (ECs) there are and how many records the smallest holds.
    csv_sha256, parquet_sha256
        Hexadecimal digests of the files.
    """

    csv: str
    parquet: str
    features: tuple[str, ...]
    equivalence_classes: int | None = None
    smallest_class: int | None = None
    csv_sha256: str | None = None
    parquet_sha256: str | None = None


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
        What joins promise; "join" is the join condition of the paper.
    delta
        Smallest allowed share of versions with a safe join (eta); None where not asked.
    enforcement
        Name of the strategy that made the joins safe.
    features
        Every feature in input order with its kind: integer, decimal or categorical.
    fragments
        One promise per fragment, in order.
    information_loss, changed_share
        The release's measures, between 0 and 1.
    max_information_loss, max_changed_class_values
        The limits asked for those measures.
    stated_k, stated_smallest_join, stated_smallest_records, stated_choices, stated_delta
        What the manifest states as achieved; compared with the files where it is not None.
    """

    records: int
    class_attribute: str
    class_values: ClassValues
    k: int
    guarantee: Literal["join"]
    delta: float | None
    enforcement: str
    features: tuple[tuple[str, str], ...]
    fragments: tuple[FragmentPromise, ...]
    information_loss: float | None = None
    changed_share: float | None = None
    max_information_loss: float | None = None
    max_changed_class_values: float | None = None
    stated_k: int | None = None
    stated_smallest_join: int | None = None
    stated_smallest_records: int | None = None
    stated_choices: int | None = None
    stated_delta: float | None = None

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


Whole = Annotated[int, Field(ge=0, lt=2**63)]
Share = Annotated[float, Field(ge=0, le=1)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class _Entry(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class _Column(_Entry):
    name: str
    kind: Literal["integer", "decimal", "categorical"]
    fragment: Annotated[int, Field(ge=1)]


class _AskedK(_Entry):
    asked: Annotated[int, Field(ge=2, lt=2**31)]
    achieved: Whole | None


class _AskedGuarantee(_Entry):
    asked: Literal["join"]
    achieved: Literal["join"] | None


class _AskedDelta(_Entry):
    asked: Share | None
    achieved: Share | None


class _NotAsked(_Entry):
    asked: None


class _Guarantees(_Entry):
    k: _AskedK
    guarantee: _AskedGuarantee
    delta: _AskedDelta
    l: _NotAsked  # noqa: E741 (the manifest's own key)
    l_model: _NotAsked
    t: _NotAsked


class _Hashes(_Entry):
    csv: Digest
    parquet: Digest


class _Fragment(_Entry):
    csv: str
    parquet: str
    features: list[str]
    equivalence_classes: Whole | None
    smallest_class: Whole | None
    sha256: _Hashes


class _Joins(_Entry):
    smallest_join: Whole | None
    smallest_records: Whole | None
    choices: Annotated[int, Field(ge=0)] | None


class _Changed(_Entry):
    total: Whole
    per_fragment: list[Whole]
    share: Share


class _InformationLoss(_Entry):
    fragmented: Share
    unfragmented: Share


class _Measures(_Entry):
    information_loss: _InformationLoss


class _Limits(_Entry):
    max_information_loss: Share | None
    max_changed_class_values: Share | None


class _Validation(_Entry):
    success: Literal[True] | None


class _Manifest(_Entry):
    records: Whole
    class_attribute: str = Field(alias="class")
    class_values: ClassValues
    enforcement: Literal["none", "naive", "dependency_graph", "delta_selectivity"]
    columns: list[_Column]
    guarantees: _Guarantees
    fragments: Annotated[list[_Fragment], Field(min_length=1)]
    joins: _Joins
    changed_class_values: _Changed
    suppressed_records: Annotated[int, Field(ge=0, le=0)]
    measures: _Measures
    limits: _Limits
    validation: _Validation


def read_promises(folder: Path) -> Promises:
    """Read what a published folder promises from its manifest, release.json.

    Parameters
    ----------
    folder
        A published folder.

    Raises
    ------
    InputError
        If the manifest is missing, cannot be read, or states something no release can state.
    """
    manifest = _read_manifest(folder)
    _refuse_contradictions(manifest)
    guarantees = manifest.guarantees
    return Promises(
        records=manifest.records,
        class_attribute=manifest.class_attribute,
        class_values=manifest.class_values,
        k=guarantees.k.asked,
        guarantee=guarantees.guarantee.asked,
        delta=guarantees.delta.asked,
        enforcement=manifest.enforcement,
        features=tuple((column.name, column.kind) for column in manifest.columns),
        fragments=tuple(_fragment_promise(fragment) for fragment in manifest.fragments),
        information_loss=manifest.measures.information_loss.fragmented,
        changed_share=manifest.changed_class_values.share,
        max_information_loss=manifest.limits.max_information_loss,
        max_changed_class_values=manifest.limits.max_changed_class_values,
        stated_k=guarantees.k.achieved,
        stated_smallest_join=manifest.joins.smallest_join,
        stated_smallest_records=manifest.joins.smallest_records,
        stated_choices=manifest.joins.choices,
        stated_delta=guarantees.delta.achieved,
    )


def _read_manifest(folder: Path) -> _Manifest:
    try:
        if not folder.is_dir():
            raise InputError(f"{folder}: there is no such folder")
        if (folder / "release.json").exists() and not (folder / "release.json").is_file():
            raise InputError("release.json must be a file; it is something else.")
        text = (folder / "release.json").read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(
            f"{folder}: holds no release.json: give the folder of one version, or latest"
        ) from None
    except (OSError, UnicodeDecodeError):
        raise InputError("release.json must be a readable UTF-8 file; it could not be read.") from None
    try:
        return _Manifest.model_validate(
            json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_entries)
        )
    except ValidationError as error:
        raise InputError(_first_fault(error)) from None
    except (ValueError, RecursionError):
        raise InputError("release.json must be valid JSON; it is not.") from None


def _refuse_constant(name: str) -> float:
    raise ValueError(name)


def _entries(pairs: list[tuple[str, object]]) -> dict[str, object]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise InputError("release.json cannot be used: an object has two entries of one name.")
    return entries


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_input=False, include_url=False, include_context=False)[0]
    place = ".".join(str(step) for step in fault["loc"]) or "the whole document"
    if fault["type"] == "none_required":
        return f"release.json promises `{place}`, which this version of unjoin cannot check."
    return f"release.json cannot be used: `{place}`: {fault['msg']}."


def _refuse_contradictions(manifest: _Manifest) -> None:
    names = [column.name for column in manifest.columns]
    if len(set(names)) < len(names):
        raise InputError("release.json cannot be used: `columns` names a feature twice.")
    if manifest.class_attribute in names:
        raise InputError("release.json cannot be used: the class attribute is also a feature.")
    for number, fragment in enumerate(manifest.fragments, start=1):
        if (fragment.csv, fragment.parquet) != (f"fragment_{number}.csv", f"fragment_{number}.parquet"):
            raise InputError(
                f"release.json cannot be used: the files of fragment {number} must be "
                f"fragment_{number}.csv and fragment_{number}.parquet."
            )
    for fault in _contradictions(manifest):
        raise InputError(f"release.json cannot be used: {fault}.")


def _contradictions(manifest: _Manifest) -> Iterator[str]:
    listed = [fragment.features for fragment in manifest.fragments]
    for column in manifest.columns:
        if column.fragment > len(listed) or column.name not in listed[column.fragment - 1]:
            yield "`columns` places a feature in a fragment that does not list it"
    if (manifest.class_values == "per_class") != (manifest.enforcement == "delta_selectivity"):
        yield "class values are published per class exactly with the enforcement delta_selectivity"
    changed, cells = manifest.changed_class_values, manifest.records * len(listed)
    if len(changed.per_fragment) != len(listed) or changed.total != sum(changed.per_fragment):
        yield "`changed_class_values.total` is not the sum over the fragments"
    if abs(changed.share * cells - changed.total) > ROUNDING * cells:
        yield "`changed_class_values.share` is not the total's share of all class values"


def _fragment_promise(fragment: _Fragment) -> FragmentPromise:
    return FragmentPromise(
        csv=fragment.csv,
        parquet=fragment.parquet,
        features=tuple(fragment.features),
        equivalence_classes=fragment.equivalence_classes,
        smallest_class=fragment.smallest_class,
        csv_sha256=fragment.sha256.csv,
        parquet_sha256=fragment.sha256.parquet,
    )
