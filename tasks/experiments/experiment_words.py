"""Plain words for data sets, methods, bounds and measures, as pictures and the page use them."""

from collections.abc import Iterable, Mapping

from tasks.experiments.curves import Axis, Line
from tasks.experiments.figures import Bounds

DATA_SETS: Mapping[str, str] = {
    "musk": "Musk",
    "texture": "Texture",
    "satimage": "Satimage",
    "optdigits": "Optdigits",
    "spambase": "Spambase",
}
LINE_NAMES: Mapping[Line, str] = {
    "unfragmented": "one table, k-anonymity",
    "fragmented": "fragments, k-anonymity",
    "naive": "fragments, naive",
    "dependency_graph": "fragments, dependency graph",
    "delta_selectivity": "fragments, delta-selectivity (delta 0.5)",
    "min_distortion": "fragments, min distortion",
    "unfragmented_diversity": "one table, l-diversity (l = 2)",
    "diversity": "fragments, l-diversity (l = 2)",
    "majority": "most frequent class only",
}
BOUNDS_NAMES: Mapping[Bounds, str] = {"cuts": "bounds by cuts", "tight": "tight bounds"}
AXIS_NAMES: Mapping[Axis, str] = {"features": "number of features", "k": "k"}
LEARNERS: Mapping[str, str] = {
    "tree": "decision tree",
    "neighbours": "5 nearest neighbours",
    "forest": "random forest",
}
FORM_NAMES: Mapping[str, str] = {
    "bounds": "learnt from both ends of a range",
    "midpoints": "learnt from the midpoint of a range",
    "spread": "learnt from points spread over a range",
}


def data_name(data: str) -> str:
    """Return a data set's name as it is written."""
    return DATA_SETS.get(data, data)


def in_order(names: Iterable[str]) -> list[str]:
    """Return each data set once: the paper's first, then those added, then any others by name."""
    known = list(DATA_SETS)
    return sorted(set(names), key=lambda name: (known.index(name) if name in known else len(known), name))


def learner_name(learner: str) -> str:
    """Return a learner's name in words."""
    return LEARNERS.get(learner, learner)


def learner_and_form(measure: str) -> tuple[str, str] | None:
    """Return whose F-measure a measure is and how ranges were read; None of other measures.

    Examples
    --------
    >>> learner_and_form("f_tree_bounds"), learner_and_form("changed")
    (('tree', 'bounds'), None)
    """
    match measure.split("_"):
        case ["f", learner, form]:
            return learner, form
    return None


def gain_in_words(share: float) -> str:
    """Return a gain or a fall as a percentage with its sign.

    Examples
    --------
    >>> gain_in_words(0.281)
    '+28.1 %'
    """
    return f"{100 * share:+.1f} %".replace("-", "\N{MINUS SIGN}")
