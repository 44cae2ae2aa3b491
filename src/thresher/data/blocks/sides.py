"""Sides: X stored both by rows and by columns, for solvers that read only some rows or some columns."""

from functools import cached_property

import numpy as np

from thresher.data.blocks.base import Block


class Sides:
    """Two blocks of the same values: ``rows`` skips rows with weight zero, ``columns`` skips such columns.

    If X is stored only once (dense, or too large to be copied), they are the same block, and more is read. ``passes``
    counts what was read, here and in everything that ``shrunk`` returned.
    """

    def __init__(self, rows: Block, columns: Block, meter: list[float] | None = None):
        self.rows, self.columns = rows, columns
        self.shape, self.entries = rows.shape, rows.entries
        self._meter = [0.0, max(1, self.entries)] if meter is None else meter
        self._in_rows = _entries(rows.row_entries, self.shape[0], self.entries)
        self._in_columns = _entries(columns.column_entries, self.shape[1], self.entries)

    @property
    def passes(self) -> float:
        """Stored values read so far, in full passes over X."""
        return self._meter[0] / self._meter[1]

    def entries_of(self, rows: np.ndarray | None = None, columns: np.ndarray | None = None) -> float:
        """Number of values stored in some rows, or in some columns."""
        return float(self._in_rows[rows].sum() if columns is None else self._in_columns[columns].sum())

    def correlate(self, v: np.ndarray) -> np.ndarray:
        """X'v, or X'V in one pass; rows with v = 0 cost nothing."""
        work = self.entries_of(rows=np.any(np.atleast_2d(v.T), axis=0, keepdims=True)[0])
        self._meter[0] += work
        return self.rows.correlate(v, work)

    def combine(self, ids: np.ndarray, w: np.ndarray) -> np.ndarray:
        """X[:, ids] w."""
        self._meter[0] += self.entries_of(columns=ids)
        return self.columns.combine_some(ids, w)

    def part(self, rows: np.ndarray, columns: np.ndarray) -> Block:
        """A block of the given rows and columns, both sorted."""
        by_rows, by_columns = self.entries_of(rows=rows), self.entries_of(columns=columns)
        self._meter[0] += min(by_rows, by_columns)
        return (self.rows if by_rows < by_columns else self.columns).part(rows, columns)

    def dense(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The given rows (sorted) and columns, in their order, as a new float64 array."""
        order = np.argsort(columns)
        X = np.empty((rows.size, columns.size))
        X[:, order] = self.part(rows, columns[order]).toarray()
        return X

    def shrunk(self, rows: np.ndarray, columns: np.ndarray) -> "Sides":
        """The given rows and columns, both sorted, copied."""
        part = self.part(rows, columns)
        return Sides(part, part, self._meter)

    def column_squares(self, weights: np.ndarray) -> np.ndarray:
        """sum_i weights[i] X[i, j]^2."""
        self._meter[0] += self.entries_of(rows=weights != 0.0)
        return self.rows.column_squares(weights)

    @cached_property
    def all_row_squares(self) -> np.ndarray:
        """sum_j X[i, j]^2 over all columns, read once."""
        return self.row_squares()

    def row_squares(self, columns: np.ndarray | None = None) -> np.ndarray:
        """sum_j X[i, j]^2 over all columns, or over those in a mask."""
        chosen = np.ones(self.shape[1]) if columns is None else columns.astype(np.float64)
        self._meter[0] += self.entries_of(columns=chosen != 0.0)
        return self.columns.row_squares(chosen)


def _entries(counts: np.ndarray | None, length: int, total: int) -> np.ndarray:
    return np.full(length, total / max(1, length)) if counts is None else counts
