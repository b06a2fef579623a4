"""How finely figures are told that do not follow from the published files, and which are not told."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

PARTS = (1000, 500, 200, 100, 50, 20, 10, 5, 2)  # of the whole, a step being one of them
DIGITS = 3
FEWEST = 20  # equivalence classes of a fragment

Floats = npt.NDArray[np.float64]


def step_of(records: int, k: int) -> float:
    """Return the step that figures are rounded to: at least what k records can change of a share.

    Parameters
    ----------
    records
        Of the input; or its persons, who have as many records each on average.
    k
        As asked.

    Returns
    -------
    float
        The smallest of 0.001, 0.002, 0.005, 0.01, and so on up to 0.5, that is at least k / records; 1 where
        none is.

    Examples
    --------
    >>> step_of(5620, 40), step_of(45, 5), step_of(50, 5)
    (0.01, 0.2, 0.1)
    """
    return 1 / next((parts for parts in PARTS if k * parts <= records), 1)


def step_of_release(manifest: Mapping[str, Any]) -> float:
    """Return the step that figures of a release are rounded to; of persons where these are counted."""
    persons = manifest.get("persons")
    people = persons["number"] if persons else manifest["records"]
    return step_of(people, manifest["guarantees"]["k"]["asked"])


def withholds(manifest: Mapping[str, Any]) -> bool:
    """Return whether figures that rest on what is hidden could be solved for it, and are not told.

    Hidden is which equivalence classes (ECs) of different fragments hold the same records, where class values
    are published per EC how often each occurs, and where persons are counted how many an EC has. With few
    ECs there are fewer unknowns than figures.
    """
    sizes = [fragment["equivalence_classes"] for fragment in manifest["fragments"]]
    hidden = len(sizes) > 1 or manifest["class_values"] == "per_class" or manifest.get("persons")
    return bool(hidden and min(sizes) < FEWEST)


def coarse(value: float, step: float) -> float:
    """Return the multiple of the step that is nearest.

    Examples
    --------
    >>> coarse(0.28, 0.1), coarse(-0.044, 0.2)
    (0.3, 0.0)
    """
    return round(round(value / step) * step, DIGITS)


def all_coarse(values: Floats, step: float) -> Floats:
    """Return the nearest multiple of the step of each value."""
    return np.round(np.rint(values / step) * step, DIGITS) + 0.0  # which makes -0 a 0
