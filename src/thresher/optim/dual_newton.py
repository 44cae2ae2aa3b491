"""Newton's method in the dual, for the squared hinge on few samples: fast where columns outnumber samples.

There the pieces of the k-support norm change at almost every step of a primal method, because the loss is flat in some
directions. The proximal point method adds curvature: it minimises objective(w) + ||w - centre||^2 /
(2 sigma), whose dual in v = alpha y is smooth,

    sum alpha - sum alpha^2 / (2c) - max_w [ (X'v)'w - penalty(w) - ||w - centre||^2 / (2 sigma) ],

with the maximum at w = prox(centre + sigma X'v). Semismooth Newton steps need one system of the size of the samples
with alpha > 0. The centre moves and sigma increases when a sub-problem is solved accurately enough; when that takes too
long, sigma decreases and the method restarts from the best point so far.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from thresher.data.block import Block
from thresher.optim.master import Solution, Start, evaluated, out_of_time
from thresher.optim.penalties import Pieced
from thresher.optim.problem import Problem, QuadraticDual

MOST_SAMPLES, MOST_ENTRIES = 3000, 1 << 22
FASTER = 3.0  # sigma grows by this factor each time the centre moves
ROUNDS = 8  # rounds of dropping samples whose alpha a Newton step would make negative
IDLE = 20  # steps without progress after which only rounding errors are left
INNER = 8  # Newton steps after which a sub-problem is considered too hard


def suits(block: Block, problem: Problem, penalty: Pieced) -> bool:
    """Whether this solver can be used: its systems are as large as the number of samples.

    It needs a loss with a quadratic dual, and a penalty of single coordinates.
    """
    n, m = block.shape
    few = n <= MOST_SAMPLES and n * m <= MOST_ENTRIES
    return few and penalty.layout.is_plain and isinstance(problem, QuadraticDual) and problem.dual_weights() is not None


def solve(
    block: Block,
    problem: Any,
    penalty: Pieced,
    start: Start,
    *,
    tol: float,
    max_iter: int = 500,
    deadline: float | None = None,
) -> Solution:
    """Minimise until objective - bound <= tol, from ``start``; the gap of the Solution is what was reached."""
    X = block.toarray()
    best = evaluated(block, problem, penalty, start.w, start.z, start.b)
    bound, centre, sigma, inner, iteration, idle = best.bound, start.w, 1.0, 0, 0, 0
    dual = _Dual(X, problem, penalty, centre, sigma)
    alpha = best.dual_point.vector * problem.y  # y = +-1: exact
    v = problem.loss.best_multiple(alpha, problem.cost, 2.0 * penalty.conjugate(best.scores)) * alpha * problem.y
    while best.objective - bound > tol and iteration < max_iter and not out_of_time(deadline):
        iteration += 1
        here = dual.at(v)
        z = X @ here.w
        point = evaluated(block, problem, penalty, here.w, z, best.b)
        dual_bound = problem.dual_at(v * problem.y).bound(2.0 * penalty.conjugate(here.scores))
        idle = 0 if point.objective < best.objective or max(point.bound, dual_bound) > bound else idle + 1
        bound = max(bound, point.bound, dual_bound)
        best = point if point.objective < best.objective else best
        gap = point.objective + dual.distance(here.w) - here.value  # of the sub-problem
        if gap <= max(0.1 * (best.objective - bound), 1e-14 * point.objective) or inner >= INNER:
            if idle > IDLE and gap <= 1e-13 * point.objective:  # no more progress than rounding errors allow
                break
            # solved: move on, faster; not solved: back to the best point, with an easier sub-problem
            centre, sigma, inner = (here.w, FASTER * sigma, 0) if inner < INNER else (best.w, 0.1 * sigma, 0)
            dual = _Dual(X, problem, penalty, centre, sigma)
            continue
        inner += 1
        v = dual.step(v, here, z, point.b)
    return replace(best, bound=bound, iterations=iteration, products=2 * iteration)


class _DualValue:
    """The dual function at v: its value, the scores X'v and the w that attains the inner maximum."""

    def __init__(self, dual, v):
        alpha = v * dual.problem.y
        self.scores = dual.X.T @ v
        self.u = dual.centre + dual.sigma * self.scores
        self.w = dual.penalty.prox(self.u, dual.sigma)
        attained = self.scores @ self.w - dual.penalty.value(self.w) - dual.distance(self.w)
        self.value = dual.problem.loss.dual(alpha, dual.problem.cost) - attained


class _Dual:
    """The dual of one proximal point sub-problem."""

    def __init__(self, X, problem, penalty, centre, sigma):
        self.X, self.problem, self.penalty, self.centre, self.sigma = X, problem, penalty, centre, sigma

    def at(self, v):
        return _DualValue(self, v)

    def distance(self, w):
        """||w - centre||^2 / (2 sigma)."""
        move = w - self.centre
        return float(move @ move) / (2.0 * self.sigma)

    def step(self, v, here, z, b):
        """A better v: towards the Newton point, or else towards the dual point of ``here.w``, which always ascends."""
        y, plain = self.problem.y, self.problem.at(z, b).dual.alpha
        for target, shortest in ((self._newton_point(v, here, z, plain), 0.02), (plain * y, 1e-9)):
            length = 1.0
            while length > shortest:
                there = v + length * (target - v)
                if self.at(there).value > here.value:
                    return there
                length *= 0.5
        return plain * y

    def _newton_point(self, v, here, z, plain):
        """The approximate maximiser of the second-order model of the dual around v with alpha >= 0."""
        y, cost = self.problem.y, self.problem.dual_weights()
        full, level, share = self.penalty.piece(here.u, self.sigma)
        sign, sigma = np.sign(here.w[level]), self.sigma
        counts = (v != 0.0) | (plain > 0.0)
        rows = np.flatnonzero(counts)
        A, B = self.X[np.ix_(rows, np.flatnonzero(full))], self.X[np.ix_(rows, np.flatnonzero(level))]
        K = (sigma / (1.0 + sigma)) * (A @ A.T) + sigma * (B @ B.T)
        if sign.size:
            shared = B @ sign
            K -= (sigma**2 / (share + sigma * sign.size)) * np.multiply.outer(shared, shared)
        K[np.diag_indices_from(K)] += 1.0 / cost[rows]
        right = (y - z)[rows] - v[rows] / cost[rows] + K @ v[rows]  # K v_new + shift = right
        inside = np.ones(rows.size, dtype=bool)
        target = np.zeros_like(v)
        for _ in range(ROUNDS):  # primal and dual feasibility decide which samples are inside; mostly 2 or 3 rounds
            chosen = np.flatnonzero(inside)
            solution, shift = self._solved(K[np.ix_(chosen, chosen)], right[chosen])
            guess = np.zeros(rows.size)
            guess[chosen] = solution
            push = (right - K @ guess - shift) * y[rows]
            next_inside = np.where(inside, guess * y[rows] > 0.0, push > 0.0)
            if np.array_equal(next_inside, inside):
                break
            inside = next_inside
        target[rows] = np.where(guess * y[rows] > 0.0, guess, 0.0)
        if self.problem.fit_intercept:
            target = self.problem.loss.feasible(target * y, y) * y
        return target

    def _solved(self, K, right):
        """Solve K x = right; with an intercept, one more unknown, the shift, keeps the sum of x at zero."""
        if self.problem.fit_intercept:
            one = np.ones((right.size, 1))
            K, right = np.block([[K, one], [one.T, np.zeros((1, 1))]]), np.append(right, 0.0)
        try:
            solution = np.linalg.solve(K, right)  # scipy's version would warn about every ill-conditioned step
        except np.linalg.LinAlgError:
            solution = np.linalg.lstsq(K, right, rcond=None)[0]
        return (solution[:-1], solution[-1]) if self.problem.fit_intercept else (solution, 0.0)
