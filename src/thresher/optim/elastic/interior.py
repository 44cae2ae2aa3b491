"""An interior point method for the elastic-net SVM on few rows or columns: slow at a distance, but sure to arrive.

With theta the dual point and u in [-beta, beta] the slope of the l1 penalty, the solution (see ``elastic_newton``) has

    v - alpha w = u,   1 - z - gamma theta = a - d,   a (1 - theta) = d theta = 0,   r (beta - u) = l (beta + u) = 0

with w = r - l, and a, d, r, l >= 0. The products are kept positive and brought to zero together. Where weights
outnumber samples and alpha is small, hundreds of weights are about to become zero or non-zero, and Newton's method,
which has to guess which, may take thousands of steps; this takes about twenty. Each solves one system of the size of
the smaller side.
"""

from typing import Any, NamedTuple

import numpy as np

from thresher.optim.elastic.newton import balanced, column_terms, sample_terms
from thresher.optim.penalties.prox import soft_threshold
from thresher.optim.solvers.barrier import SmallerSide, longest

MOST_STEPS = 80
NEAR = 0.995  # share of the way to the boundary that a step goes at most
SHORTEST = 1e-8  # shorter steps do not lead anywhere
IDLE, FALLS = 6, 0.9  # steps after which only rounding errors are left: neither the gap nor the products fell so far
INSIDE = 0.05  # distance of u from its bounds at the start, as a share of beta


class Solved(NamedTuple):
    """Weights with exact zeros, intercept, theta, and the gap on these rows and columns."""

    w: np.ndarray
    b: float
    theta: np.ndarray
    gap: float


class _Move(NamedTuple):
    """A direction: of theta and u, of the multipliers of their bounds, and of the intercept."""

    theta: np.ndarray
    u: np.ndarray
    a: np.ndarray
    d: np.ndarray
    r: np.ndarray
    l: np.ndarray  # noqa: E741 - as in the module's formulas
    b: float


class ElasticInterior:
    """A point inside all bounds, and steps from it. X is dense, all costs are positive.

    It begins in the middle: from a better point near the bounds steps would be short. Multipliers begin ``far`` away.
    """

    def __init__(self, X, y, cost, *, alpha, beta, gamma, shift, far=1.0):
        self.X, self.y, self.cost, self.shift = X, y, cost, shift
        self.alpha, self.beta, self.gamma = alpha, beta, gamma
        self.theta, self.b = np.full(y.size, 0.5), 0.0
        v, m = X.T @ (cost * y * self.theta), X.shape[1]
        self.u = np.clip(v, -(1.0 - INSIDE) * beta, (1.0 - INSIDE) * beta)
        self.a, self.d = (np.full(y.size, 0.5 * far) for _ in range(2))
        self.r, self.l = (np.full(m, 0.5 * far * cost.sum() / (beta * m)) for _ in range(2))
        self.steps = 0
        self.best: Any = None  # the Solved with the smallest gap
        self._look()

    def join(self, X, v):
        """Add columns, with their current v; they begin where the others are on the way to zero."""
        _, mean = self._means()
        u = np.clip(v, -(1.0 - INSIDE) * self.beta, (1.0 - INSIDE) * self.beta)
        self.X, self.u = np.column_stack([self.X, X]), np.concatenate([self.u, u])
        self.r = np.concatenate([self.r, mean / (self.beta - u)])
        self.l = np.concatenate([self.l, mean / (self.beta + u)])
        self.best = None
        self._look()

    def solve(self, tol, watch):
        """Steps until the gap is at most ``tol``, or nothing is to be gained; returns the best point as Solved.

        ``watch`` is told of each step, and may end it.
        """
        idle, most = 0, self.steps + MOST_STEPS
        while self.best.gap > tol and self.steps < most and idle < IDLE and not watch.late:
            gap, rest = self.best.gap, sum(self._means())
            with np.errstate(all="ignore"):  # of a point that is on a bound, up to rounding, nothing more can be had
                if not self._step():
                    break
            self._look()
            watch.step(self.best.gap, int(np.count_nonzero(self.best.w)))
            idle = 0 if self.best.gap < gap or sum(self._means()) < FALLS * rest else idle + 1
        return self.best

    @property
    def _bounds(self):
        """(values that must be positive, their multipliers) of rows, then of columns."""
        rows = (1.0 - self.theta, self.a), (self.theta, self.d)
        return rows, ((self.beta - self.u, self.r), (self.beta + self.u, self.l))

    def _means(self, length=0.0, move=None):
        """Means of the products of values and multipliers, of rows (weighted by cost) and of columns; after a move."""
        rows, columns = self._bounds
        if move is not None:
            pairs = zip((*rows, *columns), self._changes(move), strict=True)
            moved = [(value + length * s, multiplier + length * t) for (value, multiplier), (s, t) in pairs]
            rows, columns = moved[:2], moved[2:]
        of_rows = sum(float(self.cost @ (value * multiplier)) for value, multiplier in rows)
        of_columns = sum(float(value @ multiplier) for value, multiplier in columns)
        return of_rows / (2.0 * float(self.cost.sum())), of_columns / (2.0 * self.u.size)

    @staticmethod
    def _changes(move):
        return (-move.theta, move.a), (move.theta, move.d), (-move.u, move.r), (move.u, move.l)

    def _look(self):
        """Update the residuals, and the best point with exact zeros."""
        self.w = self.r - self.l
        self.v = self.X.T @ (self.cost * self.y * self.theta)
        self.off_columns = self.v - self.alpha * self.w - self.u
        self.z = self.y * (self.X @ self.w + self.b)
        self.off_rows = 1.0 - self.z - self.gamma * self.theta - self.a + self.d
        point = self._rounded()
        if self.best is None or point.gap < self.best.gap:
            self.best = point

    def _rounded(self):
        """The point with exact zeros: w as one step of proximal gradients leaves it, which moves a solution nowhere."""
        steep = self.beta * self.w.size / float((self.r + self.l).sum())
        w = soft_threshold(self.w + (self.v - self.alpha * self.w) / steep, self.beta / steep)
        theta, v = self.theta, self.v
        if self.shift:
            theta = balanced(theta, self.cost, self.y)
            v = self.X.T @ (self.cost * self.y * theta)
        z = self.y * (self.X @ w + self.b)
        gap = float(self.cost @ sample_terms(1.0 - z, theta, self.gamma))
        gap += float(column_terms(w, v, self.alpha, self.beta).sum())
        return Solved(w, self.b, theta, gap)

    def _step(self):
        """Mehrotra's predictor and corrector, with one factorisation; False if rounding errors forbid it."""
        self.steps += 1
        if not self._factored():
            return False
        predictor = self._direction(0.0, 0.0)
        length = self._longest(predictor)
        now, then = self._means(), self._means(length, predictor)
        centre = (sum(then) / sum(now)) ** 3
        move = self._direction(centre * now[0], centre * now[1], predictor)
        length = self._longest(move)
        if not length > SHORTEST:
            return False
        self.theta, self.u = self.theta + length * move.theta, self.u + length * move.u
        self.a, self.d = self.a + length * move.a, self.d + length * move.d
        self.r, self.l, self.b = self.r + length * move.r, self.l + length * move.l, self.b + length * move.b
        return True

    def _longest(self, move):
        """The longest step up to 1 that stays inside; nan if the direction is."""
        rows, columns = self._bounds
        return NEAR * longest((*rows, *columns), self._changes(move), 1.0 / NEAR)

    def _factored(self):
        """Factor  X G X' + D,  what is left of the system of Newton's method; False if rounding errors forbid it."""
        (P, a), (Q, d) = self._bounds[0]
        (R, r), (L, l) = self._bounds[1]  # noqa: E741
        self.h = r / R + l / L
        root = np.sqrt(self.h / (1.0 + self.alpha * self.h))
        self.system = SmallerSide(self.X * root, (self.gamma + a / P + d / Q) / self.cost)
        if self.system.failed:
            return False
        self.ones = self.system.times(np.ones(self.y.size)) if self.shift else np.zeros(self.y.size)
        return True

    def _direction(self, mu_rows, mu_columns, predictor=None):
        """The step to where all products are these means, up to the second-order terms of ``predictor``."""
        (P, a), (Q, d) = self._bounds[0]
        (R, r), (L, l) = self._bounds[1]  # noqa: E741
        goal_a = goal_d = mu_rows
        goal_r = goal_l = mu_columns
        if predictor is not None:
            goal_a, goal_d = mu_rows + predictor.a * predictor.theta, mu_rows - predictor.d * predictor.theta
            goal_r, goal_l = mu_columns + predictor.r * predictor.u, mu_columns - predictor.l * predictor.u
        push = (goal_r / R - r) - (goal_l / L - l)
        fixed = (push + self.h * self.off_columns) / (1.0 + self.alpha * self.h)
        right = self.y * (self.off_rows - (goal_a / P - a) + (goal_d / Q - d)) - self.X @ fixed
        xi, b = self.system.times(right), 0.0
        if self.shift:
            b = float(self.ones @ right + (self.cost * self.y) @ self.theta) / float(self.ones.sum())
            xi = xi - b * self.ones
        theta = self.y * xi / self.cost
        u = (self.X.T @ xi + self.off_columns - self.alpha * push) / (1.0 + self.alpha * self.h)
        return _Move(
            theta, u,
            a=goal_a / P - a + a / P * theta,
            d=goal_d / Q - d - d / Q * theta,
            r=goal_r / R - r + r / R * u,
            l=goal_l / L - l - l / L * u,
            b=b,
        )  # fmt: skip
