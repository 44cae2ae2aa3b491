"""Columns in memory for dense linear algebra: a plain array while that is small, else a Block used in slices."""

import numpy as np

from thresher.data.block import Block
from thresher.data.workers import SERIAL

DENSE = 1 << 26  # entries up to which a block may be copied into a plain float64 array
AT_ONCE = 64  # columns of a larger block that are, when inner products are formed
# Products are cut for the threads at places that do not depend on how many there are: nor does the result.
ROWS, COLUMNS = 4096, 128


class Columns:
    """n x m numbers with the products that elimination needs; ``take`` keeps some of the columns."""

    def __init__(self, block):
        self.shape, self.workers = block.shape, getattr(block, "workers", SERIAL)
        small = block.shape[0] * block.shape[1] <= DENSE
        self.X = np.asfortranarray(block.toarray()) if small and isinstance(block, Block) else block

    @property
    def is_array(self):
        """Whether the columns are one plain array."""
        return isinstance(self.X, np.ndarray)

    def combine(self, W):
        """X W."""
        if not self.is_array:
            return self.X.combine(W)
        out = np.empty((self.shape[0], *W.shape[1:]))
        self._map(lambda lo, hi: np.matmul(self.X[lo:hi], W, out=out[lo:hi]), self.shape[0], ROWS)
        return out

    def correlate(self, V):
        """X'V."""
        if not self.is_array:
            return self.X.correlate(V)
        out = np.empty((self.shape[1], *V.shape[1:]))
        self._map(lambda lo, hi: np.matmul(self.X[:, lo:hi].T, V, out=out[lo:hi]), self.shape[1], COLUMNS)
        return out

    def gram(self, d):
        """X' diag(d) X; rows where d is zero cost nothing in an array."""
        m = self.shape[1]
        out = np.empty((m, m))
        if self.is_array:
            rows = np.flatnonzero(d)
            A = self.X if rows.size == d.size else self.X[rows]
            B = A * d[rows, None]

            def below(lo, hi):
                """The block column lo..hi from the diagonal down, and the same to its right."""
                out[lo:, lo:hi] = B[:, lo:].T @ A[:, lo:hi]
                out[lo:hi, hi:] = out[hi:, lo:hi].T

            self._map(below, m, COLUMNS)
            return out
        for lo in range(0, m, AT_ONCE):
            some = np.arange(lo, min(lo + AT_ONCE, m))
            out[:, some] = self.X.correlate(d[:, None] * self.X.take(some).toarray())
        return out

    def _map(self, function, length, step):
        """``function(lo, hi)`` of all pieces, on threads where that pays."""
        tasks = [(lo, min(lo + step, length)) for lo in range(0, length, step)]
        self.workers.map(function, tasks, entries=self.shape[0] * self.shape[1])

    def take(self, keep):
        """Some of the columns, copied."""
        if not self.is_array:
            return Columns(self.X.take(keep))
        fewer = object.__new__(Columns)
        fewer.X, fewer.workers = np.asfortranarray(self.X[:, keep]), self.workers
        fewer.shape = fewer.X.shape
        return fewer
