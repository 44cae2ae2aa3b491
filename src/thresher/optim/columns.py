"""Columns in memory for dense linear algebra: a plain array while that is small, else a Block used in slices."""

import numpy as np

from thresher.data.block import Block

DENSE = 1 << 26  # entries up to which a block may be copied into a plain float64 array
AT_ONCE = 64  # columns of a larger block that are, when inner products are formed


class Columns:
    """n x m numbers with the products that elimination needs; ``take`` keeps some of the columns."""

    def __init__(self, block):
        self.shape = block.shape
        small = block.shape[0] * block.shape[1] <= DENSE
        self.X = np.asfortranarray(block.toarray()) if small and isinstance(block, Block) else block

    @property
    def is_array(self):
        """Whether the columns are one plain array."""
        return isinstance(self.X, np.ndarray)

    def combine(self, W):
        """X W."""
        return self.X @ W if self.is_array else self.X.combine(W)

    def correlate(self, V):
        """X'V."""
        return self.X.T @ V if self.is_array else self.X.correlate(V)

    def gram(self, d):
        """X' diag(d) X; rows where d is zero cost nothing in an array."""
        if self.is_array:
            rows = np.flatnonzero(d)
            A = self.X if rows.size == d.size else self.X[rows]
            return (A * d[rows, None]).T @ A
        m = self.shape[1]
        out = np.empty((m, m))
        for lo in range(0, m, AT_ONCE):
            some = np.arange(lo, min(lo + AT_ONCE, m))
            out[:, some] = self.X.correlate(d[:, None] * self.X.take(some).toarray())
        return out

    def take(self, keep):
        """Some of the columns, copied."""
        if not self.is_array:
            return Columns(self.X.take(keep))
        fewer = object.__new__(Columns)
        fewer.X = np.asfortranarray(self.X[:, keep])
        fewer.shape = fewer.X.shape
        return fewer
