"""The order that PyTorch's CPU kernels give equal elements: introsort and introselect of the C++ library, and quickselect.

These algorithms are not stable, and programs see the indices.  They are run here for rows with equal elements alone, on ranks (equal elements have
equal ranks), and on all rows at once: Hoare's partition exchanges the i-th element from the left that is not below the pivot with the i-th from the
right that is not above it, for as long as the two have not met, so that one step partitions any number of segments without a loop over elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

INSERTION = 16  # segments up to this length are left to a final insertion sort, which is stable
TIED = 4096  # rows with equal elements that have more elements than this keep their order: this is many times slower than NumPy's sort
_FEW = 3  # the length of segments that a selection leaves to an insertion sort


def dense_ranks(rows: Any, descending: bool) -> Any:
    """The rank of each element among the different elements of its row, equal for equals; NaN is larger than every number."""
    order = rows.argsort(axis=-1, kind="stable")
    ordered = np.take_along_axis(rows, order, -1)
    ranks = np.empty(rows.shape, np.int64)
    steps = np.zeros(rows.shape, np.int64)
    differs = ordered[..., 1:] != ordered[..., :-1]
    if rows.dtype.kind not in "iub":
        differs &= ordered[..., :-1] == ordered[..., :-1]  # behind a NaN is another one
    np.cumsum(differs, axis=-1, out=steps[..., 1:])
    np.put_along_axis(ranks, order, steps, -1)
    return -ranks if descending else ranks


class _Rows:
    """Rows of ranks as one array, and the permutation that has been applied to them."""

    def __init__(self, ranks: Any) -> None:
        self.count, self.length = ranks.shape
        self.keys = ranks.flatten()
        self.places = np.tile(np.arange(self.length), self.count)

    def swap(self, a: Any, b: Any) -> None:
        """Exchange elements, pair by pair."""
        for array in (self.keys, self.places):
            array[a], array[b] = array[b], array[a]

    def indices(self) -> Any:
        """Where each element of each row was."""
        return self.places.reshape(self.count, self.length)

    def sort_stably(self, first: int = 0, last: int | None = None) -> None:
        """Sort a range of every row by insertion, that is, stably."""
        keys, places = (each.reshape(self.count, self.length)[:, first:last] for each in (self.keys, self.places))
        order = keys.argsort(axis=1, kind="stable")
        keys[...], places[...] = np.take_along_axis(keys, order, 1), np.take_along_axis(places, order, 1)

    def exchange(self, left: Any, left_end: Any, right: Any, right_end: Any, pivots: Any, meeting: bool) -> tuple[Any, Any]:
        """Hoare's partition of segments: where the scans from the left and from the right end.

        The scan from the left stops at positions ``left`` to ``left_end``, that from the right at ``right_end`` down to ``right``.  With ``meeting`` both
        go on behind an element at which they meet.
        """
        rising, rising_of = _positions(left, left_end)
        chosen = ~(self.keys[rising] < pivots[rising_of])
        rising, rising_of = rising[chosen], rising_of[chosen]
        falling, falling_of = _positions(-right_end, -right)
        falling = -falling
        chosen = ~(pivots[falling_of] < self.keys[falling])
        falling, falling_of = falling[chosen], falling_of[chosen]
        ups, downs = (_Stops(each, np.bincount(of, minlength=len(pivots))) for each, of in ((rising, rising_of), (falling, falling_of)))
        partners = downs.at(np.arange(len(rising)) - ups.starts[rising_of], -1, rising_of)
        paired = partners >= rising if meeting else partners > rising
        self.swap(rising[paired], partners[paired])
        count = np.bincount(rising_of[paired], minlength=len(pivots))
        # Exchanged elements stop the scans too: the last one, or the last but one if the scans met at the last.
        far = np.iinfo(np.int64).max
        last = count - 1 - (ups.at(count - 1, -1) == downs.at(count - 1, far))
        return np.minimum(ups.at(count, far), downs.at(last, far)), np.maximum(downs.at(count, -1), ups.at(last, -1))

    def partition(self, first: Any, last: Any) -> Any:
        """Partition segments around the median of three elements of each; where the upper parts begin."""
        keys, middle = self.keys, first + (last - first) // 2
        a, b, c = keys[first + 1], keys[middle], keys[last - 1]
        low = np.where(b < c, middle, np.where(a < c, last - 1, first + 1))
        high = np.where(a < c, first + 1, np.where(b < c, last - 1, middle))
        self.swap(first, np.where(a < b, low, high))
        return self.exchange(first + 1, last - 1, first + 1, last - 1, keys[first], False)[0]

    def select(self, kth: int) -> None:
        """Put the element of a rank into its place in every row, smaller ones before it (``std::nth_element``)."""
        first = np.arange(self.count) * self.length
        last, nth = first + self.length, first + kth
        for _ in range(2 * (self.length.bit_length() - 1)):
            active = last - first > _FEW
            if not active.any():
                break
            cut = self.partition(first[active], last[active])
            below = cut <= nth[active]
            first[active] = np.where(below, cut, first[active])
            last[active] = np.where(below, last[active], cut)
        for begin, end, at in zip(first.tolist(), last.tolist(), nth.tolist()):
            if end - begin > _FEW:  # too many unbalanced partitions
                self.select_by_heap(begin, at + 1, end)
                self.swap(np.array([begin]), np.array([at]))
            else:
                order = self.keys[begin:end].argsort(kind="stable")
                self.keys[begin:end], self.places[begin:end] = self.keys[begin:end][order], self.places[begin:end][order]

    def sort(self, length: int) -> None:
        """Sort the first elements of every row (``std::sort``)."""
        self.sort_roughly(length)
        self.sort_stably(0, length)

    def sort_roughly(self, length: int) -> None:
        """Partition the first elements of every row into short segments that are in order."""
        first = np.arange(self.count) * self.length
        last = first + length
        for _ in range(2 * (length.bit_length() - 1)):
            long = last - first > INSERTION
            if not long.any():
                break
            first, last = first[long], last[long]
            cut = np.minimum(self.partition(first, last), last)
            first, last = np.concatenate((first, cut)), np.concatenate((cut, last))
        for begin, end in zip(first.tolist(), last.tolist()):
            if end - begin > INSERTION:
                self.sort_by_heap(begin, self.select_by_heap(begin, end, end))

    def select_by_heap(self, first: int, middle: int, last: int) -> Any:
        """Bring the smallest elements of a range to its front, as a heap, which is returned as pairs of rank and place."""
        keys, places = self.keys[first:last], self.places[first:last]
        size = middle - first
        heap = list(zip(keys[:size].tolist(), places[:size].tolist()))
        for parent in range((size - 2) // 2, -1, -1):
            _sift(heap, parent, size, heap[parent])
        at = size
        while at < len(keys):
            smaller = keys[at:] < heap[0][0]
            step = int(smaller.argmax())
            if not smaller[step]:
                break
            at += step
            entering = (int(keys[at]), int(places[at]))
            keys[at], places[at] = heap[0]
            _sift(heap, 0, size, entering)
            at += 1
        keys[:size], places[:size] = zip(*heap)
        return heap

    def sort_by_heap(self, first: int, heap: list[tuple[int, int]]) -> None:
        """Sort a heap that begins at a position (``std::sort_heap``)."""
        for last in range(len(heap) - 1, 0, -1):
            value, heap[last] = heap[last], heap[0]
            _sift(heap, 0, last, value)
        self.keys[first : first + len(heap)], self.places[first : first + len(heap)] = zip(*heap)


class _Stops:
    """The positions at which a scan of each segment stops, in its order, segment by segment."""

    def __init__(self, positions: Any, counts: Any) -> None:
        self.positions, self.counts, self.starts = positions, counts, np.cumsum(counts) - counts

    def at(self, turn: Any, default: int, segment: Any = slice(None)) -> Any:
        """The stop of a turn of each segment, or a default where there is none."""
        inside = (turn >= 0) & (turn < self.counts[segment])
        result = np.full(len(turn), default)
        result[inside] = self.positions[(self.starts[segment] + turn)[inside]]
        return result


def _positions(first: Any, last: Any) -> tuple[Any, Any]:
    """All positions of segments, ends included, and the segment of each."""
    lengths = last - first + 1
    segment = np.repeat(np.arange(len(first)), lengths)
    return np.arange(len(segment)) + (first - (np.cumsum(lengths) - lengths))[segment], segment


def _sift(heap: list[tuple[int, int]], hole: int, size: int, value: tuple[int, int]) -> None:
    """Fill a hole of a heap: larger children move up to the bottom, from where the value rises."""
    top, child = hole, hole
    while child < (size - 1) // 2:
        child = 2 * (child + 1)
        if heap[child][0] < heap[child - 1][0]:
            child -= 1
        heap[hole] = heap[child]
        hole = child
    if size % 2 == 0 and child == (size - 2) // 2:
        child = 2 * (child + 1)
        heap[hole] = heap[child - 1]
        hole = child - 1
    while hole > top and heap[parent := (hole - 1) // 2][0] < value[0]:
        heap[hole] = heap[parent]
        hole = parent
    heap[hole] = value


def sorting_order(elements: Any, descending: bool) -> Any:
    """The indices that ``std::sort`` gives rows."""
    rows = _Rows(dense_ranks(elements, descending))
    rows.sort(rows.length)
    return rows.indices()


def topk_order(elements: Any, k: int, largest: bool) -> Any:
    """The indices of the first ``k`` elements: by ``std::partial_sort`` for few of many, else by ``std::nth_element`` and ``std::sort``."""
    rows = _Rows(dense_ranks(elements, largest))
    if k * 64 <= rows.length:
        for first in range(0, rows.count * rows.length, rows.length):
            rows.sort_by_heap(first, rows.select_by_heap(first, first + k, first + rows.length))
    else:
        rows.select(k - 1)
        rows.sort(k - 1)
    return rows.indices()[:, :k]


def kth_place(elements: Any, kth: int) -> Any:
    """Where quickselect finds the element of a rank (counted from 0) of each row."""
    rows = _Rows(dense_ranks(elements, False))
    keys = rows.keys
    nth = np.arange(rows.count) * rows.length + kth
    first, last = nth - kth, nth - kth + rows.length - 1
    while len(active := np.flatnonzero(last > first)):
        left, right, wanted = first[active], last[active], nth[active]
        two = right == left + 1
        out_of_order = two & (keys[left] > keys[right])
        rows.swap(left[out_of_order], right[out_of_order])
        first[active[two]] = last[active[two]]
        active, left, right, wanted = (each[~two] for each in (active, left, right, wanted))
        if not len(active):
            break
        rows.swap((left + right) >> 1, left + 1)
        for low, high in ((left + 1, right), (left, right), (left + 1, left)):
            wrong = keys[low] > keys[high]
            rows.swap(low[wrong], high[wrong])
        up, down = rows.exchange(left + 2, right, left + 1, right - 1, keys[left], True)
        rows.swap(left, down)
        first[active] = np.where(down <= wanted, up, left)
        last[active] = np.where(down >= wanted, down - 1, right)
    return rows.indices()[:, kth]


def mode_order(rows: Any) -> Any:
    """The indices that ``std::sort`` gives rows whose elements are compared as they are: NaN is neither below nor above a number."""
    missing = (rows != rows).any(-1)
    order = rows.argsort(axis=-1, kind="stable")
    if rows.shape[-1] > INSERTION:
        ordered = np.take_along_axis(rows, order, -1)
        tied = (ordered[..., 1:] == ordered[..., :-1]).any(-1) & ~missing
        if 0 < tied.sum() * rows.shape[-1] <= TIED:
            order[tied] = sorting_order(rows[tied], False)
    if missing.any():
        rough = _Rows(rows[missing])
        rough.sort_roughly(rough.length)
        order[missing] = [_inserted(*row) for row in zip(rough.keys.reshape(-1, rough.length).tolist(), rough.indices().tolist())]
    return order


def _inserted(keys: list[float], places: list[int]) -> list[int]:
    """The places of elements that are sorted by insertion, from behind, up to one that is not above; a new smallest of the first 16 goes to the front."""
    for at in range(1, len(keys)):
        key, place, to = keys[at], places[at], at
        if at < INSERTION and key < keys[0]:
            to = 0
        while to and key < keys[to - 1]:
            to -= 1
        del keys[at], places[at]
        keys.insert(to, key)
        places.insert(to, place)
    return places
