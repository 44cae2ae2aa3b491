"""Newton's method in the dual, for the squared hinge on few samples: fast where columns outnumber samples.

There the pieces of the k-support norm change at almost every step of a primal method, because directions exist in which
the loss is flat. The proximal point method takes the flatness away: it minimises objective(w) + ||w - centre||^2 /
(2 sigma), whose dual in v = alpha y is smooth,

    sum alpha - sum alpha^2 / (2c) - max_w [ (X'v)'w - penalty(w) - ||w - centre||^2 / (2 sigma) ],

with the maximum at w = prox(centre + sigma X'v). Semismooth Newton steps need one system of the size of the samples
with alpha > 0. The centre moves and sigma rises when a sub-problem is solved well enough; when it takes too long, sigma
falls and the method goes back to the best point so far.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from thresher.data.block import Block
from thresher.optim.master import Solution, Start, judged, out_of_time
from thresher.optim.penalties import Pieced
from thresher.optim.problem import Problem, QuadraticDual

MOST_SAMPLES, MOST_ENTRIES = 3000, 1 << 22
FASTER = 3.0  # sigma rises by this factor each time the centre moves
ROUNDS = 8  # times that samples are dropped which a Newton step would take below zero
IDLE = 20  # steps without any gain after which rounding has the last word
INNER = 8  # Newton steps after which a sub-problem counts as too hard


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
    """Minimise to objective - bound <= tol, from ``start``; the Solution's gap says how far it came."""
    X = block.toarray()
    best = judged(block, problem, penalty, start.w, start.z, start.b)
    bound, centre, sigma, inner, iteration, idle = best.bound, start.w, 1.0, 0, 0, 0
    dual = _Dual(X, problem, penalty, centre, sigma)
    alpha = best.dual_point.vector * problem.y  # y = +-1: exact
    v = problem.loss.best_multiple(alpha, problem.cost, 2.0 * penalty.conjugate(best.scores)) * alpha * problem.y
    while best.objective - bound > tol and iteration < max_iter and not out_of_time(deadline):
        iteration += 1
        at = dual.at(v)
        z = X @ at.w
        point = judged(block, problem, penalty, at.w, z, best.b)
        own = problem.dual_at(v * problem.y).bound(2.0 * penalty.conjugate(at.scores))
        idle = 0 if point.objective < best.objective or max(point.bound, own) > bound else idle + 1
        bound = max(bound, point.bound, own)
        best = point if point.objective < best.objective else best
        gap = point.objective + dual.distance(at.w) - at.value  # of the sub-problem
        if gap <= max(0.1 * (best.objective - bound), 1e-14 * point.objective) or inner >= INNER:
            if idle > IDLE and gap <= 1e-13 * point.objective:  # at the limit of rounding nothing moves any more
                break
            # solved: move on, faster; not solved: back to the best point, with a sub-problem that is easier
            centre, sigma, inner = (at.w, FASTER * sigma, 0) if inner < INNER else (best.w, 0.1 * sigma, 0)
            dual = _Dual(X, problem, penalty, centre, sigma)
            continue
        inner += 1
        v = dual.step(v, at, z, point.b)
    return replace(best, bound=bound, iterations=iteration, products=2 * iteration)


class _At:
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
        return _At(self, v)

    def distance(self, w):
        """||w - centre||^2 / (2 sigma)."""
        move = w - self.centre
        return float(move @ move) / (2.0 * self.sigma)

    def step(self, v, at, z, b):
        """A better v: towards the Newton point, or else towards the dual point of ``at.w``, which always rises."""
        y, plain = self.problem.y, self.problem.at(z, b).dual.alpha
        for target, shortest in ((self._newton_point(v, at, z, plain), 0.02), (plain * y, 1e-9)):
            length = 1.0
            while length > shortest:
                there = v + length * (target - v)
                if self.at(there).value > at.value:
                    return there
                length *= 0.5
        return plain * y

    def _newton_point(self, v, at, z, plain):
        """The maximiser, nearly, of the second-order model of the dual around v with alpha >= 0."""
        y, cost = self.problem.y, self.problem.dual_weights()
        full, level, share = self.penalty.piece(at.u, self.sigma)
        sign, sigma = np.sign(at.w[level]), self.sigma
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
        for _ in range(ROUNDS):  # primal and dual feasibility decide who is inside: often done in two or three rounds
            here = np.flatnonzero(inside)
            found, shift = self._solved(K[np.ix_(here, here)], right[here])
            guess = np.zeros(rows.size)
            guess[here] = found
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
        """K x = right, with one more unknown, the shift, that keeps the sum of x at zero where there is one."""
        if self.problem.fit_intercept:
            one = np.ones((right.size, 1))
            K, right = np.block([[K, one], [one.T, np.zeros((1, 1))]]), np.append(right, 0.0)
        try:
            found = np.linalg.solve(K, right)  # scipy's would warn of every ill-conditioned step
        except np.linalg.LinAlgError:
            found = np.linalg.lstsq(K, right, rcond=None)[0]
        return (found[:-1], found[-1]) if self.problem.fit_intercept else (found, 0.0)
