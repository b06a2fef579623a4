"""The choices of equivalence classes (ECs) that leave one of them too few records in common class values."""

from collections.abc import Iterator, Sequence

import numpy as np

from tasks.joins.class_join import MAX_COMMON, Booleans, Counts, Indices, distinct_rows, refuse_if_too_costly

Members = tuple[tuple[int, int], ...]


def record_witnesses(counts: Sequence[Counts], k: int) -> Iterator[Members]:
    """Find choices that violate the record condition, at least one if there is any.

    Parameters
    ----------
    counts : sequence of int64 ndarrays of shape (E_i, class values)
        Class counts of each fragment.
    k
        The fewest records.

    Yields
    ------
    tuple of (fragment, EC) pairs
        One choice; fragments ascend.

    Raises
    ------
    InfeasibleError
        If the class values occur in too many combinations.
    """
    for i, fragment in enumerate(counts):
        others = [j for j in range(len(counts)) if j != i]
        common, origins = _shared([counts[j] > 0 for j in others])
        records = fragment.astype(np.float64) @ common.T.astype(np.float64)
        for ec, number in np.argwhere((records > 0) & (records < k)).tolist():
            chosen = zip(others, origins[number].tolist(), strict=True)
            yield tuple(sorted([(i, ec), *((j, other) for j, other in chosen if other >= 0)]))


def _shared(supports: Sequence[Booleans]) -> tuple[Booleans, Indices]:
    """Return the sets of class values that choices share, and one such choice each: its ECs, -1 for none."""
    values = supports[0].shape[1]
    common = np.empty((0, values), dtype=np.bool_)
    origins = np.empty((0, len(supports)), dtype=np.intp)
    for i, support in enumerate(supports):
        first = distinct_rows(support)[0]
        own = support[first]
        refuse_if_too_costly(len(common) * len(own), MAX_COMMON)
        alone = np.full((len(own), len(supports)), -1, dtype=np.intp)
        alone[:, i] = first
        both = np.repeat(origins, len(own), axis=0)
        both[:, i] = np.tile(first, len(origins))
        common = np.concatenate([common, own, (common[:, None, :] & own).reshape(-1, values)])
        origins = np.concatenate([origins, alone, both])
        kept = np.sort(distinct_rows(common)[0])
        common, origins = common[kept], origins[kept]
    return common, origins
