"""An interior point method for the squared hinge with the squared k-support norm on few samples.

The penalty is the minimum over scalings d of  1/2 sum_j w_j^2 / d_j,  0 <= d <= 1,  sum d = k  (forced columns have
d = 1), so the problem is a saddle point: minimise over v = alpha y and maximise over d

    sum_i alpha_i^2 / (2 c_i) - sum_i alpha_i + 1/2 sum_j d_j (x_j'v)^2,      alpha >= 0,  sum v = 0 with an intercept.

Where columns outnumber samples, hundreds of weights are about to become zero or non-zero, and methods that guess which
take hundreds of steps. Here each step solves one system of the size of the smaller side, and about twenty are enough.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from thresher.data.blocks.base import Block
from thresher.optim.penalties.norms import KSupport, Piecewise
from thresher.optim.problems.margins import Problem, QuadraticDual, feasible
from thresher.optim.solvers.barrier import SmallerSide, longest
from thresher.optim.solvers.dual_active_set import dual_solution
from thresher.optim.solvers.solution import Solution, Start, evaluated, out_of_time

MOST_SAMPLES, MOST_ENTRIES = 3000, 1 << 22
MOST_STEPS = 60
NEAR = 0.995  # share of the way to the boundary that a step goes at most
SHORTEST = 1e-8  # shorter steps do not lead anywhere
INSIDE = 0.1  # distance of the start from the boundary, as a share of the mean
IDLE = 5  # steps without progress after which only rounding errors are left


def suits(block: Block, problem: Problem, penalty: Piecewise) -> bool:
    """Whether this solver can be used: its systems are dense.

    It needs a loss with a quadratic dual, and a penalty of single coordinates.
    """
    n, m = block.shape
    few = n <= MOST_SAMPLES and n * m <= MOST_ENTRIES and isinstance(penalty, KSupport) and penalty.layout.is_plain
    return few and isinstance(problem, QuadraticDual) and problem.dual_weights() is not None


def solve(
    block: Block,
    problem: Any,
    penalty: Any,
    start: Start,
    *,
    tol: float,
    deadline: float | None = None,
) -> Solution:
    """Minimise until objective - bound <= tol; the gap of the Solution is what was reached.

    Its dual point is the one with the best bound, not the one that follows from w.
    """
    best = evaluated(block, problem, penalty, start.w, start.z, start.b)
    if block.shape[1] - penalty.forced <= penalty.k:
        return _plain(block, problem, penalty, best)
    dual, idle, steps = best, 0, 0
    inside = _Inside(block.toarray(), problem, penalty, best)
    while best.objective - dual.bound > tol and steps < MOST_STEPS and idle < IDLE and not out_of_time(deadline):
        steps += 1
        if not inside.step():
            break
        if inside.rest > best.objective - dual.bound:
            continue  # too far from the solution for a better one
        w = penalty.prox(inside.w + inside.all_scores, 1.0)  # has exact zeros; at the solution this is w itself
        point = evaluated(block, problem, penalty, w, block.combine(w), best.b)
        inner = _with_dual(point, block, problem, penalty, inside.feasible_alpha())
        idle = 0 if point.objective < best.objective or max(point.bound, inner.bound) > dual.bound else idle + 1
        best = point if point.objective < best.objective else best
        dual = max((dual, point, inner), key=lambda solution: solution.bound)
    return replace(best, dual=dual.dual, scores=dual.scores, bound=dual.bound, iterations=steps, products=3 * steps)


def _plain(block, problem, penalty, start):
    """The solution where all scalings are 1: the penalty is the plain square."""
    X, cost = block.toarray(), problem.dual_weights()
    v = dual_solution(X @ X.T, problem.y, cost, start.dual_point.vector, shifted=problem.fit_intercept)
    w = block.correlate(v)
    point = evaluated(block, problem, penalty, w, block.combine(w), start.b)
    best = point if point.objective < start.objective else start
    return replace(best, bound=max(point.bound, start.bound), iterations=1, products=3)


def _with_dual(solution, block, problem, penalty, alpha):
    """The solution with the dual point alpha instead of its own."""
    dual = problem.dual_at(alpha)
    scores = block.correlate(dual.vector)
    return replace(solution, dual=dual, scores=scores, bound=dual.bound(2.0 * penalty.conjugate(scores)))


class _Move(NamedTuple):
    """A direction from a point: of v, its scores, d, the multipliers of the sums and those of the constraints."""

    v: np.ndarray
    scores: np.ndarray
    d: np.ndarray
    tau: float
    b: float
    push: np.ndarray
    low: np.ndarray
    high: np.ndarray


class _Inside:
    """A point with alpha > 0 and 0 < d < 1, with multipliers, and the steps of the method from it.

    ``push``, ``low`` and ``high`` are the multipliers of alpha >= 0, d >= 0 and d <= 1, ``b`` and ``tau`` those of
    sum v = 0 and sum d = k. Samples without cost do not take part; d and ``scores`` = X'v are those of columns that are
    not forced.
    """

    def __init__(self, X, problem, penalty, start):
        self.problem, self.k, self.shifted = problem, penalty.k, problem.fit_intercept
        cost = problem.dual_weights()
        self.rows = cost > 0.0
        self.y, self.cost, X = problem.y[self.rows], cost[self.rows], X[self.rows]
        self.F, self.X = X[:, : penalty.forced], X[:, penalty.forced :]
        alpha, m = start.dual_point.vector[self.rows] * self.y, self.X.shape[1]
        self.v = self.y * np.maximum(alpha, max(INSIDE * alpha.mean(), 1e-6 * self.cost.mean()))
        self.scores, self.d = self.X.T @ self.v, np.full(m, self.k / m)
        gain = 0.5 * self.scores**2
        self.tau, self.b = float(np.sort(gain)[-self.k]), float(start.b)
        mu = INSIDE * float(gain @ self.d) / (self.y.size + 2 * m) + 1e-12 * self.cost.sum()
        self.low = np.maximum(self.tau - gain, 0.0) + mu / self.d
        self.high = np.maximum(gain - self.tau, 0.0) + mu / (1.0 - self.d)
        self.push = np.zeros(self.y.size)
        self.push = np.maximum(self._residual(), 0.0) + mu / self.alpha

    @property
    def alpha(self):
        return self.v * self.y

    @property
    def w(self):
        """Weights of all columns."""
        return np.concatenate([self.F.T @ self.v, self.d * self.scores])

    @property
    def all_scores(self):
        return np.concatenate([self.F.T @ self.v, self.scores])

    @property
    def constraints(self):
        """(values that must be positive, their multipliers)."""
        return ((self.alpha, self.push), (self.d, self.low), (1.0 - self.d, self.high))

    @property
    def rest(self):
        """Sum of the products of constraints and multipliers, which falls to zero: about the duality gap."""
        return sum(float(value @ multiplier) for value, multiplier in self.constraints)

    def feasible_alpha(self):
        """Alpha of all samples, with sum alpha y = 0 if there is an intercept."""
        alpha = np.zeros(self.rows.size)
        alpha[self.rows] = self.alpha
        return feasible(alpha, self.problem.y) if self.shifted else alpha

    def _residual(self):
        """The derivative of the Lagrange function in alpha."""
        z = self.X @ (self.d * self.scores) + self.F @ (self.F.T @ self.v) + self.b
        return self.alpha / self.cost - 1.0 + self.y * z - self.push

    def step(self):
        """Mehrotra's predictor and corrector, with one factorisation; False if rounding errors forbid it."""
        if not self._factored():
            return False
        count, before = self.y.size + 2 * self.d.size, self.rest
        predictor = self._direction(0.0)
        length = self._longest(predictor, 1.0)
        after = sum(
            float((value + length * change) @ (multiplier + length * other))
            for (value, multiplier), (change, other) in zip(self.constraints, self._changes(predictor), strict=True)
        )
        move = self._direction(before / count * (after / before) ** 3, predictor)
        length = NEAR * self._longest(move, 1.0 / NEAR)
        if not length > SHORTEST:
            return False
        self.v, self.d = self.v + length * move.v, self.d + length * move.d
        self.tau, self.b = self.tau + length * move.tau, self.b + length * move.b
        self.push, self.low = self.push + length * move.push, self.low + length * move.low
        self.high, self.scores = self.high + length * move.high, self.X.T @ self.v
        return True

    def _factored(self):
        """Factor the system of Newton's method, with d and the multipliers of the constraints eliminated."""
        self.q = self.low / self.d + self.high / (1.0 - self.d)
        B = np.column_stack([self.X * np.sqrt(self.d + self.scores**2 / self.q), self.F])
        self.system = SmallerSide(B, 1.0 / self.cost + self.push / self.alpha)
        if self.system.failed:
            return False
        self.edge = self.X @ (self.scores / self.q)
        self.borders = self.system.times(np.column_stack([self.edge, np.ones(self.y.size)]))
        return bool(np.isfinite(self.borders).all())

    def _direction(self, mu, predictor=None):
        """The step to where all products of constraints and multipliers are ``mu``, up to second-order terms.

        Those of ``predictor`` are subtracted in advance.
        """
        y, d, s, q, alpha = self.y, self.d, self.scores, self.q, self.alpha
        push, low, high, gain, bend = mu, mu, mu, 0.5 * s**2, 0.0
        if predictor is not None:
            push, low = mu - predictor.v * y * predictor.push, mu - predictor.d * predictor.low
            high, gain = mu + predictor.d * predictor.high, gain + 0.5 * predictor.scores**2
            bend = self.X @ (predictor.d * predictor.scores)
        in_v = y * (push / alpha - self.push - self._residual()) - bend
        in_d = gain - self.tau + low / d - high / (1.0 - d)
        v, tau, b = self._solved(in_v - self.X @ (s * in_d / q), self.k - d.sum() - (in_d / q).sum())
        scores = self.X.T @ v
        move = (s * scores - tau + in_d) / q
        return _Move(
            v, scores, move, tau, b,
            push / alpha - self.push - self.push / alpha * (v * y),
            low / d - self.low - self.low / d * move,
            high / (1.0 - d) - self.high + self.high / (1.0 - d) * move,
        )  # fmt: skip

    def _solved(self, right, sum_d):
        """(v, tau, b) that solve  M v - edge tau + b = right,  edge'v - tau sum 1/q = sum_d,  sum of v: as it must."""
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

    def _changes(self, move):
        """Changes of ``constraints`` along a direction."""
        return ((move.v * self.y, move.push), (move.d, move.low), (-move.d, move.high))

    def _longest(self, move, most):
        return longest(self.constraints, self._changes(move), most)
