"""The class counts that one equivalence class (EC) could take next in a search."""

import numpy as np
import numpy.typing as npt

from tasks.joins.class_join import Indices

Numbers = npt.NDArray[np.float32]

STEPS = (1, 2, 3)


class Moves:
    """Moves of records of an EC from one class value to another: a few of them, or all.

    Parameters
    ----------
    values
        The number of class values.
    """

    def __init__(self, values: int) -> None:
        self._values = values
        source, target = np.nonzero(~np.eye(values, dtype=np.bool_))
        self._source: Indices = np.tile(source, len(STEPS) + 1)
        self._target: Indices = np.tile(target, len(STEPS) + 1)
        self._steps: npt.NDArray[np.int64] = np.repeat([*STEPS, 0], len(source))

    @property
    def number(self) -> int:
        """How many moves there are at most."""
        return len(self._steps)

    def number_of_each(self, counts: Numbers) -> Indices:
        """Return how many moves each of several ECs has, shape (ECs,)."""
        sources = sum((counts > step).sum(axis=1) for step in (*STEPS, 0))
        return np.asarray(sources * (self._values - 1))

    def of_each(self, counts: Numbers, towards: Numbers | None) -> tuple[Indices, Numbers]:
        """Return the class counts one move away from those of each of several ECs, and whose they are.

        With class counts to go towards, only moves that do.

        Parameters
        ----------
        counts, towards : ndarrays of shape (ECs, class values)

        Returns
        -------
        owners : ndarray of shape (moves,)
        after : ndarray of shape (moves, class values)
        """
        there = counts[:, self._source]
        possible = there > self._steps
        if towards is not None:
            excess = (counts > towards)[:, self._source]
            possible &= excess & (counts < towards)[:, self._target]
        owners, moves = np.nonzero(possible)
        moved = np.where(self._steps[moves] > 0, self._steps[moves], there[owners, moves])
        after = counts[owners]
        rows = np.arange(len(owners))
        after[rows, self._source[moves]] -= moved
        after[rows, self._target[moves]] += moved
        return owners, after

    def from_counts(self, counts: Numbers) -> Numbers:
        """Return the distinct class counts one move away, shape (moves, class values)."""
        there = counts[self._source]
        possible = np.flatnonzero(there > self._steps)
        source, target = self._source[possible], self._target[possible]
        moved = np.where(self._steps[possible] > 0, self._steps[possible], there[possible])
        after = np.tile(counts, (len(possible), 1))
        rows = np.arange(len(possible))
        after[rows, source] -= moved
        after[rows, target] += moved
        return after
