"""Block: some columns, in memory. All that a solver ever sees of the data."""

from abc import ABC, abstractmethod

import numpy as np

from thresher.data.workers import SERIAL


def readonly(array):
    """A plain read-only view: memory maps and writable arrays then share one compiled loop."""
    view = np.asarray(array).view(np.ndarray)
    view.flags.writeable = False
    return view


def as_rows(V):
    """Vectors of length n, given as (n,) or (n, k), as the rows of a contiguous float64 array."""
    V = np.asarray(V, dtype=np.float64)
    return np.ascontiguousarray(V[None] if V.ndim == 1 else V.T)


def like_given(rows, V):
    """The result ``rows`` in the form in which the vectors were given: (m,) or (m, k)."""
    return rows[0] if np.ndim(V) == 1 else rows.T


class Block(ABC):
    """The columns of an n x m matrix X.

    A storage defines ``correlate_into``, ``combine_into``, ``take`` and ``joined``; how the work is cut among threads
    is decided here and cannot change a bit of the result.
    """

    shape: tuple[int, int]
    dtype: np.dtype
    nbytes: int
    workers = SERIAL
    row_entries = None  # stored numbers in each row, where rows lie apart
    column_entries = None  # stored numbers in each column, where columns lie apart

    @property
    @abstractmethod
    def entries(self):
        """Number of stored numbers: what a product costs."""

    @abstractmethod
    def correlate_into(self, V, lo, hi, out):
        """out[r, j - lo] = sum_i X[i, j] V[r, i] for columns lo <= j < hi. V: (k, n), out: (k, hi - lo), zeroed."""

    @abstractmethod
    def combine_into(self, W, lo, hi, out):
        """out[r, i - lo] += sum_j X[i, j] W[r, j] for rows lo <= i < hi. W: (k, m), out: (k, hi - lo)."""

    @abstractmethod
    def take(self, ids):
        """A block of the columns ``ids``, in that order, copied."""

    @abstractmethod
    def take_rows(self, ids):
        """A block of the rows ``ids``, sorted and each once, copied."""

    def part(self, rows, columns):
        """A block of some rows and columns, both sorted, each once, copied."""
        return self.take(columns).take_rows(rows)

    def combine_some(self, ids, w):
        """X[:, ids] w for few columns."""
        return self.take(ids).combine(w)

    def turned(self):
        """The same numbers in the other order, copied, where the storage has one in which rows (columns) lie apart."""
        return self

    @abstractmethod
    def column_squares(self, weights):
        """result[j] = sum_i weights[i] X[i, j]^2, in float64."""

    @abstractmethod
    def row_squares(self, weights):
        """result[i] = sum_j weights[j] X[i, j]^2, in float64."""

    @abstractmethod
    def joined(self, other):
        """One block with the columns of both; ``other`` is of the same kind."""

    def column_ranges(self, per_worker=1):
        """Ranges of columns to share among threads; a storage may know a better cut."""
        return self.workers.cut(self.shape[1], per_worker=per_worker, grain=16)

    def correlate(self, V, work=None):
        """X'V: result[j] = sum_i X[i, j] V[i]; V is (n,) or (n, k), the result (m,) or (m, k).

        ``work`` tells how many entries will be looked at, where that is known to be fewer than all.
        """
        rows = as_rows(V)
        out = np.zeros((rows.shape[0], self.shape[1]))
        entries = self.entries if work is None else work
        few = work is not None and not self.workers.pays(work)
        ranges = [(0, self.shape[1])] if few else self.column_ranges()
        self.workers.map(lambda lo, hi: self.correlate_into(rows, lo, hi, out[:, lo:hi]), ranges, entries=entries)
        return like_given(out, V)

    def combine(self, W):
        """XW: result[i] = sum_j X[i, j] W[j]; W is (m,) or (m, k), the result (n,) or (n, k)."""
        rows = as_rows(W)
        out = np.zeros((rows.shape[0], self.shape[0]))
        self.workers.map(
            lambda lo, hi: self.combine_into(rows, lo, hi, out[:, lo:hi]),
            self.workers.cut(self.shape[0], grain=64),
            entries=self.entries,
        )
        return like_given(out, W)

    @abstractmethod
    def toarray(self):
        """The block as a dense float64 array in Fortran order, copied: for small blocks."""
