"""Which columns of the input take part in a release, and in which role."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tasks.config import Config
from tasks.errors import ConfigurationError
from tasks.tables import Role


class Column(NamedTuple):
    """A column that takes part in the release, and its place in the input."""

    name: str
    place: int
    role: Role

    @property
    def raw(self) -> str:
        """Its name in the raw table."""
        return f"c{self.place}"


def columns_of_release(config: Config, names: Sequence[str]) -> list[Column]:
    """Return the features in input order, then the sensitive attributes, then the class.

    Parameters
    ----------
    config
        Of the run.
    names
        Of all columns of the input, in their order.

    Raises
    ------
    ConfigurationError
        With one line per fault, if a column has not exactly one role or a setting names no column.
    """
    roles = _asked_roles(config)
    faults = [*_unknown_columns(config, names, roles), *_wrong_roles(config, names, roles)]
    if faults:
        raise ConfigurationError("\n".join(faults))
    features = [name for name in names if roles.get(name, ["features"]) == ["features"]]
    _check_features(config, features)
    sensitive = [name for name in names if roles.get(name) == ["sensitive"]]
    places = {name: place for place, name in enumerate(names)}
    return [
        *(Column(name, places[name], "feature") for name in features),
        *(Column(name, places[name], "sensitive") for name in sensitive),
        Column(config.columns.class_attribute, places[config.columns.class_attribute], "class"),
    ]


def _asked_roles(config: Config) -> dict[str, list[str]]:
    """Return the roles that the configuration gives each column it names."""
    columns = config.columns
    given = {
        "class": (columns.class_attribute,),
        "sensitive": columns.sensitive,
        "identifiers": columns.identifiers,
        "entity": () if columns.entity is None else (columns.entity,),
        "drop": columns.drop,
    }
    if columns.features != "rest":
        given["features"] = columns.features
    roles: dict[str, list[str]] = defaultdict(list)
    for role, members in given.items():
        for name in members:
            roles[name].append(role)
    return roles


def _unknown_columns(config: Config, names: Sequence[str], roles: dict[str, list[str]]) -> Iterator[str]:
    places = [(used[0], name) for name, used in roles.items()]
    places += [
        (setting, name)
        for setting in ("types", "precision", "hierarchies")
        for name in getattr(config.columns, setting)
    ]
    for place, name in places:
        if name not in names:
            yield f"columns.{place}: the table has no column {name!r}"


def _wrong_roles(config: Config, names: Sequence[str], roles: dict[str, list[str]]) -> Iterator[str]:
    for name, used in roles.items():
        if len(used) > 1:
            yield f"column {name!r}: has more than one role ({', '.join(used)}): keep one"
    for name in names:
        if name not in roles and config.columns.features != "rest":
            yield f"column {name!r}: has no role: add it to features, sensitive, identifiers or drop"


def _check_features(config: Config, features: Sequence[str]) -> None:
    """Refuse settings that do not fit the features, before any work."""
    if not features:
        raise ConfigurationError("columns.features: no column is left to be a feature")
    asked = config.fragmentation.fragments
    if asked != "auto" and asked > len(features):
        number = "1 feature" if len(features) == 1 else f"{len(features)} features"
        raise ConfigurationError(
            f"fragmentation.fragments asks for {asked} fragments of {number}: "
            f"set it to at most {len(features)}"
        )
    for setting, noun in (("types", "type"), ("precision", "precision")):
        idle = [repr(name) for name in getattr(config.columns, setting) if name not in features]
        if idle:
            raise ConfigurationError(f"columns.{setting}: only features have a {noun}, not {', '.join(idle)}")
