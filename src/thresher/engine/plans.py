"""Options of grow(): grow a final model, or gather columns for thresh()."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from thresher.data.designs.units import Units
from thresher.engine.working_set import WorkingSet
from thresher.optim.penalties.norms import GroupSum, KSupport, Penalty

PenaltyRule = Callable[[WorkingSet, int], Penalty]

FINAL_TOL = 1e-15  # of the objective: inner accuracy of the model that is returned under inner_tol="auto"


def k_support(taken: WorkingSet, budget: int) -> Penalty:
    """The k-support norm of the units taken: the converged problem with this budget."""
    return KSupport(budget, taken.forced, taken.layout)


def turn_groups(taken: WorkingSet, budget: int) -> Penalty:
    """The paper's sub-problem (30): the units of one turn are a group. It may stall above the tolerance."""
    if not taken.layout.is_plain:
        raise ValueError(
            'sub-problem (30) is for single columns and two classes only: set solver="auto" or, for classes, '
            "per_class=True"
        )
    sizes = np.unique(taken.turn[taken.forced :], return_counts=True)[1]
    return GroupSum(tuple(sizes.tolist()), taken.forced)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Options of both strategies.

    ``wanted`` units (None: until ``tol``) out of ``units``; ``budget`` is that of the penalty and the number of units
    per turn, ``forced`` units do not count; those in ``exclude`` are never taken. ``penalty(taken, budget)`` is that of
    the problem. ``rough`` solves to a coarse tolerance only, ``final_tol`` is that of the model that is returned.
    ``reach`` is the number of units to gather for thresh(), None where the grown model is the result.
    """

    units: Units
    wanted: int | None
    budget: int
    tol: float = 1e-3
    inner_tol: float | None = None
    max_turns: int = 100
    deadline: float | None = None
    forced: tuple[int, ...] = ()
    exclude: tuple[int, ...] = ()
    penalty: PenaltyRule = k_support
    rough: bool = False
    final_tol: float = FINAL_TOL
    reach: int | None = None


@dataclass(frozen=True, kw_only=True)
class GrowthPlan(Plan):
    """Grow until ``wanted`` units have weight, or to the optimum within ``tol``: the grown model is the result.

    The budget is raised if it is too small for ``wanted`` and ``may_raise`` is set; if ``wanted`` is None, growth also
    stops when the objective decreases by less than ``min_decrease`` of its value without units.
    """

    may_raise: bool = False
    min_decrease: float = 0.0


@dataclass(frozen=True, kw_only=True)
class GatherPlan(Plan):
    """Gather ``reach`` units for thresh(), whatever their weights; ``wanted`` of them will be kept.

    If there are fewer than ``at_least`` in the end, the best units of the last scan are added.
    """

    wanted: int
    reach: int
    at_least: int = 0
