"""The master problem on the taken columns, and what every solver of it returns.

    minimise over w and b:   penalty(w) + sum_i c_i l(y_i (x_i'w + b))

The shift b is not penalised and not a variable of the solvers: for every w they look at, b is the exact minimiser, so
they minimise a smooth convex function of w alone plus the penalty.

Several problems on the same columns, such as one class against the rest for each class, are one problem whose vectors
are laid end to end: labels, costs and scores class after class, weights too. Only the penalty ties them together.
"""

import time
from dataclasses import dataclass

import numpy as np

from thresher.optim.losses import Loss


@dataclass(frozen=True)
class Problem:
    """Everything but the columns: labels +-1, costs (C times weight), loss, and whether there is a shift.

    With several ``classes``, y and cost hold those of the first class, then those of the second, and so on.
    """

    y: np.ndarray
    cost: np.ndarray
    loss: Loss
    fit_intercept: bool = True
    classes: int = 1

    def each(self):
        """The problems of the single classes."""
        ys, costs = self.y.reshape(self.classes, -1), self.cost.reshape(self.classes, -1)
        return [Problem(y, cost, self.loss, self.fit_intercept) for y, cost in zip(ys, costs, strict=True)]

    def at(self, z, start=0.0):
        """Best shift (one for each class), loss and feasible dual point for the scores z = Xw."""
        if self.classes == 1:
            return self._at(self.y, z, self.cost, start)
        starts = np.broadcast_to(start, self.classes)
        parts = [
            one._at(one.y, scores, one.cost, float(b))
            for one, scores, b in zip(self.each(), z.reshape(self.classes, -1), starts, strict=True)
        ]
        b, loss, alpha = zip(*parts, strict=True)
        return np.array(b), sum(loss), np.concatenate(alpha)

    def _at(self, y, z, cost, start):
        b = self.loss.best_shift(y, z, cost, start) if self.fit_intercept else 0.0
        alpha = self.loss.dual_point(y, z + b, cost)
        if self.fit_intercept:
            alpha = self.loss.feasible(alpha, y)
        return b, self.loss.value(y, z + b, cost), alpha

    def at_zero(self):
        """The objective at w = 0 with the best shift: the yardstick of every gap."""
        return self.at(np.zeros_like(self.y))[1]

    def curvature(self, z, b):
        """The loss's second derivative at the scores z + b."""
        if self.classes > 1:
            z = (z.reshape(self.classes, -1) + np.reshape(b, (-1, 1))).ravel()
            b = 0.0
        return self.loss.curvature(self.y, z + b, self.cost)

    def dual_value(self, alpha, square):
        """A lower bound of the objective: ``square`` is twice the penalty's conjugate at X'(alpha y)."""
        return self.loss.scaled_dual(alpha, self.cost, square)

    def on(self, block):
        """The columns as this problem's solvers see them."""
        return block if self.classes == 1 else SideBySide(block, self.classes)


class SideBySide:
    """A block used by several classes at once: a block diagonal matrix that has it ``classes`` times."""

    def __init__(self, block, classes):
        self.block, self.classes = block, classes
        self.shape = (classes * block.shape[0], classes * block.shape[1])

    def correlate(self, v):
        """X'v, class by class in one go."""
        return self.block.correlate(v.reshape(self.classes, -1).T).T.ravel()

    def combine(self, w):
        """Xw, class by class in one go."""
        return self.block.combine(w.reshape(self.classes, -1).T).T.ravel()

    def toarray(self):
        """The matrix: for small blocks."""
        return np.asfortranarray(np.kron(np.eye(self.classes), self.block.toarray()))


@dataclass(frozen=True)
class Solution:
    """A point w with what belongs to it. ``bound`` is a lower bound of the master problem's optimum."""

    w: np.ndarray
    z: np.ndarray
    b: float | np.ndarray
    alpha: np.ndarray
    scores: np.ndarray
    loss: float
    objective: float
    bound: float
    iterations: int = 0
    products: int = 0
    memory: object = None

    @property
    def gap(self):
        """Objective - bound, never negative."""
        return max(0.0, self.objective - self.bound)


@dataclass(frozen=True)
class Start:
    """Where a solver begins: w, z = Xw, and what the last solve learned (step size, inner products)."""

    w: np.ndarray
    z: np.ndarray
    b: float | np.ndarray = 0.0
    memory: object = None

    @classmethod
    def zero(cls, block):
        """The origin."""
        return cls(np.zeros(block.shape[1]), np.zeros(block.shape[0]))


def judged(block, problem, penalty, w, z, b_start, **counts):
    """The Solution at w: costs one product with the block, for the scores X'(alpha y)."""
    b, loss, alpha = problem.at(z, b_start)
    scores = block.correlate(alpha * problem.y)
    bound = problem.dual_value(alpha, 2.0 * penalty.conjugate(scores))
    return Solution(w, z, b, alpha, scores, loss, penalty.value(w) + loss, bound, **counts)


def out_of_time(deadline):
    """Whether the clock has passed ``deadline`` (None: never)."""
    return deadline is not None and time.perf_counter() >= deadline
