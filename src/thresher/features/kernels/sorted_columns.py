"""Columns as lists of their non-zero entries by ascending value, which sums over kernels need."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from thresher.data.blocks.base import DENSE_COLUMNS, Block, Scannable
from thresher.data.blocks.compressed import CscBlock, CsrBlock, ranges_between
from thresher.features.kernels.column_kernel import take_ranges

ENTRIES_AT_ONCE = 1 << 20  # entries of sparse columns that are sorted at a time


@dataclass(frozen=True, eq=False)
class SortedColumns:
    """Non-zero entries of some columns: each by ascending value, equal values by row."""

    n_rows: int
    indptr: np.ndarray
    rows: np.ndarray
    values: np.ndarray

    def __len__(self) -> int:
        return self.indptr.size - 1

    def column(self, j: int) -> tuple[np.ndarray, np.ndarray]:
        """(rows, values) of column ``j``."""
        part = slice(int(self.indptr[j]), int(self.indptr[j + 1]))
        return self.rows[part], self.values[part]

    def take(self, ids: np.ndarray) -> "SortedColumns":
        """Some of the columns."""
        indptr, places = take_ranges(self.indptr, ids)
        return SortedColumns(self.n_rows, indptr, self.rows[places], self.values[places])

    def take_rows(self, rows: np.ndarray) -> "SortedColumns":
        """Some of the rows, in ascending order, which are numbered anew."""
        place = np.full(self.n_rows, -1, dtype=np.int64)
        place[rows] = np.arange(rows.size)
        kept = place[self.rows] >= 0
        indptr = np.concatenate([[0], np.cumsum(kept)])[self.indptr]
        return SortedColumns(rows.size, indptr, place[self.rows[kept]], self.values[kept])

    def array(self, ids: Sequence[int]) -> np.ndarray:
        """Some of the columns as an array, (n_rows, columns)."""
        out = np.zeros((self.n_rows, len(ids)))
        for place, j in enumerate(ids):
            rows, values = self.column(j)
            out[rows, place] = values
        return out


def joined(n_rows: int, parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> SortedColumns:
    """Columns given as (rows, values), side by side."""
    indptr = np.cumsum([0, *(rows.size for rows, _ in parts)])
    rows = np.concatenate([*(rows for rows, _ in parts), np.zeros(0, dtype=np.int64)])
    values = np.concatenate([*(values for _, values in parts), np.zeros(0)])
    return SortedColumns(n_rows, indptr, rows, values)


def columns_of(block: Block) -> SortedColumns:
    """All columns of a block, copied."""
    everywhere = np.ones(block.shape[0], dtype=bool)
    parts = [part for _, part in sorted_columns(block, 0, block.shape[1], everywhere)]
    entries = joined(block.shape[0], [(part.rows, part.values) for part in parts])
    indptr = np.cumsum(np.concatenate([[0], *(np.diff(part.indptr) for part in parts)]))
    return SortedColumns(block.shape[0], indptr, entries.rows, entries.values)


def sorted_columns(block: Scannable, lo: int, hi: int, weighted: np.ndarray) -> Iterator[tuple[int, SortedColumns]]:
    """(first column, some columns) for all lo <= j < hi of a block, without the rows that are not ``weighted``."""
    if isinstance(block, CscBlock):
        cuts = np.arange(block.indptr[lo] + ENTRIES_AT_ONCE, block.indptr[hi], ENTRIES_AT_ONCE)
        for first, last in ranges_between(np.searchsorted(block.indptr, cuts) - lo, hi - lo):
            yield lo + first, _of_csc(block, lo + first, lo + last, weighted)
    elif isinstance(block, CsrBlock):
        share = (hi - lo) / max(1, block.shape[1])
        step = max(1, -(-(hi - lo) * ENTRIES_AT_ONCE // max(1, int(share * block.entries))))
        begins = _places_in_rows(block, lo)
        for first in range(lo, hi, step):
            last = min(first + step, hi)
            ends = _places_in_rows(block, last)
            yield first, _of_csr(block, np.stack([begins, ends]), first, last, weighted)
            begins = ends
    elif isinstance(block, Block):
        for first in range(lo, hi, DENSE_COLUMNS):
            yield first, _of_dense(block, first, min(first + DENSE_COLUMNS, hi), weighted)
    else:
        raise TypeError(f"alignments need columns that can be taken, which {type(block).__name__} does not have")


def _of_dense(block: Block, lo: int, hi: int, weighted: np.ndarray) -> SortedColumns:
    columns = block.take(np.arange(lo, hi)).toarray().T
    order = np.argsort(columns, axis=1, kind="stable")
    values = np.take_along_axis(columns, order, axis=1)
    kept = (values != 0.0) & weighted[order]
    indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    return SortedColumns(weighted.size, indptr, order[kept], values[kept])


def _of_csc(block: CscBlock, lo: int, hi: int, weighted: np.ndarray) -> SortedColumns:
    part = slice(int(block.indptr[lo]), int(block.indptr[hi]))
    rows, values = block.indices[part].astype(np.int64), block.values[part].astype(np.float64)
    column = np.repeat(np.arange(hi - lo), np.diff(block.indptr[lo : hi + 1]))
    return _sorted(rows, values, column, hi - lo, weighted)


def _places_in_rows(block: CsrBlock, column: int) -> np.ndarray:
    """Where the entries of ``column`` and of those after it begin in each row, by bisection in all rows at once.

    Taking columns would read all indices for every slice.
    """
    low, high = block.indptr[:-1].astype(np.int64), block.indptr[1:].astype(np.int64)
    while (open_rows := np.flatnonzero(low < high)).size:
        middle = (low[open_rows] + high[open_rows]) // 2
        before = block.indices[middle] < column
        low[open_rows[before]] = middle[before] + 1
        high[open_rows[~before]] = middle[~before]
    return low


def _of_csr(block: CsrBlock, bounds: np.ndarray, lo: int, hi: int, weighted: np.ndarray) -> SortedColumns:
    """Columns lo <= j < hi, whose entries lie between ``bounds``, (2, rows), in each row."""
    begins, ends = bounds
    counts = np.where(weighted, ends - begins, 0)
    rows = np.repeat(np.arange(counts.size), counts)
    places = np.repeat(begins - (np.cumsum(counts) - counts), counts) + np.arange(rows.size)
    values, column = block.values[places].astype(np.float64), block.indices[places].astype(np.int64) - lo
    return _sorted(rows, values, column, hi - lo, weighted)


def _sorted(
    rows: np.ndarray, values: np.ndarray, column: np.ndarray, n_columns: int, weighted: np.ndarray
) -> SortedColumns:
    """Entries by column, then value, then row, without zeros and without rows that are not ``weighted``."""
    kept = (values != 0.0) & weighted[rows]
    if not kept.all():
        rows, values, column = rows[kept], values[kept], column[kept]
    order = np.lexsort((values, column))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(column, minlength=n_columns))])
    return SortedColumns(weighted.size, indptr, rows[order], values[order])
