"""What a column can hold: its kind, its distinct values, whether it has missing values."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tasks.tree import Tree

Kind = Literal["integer", "decimal", "fixed", "date", "categorical"]
Precision = Literal["day", "month", "quarter", "year"]


@dataclass(frozen=True, eq=False)
class Domain:
    """The domain of one column; a value's code is its rank.

    Attributes
    ----------
    name
        The column's name in the input.
    kind
        All but "categorical" are numeric. "decimal" numbers are the nearest floating-point ones; "fixed"
        numbers have `scale` digits after the point; a "date" is a day, month, quarter or year.
    values : ndarray of shape (distinct non-missing values,)
        Sorted, or in the order of the tree's leaves. Text in the order of its code points; float64 for
        "decimal"; else int64: of "fixed" numbers without their point, of dates the days since 1970-01-01 of
        their first day.
    missing
        Whether the column has missing values. If so code 0 is missing and the values follow.
    scale
        Digits after the point, where the kind is "fixed".
    precision
        How exact dates are, where the kind is "date".
    tree
        The hierarchy of a categorical feature, if it has one; its leaves are the values.
    """

    name: str
    kind: Kind
    values: npt.NDArray[Any]
    missing: bool
    scale: int = 0
    precision: Precision = "day"
    tree: Tree | None = None

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
        if self.kind != "decimal":
            return np.asarray((self.values - self.values[:1]).view(np.uint64), dtype=np.float64)
        halves = self.values.astype(np.float64) / 2
        return np.asarray(halves - halves[:1])
