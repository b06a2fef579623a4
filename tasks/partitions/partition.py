"""What every anonymization algorithm returns: an equivalence class per row, and each one's box."""

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
