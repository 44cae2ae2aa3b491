"""Sides: X by rows and by columns at once, for work that needs only some rows or only some columns of it."""

import numpy as np


class Sides:
    """Two blocks of the same numbers: ``rows`` skips rows without weight, ``columns`` columns without.

    Where X has one storage for both (dense, or too large to be copied) they are the same block, and more is read.
    ``passes`` tells how much was looked at, here and in what was shrunk out of here.
    """

    def __init__(self, rows, columns, meter=None):
        self.rows, self.columns = rows, columns
        self.shape, self.entries = rows.shape, rows.entries
        self._meter = [0.0, max(1, self.entries)] if meter is None else meter
        self._in_rows = _entries(rows.row_entries, self.shape[0], self.entries)
        self._in_columns = _entries(columns.column_entries, self.shape[1], self.entries)

    @property
    def passes(self):
        """Stored numbers looked at so far, in full passes over X."""
        return self._meter[0] / self._meter[1]

    def entries_of(self, rows=None, columns=None):
        """How many numbers are stored in some rows, or in some columns."""
        return float(self._in_rows[rows].sum() if columns is None else self._in_columns[columns].sum())

    def correlate(self, v):
        """X'v; rows with v = 0 cost nothing."""
        work = self.entries_of(rows=v != 0.0)
        self._meter[0] += work
        return self.rows.correlate(v, work)

    def combine(self, ids, w):
        """X[:, ids] w."""
        self._meter[0] += self.entries_of(columns=ids)
        return self.columns.combine_some(ids, w)

    def part(self, rows, columns):
        """A block of the given rows and columns, both sorted."""
        by_rows, by_columns = self.entries_of(rows=rows), self.entries_of(columns=columns)
        self._meter[0] += min(by_rows, by_columns)
        return (self.rows if by_rows < by_columns else self.columns).part(rows, columns)

    def shrunk(self, rows, columns):
        """The given rows and columns, both sorted, copied."""
        part = self.part(rows, columns)
        return Sides(part, part, self._meter)

    def column_squares(self, weights):
        """sum_i weights[i] X[i, j]^2."""
        self._meter[0] += self.entries_of(rows=weights != 0.0)
        return self.rows.column_squares(weights)

    def row_squares(self, columns=None):
        """sum_j X[i, j]^2 over all columns, or over those in a mask."""
        chosen = np.ones(self.shape[1]) if columns is None else columns.astype(np.float64)
        self._meter[0] += self.entries_of(columns=chosen != 0.0)
        return self.columns.row_squares(chosen)


def _entries(counts, length, total):
    return np.full(length, total / max(1, length)) if counts is None else counts
