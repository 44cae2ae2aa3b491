"""The master problem on the taken columns, and what every solver of it returns.

    minimise over w and b:   penalty(w) + sum_i c_i l(y_i (x_i'w + b))

The shift b is not penalised and not a variable of the solvers: for every w they look at, b is the exact minimiser, so
they minimise a smooth convex function of w alone plus the penalty.
"""

import time
from dataclasses import dataclass

import numpy as np

from thresher.optim.losses import Loss


@dataclass(frozen=True)
class Problem:
    """Everything but the columns: labels +-1, costs (C times weight), loss, and whether there is a shift."""

    y: np.ndarray
    cost: np.ndarray
    loss: Loss
    fit_intercept: bool = True

    def at(self, z, start=0.0):
        """Best shift, loss and feasible dual point for the scores z = Xw."""
        b = self.loss.best_shift(self.y, z, self.cost, start) if self.fit_intercept else 0.0
        alpha = self.loss.dual_point(self.y, z + b, self.cost)
        if self.fit_intercept:
            alpha = self.loss.feasible(alpha, self.y)
        return b, self.loss.value(self.y, z + b, self.cost), alpha

    def at_zero(self):
        """The objective at w = 0 with the best shift: the yardstick of every gap."""
        return self.at(np.zeros_like(self.y))[1]

    def dual_value(self, alpha, square):
        """A lower bound of the objective: ``square`` is twice the penalty's conjugate at X'(alpha y)."""
        return self.loss.scaled_dual(alpha, self.cost, square)


@dataclass(frozen=True)
class Solution:
    """A point w with what belongs to it. ``bound`` is a lower bound of the master problem's optimum."""

    w: np.ndarray
    z: np.ndarray
    b: float
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
    b: float = 0.0
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
