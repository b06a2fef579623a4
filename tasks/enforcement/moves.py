"""The class counts that one equivalence class (EC) could take next in a search."""

import numpy as np
import numpy.typing as npt

from tasks.joins.class_join import Floats, Indices

STEPS = (1, 2, 3)


class Moves:
    """Moves of records of an EC from one class value to another: a few of them, or all.

    Parameters
    ----------
    values
        The number of class values.
    """

    def __init__(self, values: int) -> None:
        source, target = np.nonzero(~np.eye(values, dtype=np.bool_))
        self._source: Indices = np.tile(source, len(STEPS) + 1)
        self._target: Indices = np.tile(target, len(STEPS) + 1)
        self._steps: npt.NDArray[np.int64] = np.repeat([*STEPS, 0], len(source))

    def from_counts(self, counts: Floats) -> Floats:
        """Return the distinct class counts one move away, shape (moves, class values)."""
        there = counts[self._source]
        possible = np.flatnonzero((there > self._steps) & (counts.sum() > 0))
        source, target = self._source[possible], self._target[possible]
        moved = np.where(self._steps[possible] > 0, self._steps[possible], there[possible])
        after = np.tile(counts, (len(possible), 1))
        rows = np.arange(len(possible))
        after[rows, source] -= moved
        after[rows, target] += moved
        return after
