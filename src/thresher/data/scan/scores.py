"""Scores: what a scan computes for each column, for several vectors in one pass."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from thresher.data.blocks.base import Scannable, as_rows
from thresher.data.blocks.scaled import Scaling
from thresher.loops import moments


class Score(ABC):
    """Maps columns to scores. ``vectors`` is the number of scores of a column."""

    vectors: int

    @property
    def work(self) -> int:
        """What an entry costs, in products: by it scans are cut into pieces and get threads; by default ``vectors``."""
        return self.vectors

    @abstractmethod
    def of(self, block: Scannable, lo: int, hi: int, scaling: Scaling | None = None) -> np.ndarray:
        """Scores (k, hi - lo) of the columns lo <= j < hi of the block.

        ``scaling`` has ``shift`` and ``factor`` of these columns, each of length hi - lo, which become
        (x - shift) * factor; None leaves them as they are.
        """


class Correlation(Score):
    """X'V: result[r, j] = sum_i X[i, j] V[i, r]. V is (n,) or (n, k)."""

    def __init__(self, V: ArrayLike):
        self.V = as_rows(V)
        self.vectors = len(self.V)

    def of(self, block: Scannable, lo: int, hi: int, scaling: Scaling | None = None) -> np.ndarray:
        """See Score; scaling is applied after the product."""
        out = np.zeros((self.vectors, hi - lo))
        block.correlate_into(self.V, lo, hi, out)
        if scaling is not None:
            scaling.apply_to_products(self.V, out)
        return out


class Pearson(Score):
    """Weighted correlations of the columns with those of ``columns`` (n, k), 0 for constant ones. (k, columns).

    Correlations do not depend on shift and factor of a column, so scaling is not applied.
    """

    def __init__(self, columns: ArrayLike, weights: ArrayLike):
        self.weights = np.asarray(weights, dtype=np.float64)
        centred = np.array(as_rows(columns), dtype=np.float64)
        with np.errstate(over="ignore", under="ignore"):
            largest = np.abs(centred).max(axis=1, initial=0.0, keepdims=True)
            centred /= np.where(largest > 0.0, largest, 1.0)  # squares of tiny or huge values are not finite
            centred -= (centred @ self.weights / self.weights.sum())[:, None]
            length = np.sqrt((centred * centred) @ self.weights)[:, None]
        # a constant column's length may be a rounding error
        self.V = np.divide(self.weights * centred, length, out=np.zeros_like(centred), where=length > 1e-14)
        self.vectors = len(self.V)

    def of(self, block: Scannable, lo: int, hi: int, scaling: Scaling | None = None) -> np.ndarray:
        """See Score."""
        statistics, out = np.zeros((1 + moments.STATISTICS, hi - lo)), np.zeros((self.vectors, hi - lo))
        block.statistics_into(self.weights, lo, hi, statistics[0], statistics[1:])
        block.correlate_into(self.V, lo, hi, out)
        table, total = statistics[1:], self.weights.sum()
        with np.errstate(over="ignore", invalid="ignore"):
            variation = np.maximum(table[moments.SQUARES] - table[moments.SUM] ** 2 / total, 0.0)
        length = np.sqrt(variation)
        return np.divide(out, length, out=np.zeros_like(out), where=(length > 0.0) & np.isfinite(length))


class Statistics(NamedTuple):
    """Per column: ``anchor`` (p,) and ``table`` (moments.STATISTICS, p); see ``loops.moments``."""

    anchor: np.ndarray
    table: np.ndarray


class Moments(Score):
    """Anchor and statistics of columns as they are stored, (1 + moments.STATISTICS, columns): see ``loops.moments``.

    Scaling is computed from them, so it is not applied to them.
    """

    vectors = 1 + moments.STATISTICS

    def __init__(self, weights: ArrayLike):
        self.weights = np.asarray(weights, dtype=np.float64)

    def of(self, block: Scannable, lo: int, hi: int, scaling: Scaling | None = None) -> np.ndarray:
        """See Score."""
        out = np.zeros((self.vectors, hi - lo))  # contiguous rows, or the loops would not vectorise
        block.statistics_into(self.weights, lo, hi, out[0], out[1:])
        return out
