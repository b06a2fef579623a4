"""What every anonymization algorithm returns: an equivalence class per row, and each one's box."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Partition(NamedTuple):
    """The rows of a fragment, divided into equivalence classes (ECs).

    Attributes
    ----------
    labels : ndarray of shape (rows,)
        The EC of each row, from 0.
    lower, upper : ndarray of shape (ECs, features)
        The box of codes that belongs to each EC, both bounds inclusive. It may be wider than the
        EC's own rows.
    """

    labels: npt.NDArray[np.int32]
    lower: npt.NDArray[np.int32]
    upper: npt.NDArray[np.int32]


def joined(rows: int, parts: Iterable[tuple[npt.NDArray[np.int64] | slice, Partition]]) -> Partition:
    """Return the partitions of parts of a table as one, their classes numbered part after part.

    Parameters
    ----------
    rows
        Of the table.
    parts
        Which rows each part has, and their partition. They are asked for one by one.
    """
    labels, classes = np.empty(rows, dtype=np.int32), 0
    lower, upper = [], []
    for numbers, partition in parts:
        labels[numbers] = partition.labels + np.int32(classes)
        classes += len(partition.lower)
        lower.append(partition.lower)
        upper.append(partition.upper)
    return Partition(labels, np.concatenate(lower), np.concatenate(upper))
