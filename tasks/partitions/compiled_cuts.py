"""What Mondrian does with the rows of a node, in compiled code: strict cuts at medians, for k-anonymity.

Rows lie one after the other in an array of shape (rows, features), those of a node together. The rules are
those of `tasks.partitions.cuts`, `medians` and `widths`, to the last bit of every width.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from tasks.compiled import compiled

Codes = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Narrow = npt.NDArray[Any]
Whole = int | np.int64
Measures = tuple[Floats, Ints, Floats, Flags]  # the positions, offsets, spans and mixable features of a table

DEPTH = 64  # nodes that wait: the larger child does, so each has half the rows of the one before, or fewer
DIGIT = 10  # bits of a code that are counted in one pass
NO_FEATURE = -1

_NONE: tuple[Whole, Whole] = (NO_FEATURE, 0)


@compiled
def cut(  # noqa: PLR0917 - arrays, known by their place
    codes: Narrow,
    rows: Codes,
    positions: Floats,
    offsets: Ints,
    spans: Floats,
    mixable: Flags,
    k: int,
    ranked_cells: int,
    first: int,
    last: int,
    box: Codes,
    once: bool,  # noqa: FBT001 - likewise
    starts: Ints,
    stops: Ints,
    boxes: Codes,
) -> int:
    """Cut the node of the rows from `first` to `last` once, or to the end; return how many nodes it becomes.

    Parameters
    ----------
    codes : ndarray of shape (rows, features)
        Rows are moved.
    rows : ndarray of shape (rows,)
        The numbers of the rows, moved with them.
    positions, offsets, spans, mixable
        See `tasks.partitions.blocks.Table`.
    k
        The fewest rows of a node.
    ranked_cells
        Codes of a node up to which equally wide features are told apart.
    first, last
        The node.
    box : ndarray of shape (2, features)
        Its lowest and highest codes.
    once
        Whether to cut it no more than once.
    starts, stops : ndarray of shape (nodes,)
        Get the rows of each node that it becomes.
    boxes : ndarray of shape (nodes, 2, features)
        Gets their boxes.
    """
    features = codes.shape[1]
    waiting = np.empty((DEPTH, 2), dtype=np.int64)
    waiting_boxes = np.empty((DEPTH, 2, features), dtype=np.int32)
    waiting[0, 0], waiting[0, 1] = first, last
    here = np.empty((1, 2, features), dtype=np.int32)
    _copy_box(box.reshape(1, 2, features), 0, waiting_boxes, 0)
    low, high = np.empty(features, dtype=codes.dtype), np.empty(features, dtype=codes.dtype)
    widths, narrowing = np.empty(features), np.empty(features)
    values = np.empty(last - first, dtype=np.int64)
    counts = np.empty(1 << DIGIT, dtype=np.int64)
    depth, found = 1, 0
    while depth:
        depth -= 1
        start, stop = waiting[depth, 0], waiting[depth, 1]
        _copy_box(waiting_boxes, depth, here, 0)
        feature, code = _NONE
        if stop - start >= 2 * k:
            _extremes(codes, start, stop, low, high)
            for f in range(features):
                width = _width(positions, offsets, spans, mixable, f, np.int64(low[f]), np.int64(high[f]))
                widths[f] = -1.0 if low[f] == high[f] else width
            measures = (positions, offsets, spans, mixable)
            node = codes[start:stop]
            ranked = node.size <= ranked_cells
            feature, code = _chosen(node, measures, k, ranked, low, high, widths, narrowing, values, counts)
        if feature == NO_FEATURE:
            starts[found], stops[found] = start, stop
            _copy_box(here, 0, boxes, found)
            found += 1
            continue
        middle = _parted(codes, rows, start, stop, feature, code)
        left = depth + (0 if middle - start > stop - middle else 1)
        right = 2 * depth + 1 - left
        waiting[left, 0], waiting[left, 1] = start, middle
        waiting[right, 0], waiting[right, 1] = middle, stop
        _copy_box(here, 0, waiting_boxes, left)
        _copy_box(here, 0, waiting_boxes, right)
        waiting_boxes[left, 1, feature], waiting_boxes[right, 0, feature] = code, code + 1
        depth += 2
        if once:
            break
    for place in range(depth):
        starts[found + place], stops[found + place] = waiting[place, 0], waiting[place, 1]
        _copy_box(waiting_boxes, place, boxes, found + place)
    return found + depth


@compiled
def _copy_box(boxes: Codes, place: int, into: Codes, there: int) -> None:
    for side in range(2):
        for f in range(boxes.shape[2]):
            into[there, side, f] = boxes[place, side, f]


@compiled
def _extremes(codes: Narrow, start: int, stop: int, low: Narrow, high: Narrow) -> None:
    """Find what a node holds of each feature."""
    for f in range(codes.shape[1]):
        low[f] = high[f] = codes[start, f]
    for row in range(start + 1, stop):
        for f in range(codes.shape[1]):
            low[f] = min(low[f], codes[row, f])
            high[f] = max(high[f], codes[row, f])


@compiled
def _width(  # noqa: PLR0917 - arrays, known by their place
    positions: Floats, offsets: Ints, spans: Floats, mixable: Flags, feature: Whole, low: Whole, high: Whole
) -> float:
    """Return how wide a range of codes is, as a share of the feature's."""
    if mixable[feature] and low == 0 and high > 0:
        return 1.0
    width = (positions[offsets[feature] + high] - positions[offsets[feature] + low]) / spans[feature]
    return float(width)


@compiled
def _chosen(  # noqa: PLR0917 - arrays, known by their place
    node: Narrow,
    measures: Measures,
    k: int,
    ranked: bool,  # noqa: FBT001 - likewise
    low: Narrow,
    high: Narrow,
    widths: Floats,
    narrowing: Floats,
    values: Ints,
    counts: Ints,
) -> tuple[Whole, Whole]:
    """Return the widest feature that can be cut, and the last code on the left; no feature if none can.

    Features that were tried get the width -1.
    """
    while True:
        widest, equals = _widest(widths)
        if widest < 0:
            return _NONE
        _rank(node, measures, widest, ranked and equals > 1, low, high, widths, narrowing, values, counts)
        for _ in range(equals):
            f = _next(widths, narrowing, widest)
            widths[f] = -1.0
            code, below, tied = _median(node, f, low[f], high[f], values, counts)
            if min(below + tied, len(node) - below - tied) >= k:
                return f, code
            if min(below, len(node) - below) >= k:
                return f, code - 1


@compiled
def _widest(widths: Floats) -> tuple[float, int]:
    """Return the largest width, and how many features have it."""
    widest, equals = -1.0, 0
    for width in widths:
        if width > widest:
            widest, equals = width, 0
        equals += width == widest
    return widest, equals


@compiled
def _rank(  # noqa: PLR0917 - arrays, known by their place
    node: Narrow,
    measures: Measures,
    widest: float,
    ranked: bool,  # noqa: FBT001 - likewise
    low: Narrow,
    high: Narrow,
    widths: Floats,
    narrowing: Floats,
    values: Ints,
    counts: Ints,
) -> None:
    """Find by how much each of the widest features narrows the records of a node; 0 if it is not asked."""
    for f in range(len(widths)):
        narrowing[f] = 0.0
        if ranked and widths[f] == widest and widest > 0:
            narrowing[f] = _narrowing(node, measures, f, low[f], high[f], widest, values, counts)


@compiled
def _next(widths: Floats, narrowing: Floats, widest: float) -> int:
    """Return the feature of this width that narrows most, the first of several."""
    chosen = NO_FEATURE
    for f in range(len(widths)):
        if widths[f] == widest and (chosen == NO_FEATURE or narrowing[f] > narrowing[chosen]):
            chosen = f
    return chosen


@compiled
def _narrowing(  # noqa: PLR0917 - arrays, known by their place
    node: Narrow,
    measures: Measures,
    feature: Whole,
    low: Whole,
    high: Whole,
    width: float,
    values: Ints,
    counts: Ints,
) -> float:
    """Return by how much a node's records are narrower, on average, after a cut at the median."""
    positions, offsets, spans, mixable = measures
    code, below, tied = _median(node, feature, low, high, values, counts)
    left, right = below + tied, len(node) - below - tied
    if right == 0:
        return 0.0
    following = np.int64(high)
    for row in range(len(node)):
        value = np.int64(node[row, feature])
        if code < value < following:
            following = value
    under = _width(positions, offsets, spans, mixable, feature, np.int64(low), code)
    above = _width(positions, offsets, spans, mixable, feature, following, np.int64(high))
    return width - (left * under + right * above) / len(node)


@compiled
def _median(  # noqa: PLR0917 - arrays, known by their place
    node: Narrow, feature: Whole, low: Whole, high: Whole, values: Ints, counts: Ints
) -> tuple[Whole, Whole, Whole]:
    """Return the code of a node's median row, and how many rows have a lower one, and this one.

    The code is found digit by digit, from the highest: each pass counts the rows that have the digits so far.
    """
    rows, wanted = len(node), (len(node) - 1) // 2
    for row in range(rows):
        values[row] = np.int64(node[row, feature])
    base, below, shift, span = np.int64(low), 0, 0, np.int64(high) - np.int64(low)
    while span >> shift >= len(counts):
        shift += DIGIT
    while True:
        counts[: (span >> shift) + 1] = 0
        for row in range(rows):
            offset = values[row] - base
            if 0 <= offset <= span:
                counts[offset >> shift] += 1
        digit = 0
        while below + counts[digit] <= wanted:
            below += counts[digit]
            digit += 1
        base += np.int64(digit) << shift
        if shift == 0:
            return base, below, counts[digit]
        span = (np.int64(1) << shift) - 1
        shift -= DIGIT


@compiled
def _parted(  # noqa: PLR0917 - arrays, known by their place
    codes: Narrow, rows: Codes, start: int, stop: int, feature: Whole, code: Whole
) -> int:
    """Move the rows of a node with this code or a lower one before the others; return where these start."""
    left, right = start, stop - 1
    while True:
        while left <= right and codes[left, feature] <= code:
            left += 1
        while left <= right and codes[right, feature] > code:
            right -= 1
        if left > right:
            return left
        for f in range(codes.shape[1]):
            codes[left, f], codes[right, f] = codes[right, f], codes[left, f]
        rows[left], rows[right] = rows[right], rows[left]
