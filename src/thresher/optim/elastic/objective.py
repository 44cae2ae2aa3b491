"""The objective of the elastic-net SVM and its duality gap, a sum of terms none of which is negative.

    min over w, b of   sum_i c_i l(1 - z_i) - known'w + alpha/2 ||w||^2 + beta ||w||_1,      z = y (X w + b)

l is the smoothed hinge of width gamma; ``known`` is the part of rows that are left out because their loss is known to
be linear. A theta in [0, 1], with sum c_i y_i theta_i = 0 if there is an intercept, is feasible in the dual problem;
with v = known + X'(c y theta) the optimum has w = S(v) / alpha, where S is soft-thresholding by beta. The gap is a sum
of Fenchel and Young's terms of the samples and of the columns: rounding cannot hide any of it.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from thresher.optim.problems.losses import SmoothedHinge


@dataclass(frozen=True)
class ElasticObjective:
    """The objective on some rows.

    Parameters
    ----------
    y, cost : ndarray of shape (n_rows,)
        Labels -1 and 1, and what each row counts in the loss.
    gamma : float
        Width of the smooth part of the loss.
    shift : bool
        Whether there is an intercept b.
    alpha, beta : float
        Weights of the squared and of the absolute penalty.
    known : ndarray of shape (n_columns,), default=None
        The part of v of rows that are left out, if any are.
    """

    y: np.ndarray
    cost: np.ndarray
    gamma: float
    shift: bool
    alpha: float
    beta: float
    known: np.ndarray | None = None

    @cached_property
    def signed(self) -> np.ndarray:
        """The cost of each row times its label."""
        return self.cost * self.y

    def of_rows(self, rows: np.ndarray, known: np.ndarray | None = None) -> Self:
        """The same on some of the rows."""
        return replace(self, y=self.y[rows], cost=self.cost[rows], known=known)

    def best_shift(self, scores: np.ndarray, near: float) -> float:
        """The b that is best for the scores X w, the one nearest to ``near`` if several are; 0 without intercept."""
        return SmoothedHinge(self.gamma).best_shift(self.y, scores, self.cost, near) if self.shift else near

    def dual_point(self, z: np.ndarray) -> np.ndarray:
        """The feasible theta that follows from the margins z."""
        theta = np.clip((1.0 - z) / self.gamma, 0.0, 1.0)
        return balanced(theta, self.cost, self.y) if self.shift else theta

    def sample_gap(self, z: np.ndarray, theta: np.ndarray) -> float:
        """The samples' part of the duality gap."""
        return float(self.cost @ sample_terms(1.0 - z, theta, self.gamma))

    def column_gap(self, w: np.ndarray, v: np.ndarray) -> float:
        """The columns' part of the duality gap."""
        return float(column_terms(w, v, self.alpha, self.beta).sum())


def sample_terms(slack, theta, gamma):
    """l(slack) - theta slack + gamma/2 theta^2 >= 0 for the smoothed hinge l and 0 <= theta <= 1."""
    best = np.clip(slack / gamma, 0.0, 1.0)
    return np.maximum(0.0, (best - theta) * (slack - 0.5 * gamma * (best + theta)))


def column_terms(w, v, alpha, beta):
    """alpha/2 w^2 + beta |w| + S(v)^2 / (2 alpha) - w v >= 0, zero at w = S(v) / alpha."""
    inside = np.clip(v, -beta, beta)
    return 0.5 * alpha * (w - (v - inside) / alpha) ** 2 + (beta * np.abs(w) - w * inside)


def active_columns(w, v, beta):
    """Columns with a weight or with |v| > beta, sorted; the terms of all others are zero."""
    return np.flatnonzero((np.abs(v) > beta) | (w != 0.0))


def balanced(theta, cost, y):
    """Theta with sum c_i y_i theta_i = 0: the error of an inexact intercept is spread over the samples on the margin.

    There it matters least; if that violates 0 <= theta <= 1, the heavier class is shrunk instead.
    """
    rest = float((cost * y) @ theta)
    if rest == 0.0:
        return theta
    inside = (theta > 0.0) & (theta < 1.0)
    weight = float(cost[inside].sum())
    if weight > 0.0:
        moved = np.where(inside, theta - y * (rest / weight), theta)
        if moved.min() >= 0.0 and moved.max() <= 1.0:
            return moved
    positive = y > 0
    up = float(cost[positive] @ theta[positive])
    down = float(cost[~positive] @ theta[~positive])
    if min(up, down) <= 0.0:
        return np.zeros_like(theta)
    return np.where(positive, theta * min(1.0, down / up), theta * min(1.0, up / down))
