"""The exhaustive search for the best products of sparse columns: every pair that has a row in common is scored.

Columns are renumbered by frequency, the most frequent first. A column meets, in each of its rows, the more frequent
ones, so every pair is counted once and most sums are those of frequent columns, which stay in the cache. Rows where
the vector is zero are skipped. Sums run over the rows in ascending order, as thresher's do: scores are equal to its.
"""

import itertools
import threading
from typing import NamedTuple

import numba
import numpy as np
from scipy import sparse

from thresher.data.scan.reducers import best_first

CHUNKS = 64  # of columns for each thread: those that end early take the next one


class Ordered(NamedTuple):
    """X by rows and by columns, both by rank. ``place``: where an entry by columns is among those by rows."""

    columns: np.ndarray  # of X, by rank
    row_ptr: np.ndarray
    ranks: np.ndarray
    row_values: np.ndarray
    ptr: np.ndarray
    rows: np.ndarray
    place: np.ndarray
    work: np.ndarray  # products of entries before each column


def ordered(X):
    """The Ordered of a CSR matrix."""
    columns = np.argsort(-np.bincount(X.indices, minlength=X.shape[1]), kind="stable")
    rank = np.empty(X.shape[1], dtype=np.int32)
    rank[columns] = np.arange(X.shape[1])
    by_rows = sparse.csr_array((X.data, rank[X.indices], X.indptr.astype(np.int32)), shape=X.shape)
    by_rows.sort_indices()
    places = (np.arange(X.nnz, dtype=np.int32), by_rows.indices, by_rows.indptr)
    by_columns = sparse.csr_array(places, shape=X.shape).tocsc()
    place = by_columns.data
    before = np.concatenate([[0], np.cumsum(place - by_rows.indptr[by_columns.indices])])
    return Ordered(
        columns, by_rows.indptr, by_rows.indices, by_rows.data, by_columns.indptr, by_columns.indices, place,
        before[by_columns.indptr],
    )  # fmt: skip


@numba.njit(nogil=True, cache=True)
def _worse(squares, numbers, a, b):
    """Whether place a of the heap is worse than b: a smaller score or, of equal ones, a larger number."""
    return squares[a] < squares[b] or (squares[a] == squares[b] and numbers[a] > numbers[b])


@numba.njit(nogil=True, cache=True)
def _swap(squares, numbers, a, b):
    squares[a], squares[b] = squares[b], squares[a]
    numbers[a], numbers[b] = numbers[b], numbers[a]


@numba.njit(nogil=True, cache=True)
def _keep(square, number, squares, numbers, count):
    """Put a pair into the heap, the worst of which is at its top, if it is among the best; how many there are now."""
    if count < squares.size:
        at, count = count, count + 1
        squares[at], numbers[at] = square, number
        while at > 0 and _worse(squares, numbers, at, (at - 1) // 2):
            _swap(squares, numbers, at, (at - 1) // 2)
            at = (at - 1) // 2
        return count
    if square < squares[0] or (square == squares[0] and number > numbers[0]):
        return count
    squares[0], numbers[0], at = square, number, 0
    while 2 * at + 1 < count:
        below = 2 * at + 1
        if below + 1 < count and _worse(squares, numbers, below + 1, below):
            below += 1
        if not _worse(squares, numbers, below, at):
            break
        _swap(squares, numbers, below, at)
        at = below
    return count


@numba.njit(nogil=True, cache=True)
def _add(row_ptr, ranks, row_values, ptr, rows, place, v, t, sums):
    """Add to ``sums`` the pairs of column t with all more frequent ones."""
    for e in range(ptr[t], ptr[t + 1]):
        i, own = np.uintp(rows[e]), place[e]
        a, z = v[i], np.float64(row_values[own])
        if a != 0.0:
            for u in range(row_ptr[i], own):
                sums[np.uintp(ranks[u])] += a * (z * np.float64(row_values[u]))


@numba.njit(nogil=True, cache=True)
def _add_noting(row_ptr, ranks, row_values, ptr, rows, place, v, t, sums, touched):
    """As ``_add``, and puts the sums that were zero into ``touched``; returns how many."""
    met = 0
    for e in range(ptr[t], ptr[t + 1]):
        i, own = np.uintp(rows[e]), place[e]
        a, z = v[i], np.float64(row_values[own])
        if a != 0.0:
            for u in range(row_ptr[i], own):
                s = np.uintp(ranks[u])
                old = sums[s]
                touched[met] = ranks[u]
                met += old == 0.0
                sums[s] = old + a * (z * np.float64(row_values[u]))
    return met


@numba.njit(nogil=True, cache=True)
def _search(
    columns, row_ptr, ranks, row_values, ptr, rows, place, work, v, factor, first, last, sums, touched, squares,
    numbers, count,
):  # fmt: skip
    """The pairs of columns first <= t < last with more frequent ones; ``sums`` are zero, and zero again at the end."""
    bar = squares[0] if count == squares.size else 0.0
    for t in range(first, last):
        few = work[t + 1] - work[t] < t  # else all sums are looked at, without a list of those touched
        met = t
        if few:
            met = _add_noting(row_ptr, ranks, row_values, ptr, rows, place, v, t, sums, touched)
        else:
            _add(row_ptr, ranks, row_values, ptr, rows, place, v, t, sums)
        for k in range(met):
            s = np.uintp(touched[k]) if few else np.uintp(k)
            x = sums[s] * factor
            if x != 0.0 and x * x >= bar:
                a, b = min(columns[s], columns[t]) + 1, max(columns[s], columns[t]) + 1
                count = _keep(x * x, b * (b + 1) // 2 + a, squares, numbers, count)
                bar = squares[0] if count == squares.size else 0.0
            sums[s] = 0.0
    return count


def search(X, v, factor, size, threads):
    """(numbers, squared scores) of the ``size`` best products of the columns of an Ordered, best first."""
    p, kept = X.columns.size, []
    cuts = np.unique(np.searchsorted(X.work, np.linspace(0, X.work[-1], CHUNKS * threads + 1)[1:-1]))
    chunks = itertools.pairwise([0, *cuts.tolist(), p])  # the frequent ones first: they raise the bar
    lock = threading.Lock()

    def run():
        sums, touched = np.zeros(p), np.empty(p, dtype=np.int32)
        squares, numbers, count = np.empty(size), np.empty(size, dtype=np.int64), 0
        while True:
            with lock:
                chunk = next(chunks, None)
            if chunk is None:
                break
            count = _search(*X, v, factor, *chunk, sums, touched, squares, numbers, count)
        kept.append((numbers[:count], squares[:count]))

    others = [threading.Thread(target=run) for _ in range(threads - 1)]
    for one in others:
        one.start()
    run()
    for one in others:
        one.join()
    numbers, squares = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    order = best_first(squares, numbers)[:size]
    return numbers[order], squares[order]
