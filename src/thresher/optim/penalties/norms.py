"""Penalties of the weights: small frozen objects around the functions of ``prox``.

The first ``forced`` units are always in the model: their scaling is fixed at 1, outside the budget, so their penalty is
1/2 ||w_g||^2, and they enter the conjugate in full.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from thresher.optim.penalties import prox
from thresher.optim.penalties.layout import PLAIN, Layout


@runtime_checkable
class Penalty(Protocol):
    """A convex function of the weights, zero at zero."""

    def value(self, w: np.ndarray) -> float:
        """The penalty at w."""

    def conjugate(self, c: np.ndarray) -> float:
        """max_w c'w - value(w)."""


@runtime_checkable
class Proximal(Penalty, Protocol):
    """A penalty with a proximal map."""

    def prox(self, u: np.ndarray, step: float) -> np.ndarray:
        """argmin_w 1/2 ||w - u||^2 + step * value(w)."""


class PenaltyPiece(NamedTuple):
    """Where a penalty is 1/2 sum_{full} ||w_g||^2 + 1/2 (sum_{level} ||w_g||)^2 / share; all other weights are zero.

    ``full`` and ``level`` are masks over the coordinates.
    """

    full: np.ndarray
    level: np.ndarray
    share: int


@runtime_checkable
class Piecewise(Proximal, Protocol):
    """A penalty of smooth pieces; ``layout`` maps coordinates to units."""

    @property
    def layout(self) -> Layout:
        """Coordinates to units."""

    def piece(self, u: np.ndarray, step: float) -> PenaltyPiece:
        """The smooth piece of the penalty on which prox(u, step) lies."""


@runtime_checkable
class Budgeted(Penalty, Protocol):
    """The smallest 1/2 sum_g ||w_g||^2 / d_g over scalings 0 <= d <= 1 with sum d = k; those of forced units are 1."""

    @property
    def k(self) -> int:
        """The budget of the scalings."""

    @property
    def forced(self) -> int:
        """The first units, whose scaling is 1."""

    @property
    def layout(self) -> Layout:
        """Coordinates to units."""


@dataclass(frozen=True)
class KSupport:
    """1/2 ||w_forced||^2 + 1/2 ||w_rest||_k^2: the converged feature generating machine with budget k.

    The norm is that of the lengths of the units: for up to k units, whatever their columns and classes, it is the plain
    square.
    """

    k: int
    forced: int = 0
    layout: Layout = PLAIN

    def value(self, w: np.ndarray) -> float:
        """The penalty at w."""
        size = self.layout.lengths(w)
        kept, rest = size[: self.forced], size[self.forced :]
        return 0.5 * (float(kept @ kept) + prox.k_support_norm_squared(rest, self.k))

    def prox(self, u: np.ndarray, step: float) -> np.ndarray:
        """argmin_w 1/2 ||w - u||^2 + step * value(w)."""
        d = self.scaling(u, step)
        return u * self.layout.spread(d / (d + step))

    def scaling(self, u: np.ndarray, step: float) -> np.ndarray:
        """The scaling d of the units at prox(u, step)."""
        rest = prox.k_support_scaling(self.layout.lengths(u)[self.forced :], self.k, step)
        return np.concatenate([np.ones(self.forced), rest])

    def conjugate(self, c: np.ndarray) -> float:
        """max_w c'w - value(w)."""
        size = self.layout.lengths(c)
        kept, rest = size[: self.forced], size[self.forced :]
        return 0.5 * (float(kept @ kept) + prox.top_squares(rest, self.k))

    def piece(self, u: np.ndarray, step: float) -> PenaltyPiece:
        """See Piecewise."""
        d = self.scaling(u, step)
        full = d >= 1.0
        share = self.k - (int(np.count_nonzero(full)) - self.forced)
        return PenaltyPiece(self.layout.spread(full), self.layout.spread((d > 0.0) & ~full), share)


@dataclass(frozen=True)
class GroupSum:
    """1/2 ||w_forced||^2 + 1/2 (sum_h ||w_h||)^2: the paper's sub-problem (30); ``sizes`` are those of its groups.

    A group contains the units of one turn. Supports units of one column, and one class.
    """

    sizes: tuple[int, ...]
    forced: int = 0

    @property
    def k(self) -> int:
        """The budget of the scalings: the sum of lengths is the norm with budget 1."""
        return 1

    @property
    def layout(self) -> Layout:
        """Coordinates to groups."""
        return Layout(np.array([*[1] * self.forced, *self.sizes], dtype=np.int64))

    @property
    def starts(self) -> np.ndarray:
        """Where each group begins among the coordinates that are not forced."""
        return np.cumsum([0, *self.sizes[:-1]]) if self.sizes else np.zeros(0, dtype=int)

    def value(self, w: np.ndarray) -> float:
        """The penalty at w."""
        kept = w[: self.forced]
        return 0.5 * (float(kept @ kept) + prox.group_lengths(w[self.forced :], self.starts).sum() ** 2)

    def prox(self, u: np.ndarray, step: float) -> np.ndarray:
        """argmin_w 1/2 ||w - u||^2 + step * value(w)."""
        rest = prox.prox_squared_group_sum(u[self.forced :], self.starts, step)
        return np.concatenate([u[: self.forced] / (1.0 + step), rest])

    def conjugate(self, c: np.ndarray) -> float:
        """max_w c'w - value(w)."""
        kept, lengths = c[: self.forced], prox.group_lengths(c[self.forced :], self.starts)
        return 0.5 * (float(kept @ kept) + float(lengths.max(initial=0.0)) ** 2)
