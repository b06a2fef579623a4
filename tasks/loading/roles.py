"""Which columns of the input take part in a release, and in which role."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tasks.config import Config
from tasks.errors import ConfigurationError
from tasks.loading.dates import format_fault
from tasks.loading.faults import Faults
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


def columns_of_release(config: Config, names: Sequence[str], faults: Faults) -> list[Column]:
    """Return the features in input order, then the sensitive attributes, then the class.

    Columns that have not exactly one role are left out, and that is noted, as are settings that name no
    column, or one that they do not fit.

    Parameters
    ----------
    config
        Of the run.
    names
        Of all columns of the input, in their order.
    faults
        Get a line per fault.
    """
    roles = _asked_roles(config)
    rest = ["features"] if config.columns.features == "rest" else []
    features = [name for name in names if roles.get(name, rest) == ["features"]]
    found = [*_unknown_columns(config, names, roles), *_wrong_roles(config, names, roles)]
    faults.note(ConfigurationError, found or [*_unfit_features(config, features)])
    unread = dict(_unread_dates(config))
    faults.note(ConfigurationError, [*_unfit_settings(config, roles), *unread.values()])
    sensitive = [name for name in names if roles.get(name) == ["sensitive"]]
    of_class = [name for name in names if roles.get(name) == ["class"]]
    places = {name: place for place, name in enumerate(names)}
    in_roles: list[tuple[Role, list[str]]] = [
        ("feature", [name for name in features if name not in unread]),
        ("sensitive", sensitive),
        ("class", of_class),
    ]
    return [Column(name, places[name], role) for role, members in in_roles for name in members]


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
    places = [(f"columns.{used[0]}", name) for name, used in roles.items()]
    places += [
        (f"columns.{setting}", name)
        for setting in ("types", "precision", "hierarchies")
        for name in getattr(config.columns, setting)
    ]
    places += [
        (f"input.{setting}", name)
        for setting in ("missing_in", "dates")
        for name in getattr(config.input, setting)
    ]
    for place, name in places:
        if name not in names:
            yield f"{place}: the table has no column {name!r}"


def _wrong_roles(config: Config, names: Sequence[str], roles: dict[str, list[str]]) -> Iterator[str]:
    for name, used in roles.items():
        if len(used) > 1:
            yield f"column {name!r}: has more than one role ({', '.join(used)}): keep one"
    for name in names:
        if name not in roles and config.columns.features != "rest":
            yield f"column {name!r}: has no role: add it to features, sensitive, identifiers or drop"


def _unfit_features(config: Config, features: Sequence[str]) -> Iterator[str]:
    if not features:
        yield "columns.features: no column is left to be a feature"
        return
    asked = config.fragmentation.fragments
    if asked != "auto" and asked > len(features):
        yield too_many_fragments(asked, len(features))


def too_many_fragments(asked: int, features: int) -> str:
    """Return what is wrong with more fragments than features."""
    number = "1 feature" if features == 1 else f"{features} features"
    return f"fragmentation.fragments asks for {asked} fragments of {number}: set it to at most {features}"


def _unfit_settings(config: Config, roles: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield settings of columns that are no features, and types of those that have a hierarchy."""
    columns = config.columns
    for place, noun, named in (
        ("columns.types", "type", columns.types),
        ("columns.precision", "precision", columns.precision),
        ("input.dates", "format of dates", config.input.dates),
    ):
        idle = [repr(name) for name in named if "features" not in roles.get(name, ["features"])]
        if idle:
            yield f"{place}: only features have a {noun}, not {', '.join(idle)}"
    for name in columns.hierarchies:
        if not {"features", "class", "sensitive"}.intersection(roles.get(name, ["features"])):
            yield f"columns.hierarchies: {name!r} is not released, so it needs none"
    for name, declared in columns.types.items():
        if name in columns.hierarchies and declared != "categorical":
            yield f"column {name!r}: has a hierarchy, so its values are texts: leave it out of columns.types"


def _unread_dates(config: Config) -> Iterator[tuple[str, str]]:
    """Yield columns whose dates cannot be read as the configuration says, and why."""
    for name, written in config.input.dates.items():
        fault = format_fault(written, config.columns.precision.get(name, "day"))
        if fault is not None:
            yield name, f"input.dates: the format of {name!r} {fault}"
        elif name in config.columns.types:
            yield (
                name,
                f"column {name!r}: has a format under input.dates and a type under columns.types: keep one",
            )
