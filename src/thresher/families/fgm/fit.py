"""The feature generating machine: docs/theory/fgm.md has the problem, the algorithm and what differs from the paper."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from thresher.data.designs.base import Design
from thresher.data.designs.units import EachColumn, Units
from thresher.engine.growing import Grown, is_large
from thresher.engine.growth import grow
from thresher.engine.plans import GatherPlan, GrowthPlan, PenaltyRule, Plan, k_support
from thresher.engine.threshing import refitted, stops, thresh
from thresher.engine.working_set import Taken
from thresher.families.fgm import path as fgm_path
from thresher.families.fgm.path import InX, Later, Rest, Whole, forced_columns, members, needs_of, path, station
from thresher.optim.dispatch import eliminator_for
from thresher.optim.problems.margins import Problem
from thresher.optim.solvers.solution import out_of_time
from thresher.results import Certificate, Path, Selection, Station, Stop, StopReason, Trace, Turn, reached_text

POOL, CLEARLY = 400, 0.02  # see pool_sizes
MOST_COLUMNS = 1000  # of the groups in the larger pool, or in one whose every number of groups is a station
MOST_WORK = 5e9  # rows x columns x the smaller of both, of a pool of groups, above which nothing is eliminated
STRIDE = 0.01  # of the number wanted: units that leave at a time where a station is expensive
FINE = 100  # if no number is requested, the path has every number of features up to this one


def features_per_turn(columns: int | None) -> int:
    """The paper's B: a tenth of the target number of columns, at most 100; 10 if there is no target.

    About ten turns, so about twelve passes over X. The paper finds no loss of accuracy up to B = 100 and loss at 400.
    """
    return 10 if columns is None else min(100, max(1, math.ceil(columns / 10)))


def pool_sizes(wanted: int, overshoot: float | str, mean_size: float = 1.0) -> list[int]:
    """Numbers of units from which elimination selects ``wanted``, ascending.

    "auto" tries 400 less twice the number wanted and, where that is less, six fifths of it: 380 and 12 for 10
    features, 300 and 60 for 50. The pick comes from the larger pool, unless that from the smaller one has an objective
    lower by more than 2 %. docs/architecture.md has the experiments behind it. Of groups of ``mean_size`` columns the
    larger pool has 400 columns or twice the number wanted, whichever is more, but no more than MOST_COLUMNS columns:
    more units made no better picks, and the work grows with the cube of the columns.
    """
    if not isinstance(overshoot, str):  # "auto" is the only word
        return [math.ceil(overshoot * wanted)]
    few, enough = math.ceil(1.2 * wanted), max(2 * wanted, int(POOL / max(mean_size, 1.0)))
    many = min(POOL - 2 * wanted, enough, int(MOST_COLUMNS / max(mean_size, 1.0)))
    return [few, many] if many > few else [few]


def overshoot_for(
    wanted: int | None, overshoot: float | str | None, mean_size: float, n_rows: int
) -> float | str | None:
    """``overshoot``, where "auto" is None (growth alone) if elimination would be too much work.

    That is so for groups, and inputs of a kernel, where rows times columns times the smaller of both, which one of many
    factorisations takes, is above MOST_WORK even for the smaller pool: 1.2 times the number wanted, of ``mean_size``
    columns each.
    """
    if wanted is None or not isinstance(overshoot, str) or mean_size <= 1.0:
        return overshoot
    columns = math.ceil(1.2 * wanted) * mean_size
    return None if columns * n_rows * min(columns, n_rows) > MOST_WORK else overshoot


def growth_target(
    wanted: int | None, overshoot: float | str | None, n_units: int, mean_size: float = 1.0
) -> int | None:
    """The number of units that growth takes, or None if there is no target."""
    if wanted is None or overshoot is None:
        return wanted
    return min(n_units, pool_sizes(wanted, overshoot, mean_size)[-1])


def fgm(
    design: Design,
    problems: Sequence[Problem],
    trace: Trace,
    *,
    wanted: int | None,
    overshoot: float | str | None = None,
    debias: bool = False,
    starts: Callable[[int | None], list] | None = None,
    watch: Callable[[Turn], None] = lambda turn: None,
    spread: np.ndarray | Callable[[np.ndarray], np.ndarray] | None = None,
    labels: np.ndarray | None = None,
    units: Units | None = None,
    **how: Any,
) -> Selection:
    """Grow linear models on ``design``, thresh them, and return them as one Selection with its path.

    ``problems`` are the models: each selects its own columns, all are scanned together. ``wanted`` features each, or
    None to grow until the gap is at most ``tol``. The pick is made by elimination from ``overshoot`` times as many
    columns, and the path starts at twice as many; None: growth alone. ``debias`` refits a grown pick with the plain
    penalty, as elimination always does. ``starts(most)`` gives (ids, weights (ids, classes)) for each problem to begin
    from, in the units of the design, with at most ``most`` columns (None: any number). ``spread`` has the
    standard deviation of each column of the design as given, or returns those of some, for the importance of features,
    ``labels`` names each of ``units`` (None: the columns). ``how`` are options of ``planned``.
    """
    if overshoot is not None:
        for problem in problems:
            eliminator_for(problem)  # raises now rather than after hours of growth
    units = EachColumn(design.shape[1]) if units is None else units
    sizes: list[int | None] = [None]
    if wanted is not None and overshoot is not None:
        sizes = [*pool_sizes(wanted, overshoot, units.mean_size)]
    plans = [planned(units, wanted, size, **how) for size in sizes]
    count = len(problems)
    grown = grow(
        design,
        list(problems) * len(plans),
        [plan for plan in plans for _ in problems],
        trace,
        None if starts is None else [start for plan in plans for start in starts(plan.reach)],
        watch,
    )
    models = [_Model(problem, grown[index::count], plans, trace) for index, problem in enumerate(problems)]
    interrupted, in_X = grown[0].interrupted, Whole(design, models, spread, labels)
    later: Later | None = None
    more: list[Station] = []
    try:
        for model in [] if interrupted else models:
            if overshoot is not None:
                model.thresh()
            elif debias:
                model.refit()
        if overshoot is not None and not interrupted:
            rest = Later(in_X, models)
            if rest.nbytes <= fgm_path.KEEP:
                later = rest
            else:
                more = rest(plans[0].deadline)
    except KeyboardInterrupt:
        interrupted = True
    return selection(in_X, models, trace, path(in_X, models, more, later), interrupted=interrupted)


def held_out(
    design: Design,
    problems: Sequence[Problem],
    trace: Trace,
    *,
    wanted: int | None,
    overshoot: float | str | None = None,
    debias: bool = False,
    units: Units | None = None,
    excludes: Sequence[Sequence[int]] | None = None,
    **how: Any,
) -> Iterator[np.ndarray]:
    """Scores (samples, classes) of the pick of each problem, on all samples: those without cost were held out.

    The models are those of fgm(), solved roughly and from at most twice as many columns as wanted: accurate enough to
    compare the problems. ``excludes`` are the units that each problem must not select; None: those of ``how``.
    """
    units, pool = EachColumn(design.shape[1]) if units is None else units, None
    if wanted is not None and overshoot is not None:
        pool = min(2 * wanted, pool_sizes(wanted, overshoot, units.mean_size)[-1])
    if excludes is None:
        plans = [_rough(units, wanted, pool, **how)] * len(problems)
    else:
        plans = [_rough(units, wanted, pool, **how | {"exclude": exclude}) for exclude in excludes]
    apart = Trace(steps=trace.steps)  # the turns are not part of the fit, their cost is
    grown = grow(design, problems, plans, apart)
    if grown[0].interrupted:  # nothing is selected yet, so there is no model to return
        raise KeyboardInterrupt
    for problem, plan, result in zip(problems, plans, grown, strict=True):
        model = _Model(problem, [result], [plan], apart)
        if pool is not None:
            model.thresh_to_pick()
        elif debias:
            model.refit()
        yield model.scores


def _rough(units: Units, wanted: int | None, pool: int | None, **how: Any) -> Plan:
    """The plan of models that are compared only."""
    plan = replace(planned(units, wanted, pool, **how), rough=True)
    return replace(plan, at_least=pool) if pool is not None and isinstance(plan, GatherPlan) else plan


def planned(
    units: Units,
    wanted: int | None,
    pool: int | None,
    *,
    per_turn: int | None = None,
    tol: float = 1e-3,
    penalty: PenaltyRule = k_support,
    forced: Sequence[int] = (),
    exclude: Sequence[int] = (),
    **common: Any,
) -> Plan:
    """The plan for grow(): ``pool`` of the ``units`` for elimination or, where it is None, ``wanted`` ones.

    ``per_turn`` is the budget B (None: by rule, and
    raised, in growth alone, when its optimum has fewer units than wanted). ``penalty`` is that of the master problem:
    the k-support norm, or ``turn_groups`` for the paper's sub-problem (30), which may stall above ``tol``. Units in
    ``forced`` are always taken, those in ``exclude`` never. ``common`` are the other fields of a Plan.
    """
    available = units.count - len(exclude)
    target = wanted if pool is None else min(available, pool)
    budget = features_per_turn(target) if per_turn is None else per_turn
    if target is not None:
        budget = min(budget, max(target - len(forced), 1))
    common |= {"units": units, "wanted": wanted, "budget": budget, "tol": tol, "penalty": penalty}
    common |= {"forced": tuple(int(unit) for unit in forced), "exclude": tuple(int(unit) for unit in exclude)}
    if wanted is not None and pool is not None:
        return GatherPlan(**common, reach=min(available, pool), at_least=2 * wanted)
    converges = penalty is k_support
    return GrowthPlan(**common, may_raise=per_turn is None and converges, min_decrease=1e-3 * tol if converges else tol)


class _Model:
    """One problem during a fit: the turns of growth, the stations of elimination, and its pick.

    ``candidates`` are the results of growth under each of ``plans``; the pick comes from ``grown``; ``last`` is where
    elimination ended, with its columns.
    """

    def __init__(self, problem: Problem, candidates: Sequence[Grown], plans: Sequence[Plan], trace: Trace):
        self.problem, self.candidates, self.plans, self.trace = problem, candidates, plans, trace
        self.grown, self.plan = candidates[-1], plans[-1]
        self.stations: dict[int, Taken] = {}  # of elimination, by number of units
        self.stop, self.untried = self.grown.stop, False  # untried: the deadline passed before all candidates were
        taken = self.last = self.grown.taken
        self.pick = taken.heaviest(problem, taken.used if self.plan.wanted is None else self.plan.wanted)

    @property
    def scores(self) -> np.ndarray:
        """Scores of the pick, (samples, classes)."""
        return self.problem.by_class(self.pick.solution.z).T + self.pick.solution.b

    def thresh(self) -> None:
        """Eliminate down to the pick, which has the number wanted; the rest of the path is left for later.

        The pick comes from the largest pool, unless that from a smaller one has a clearly lower objective.
        """
        if self.plan.wanted is None:
            return
        self.thresh_carefully()
        for grown, plan in list(zip(self.candidates, self.plans, strict=True))[-2::-1]:
            if out_of_time(plan.deadline):
                self.untried = True
                return
            trial = _Model(self.problem, [grown], [plan], self.trace)
            trial.thresh_to_pick()
            self.untried = trial.stop.reason is StopReason.MAX_TIME
            if trial.pick.used == self.pick.used and trial.objective < (1.0 - CLEARLY) * self.objective:
                trial.thresh_carefully()
                self.grown, self.plan, self.stations = grown, plan, trial.stations
                self.last, self.pick, self.stop = trial.last, trial.pick, trial.stop

    @property
    def objective(self) -> float:
        """1/2 ||w||^2 plus the loss of the pick."""
        solution = self.pick.solution
        return 0.5 * float(solution.w @ solution.w) + solution.loss

    @property
    def pool(self) -> Taken:
        """The units that the pick comes from: those beyond the plan's reach are for the path alone."""
        taken, size = self.grown.taken, self.plan.reach
        return taken if size is None or size >= taken.units.size else taken.restricted(self.problem, np.arange(size))

    def thresh_carefully(self) -> None:
        """Eliminate down to the pick, with every number of units from twice the wanted one on.

        Where stations are expensive, some units are removed at a time, and the numbers between are left for later: of
        groups with many columns a tenth, of large blocks ``stride`` ones.
        """
        pool, wanted = self.pool, self.plan.wanted
        if pool.units.size and wanted is not None:
            target = min(wanted, pool.units.size)
            fine = target if self.is_coarse else min(2 * wanted, pool.units.size)
            counts = stops(pool.units.size, fine, target)
            coarse = [count for count in counts[1:] if (count - target) % self.stride == 0]
            self.eliminate(pool, [counts[0], *coarse], exact=target)

    @property
    def stride(self) -> int:
        """Units that leave at a time on the way to the pick: of large blocks one per cent of the number wanted."""
        if self.plan.wanted is None or self.is_coarse or not is_large(self.grown.taken.in_memory):
            return 1
        return max(1, int(STRIDE * self.plan.wanted))

    @property
    def is_coarse(self) -> bool:
        """Whether the pool has so many columns that not every number of groups is a station."""
        return self.plan.units.grouped and self.pool.columns.size > MOST_COLUMNS

    def thresh_to_pick(self) -> None:
        """Eliminate down to the pick only, a tenth of the units at a time."""
        pool, wanted = self.pool, self.plan.wanted
        if pool.units.size and wanted is not None:
            target = min(wanted, pool.units.size)
            self.eliminate(pool, stops(pool.units.size, target, target))

    def eliminate(self, pool: Taken, counts: Sequence[int], exact: int | None = None) -> None:
        """Eliminate to each of ``counts``; the pick is the last station."""
        plan, number = self.plan, None
        for left in thresh(
            pool, self.problem, self.grown.at_zero, counts, self.trace, needs=needs_of(plan), exact=exact,
            rough=plan.rough, deadline=plan.deadline,
        ):  # fmt: skip
            number = left.units.size
            self.stations[number] = left
        if number != counts[-1]:
            self.stop = Stop(StopReason.MAX_TIME)
        if not self.stations:  # the pick is what growth has
            return
        self.last = pool.like(self.stations[min(self.stations)])
        self.pick = self.last.heaviest(self.problem, counts[-1])

    def rest(self) -> list[Rest]:
        """What remains to be eliminated for the path: above the pool, and below the pick."""
        if self.stop.reason is StopReason.MAX_TIME or not self.pick.units.size:
            return []
        taken, wanted, reach, needs = self.grown.taken, self.plan.wanted, self.plan.reach, needs_of(self.plan)
        below, least = (self.pick if wanted is None else self.last), max(1, taken.forced)
        counts = stops(below.units.size, FINE if wanted is None else below.units.size, least)
        copies = np.isin(below.units, self.grown.copies)
        first = int(np.count_nonzero(~copies)) if copies.any() else None  # copies go first
        rests = [Rest(below, self.problem, self.grown.at_zero, counts if wanted is None else counts[1:], first, needs)]
        if wanted is not None and (self.is_coarse or self.stride > 1):
            pool = self.pool
            counts = stops(pool.units.size, min(2 * wanted, pool.units.size), min(wanted, pool.units.size))[:-1]
            rests.append(Rest(pool, self.problem, self.grown.at_zero, counts, None, needs))
        if wanted is not None and reach is not None and taken.units.size > reach:
            counts = stops(taken.units.size, 2 * wanted, reach)[:-1]
            rests.append(Rest(taken, self.problem, self.grown.at_zero, counts, reach, needs))
        return rests

    def refit(self) -> None:
        """Refit the pick with the plain penalty 1/2 ||w||^2."""
        if self.pick.units.size:
            with self.trace.step("debias"):
                self.pick = refitted(self.pick, self.problem, self.plan.deadline)

    def why(self) -> Stop:
        """The reason to stop."""
        if self.is_late:
            return Stop(StopReason.MAX_TIME)
        reached = self.plan.wanted is not None and self.pick.used == self.plan.wanted
        return Stop(StopReason.REACHED, reached_text(self.pick.used, self.plan.units.noun)) if reached else self.stop

    @property
    def is_late(self) -> bool:
        """Whether the deadline left something out."""
        return self.untried or self.stop.reason is StopReason.MAX_TIME


def selection(in_X: InX, models: Sequence[_Model], trace: Trace, path: Path, *, interrupted: bool) -> Selection:
    """The picks of all models as one Selection."""
    grown = [model.grown for model in models]
    pick = station(in_X, members(models), "pick", [model.pick for model in models])
    late = [model for model in models if model.is_late]
    short = [model for model in models if model.pick.used != model.plan.wanted]
    stop = Stop(StopReason.INTERRUPTED) if interrupted else (late or short or models)[0].why()
    certificate = Certificate(
        sum(result.taken.solution.objective for result in grown),
        sum(result.lower_bound for result in grown),
        pick.objective,
        pick.bound,
        sum(result.at_zero for result in grown),
    )
    return Selection(
        pick.features,
        pick.weights,
        pick.intercept,
        stop.text,
        certificate,
        trace,
        path,
        budget=max(result.budget for result in grown),
        forced=forced_columns(in_X, models[0].plan),
        interrupted=interrupted,
        stop=stop.reason,
        units=pick.units,
        spread=in_X.spread,
        labels=in_X.labels,
        products=in_X.products,
    )
