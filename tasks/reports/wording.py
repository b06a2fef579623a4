"""What l-diversity, t-closeness and joins within segments promise, in words that need no formula."""

from collections.abc import Mapping
from typing import Any

import numpy as np


def figure(number: float) -> str:
    """Return a number with all its digits and no others.

    Examples
    --------
    >>> figure(2.0), figure(0.123457), figure(0.000001)
    ('2', '0.123457', '0.000001')
    """
    return np.format_float_positional(number, trim="-")


def percent(share: float) -> str:
    """Return a share, stated to six digits, as a percentage that is not rounded.

    Examples
    --------
    >>> percent(0.123457), percent(0.3)
    ('12.3457 %', '30 %')
    """
    return f"{figure(round(100 * share, 4))} %"


def diversity_in_words(manifest: Mapping[str, Any]) -> str:
    """Return how diverse every equivalence class is, as the second half of a sentence about it.

    Parameters
    ----------
    manifest
        Of a release that was asked for l-diversity.
    """
    guarantees = manifest["guarantees"]
    asked, achieved = (guarantees["l"][key] for key in ("asked", "achieved"))
    figures = f"asked {figure(asked)}, achieved {figure(achieved)}"
    attributes = protected_in_words(manifest)
    match guarantees["l_model"]["asked"]:
        case "distinct":
            verb = "take" if manifest["sensitive"] else "takes"
            return (
                f"{attributes} {verb} at least {figure(achieved)} different values "
                f"(distinct l-diversity; {figures})"
            )
        case "entropy":
            verb = "are" if manifest["sensitive"] else "is"
            return (
                f"{attributes} {verb} at least as diverse as {figure(achieved)} equally frequent values "
                f"(entropy l-diversity; {figures})"
            )
    c = figure(guarantees["c"]["asked"])
    return (
        f"the most frequent value of {attributes} occurs less than {c} times as often as "
        f"{_rarer_values(achieved)} together (recursive (c, l)-diversity with c = {c}; {figures})"
    )


def closeness_in_words(manifest: Mapping[str, Any]) -> str:
    """Return how close every equivalence class is to its fragment, as the second half of a sentence about it.

    Parameters
    ----------
    manifest
        Of a release that was asked for t-closeness.
    """
    guarantees = manifest["guarantees"]
    asked, achieved = (guarantees["t"][key] for key in ("asked", "achieved"))
    distance = guarantees["t_distance"]["asked"]
    most = {
        "equal": "at most {} of the records would have to take another value to match them",
        "ordered": "to match them, values would have to move by at most {} of the way "
        "from the lowest to the highest on average",
        "hierarchical": "to match them, values would have to move by at most {} of the height "
        "of their hierarchy on average",
    }[distance].format(percent(achieved))
    return (
        f"the shares of the values of {protected_in_words(manifest)} are near those in the whole fragment: "
        f"{most} (t-closeness, {distance} distance; asked {figure(asked)}, achieved {figure(achieved)})"
    )


def protected_in_words(manifest: Mapping[str, Any]) -> str:
    """Return what l and t protect."""
    several = len(manifest["sensitive"]) > 1
    sensitive = f" and {'each' if several else 'the'} sensitive attribute" if manifest["sensitive"] else ""
    return f"the class attribute{sensitive}"


def safe_only_within_segments(manifest: Mapping[str, Any]) -> bool:
    """Tell whether joins hold at least k rows within segments, though not over all choices."""
    joins, k = manifest["joins"], manifest["guarantees"]["k"]["asked"]
    within, smallest = joins["within_segments"], joins["smallest_join"]
    if joins["scope"] != "segments" or within is None or within["at_least"] is None or smallest is None:
        return False
    return bool(smallest < k <= within["at_least"])


def _rarer_values(level: int) -> str:
    most_frequent = level - 1
    return (
        "all its other values" if most_frequent == 1 else f"all but its {most_frequent} most frequent values"
    )
