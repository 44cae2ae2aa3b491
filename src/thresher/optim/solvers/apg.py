"""Accelerated proximal gradient: the paper's algorithm 4, corrected, for any penalty with a proximal map.

Differences from the paper: the momentum is FISTA's (rho_k - 1) / rho_{k+1}; there is no cap on the steepness, so the
line search always ends; the intercept is minimised exactly instead of by gradient steps; momentum is reset when it
points uphill (adaptive restart). The line search requires  kappa ||X move||^2 <= steepness ||move||^2  with kappa the
largest curvature of the loss; the left side comes from cached inner products of the columns, so it costs no product
with the block.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from thresher.data.blocks.base import Block
from thresher.optim.penalties.norms import Proximal
from thresher.optim.solvers.solution import Solution, Start, evaluated, out_of_time

MOST_STEPS = 20_000


def solve(
    block: Block,
    problem: Any,
    penalty: Proximal,
    start: Start | None = None,
    *,
    tol: float,
    deadline: float | None = None,
) -> Solution:
    """Minimise until objective - bound <= tol; the gap of the Solution is what was reached. Takes at least one step."""
    start = start or Start.zero(block)
    gram, steepness = inner_products(block, start.memory)
    kappa = float(problem.curvature_bound().max())
    w, z, b, rho = start.w, start.z, start.b, 1.0
    v, zv = w, z
    point = evaluated(block, problem, penalty, w, z, b)
    iteration, products = 0, 1
    while point.gap > tol and iteration < MOST_STEPS and not (iteration and out_of_time(deadline)):
        iteration += 1
        pull = block.correlate(problem.at(zv, b).dual.vector)
        steepness = max(0.8 * steepness, 1e-12)
        while True:
            new = penalty.prox(v + pull / steepness, 1.0 / steepness)
            move = new - v
            if kappa * (move @ (gram @ move)) <= steepness * (move @ move) * (1.0 + 1e-12):
                break
            steepness *= 2.0
        z_new = block.combine(new)
        products += 2
        if (v - new) @ (new - w) > 0.0:  # the momentum points uphill
            rho = 1.0
        rho_new = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * rho * rho))
        pace = (rho - 1.0) / rho_new
        v, zv = new + pace * (new - w), z_new + pace * (z_new - z)
        w, z, rho = new, z_new, rho_new
        if iteration % 10 == 0 or iteration < 10:  # the gap costs a product: it is not computed in every step
            point = evaluated(block, problem, penalty, w, z, b)
            b, products = point.b, products + 1
    return replace(point, iterations=iteration, products=products, memory=(gram, steepness))


def inner_products(block: Block, memory: tuple[np.ndarray, float] | None) -> tuple[np.ndarray, float]:
    """(X'X, steepness), from the memory of the last solve: only products with the new columns are computed."""
    m = block.shape[1]
    old, steepness = memory or (np.zeros((0, 0)), 1.0)
    gram, done = np.zeros((m, m)), old.shape[0]
    gram[:done, :done] = old
    for lo in range(done, m, 64):
        new = np.arange(lo, min(lo + 64, m))
        gram[:, new] = block.correlate(block.take(new).toarray())
    gram[done:, :done] = gram[:done, done:].T
    return gram, steepness
