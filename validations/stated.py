"""What a release states of itself: its manifest, release.json, read strictly."""

import json
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tasks.errors import InputError
from validations.stated_columns import StatedColumn

ClassValues = Literal["per_record", "per_class"]
DiversityModel = Literal["distinct", "entropy", "recursive"]
DistanceName = Literal["equal", "ordered", "hierarchical"]
JoinScope = Literal["all", "segments"]
Guarantee = Literal["join", "records"]

SIGNATURE = "release.json.sig"
"""The file that holds the signature of release.json, where it is signed."""

Whole = Annotated[int, Field(ge=0, lt=2**63)]
Share = Annotated[float, Field(ge=0, le=1)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
DocumentName = Annotated[str, Field(pattern=r"^(report\.html|validation/(suites/)?[a-z_]+\.json)$")]
Level = Annotated[float, Field(ge=0, lt=2**63)]


class _Entry(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class StatedProtection(_Entry):
    """The class or a sensitive attribute, and what its distance rests on."""

    column: str
    fragment: Annotated[int, Field(ge=1)] | None
    order: list[str] | None
    hierarchy: dict[str, list[str]] | None


class _AskedK(_Entry):
    asked: Annotated[int, Field(ge=2, lt=2**31)]
    achieved: Whole | None


class _AskedGuarantee(_Entry):
    asked: Guarantee
    achieved: Guarantee | None


class _AskedDelta(_Entry):
    asked: Share | None
    achieved: Share | None


class _AskedL(_Entry):
    asked: Annotated[float, Field(gt=1, lt=2**31)] | None
    achieved: Level | None


class _AskedModel(_Entry):
    asked: DiversityModel | None
    achieved: DiversityModel | None


class _AskedC(_Entry):
    asked: Annotated[float, Field(gt=0, lt=2**63)] | None
    achieved: Annotated[float, Field(gt=0, lt=2**63)] | None


class _AskedT(_Entry):
    asked: Annotated[float, Field(ge=0, lt=1)] | None
    achieved: Share | None


class _AskedDistance(_Entry):
    asked: DistanceName | None
    achieved: DistanceName | None


class StatedGuarantees(_Entry):
    """What was asked and what is said to be achieved."""

    k: _AskedK
    guarantee: _AskedGuarantee
    delta: _AskedDelta
    l: _AskedL  # noqa: E741 (the manifest's own key)
    l_model: _AskedModel
    c: _AskedC
    t: _AskedT
    t_distance: _AskedDistance

    @property
    def protects_values(self) -> bool:
        """Whether l or t is asked."""
        return self.l.asked is not None or self.t.asked is not None


class _Hashes(_Entry):
    csv: Digest
    parquet: Digest


class _Reached(_Entry):
    column: str
    l: Level | None  # noqa: E741 (the manifest's own key)
    t: Share | None


class StatedFragment(_Entry):
    """One fragment."""

    csv: str
    parquet: str
    features: list[str]
    sensitive: list[str]
    protected: list[_Reached]
    equivalence_classes: Whole | None
    smallest_class: Whole | None
    sha256: _Hashes


class _WithinSegmentsOf(_Entry):
    column: str
    l: Whole | None  # noqa: E741 (the manifest's own key)


class _OfRecords(_Entry):
    l: Level | None  # noqa: E741 (the manifest's own key)
    t: Share | None


class StatedWithinSegments(_Entry):
    """What joins within segments are said to hold."""

    at_least: Whole | None
    l: Whole | None  # noqa: E741 (the manifest's own key)
    sensitive: list[_WithinSegmentsOf]
    of_records: _OfRecords
    records: Whole | None = None


class StatedPersons(_Entry):
    """What a release says of the persons that its records are of."""

    number: Whole
    smallest_class: Whole | None
    smallest_join: Whole | None
    smallest_records: Whole | None
    l: Whole | None  # noqa: E741 (the manifest's own key)


class _Joins(_Entry):
    smallest_join: Whole | None
    smallest_records: Whole | None
    smallest_record_share: Share | None = None
    choices: Annotated[int, Field(ge=0)] | None
    scope: JoinScope
    within_segments: StatedWithinSegments | None


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


class StatedSignature(_Entry):
    """Which key a release says that it is signed by; nobody need believe it."""

    file: Literal["release.json.sig"]
    algorithm: Literal["Ed25519"]
    key: str


class Manifest(_Entry):
    """The whole document, as far as the gate uses it."""

    name: str
    version: str
    records: Whole
    class_attribute: str = Field(alias="class")
    class_values: ClassValues
    enforcement: Literal[
        "none", "naive", "dependency_graph", "delta_selectivity", "min_distortion", "coarsen"
    ]
    columns: list[StatedColumn]
    sensitive: list[str]
    protected: list[StatedProtection]
    guarantees: StatedGuarantees
    fragments: Annotated[list[StatedFragment], Field(min_length=1)]
    joins: _Joins
    persons: StatedPersons | None = None
    changed_class_values: _Changed
    suppressed_records: Annotated[int, Field(ge=0, le=0)]
    measures: _Measures
    limits: _Limits
    validation: _Validation
    documents: dict[DocumentName, Digest] = {}
    signature: StatedSignature | None = None


def read_manifest(folder: Path) -> Manifest:
    """Read release.json; whether it contradicts itself is not looked at.

    Parameters
    ----------
    folder
        A published folder.

    Raises
    ------
    InputError
        If the manifest is missing, cannot be read, or lacks what every release states.
    """
    return parse_manifest(_manifest_content(folder))


def parse_manifest(content: bytes) -> Manifest:
    """Return what the content of release.json states.

    Raises
    ------
    InputError
        If it is not what every release states.
    """
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("release.json must be a readable UTF-8 file; it could not be read.") from None
    try:
        return Manifest.model_validate(
            json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_entries)
        )
    except ValidationError as error:
        raise InputError(_first_fault(error)) from None
    except (ValueError, RecursionError):
        raise InputError("release.json must be valid JSON; it is not.") from None


def _manifest_content(folder: Path) -> bytes:
    try:
        if not folder.is_dir():
            raise InputError(f"{folder}: there is no such folder")
        if (folder / "release.json").exists() and not (folder / "release.json").is_file():
            raise InputError("release.json must be a file; it is something else.")
        return (folder / "release.json").read_bytes()
    except FileNotFoundError:
        raise InputError(
            f"{folder}: holds no release.json: give the folder of one version, or latest"
        ) from None
    except OSError:
        raise InputError("release.json must be a readable UTF-8 file; it could not be read.") from None


def _refuse_constant(name: str) -> float:
    raise ValueError(name)


def _entries(pairs: list[tuple[str, object]]) -> dict[str, object]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise InputError("release.json cannot be used: an object has two entries of one name.")
    return entries


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_input=False, include_url=False, include_context=False)[0]
    steps = [str(step) for step in fault["loc"]]
    if "hierarchy" in steps:
        steps = steps[: steps.index("hierarchy") + 1]  # below it stand values of the data
    place = ".".join(steps) or "the whole document"
    return f"release.json cannot be used: `{place}`: {fault['msg']}."
