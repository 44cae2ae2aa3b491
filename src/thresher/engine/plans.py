"""What grow() is asked to do: grow to the end, or gather columns for thresh()."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from thresher.data.units import Units
from thresher.engine.taken import Taken
from thresher.optim.penalties import GroupSum, KSupport, Penalty

PenaltyRule = Callable[[Taken, int], Penalty]


def k_support(taken: Taken, budget: int) -> Penalty:
    """The k-support norm of the units taken: the converged problem with this budget."""
    return KSupport(budget, taken.forced, taken.layout)


def turn_groups(taken: Taken, budget: int) -> Penalty:
    """The paper's sub-problem (30): what one turn took is a group. It may stall above the tolerance."""
    sizes = np.unique(taken.turn[taken.forced :], return_counts=True)[1]
    return GroupSum(tuple(sizes.tolist()), taken.forced)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What both ways of growing share.

    ``wanted`` units (None: until ``tol``) out of ``units``, ``budget`` of the penalty and units a turn, ``forced`` ones
    outside it; ``penalty(taken, budget)`` is that of the master problem. ``rough`` solves to a coarse tolerance only.
    """

    units: Units
    wanted: int | None
    budget: int
    tol: float = 1e-3
    inner_tol: float | None = None
    max_turns: int = 100
    deadline: float | None = None
    forced: tuple[int, ...] = ()
    penalty: PenaltyRule = k_support
    rough: bool = False


@dataclass(frozen=True, kw_only=True)
class GrowthPlan(Plan):
    """Grow until ``wanted`` units have weight, or to the optimum within ``tol``: the grown model is the result.

    The budget is raised when it turns out too small for ``wanted``, if ``may_raise``; without a number, growth also
    ends when the objective falls by less than ``min_decrease`` of its value without units.
    """

    may_raise: bool = False
    min_decrease: float = 0.0


@dataclass(frozen=True, kw_only=True)
class GatherPlan(Plan):
    """Gather ``reach`` units for thresh(), whatever their weights; ``wanted`` of them will be kept.

    Where there are fewer than ``at_least`` in the end, the last scan's best make up for it.
    """

    wanted: int
    reach: int
    at_least: int = 0
