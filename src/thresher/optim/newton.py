"""Newton's method on the smooth pieces of the squared k-support norm.

Around almost every point the penalty is a quadratic: some coordinates are charged 1/2 w_j^2, others share
(sum |w_j|)^2, the rest are zero. A proximal gradient step finds the piece, conjugate gradients minimise the penalty
plus a damped second-order model of the loss on it, and a search along the way makes sure that the objective falls.
On the straight part of the way scores are linear, so the search needs no product with the block.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from thresher.optim.master import Start, judged, out_of_time

STEPS = (1.0, 0.5, 0.25, 0.1, 0.03, 0.01)
MAX_INNER = 250  # conjugate gradient steps for one Newton step


class Learned(NamedTuple):
    """What one solve leaves to the next: curvature along proximal steps, and damping of the Newton steps."""

    steepness: float
    damping: float


class Near(NamedTuple):
    """The point after a proximal step, and the piece of the penalty on which it lies."""

    w: np.ndarray
    z: np.ndarray
    b: float
    loss: float
    alpha: np.ndarray
    full: np.ndarray
    level: np.ndarray
    share: int


def solve(block, problem, penalty, start=None, *, tol, max_iter=1000, deadline=None):
    """Minimise to objective - bound <= tol; the Solution's gap says how far it came."""
    start = Start.zero(block) if start is None else start
    point = judged(block, problem, penalty, start.w, start.z, start.b)
    learned = start.memory or first_guess(block, problem, point)
    best, bound, iteration, products = point, point.bound, 0, 2
    while best.objective - bound > tol and iteration < max_iter and not out_of_time(deadline):
        iteration += 1
        near, steepness, cost = proximal_step(block, problem, penalty, point, learned.steepness)
        step, Xstep, more = newton_step(block, problem, near, learned.damping)
        w, z, b, length, most = search(block, problem, penalty, near, step, Xstep)
        damping = learned.damping * (0.25 if length == 1.0 else 4.0 if length < 0.2 else 1.0)
        learned = Learned(steepness, max(damping, 1e-10))
        point = judged(block, problem, penalty, w, z, b)
        products += cost + more + most + 1
        bound = max(bound, point.bound)
        if point.objective < best.objective:
            best = point
        elif length == 0.0 and np.array_equal(w, best.w):  # at the limit of rounding nothing moves any more
            break
    return replace(best, bound=bound, iterations=iteration, products=products, memory=learned)


def first_guess(block, problem, point):
    """Curvature of the loss along the first step."""
    along = block.combine(point.scores)
    length = float(point.scores @ point.scores)
    curvature = problem.loss.curvature_bound(problem.cost)
    steepness = float((curvature * along) @ along) / length if length > 0 else 1.0
    return Learned(max(steepness, 1e-10), 1e-3 * max(steepness, 1e-10))


def proximal_step(block, problem, penalty, point, steepness):
    """One proximal gradient step with sufficient decrease: (Near, steepness that passed, products)."""
    steepness = max(0.5 * steepness, 1e-10)
    for tries in range(1, 200):
        u = point.w + point.scores / steepness
        w = penalty.prox(u, 1.0 / steepness)
        move = w - point.w
        z = point.z + block.combine(move)
        b, loss, alpha = problem.at(z, point.b)
        allowed = point.loss - point.scores @ move + 0.5 * steepness * (move @ move)
        if loss <= allowed + 1e-13 * abs(point.loss):
            break
        steepness *= 2.0
    return Near(w, z, b, loss, alpha, *penalty.piece(u, 1.0 / steepness)), steepness, tries


def newton_step(block, problem, near, damping):
    """(step, X step, products): minimiser of the damped second-order model at ``near`` on its piece, nearly."""
    D = problem.loss.curvature(problem.y, near.z + near.b, problem.cost)
    total = D.sum()
    slope = np.where(near.level, np.sign(near.w), 0.0)
    active = near.full | near.level
    share = max(near.share, 1)

    def weighed(v):  # the second derivative in z, with the best shift eliminated
        v = D * v
        return v - D * (v.sum() / total) if problem.fit_intercept and total > 0 else v

    def curved(p, Xp):
        loss_part = np.where(active, block.correlate(weighed(Xp)), 0.0)
        return loss_part + np.where(near.full, p, 0.0) + slope * ((slope @ p) / share) + damping * p

    pull = block.correlate(near.alpha * problem.y)
    charge = np.where(near.full, near.w, 0.0) + slope * ((slope @ near.w) / share)
    residual = np.where(active, pull - charge, 0.0)
    step, Xstep = np.zeros_like(near.w), np.zeros_like(near.z)
    direction = residual.copy()
    norm = first = residual @ residual
    products = 1
    for _ in range(min(MAX_INNER, int(active.sum()) + 5)):
        if norm <= 1e-4 * first:
            break
        Xd = block.combine(direction)
        Hd = curved(direction, Xd)
        products += 2
        pace = norm / (direction @ Hd)
        step += pace * direction
        Xstep += pace * Xd
        residual -= pace * Hd
        norm, last = residual @ residual, norm
        direction = residual + (norm / last) * direction
    return step, Xstep, products


def search(block, problem, penalty, near, step, Xstep):
    """The best of a few points on the way from ``near`` along ``step``: (w, z, b, length of the step, products).

    Coordinates that would change sign on the shared level of the penalty stop at zero, where its kink is.
    """
    value, products = penalty.value(near.w) + near.loss, 0
    best = near.w, near.z, near.b, 0.0
    for t in STEPS:
        w, z = near.w + t * step, near.z + t * Xstep
        flipped = near.level & (w * near.w < 0.0)
        if flipped.any():
            z = z - block.combine(np.where(flipped, w, 0.0))
            w[flipped] = 0.0
            products += 1
        b, loss, _ = problem.at(z, near.b)
        there = penalty.value(w) + loss
        if there < value:
            value, best = there, (w, z, b, t)
        elif best[3] > 0.0:
            break
    return *best, products
