"""Reading a configuration: from a file, with overrides; every fault is told in a line of its own."""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from tasks.config import Config
from tasks.errors import ConfigurationError
from tasks.table_settings import Builder, Input, Section

S = TypeVar("S", bound=Section)

EXPECTED = {
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_parsing": "a number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "string_type": "a text",
    "path_type": "a path",
    "tuple_type": "a list",
    "dict_type": "a table of settings",
    "model_type": "a table of settings",
}


OTHERS = {
    "string_too_short": "must be filled in",
    "missing": "must be set",
    "extra_forbidden": "is not a setting",
}

UNIONS = {
    "columns.features": 'must be a list of columns, or "rest"',
    "fragmentation.fragments": 'must be a whole number from 1, or "auto"',
}
UNION_PARTS = ("constrained-", "literal[", "tuple[", "union[")

BOUNDS = {
    "greater_than": ("above", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("below", "lt"),
    "less_than_equal": ("at most", "le"),
}


def read_config(path: Path, overrides: Iterable[str] = ()) -> Config:
    """Read a configuration file; relative paths in it start from its folder.

    Parameters
    ----------
    path
        A TOML file.
    overrides
        Settings that replace the file's, each as "section.key=value"; without a value it is not set.

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
    except (ValueError, RecursionError) as error:  # also of numbers too long, and of nesting
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
    return _parsed(Config, settings)


def parse_input(settings: dict[str, Any]) -> Input:
    """Return where a table is and how it is written, as the settings of [input] describe it.

    Raises
    ------
    ConfigurationError
        With one line per fault.
    """
    return _parsed(Input, settings, "input")


def _parsed(section: type[S], settings: dict[str, Any], *within: str) -> S:
    try:
        return section.model_validate(settings)
    except ValidationError as error:
        faults = dict.fromkeys(_fault(fault, within) for fault in error.errors())
        raise ConfigurationError("\n".join(faults)) from None


def _fault(fault: Any, within: tuple[str, ...]) -> str:  # noqa: ANN401 - pydantic's own mapping
    parts = [*within, *(str(part) for part in fault["loc"])]
    where = ".".join(_shown(part) for part in parts if not part.startswith(UNION_PARTS))
    told = _in_words(where, fault)
    return f"{where}: {told}" if where else told


def _shown(part: str) -> str:
    """Return a key as it is, or in quotes where it could not be seen in a line."""
    return part if part.isprintable() and part.strip() else repr(part)


def _in_words(where: str, fault: Any) -> str:  # noqa: ANN401 - pydantic's own mapping
    kind = fault["type"]
    if where in UNIONS and kind not in OTHERS:
        return UNIONS[where]
    if kind in EXPECTED:
        return f"must be {EXPECTED[kind]}"
    if kind in BOUNDS:
        word, bound = BOUNDS[kind]
        return f"must be {word} {fault['ctx'][bound]:g}"
    if kind == "literal_error":
        return f"must be {fault['ctx']['expected']}"
    return OTHERS.get(kind) or str(fault["msg"]).removeprefix("Value error, ")


def _override(settings: dict[str, Any], override: str) -> None:
    key, separator, text = override.partition("=")
    section, dot, name = key.strip().partition(".")
    if not (separator and dot and isinstance(settings.setdefault(section, {}), dict)):
        raise ConfigurationError(f"--set {override}: must look like section.key=value, such as privacy.k=10")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        value = text.strip() or None
    place = settings[section]
    table, dot, column = name.partition(".")
    if dot:  # of a table such as columns.types, one entry
        place, name = place.setdefault(table, {}), column
    if not isinstance(place, dict):
        raise ConfigurationError(f"--set {override}: {section}.{table} is not a table of settings")
    place[name] = value


def _from_folder(config: Config, folder: Path) -> Config:
    """Make the paths absolute."""
    hierarchies = {
        name: made if isinstance(made, Builder) else folder / made
        for name, made in config.columns.hierarchies.items()
    }
    earlier = config.drift.earlier and folder / config.drift.earlier
    key = config.signing.private_key and folder / config.signing.private_key
    return config.model_copy(
        update={
            "drift": config.drift.model_copy(update={"earlier": earlier}),
            "input": config.input.model_copy(update={"path": folder / config.input.path}),
            "columns": config.columns.model_copy(update={"hierarchies": hierarchies}),
            "output": config.output.model_copy(update={"directory": folder / config.output.directory}),
            "signing": config.signing.model_copy(update={"private_key": key}),
            "run": config.run.model_copy(update={"workspace": folder / config.run.workspace}),
        }
    )
