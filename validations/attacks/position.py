"""The position attack: the same line of every file is taken for one person's."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from validations.attacks.covering import Seen
from validations.attacks.groups_of_lines import grouped, members
from validations.attacks.success import Attack, attack


def join_positions(fragments: Sequence[Seen], rng: np.random.Generator) -> Attack:
    """Try whether a line of the first file that covers a target does so in every other file.

    Parameters
    ----------
    fragments
        Two or more.
    rng
        Draws one line for each target, among those of the first file that cover it; and for the baseline a
        line of every other file instead of the same one.
    """
    first, *others = fragments
    lines = _drawn(first, rng)
    by_chance = [rng.integers(len(each.fragment.lines), size=len(lines)) for each in others]
    same = _right(others, [lines] * len(others), lines)
    return attack("position", "all fragments", same, _right(others, by_chance, lines))


def _drawn(seen: Seen, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """Return a line that covers each target, shape (targets,); -1 where none does."""
    lines = np.full(len(seen.rows), -1, dtype=np.intp)
    of_ecs = grouped(seen.fragment.lines, len(seen.fragment.sizes))
    drawn = (rng.random(len(lines)) * seen.rows).astype(np.intp)
    for target in np.flatnonzero(seen.rows).tolist():
        lines[target] = members(of_ecs, seen.ecs(target), drawn[target : target + 1])[0]
    return lines


def _right(
    others: Sequence[Seen], lines: Sequence[npt.NDArray[np.integer]], drawn: npt.NDArray[np.intp]
) -> npt.NDArray[np.bool_]:
    """Return whether these lines cover their targets, in all other files."""
    right = drawn >= 0
    for each, place in zip(others, lines, strict=True):
        right = right & each.covered(each.fragment.lines[place])
    return right
