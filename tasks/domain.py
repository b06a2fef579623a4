"""What a column can hold: its kind, its distinct values, whether it has missing values."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Kind = Literal["integer", "decimal", "categorical"]


@dataclass(frozen=True, eq=False)
class Domain:
    """The domain of one column; a value's code is its rank.

    Attributes
    ----------
    name
        The column's name in the input.
    kind
        "integer" and "decimal" columns are numeric, the rest is "categorical".
    values : ndarray of shape (distinct non-missing values,)
        Sorted; int64, float64, or text in the order of its code points.
    missing
        Whether the column has missing values. If so code 0 is missing and the values follow.
    """

    name: str
    kind: Kind
    values: npt.NDArray[Any]
    missing: bool

    @property
    def numeric(self) -> bool:
        """Whether values can be subtracted."""
        return self.kind != "categorical"

    @property
    def size(self) -> int:
        """The number of codes, missing included."""
        return len(self.values) + self.missing

    @cached_property
    def positions(self) -> npt.NDArray[np.float64]:
        """Each code's position between the lowest (0) and the highest (1) value, shape (size,).

        Categories lie one apart in their order, missing before the first; a numeric column's
        missing has no position and is given 0.
        """
        if not self.numeric:
            return np.arange(self.size) / max(self.size - 1, 1)
        distances = self._distances()
        span = float(distances[-1]) if len(distances) else 0.0
        scaled = distances / span if span > 0 else np.zeros(len(distances))
        return np.concatenate([[0.0], scaled]) if self.missing else scaled

    def _distances(self) -> npt.NDArray[np.float64]:
        """Return how far each value is from the lowest, in any unit; no two values fall together."""
        if self.kind == "integer":
            return np.asarray((self.values - self.values[:1]).view(np.uint64), dtype=np.float64)
        halves = self.values.astype(np.float64) / 2
        return np.asarray(halves - halves[:1])
