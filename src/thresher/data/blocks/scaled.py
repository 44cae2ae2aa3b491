"""Columns shifted and scaled without modifying X."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from thresher.data.blocks.base import Block

SQUARES_ROUNDING = 1e-14  # of sums of squares, as a share of those before the shift


@dataclass(frozen=True)
class Scaling:
    """x becomes (x - shift) * factor, column by column; ``shift`` is None if nothing is shifted.

    A design asks for a range of columns or for some ids, never for all columns.
    """

    factor: np.ndarray
    shift: np.ndarray | None

    def take(self, ids: np.ndarray | slice) -> "Scaling":
        """The scaling of the columns ``ids``."""
        return Scaling(self.factor[ids], None if self.shift is None else self.shift[ids])

    def apply_to_products(self, V: np.ndarray, out: np.ndarray) -> None:
        """Convert out = X'V of the unscaled columns, (k, columns), to that of the scaled ones; V is (k, n)."""
        if self.shift is not None:
            out -= np.multiply.outer(V.sum(axis=1), self.shift)
        out *= self.factor

    def joined(self, other: "Scaling") -> "Scaling":
        """The scaling of both sets of columns."""
        factor = np.concatenate([self.factor, other.factor])
        if self.shift is None and other.shift is None:
            return Scaling(factor, None)
        shifts = [np.zeros(part.factor.size) if part.shift is None else part.shift for part in (self, other)]
        return Scaling(factor, np.concatenate(shifts))


class ScaledBlock(Block):
    """X[i, j] = (base[i, j] - shift[j]) * factor[j]."""

    def __init__(self, base: Block, scaling: Scaling):
        super().__init__(base.shape, base.dtype, base.nbytes, base.workers)
        self.base, self.scaling = base, scaling
        self.entry_cost = base.entry_cost

    @property
    def entries(self) -> int:
        """Number of stored values."""
        return self.base.entries

    @property
    def row_entries(self) -> np.ndarray | None:
        """See Block."""
        return self.base.row_entries

    @property
    def column_entries(self) -> np.ndarray | None:
        """See Block."""
        return self.base.column_entries

    def column_ranges(
        self, per_worker: int = 1, most: int | None = None, work: float | None = None
    ) -> list[tuple[int, int]]:
        """The ranges of the base."""
        return self.base.column_ranges(per_worker, most, work)

    def correlate_into(self, V: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        """See Block."""
        self.base.correlate_into(V, lo, hi, out)
        self.scaling.take(slice(lo, hi)).apply_to_products(V, out)

    def combine_into(self, W: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        """See Block."""
        W = W * self.scaling.factor
        self.base.combine_into(W, lo, hi, out)
        if self.scaling.shift is not None:
            out -= (W @ self.scaling.shift)[:, None]

    def take(self, ids: np.ndarray) -> Block:
        """See Block."""
        return ScaledBlock(self.base.take(ids), self.scaling.take(ids))

    def take_rows(self, ids: np.ndarray) -> Block:
        """See Block."""
        return ScaledBlock(self.base.take_rows(ids), self.scaling)

    def part(self, rows: np.ndarray, columns: np.ndarray) -> Block:
        """See Block."""
        return ScaledBlock(self.base.part(rows, columns), self.scaling.take(columns))

    def combine_some(self, ids: np.ndarray, w: np.ndarray) -> np.ndarray:
        """See Block."""
        scaling = self.scaling.take(ids)
        out = self.base.combine_some(ids, w * scaling.factor)
        return out if scaling.shift is None else out - (w * scaling.factor) @ scaling.shift

    def column_squares(self, weights: np.ndarray) -> np.ndarray:
        """See Block; where digits cancel rather too large, so that norms are bounds."""
        squares = self.base.column_squares(weights)
        if self.scaling.shift is not None:  # (x - m)^2 = x^2 - m (2 x - m)
            shift, total = self.scaling.shift, np.sum(weights)
            rounding = SQUARES_ROUNDING * (squares + shift * shift * total)
            squares = np.maximum(0.0, squares - shift * (2.0 * self.base.correlate(weights) - shift * total)) + rounding
        return squares * self.scaling.factor**2

    def row_squares(self, weights: np.ndarray) -> np.ndarray:
        """See Block."""
        weights = weights * self.scaling.factor**2
        squares = self.base.row_squares(weights)
        if self.scaling.shift is None:
            return squares
        shifted = weights * self.scaling.shift
        return np.maximum(0.0, squares - 2.0 * self.base.combine(shifted) + shifted @ self.scaling.shift)

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """See Block; without a shift by that of the base."""
        if self.scaling.shift is not None:
            return super().gram(weights)
        return self.base.gram(weights) * np.multiply.outer(self.scaling.factor, self.scaling.factor)

    def toarray(self) -> np.ndarray:
        """See Block."""
        X = self.base.toarray()
        if self.scaling.shift is not None:
            X -= self.scaling.shift
        X *= self.scaling.factor
        return X

    def joined(self, other: Self) -> Block:
        """One block with the columns of both."""
        return ScaledBlock(self.base.joined(other.base), self.scaling.joined(other.scaling))
