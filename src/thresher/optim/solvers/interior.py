"""An interior point method for the squared hinge with the squared k-support norm on few samples.

The penalty is the minimum over scalings d of  1/2 sum_j w_j^2 / d_j,  0 <= d <= 1,  sum d = k  (forced columns have
d = 1), so the problem is a saddle point: minimise over v = alpha y and maximise over d

    sum_i alpha_i^2 / (2 c_i) - sum_i alpha_i + 1/2 sum_j d_j (x_j'v)^2,      alpha >= 0,  sum v = 0 with an intercept.

Where columns outnumber samples, hundreds of weights are about to become zero or non-zero, and methods that guess which
take hundreds of steps. Here each step solves one system of the size of the smaller side, and about twenty are enough.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from thresher.data.blocks.base import Block
from thresher.optim.penalties.norms import KSupport, Piecewise
from thresher.optim.problems.margins import Problem, feasible
from thresher.optim.solvers.barrier import InteriorPoint, SmallerSide
from thresher.optim.solvers.dual_active_set import dual_solution
from thresher.optim.solvers.solution import Deadline, Solution, Start, better, evaluated, out_of_time

INTERIOR_SAMPLES, INTERIOR_ENTRIES = 3000, 1 << 22
INTERIOR_STEPS = 60
INTERIOR_IDLE = 5  # steps without progress after which only rounding errors are left
START_DISTANCE = 0.1  # of the start from the boundary, as a share of the mean


def is_suitable(block: Block, problem: Problem, penalty: Piecewise) -> bool:
    """Whether this solver can be used: its systems are dense.

    It needs a loss with a quadratic dual, and a penalty of single coordinates.
    """
    n, m = block.shape
    if n > INTERIOR_SAMPLES or n * m > INTERIOR_ENTRIES:
        return False
    return isinstance(penalty, KSupport) and penalty.layout.is_plain and problem.dual_weights() is not None


def solve(
    block: Block,
    problem: Any,
    penalty: Any,
    start: Start | Solution,
    *,
    tol: float,
    deadline: Deadline = None,
) -> Solution:
    """Minimise until objective - bound <= tol; the gap of the Solution is what was reached.

    Its dual point is the one with the best bound, not the one that follows from w.
    """
    first = evaluated(block, problem, penalty, start.w, start.z, start.b)
    if block.shape[1] - penalty.forced <= penalty.k:
        return _plain(block, problem, penalty, first)
    point = _SaddlePoint(block, problem, penalty, first)
    point.run(INTERIOR_STEPS, INTERIOR_IDLE, lambda: point.gap <= tol or out_of_time(deadline))
    dual, steps = point.highest, point.steps
    return replace(
        point.best, dual=dual.dual, scores=dual.scores, bound=dual.bound, iterations=steps, products=3 * steps
    )


def _plain(block, problem, penalty, start):
    """The solution where all scalings are 1: the penalty is the plain square."""
    X, cost = block.toarray(), problem.dual_weights()
    v = dual_solution(X @ X.T, problem.y, cost, start.dual_point.vector, shifted=problem.fit_intercept)
    w = block.correlate(v)
    point = evaluated(block, problem, penalty, w, block.combine(w), start.b)
    return replace(better(point, start), iterations=1, products=3)


class _SaddlePoint(InteriorPoint):
    """A point with alpha > 0, d > 0 and ``up`` = 1 - d > 0.

    ``b`` and ``tau`` are the multipliers of sum v = 0 and sum d = k. Samples without cost do not take part; d and
    ``scores`` = X'v are those of columns that are not forced. ``best`` is the solution with the lowest objective,
    ``highest`` that with the highest bound.
    """

    constrained = "alpha", "d", "up"

    def __init__(self, block, problem, penalty, start):
        self.block, self.problem, self.penalty, self.best, self.highest = block, problem, penalty, start, start
        self.k, self.shifted = penalty.k, problem.fit_intercept
        X, cost = block.toarray(), problem.dual_weights()
        self.rows = cost > 0.0
        self.y, self.cost, X = problem.y[self.rows], cost[self.rows], X[self.rows]
        self.F, self.X = X[:, : penalty.forced], X[:, penalty.forced :]
        alpha, m = start.dual_point.vector[self.rows] * self.y, self.X.shape[1]
        self.v = self.y * np.maximum(alpha, max(START_DISTANCE * alpha.mean(), 1e-6 * self.cost.mean()))
        self.d = np.full(m, self.k / m)
        self.refresh()
        gain = 0.5 * self.scores**2
        self.tau, self.b = float(np.sort(gain)[-self.k]), float(start.b)
        mu = START_DISTANCE * float(gain @ self.d) / (self.y.size + 2 * m) + 1e-12 * self.cost.sum()
        low = np.maximum(self.tau - gain, 0.0) + mu / self.d
        high = np.maximum(gain - self.tau, 0.0) + mu / self.up
        push = np.maximum(self._residual(0.0), 0.0) + mu / self.alpha
        self.multipliers = [push, low, high]

    def refresh(self):
        """See InteriorPoint."""
        self.alpha, self.up, self.scores = self.v * self.y, 1.0 - self.d, self.X.T @ self.v

    @property
    def gap(self):
        """Lowest objective less highest bound."""
        return self.best.objective - self.highest.bound

    def look(self):
        """See InteriorPoint: the products add up to about the gap."""
        if self.products > self.gap:
            return  # too far from the solution for a better one
        block, problem, penalty, best = self.block, self.problem, self.penalty, self.best
        forced = self.F.T @ self.v
        ahead = np.concatenate([forced + forced, self.d * self.scores + self.scores])
        w = penalty.prox(ahead, 1.0)  # has exact zeros; at the solution these are the weights of this point
        point = evaluated(block, problem, penalty, w, block.combine(w), best.b)
        dual = problem.dual_at(self.feasible_alpha())
        scores = block.correlate(dual.vector)
        inner = replace(point, dual=dual, scores=scores, bound=dual.bound(2.0 * penalty.conjugate(scores)))
        highest = max((self.highest, point, inner), key=lambda solution: solution.bound)
        self.idle += 1
        if point.objective < best.objective or highest.bound > self.highest.bound:
            self.idle = 0
        self.best, self.highest = point if point.objective < best.objective else best, highest

    def feasible_alpha(self):
        """Alpha of all samples, with sum alpha y = 0 if there is an intercept."""
        alpha = np.zeros(self.rows.size)
        alpha[self.rows] = self.alpha
        return feasible(alpha, self.problem.y) if self.shifted else alpha

    def _residual(self, push):
        """The derivative of the Lagrange function in alpha, with multipliers ``push`` of alpha > 0."""
        z = self.X @ (self.d * self.scores) + self.F @ (self.F.T @ self.v) + self.b
        return self.alpha / self.cost - 1.0 + self.y * z - push

    def factored(self):
        """See InteriorPoint: the system with d and the multipliers of the constraints eliminated."""
        push, low, high = self.multipliers
        self.q = low / self.d + high / self.up
        B = np.column_stack([self.X * np.sqrt(self.d + self.scores**2 / self.q), self.F])
        self.system = SmallerSide(B, 1.0 / self.cost + push / self.alpha)
        if self.system.failed:
            return False
        self.edge = self.X @ (self.scores / self.q)
        self.borders = self.system.times(np.column_stack([self.edge, np.ones(self.y.size)]))
        return bool(np.isfinite(self.borders).all())

    def newton(self, goals, predictor):
        """See InteriorPoint."""
        y, d, s, q = self.y, self.d, self.scores, self.q
        push, low, high = goals
        gain, bend = 0.5 * s**2, 0.0
        if predictor is not None:
            gain = gain + 0.5 * predictor["scores"] ** 2
            bend = self.X @ (predictor["d"] * predictor["scores"])
        in_v = y * (push / self.alpha - self.multipliers[0] - self._residual(self.multipliers[0])) - bend
        in_d = gain - self.tau + low / d - high / self.up
        v, tau, b = self._solved(in_v - self.X @ (s * in_d / q), self.k - d.sum() - (in_d / q).sum())
        scores = self.X.T @ v
        move = (s * scores - tau + in_d) / q
        return {"v": v, "alpha": v * y, "scores": scores, "d": move, "up": -move, "tau": tau, "b": b}

    def _solved(self, right, sum_d):
        """(v, tau, b) that solve  M v - edge tau + b = right,  edge'v - tau sum 1/q = sum_d;  sum v = 0 if shifted."""
        plain = self.system.times(right)
        along, ones = self.borders.T
        corner = np.array([[self.edge @ along - (1.0 / self.q).sum(), -self.edge @ ones], [along.sum(), -ones.sum()]])
        wanted = np.array([sum_d - self.edge @ plain, -self.v.sum() - plain.sum()])
        if not self.shifted:
            tau = wanted[0] / corner[0, 0]
            return plain + tau * along, tau, 0.0
        determinant = corner[0, 0] * corner[1, 1] - corner[0, 1] * corner[1, 0]
        tau = (wanted[0] * corner[1, 1] - corner[0, 1] * wanted[1]) / determinant
        b = (corner[0, 0] * wanted[1] - corner[1, 0] * wanted[0]) / determinant
        return plain + tau * along - b * ones, tau, b
