"""Scores: what a scan computes of each column. Numbers for several vectors come out of one look at the column."""

from abc import ABC, abstractmethod

import numpy as np

from thresher.data.block import Scannable, as_rows
from thresher.loops import moments


class Score(ABC):
    """Turns columns into numbers. ``vectors`` says how many products with X it costs."""

    vectors: int

    @abstractmethod
    def of(self, block: Scannable, lo: int, hi: int, scaling=None) -> np.ndarray:
        """Numbers (k, hi - lo) for the columns lo <= j < hi of the block.

        ``scaling`` has ``shift`` and ``factor`` of these columns, each of length hi - lo, which become
        (x - shift) * factor; None leaves them as they are.
        """


class Correlation(Score):
    """X'V: result[r, j] = sum_i X[i, j] V[i, r]. V is (n,) or (n, k)."""

    def __init__(self, V):
        self.V = as_rows(V)
        self.vectors = len(self.V)

    def of(self, block: Scannable, lo: int, hi: int, scaling=None) -> np.ndarray:
        """See Score; scaling is applied after the product."""
        out = np.zeros((self.vectors, hi - lo))
        block.correlate_into(self.V, lo, hi, out)
        if scaling is not None:
            scaling.apply_to_products(self.V, out)
        return out


class Moments(Score):
    """Anchor and statistics of the columns as they are stored: see ``loops.moments``. (1 + moments.ROWS, columns).

    Scaling is decided from them, so they know of none.
    """

    vectors = 1 + moments.ROWS

    def __init__(self, weights):
        self.weights = np.asarray(weights, dtype=np.float64)

    def of(self, block: Scannable, lo: int, hi: int, scaling=None) -> np.ndarray:
        """See Score."""
        out = np.zeros((self.vectors, hi - lo))  # contiguous rows, or the loops would not vectorise
        block.statistics_into(self.weights, lo, hi, out[0], out[1:])
        return out
