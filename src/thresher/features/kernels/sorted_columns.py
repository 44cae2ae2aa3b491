"""Columns as lists of their non-zero entries by ascending value, which sums over kernels need."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from thresher.data.blocks.base import Block, Scannable, StoredColumns
from thresher.features.kernels.column_kernel import take_ranges


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
    if not isinstance(block, Block):
        raise TypeError(f"alignments need columns that can be taken, which {type(block).__name__} does not have")
    for stored in block.stored_parts(lo, hi):
        yield stored.first, _sorted(stored, weighted)


def _sorted(stored: StoredColumns, weighted: np.ndarray) -> SortedColumns:
    rows, values, column = stored.rows.astype(np.int64), stored.values.astype(np.float64), stored.columns
    kept = (values != 0.0) & weighted[rows]
    lengths = np.diff(stored.indptr)
    if not kept.all():
        rows, values, column = rows[kept], values[kept], column[kept]
        lengths = np.bincount(column, minlength=lengths.size)
    if values.size and values.min() < values.max():
        order = _order(values, column, lengths)
        rows, values = rows[order], values[order]
    return SortedColumns(weighted.size, np.concatenate([[0], np.cumsum(lengths)]), rows, values)


def _order(values: np.ndarray, column: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The order by column, then by value, then by row."""
    if lengths.min() < lengths.max():  # else they are sorted as a table, which is faster
        return np.lexsort((values, column))
    within = np.argsort(values.reshape(lengths.size, -1), axis=1, kind="stable")
    return (within + lengths[0] * np.arange(lengths.size)[:, None]).ravel()
