"""Penalties of the master problem: small frozen objects around the functions of ``prox``.

The first ``forced`` coordinates are those of features that must stay: their scaling is fixed at 1, outside the
budget, so they are charged 1/2 w_j^2 and enter the conjugate in full.
"""

from dataclasses import dataclass

import numpy as np

from thresher.optim import prox


@dataclass(frozen=True)
class KSupport:
    """1/2 ||w_forced||^2 + 1/2 ||w_rest||_k^2: the converged feature generating machine with budget k.

    With several ``classes`` the weights of a column are one group, charged by its length: w holds those of the first
    class, then those of the second, and so on.
    """

    k: int
    forced: int = 0
    classes: int = 1

    def by_class(self, w):
        """W as (classes, columns)."""
        return w.reshape(self.classes, -1)

    def lengths(self, w):
        """The length of each column's weights."""
        if self.classes == 1:
            return np.abs(w)
        grid = self.by_class(w)
        return np.sqrt(np.einsum("cj,cj->j", grid, grid))

    def value(self, w):
        """The penalty at w."""
        size = self.lengths(w)
        kept, rest = size[: self.forced], size[self.forced :]
        return 0.5 * (float(kept @ kept) + prox.k_support_norm_squared(rest, self.k))

    def prox(self, u, step):
        """argmin_w 1/2 ||w - u||^2 + step * value(w)."""
        d = self.scaling(u, step)
        return (self.by_class(u) * (d / (d + step))).ravel()

    def scaling(self, u, step):
        """The scaling d of the columns at prox(u, step)."""
        return np.concatenate(
            [np.ones(self.forced), prox.k_support_scaling(self.lengths(u)[self.forced :], self.k, step)]
        )

    def conjugate(self, c):
        """max_w c'w - value(w)."""
        size = self.lengths(c)
        kept, rest = size[: self.forced], size[self.forced :]
        return 0.5 * (float(kept @ kept) + prox.top_squares(rest, self.k))

    def piece(self, u, step):
        """The smooth piece of the penalty on which prox(u, step) lies: (full, level, share).

        On it the penalty is 1/2 sum_{full} |w_j|^2 + 1/2 (sum_{level} |w_j|)^2 / share, where |w_j| is the length
        of a column's weights; all other weights are zero.
        """
        d = self.scaling(u, step)
        full = d >= 1.0
        share = self.k - (np.count_nonzero(full) - self.forced)
        return np.tile(full, self.classes), np.tile((d > 0.0) & ~full, self.classes), share


@dataclass(frozen=True)
class GroupSum:
    """1/2 ||w_forced||^2 + 1/2 (sum_h ||w_h||)^2: the paper's sub-problem (30); ``sizes`` are those of the groups."""

    sizes: tuple[int, ...]
    forced: int = 0

    @property
    def starts(self):
        """Where each group begins among the coordinates that are not forced."""
        return np.cumsum([0, *self.sizes[:-1]]) if self.sizes else np.zeros(0, dtype=int)

    def value(self, w):
        """The penalty at w."""
        kept = w[: self.forced]
        return 0.5 * (float(kept @ kept) + prox.group_lengths(w[self.forced :], self.starts).sum() ** 2)

    def prox(self, u, step):
        """argmin_w 1/2 ||w - u||^2 + step * value(w)."""
        rest = prox.prox_squared_group_sum(u[self.forced :], self.starts, step)
        return np.concatenate([u[: self.forced] / (1.0 + step), rest])

    def conjugate(self, c):
        """max_w c'w - value(w)."""
        kept, lengths = c[: self.forced], prox.group_lengths(c[self.forced :], self.starts)
        return 0.5 * (float(kept @ kept) + float(lengths.max(initial=0.0)) ** 2)
