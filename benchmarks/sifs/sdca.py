"""Proximal SDCA for the elastic-net SVM, as paper 5 used it: the solver that screening was made for.

Dual coordinate ascent over random permutations of the rows. v = sum_i c_i y_i theta_i x_i is kept, and of
w = S(v) / alpha only what a row needs is looked up: an epoch costs two looks at the stored numbers.
"""

import time
from dataclasses import replace
from typing import NamedTuple

import numba
import numpy as np

from thresher.families.sparse_svm.rules import Screened, StaticTests
from thresher.families.sparse_svm.svm import SvmPoint, gap_at
from thresher.optim.penalties.prox import soft_threshold

MOST_EPOCHS, EVERY = 20_000, 25  # epochs of a solve, and between two looks at the gap if there is no other reason
STRICTER = 0.25  # how much further a part is solved when the gap of the whole is still too large


class Part(NamedTuple):
    """Rows and columns that are left, as CSR, with the squared norms of these rows and which they are."""

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    squares: np.ndarray
    rows: np.ndarray
    columns: np.ndarray


class Cost(NamedTuple):
    """Of a solve: epochs, those as passes over all of X, and seconds of screening, copying what is left included."""

    epochs: int
    passes: float
    screening: float


@numba.njit(cache=True)
def margin(values, ids, v, alpha, beta):
    """x'w with w = S(v) / alpha."""
    total = 0.0
    for k in range(ids.size):
        at = v[ids[k]]
        if at > beta:
            total += values[k] * (at - beta)
        elif at < -beta:
            total += values[k] * (at + beta)
    return total / alpha


@numba.njit(cache=True)
def fenchel(slack, theta, gamma):
    """l(slack) - theta slack + gamma/2 theta^2 >= 0."""
    best = min(1.0, max(0.0, slack / gamma))
    return (best - theta) * (slack - 0.5 * gamma * (best + theta))


@numba.njit(cache=True)
def epoch(order, indptr, indices, values, squares, y, cost, theta, v, alpha, beta, gamma):
    """One step for every row in ``order``; returns the gap as it was met on the way."""
    seen = 0.0
    for i in order:
        lo, hi = indptr[i], indptr[i + 1]
        ids, x = indices[lo:hi], values[lo:hi]
        slack = 1.0 - y[i] * margin(x, ids, v, alpha, beta)
        seen += cost[i] * fenchel(slack, theta[i], gamma)
        new = min(1.0, max(0.0, theta[i] + (slack - gamma * theta[i]) / (gamma + cost[i] * squares[i] / alpha)))
        move = cost[i] * y[i] * (new - theta[i])
        if move != 0.0:
            theta[i] = new
            for k in range(ids.size):
                v[ids[k]] += move * x[k]
    return seen


@numba.njit(cache=True)
def gap_of(indptr, indices, values, y, cost, theta, v, alpha, beta, gamma):
    """The gap of (S(v) / alpha, theta)."""
    total = 0.0
    for i in range(theta.size):
        lo, hi = indptr[i], indptr[i + 1]
        slack = 1.0 - y[i] * margin(values[lo:hi], indices[lo:hi], v, alpha, beta)
        total += cost[i] * fenchel(slack, theta[i], gamma)
    return total


@numba.njit(cache=True)
def squares_of(indptr, values):
    """Squared norms of the rows."""
    squares = np.zeros(indptr.size - 1)
    for i in range(squares.size):
        for k in range(indptr[i], indptr[i + 1]):
            squares[i] += values[k] * values[k]
    return squares


def part_of(block, rows=None, columns=None):
    """The Part of some rows and columns, both sorted, of a block stored by rows; or of all of it."""
    if rows is None:
        rows, columns = np.arange(block.shape[0]), np.arange(block.shape[1])
    else:
        block = block.part(rows, columns)
    return Part(block.indptr, block.indices, block.values, squares_of(block.indptr, block.values), rows, columns)


class Sdca:
    """Solves points of one problem; ``order`` lists the static rules that are run before, or is empty."""

    def __init__(self, svm, order=(), deadline=np.inf, seed=0):
        self.svm, self.order, self.deadline = svm, order, deadline
        self.rng, self.whole = np.random.default_rng(seed), part_of(svm.sides.rows)

    @property
    def late(self):
        return time.process_time() > self.deadline

    def solve(self, start, alpha, tol):
        """(SvmPoint at alpha, Cost) from one at the same beta."""
        svm, begun, found = self.svm, time.process_time(), Screened.nothing(self.svm)
        part, theta, v = self.whole, start.theta.copy(), start.v
        if self.order:
            StaticTests(svm, start, alpha, found).run(self.order)
            part = part_of(svm.sides.rows, np.flatnonzero(~found.settled), np.flatnonzero(~found.idle))
            theta[found.settled] = found.one[found.settled]
            v = v + svm.sides.correlate(svm.signed * (theta - start.theta))
        screening = time.process_time() - begun
        inner, left, epochs, bar = theta[part.rows], v[part.columns].copy(), 0, tol
        while True:
            epochs += self._ascend(part, inner, left, alpha, start.beta, bar)
            theta[part.rows] = inner
            point = point_at(svm, part.columns, left, theta, alpha, start.beta, found)
            if point.gap <= tol or self.late or epochs >= MOST_EPOCHS:
                return point, Cost(epochs, epochs * part.values.size / self.whole.values.size, screening)
            bar *= STRICTER

    def _ascend(self, part, theta, v, alpha, beta, tol):
        """Epochs on a Part, changing theta and v, until its gap is within ``tol``; returns their number."""
        svm, numbers = self.svm, (part.indptr, part.indices, part.values)
        y, cost = svm.y[part.rows], svm.cost[part.rows]
        for count in range(1, MOST_EPOCHS + 1):
            order = self.rng.permutation(part.rows.size)
            seen = epoch(order, *numbers, part.squares, y, cost, theta, v, alpha, beta, svm.gamma)
            if count % EVERY == 0 and self.late:
                break
            if (seen <= 2.0 * tol or count % EVERY == 0) and (
                gap_of(*numbers, y, cost, theta, v, alpha, beta, svm.gamma) <= tol
            ):
                break
        return count


def point_at(svm, columns, left, theta, alpha, beta, found):
    """The SvmPoint of the whole problem, its gap included."""
    w = soft_threshold(left, beta) / alpha
    some = np.flatnonzero(w)
    ids, weights = columns[some], w[some]
    z = svm.y * svm.sides.combine(ids, weights)
    v = svm.sides.correlate(svm.signed * theta)
    point = SvmPoint(alpha, beta, ids, weights, 0.0, z, theta.copy(), v, 0.0, found)
    return replace(point, gap=gap_at(svm, point, alpha, beta))
