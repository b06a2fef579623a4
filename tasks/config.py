"""The configuration of a release: one frozen model, also the parameter of the flow."""

import hashlib
import json
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from tasks.errors import ConfigurationError

Format = Literal["csv", "tsv", "parquet"]
Strategy = Literal["none", "naive", "dependency_graph", "delta_selectivity"]
Engine = Literal["prefect", "plain"]

FORMATS: dict[str, Format] = {
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
DELIMITERS = {"csv": ",", "tsv": "\t"}

EXPECTED = {
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_parsing": "a number",
    "float_type": "a number",
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "string_type": "a text",
    "path_type": "a path",
    "tuple_type": "a list",
    "dict_type": "a table of settings",
    "model_type": "a table of settings",
}

Column = Annotated[str, StringConstraints(min_length=1)]


def _without_nul(path: Path) -> Path:
    if "\0" in str(path):
        raise ValueError("must be a path")
    return path


Place = Annotated[Path, AfterValidator(_without_nul)]


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
    drop: tuple[Column, ...] = Field(default=(), description="Left out")
    types: dict[str, Literal["numeric", "categorical"]] = Field(
        default_factory=dict, description="Where a column is not what its values look like"
    )


class Privacy(Section):
    """What the release promises."""

    k: int = Field(ge=2, description="The fewest records that share a combination of released values")
    guarantee: Literal["join"] = Field(
        "join", description="What joining fragments must leave: at least k rows"
    )
    enforcement: Strategy = Field(default="dependency_graph", description="How joins are made safe")
    delta: float | None = Field(
        None, gt=0, le=1, description="For delta_selectivity: the share of safe joins"
    )

    @model_validator(mode="after")
    def _delta_belongs_to_delta_selectivity(self) -> Self:
        if (self.delta is not None) != (self.enforcement == "delta_selectivity"):
            raise ValueError('delta is needed with enforcement = "delta_selectivity", and only there')
        return self


class FragmentationSettings(Section):
    """How columns are cut into fragments."""

    fragments: int = Field(default=2, ge=1, description="How many; 1 leaves the table whole")
    bins: int = Field(
        default=10, ge=2, le=1000, description="Equal-frequency bins of numbers, for mutual information"
    )


class Anonymization(Section):
    """How a fragment is made k-anonymous."""

    algorithm: Literal["mondrian"] = Field(
        default="mondrian", description="What forms the equivalence classes"
    )
    mode: Literal["strict", "relaxed"] = Field(
        default="strict", description="Whether equal values stay together"
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
    anonymization: Anonymization = Anonymization()
    limits: Limits = Limits()
    output: Output
    run: RunSettings = RunSettings()

    @property
    def sha256(self) -> str:
        """A digest of what shapes the release; paths, the seed and how it is run stay out of it."""
        shaping = self.model_dump(
            mode="json", by_alias=True, exclude={"run": True, "output": {"directory"}, "input": {"path"}}
        )
        return hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()


def read_config(path: Path, overrides: Iterable[str] = ()) -> Config:
    """Read a configuration file; relative paths in it start from its folder.

    Parameters
    ----------
    path
        A TOML file.
    overrides
        Settings that replace the file's, each as "section.key=value".

    Raises
    ------
    ConfigurationError
        With one line per fault, if the file cannot be read or a setting is not allowed.
    """
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path}: is not a text file in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path}: is not TOML: {error}") from None
    for override in overrides:
        _override(settings, override)
    return _from_folder(parse_config(settings), path.resolve().parent)


def parse_config(settings: dict[str, Any]) -> Config:
    """Return the configuration that settings describe.

    Raises
    ------
    ConfigurationError
        With one line per fault.
    """
    try:
        return Config.model_validate(settings)
    except ValidationError as error:
        faults = dict.fromkeys(_fault(fault) for fault in error.errors())
        raise ConfigurationError("\n".join(faults)) from None


def _fault(fault: Any) -> str:  # noqa: ANN401 - pydantic's own mapping
    parts = [str(part) for part in fault["loc"]]
    where = ".".join(part for part in parts if not part.startswith(("constrained-str", "literal[", "tuple[")))
    if where == "columns.features" and fault["type"] in {"literal_error", "tuple_type"}:
        return 'columns.features: must be a list of columns, or "rest"'
    if fault["type"] == "string_too_short":
        return f"{where}: must be filled in"
    if fault["type"] in EXPECTED:
        return f"{where}: must be {EXPECTED[fault['type']]}"
    if fault["type"] == "missing":
        return f"{where}: must be set"
    if fault["type"] == "extra_forbidden":
        return f"{where}: is not a setting"
    return f"{where}: {fault['msg'].removeprefix('Value error, ')}"


def _override(settings: dict[str, Any], override: str) -> None:
    key, separator, text = override.partition("=")
    section, dot, name = key.strip().partition(".")
    if not (separator and dot and isinstance(settings.setdefault(section, {}), dict)):
        raise ConfigurationError(f"--set {override}: must look like section.key=value, such as privacy.k=10")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()
    settings[section][name] = value


def _from_folder(config: Config, folder: Path) -> Config:
    """Make the paths absolute."""
    return config.model_copy(
        update={
            "input": config.input.model_copy(update={"path": folder / config.input.path}),
            "output": config.output.model_copy(update={"directory": folder / config.output.directory}),
            "run": config.run.model_copy(update={"workspace": folder / config.run.workspace}),
        }
    )
