"""How each method of the experiments releases records, as settings of a release."""

from pathlib import Path
from typing import Any, NamedTuple, get_args

from tasks.config import Config, Privacy
from tasks.experiments.data_tables import CLASS, TEST, Table
from tasks.experiments.figures import Bounds, Method, Point
from tasks.experiments.points import chosen_features

BOUNDS: tuple[Bounds, ...] = get_args(Bounds)
DELTA, L = 0.5, 2
FRAGMENTS = 2


class Way(NamedTuple):
    """What sets a method apart: the number of fragments, and what is asked of privacy beside k."""

    fragments: int
    privacy: dict[str, Any]


# Without enforcement: one fragment joins with nothing, and distinct l-diversity keeps joins within segments
# safe by itself (paper, theorem 5.1).
WAYS: dict[Method, Way] = {
    "unfragmented": Way(1, {"enforcement": "none"}),
    "naive": Way(FRAGMENTS, {"enforcement": "naive"}),
    "dependency_graph": Way(FRAGMENTS, {"enforcement": "dependency_graph"}),
    "delta_selectivity": Way(FRAGMENTS, {"enforcement": "delta_selectivity", "delta": DELTA}),
    "min_distortion": Way(FRAGMENTS, {"enforcement": "min_distortion"}),
    "unfragmented_diversity": Way(1, {"enforcement": "none", "l": L}),
    "diversity": Way(FRAGMENTS, {"enforcement": "none", "l": L}),
}


def base_config(table: Table, path: Path, point: Point) -> Config:
    """Return the settings that all methods share at a point.

    Parameters
    ----------
    table
        The data set.
    path
        Where it is.
    point
        Tells the features, k, and the seed of all that is drawn.
    """
    chosen = [table.columns[place] for place in chosen_features(len(table.columns), point)]
    others = [name for name in table.columns if name not in set(chosen)]
    return Config.model_validate(
        {
            "input": {"path": path},
            "columns": {"class": CLASS, "features": chosen, "drop": others + [TEST] * table.divided},
            "privacy": {"k": point.k, "enforcement": "none"},
            "output": {"name": "experiment"},
            "run": {"seed": point.seed},
        }
    )


def as_released(base: Config, method: Method, bounds: Bounds) -> Config:
    """Return the settings with which a method releases a table, with some kind of bounds."""
    way = WAYS[method]
    privacy = Privacy.model_validate({"k": base.privacy.k, **way.privacy})
    anonymization = base.anonymization.model_copy(update={"bounds": bounds})
    return base.with_fragments(way.fragments).model_copy(
        update={"privacy": privacy, "anonymization": anonymization}
    )
