"""The feature generating machine: docs/theory/fgm.md has the problem, the algorithm and what differs from the paper."""

import math
from dataclasses import replace

import numpy as np

from thresher.engine import FINAL_TOL, Plan, grow, restricted
from thresher.optim import newton
from thresher.optim.master import Start
from thresher.optim.penalties import KSupport
from thresher.results import Certificate, Selection


def features_per_turn(wanted):
    """The paper's B for ``wanted`` features: a tenth of them, at most 100; 10 when there is no number to reach.

    About ten turns, so about twelve passes over X. The paper finds no loss of accuracy up to B = 100 and loss at 400.
    """
    return 10 if wanted is None else min(100, max(1, math.ceil(wanted / 10)))


def fgm(
    design, problem, trace, *, wanted, per_turn=None, tol=1e-3, inner_tol=None, max_turns=100, deadline=None,
    forced=(), debias=False, master="k_support", start=None, watch=lambda turn: None,
):  # fmt: skip
    """Grow a linear model on ``design`` and return its Selection.

    ``wanted`` features, or None to grow until the gap is within ``tol``. ``per_turn`` is the budget B (None: by rule,
    and raised when its optimum has fewer features than wanted). ``master`` is "k_support", or "groups" for the paper's
    sub-problem (30), which may stall above ``tol``. ``start`` is an earlier Selection's (ids, weights) in the units of
    the design.
    """
    forced = tuple(int(j) for j in forced)
    free = None if wanted is None else wanted - len(forced)
    budget = features_per_turn(wanted) if per_turn is None else per_turn
    if free is not None:
        budget = min(budget, max(free, 1))
    plan = Plan(
        wanted,
        budget,
        may_raise=per_turn is None and master == "k_support",
        tol=tol,
        inner_tol=inner_tol,
        min_decrease=tol if master == "groups" else 1e-3 * tol,
        max_turns=max_turns,
        deadline=deadline,
        forced=forced,
        master=master,
    )
    grown = grow(design, problem, plan, trace, start, watch)
    if not debias or grown.interrupted:
        return selection(design, trace, grown)
    try:
        return selection(design, trace, grown, refitted(problem, trace, grown, deadline))
    except KeyboardInterrupt:
        return selection(design, trace, replace(grown, reason="interrupted", interrupted=True))


def refitted(problem, trace, grown, deadline):
    """The solution on the model's columns with the plain penalty 1/2 ||w||^2."""
    positions = grown.taken.positions
    if positions.size == 0:
        return None
    chosen = restricted(grown.taken, positions)
    start = Start(chosen.solution.w, chosen.solution.z, chosen.solution.b)
    tol = FINAL_TOL * grown.at_zero
    with trace.step("debias"):
        return newton.solve(chosen.block, problem, KSupport(positions.size), start, tol=tol, deadline=deadline)


def selection(design, trace, grown, refit=None):
    """The model's columns and weights, or the refitted ones, in the units and numbers of X."""
    taken, positions = grown.taken, grown.taken.positions
    ids, w, b, loss = taken.ids[positions], taken.solution.w[positions], taken.solution.b, taken.solution.loss
    if refit is not None:
        w, b, loss = refit.w, refit.b, refit.loss
    certificate = Certificate(
        taken.solution.objective, grown.lower_bound, 0.5 * float(w @ w) + loss, grown.pick_bound, grown.at_zero
    )
    weights, offset = design.in_units_of_X(ids, w)
    order = np.argsort(ids)
    return Selection(
        design.numbers_in_X(ids[order]),
        weights[order],
        b + offset,
        grown.reason,
        certificate,
        trace,
        budget=grown.budget,
        forced=np.sort(design.numbers_in_X(taken.ids[: taken.forced])),
        interrupted=grown.interrupted,
    )
