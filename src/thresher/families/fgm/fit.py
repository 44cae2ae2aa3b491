"""The feature generating machine: docs/theory/fgm.md has the problem, the algorithm and what differs from the paper."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from thresher.engine.growing import Grown, is_large
from thresher.engine.growth import grow
from thresher.engine.plans import Plan
from thresher.engine.threshing import refitted, stops, thresh
from thresher.engine.working_set import Taken
from thresher.families.fgm import path as module_path
from thresher.families.fgm.all_features import fit_all, held_out_scores_of_all
from thresher.families.fgm.path import InX, Later, Rest, Whole, forced_columns, members, needs_of, path, station
from thresher.families.fgm.spec import MOST_COLUMNS, FitPlan
from thresher.features.base import Earlier, Features
from thresher.optim.dispatch import eliminator_for
from thresher.optim.problems.margins import Problem
from thresher.optim.solvers.solution import out_of_time
from thresher.results import Certificate, Path, Selection, Station, Stop, StopReason, Trace, Turn, reached_text

CLEARLY = 0.02  # lower objective, by which the pick from a smaller pool is preferred
STRIDE = 0.01  # of the number wanted: units that leave at a time where a station is expensive
FINE = 100  # if no number is requested, the path has every number of features up to this one

Starts = Callable[[int | None], list[Earlier]]


def select(
    features: Features,
    problems: Sequence[Problem],
    plan: FitPlan,
    trace: Trace,
    starts: Starts | None = None,
    watch: Callable[[Turn], None] = lambda turn: None,
) -> Selection:
    """Grow linear models on ``features``, eliminate, and return them as one Selection with its path.

    ``problems`` are the models: each selects its own features, all are scanned together. ``starts(most)`` gives
    (units, weights (columns, outputs)) for each problem to begin from, with at most ``most`` units (None: any number).
    """
    if plan.every_feature:
        return fit_all(features, problems, plan, trace, starts, watch)
    if plan.eliminates:
        for problem in problems:
            eliminator_for(problem)  # raises now rather than after hours of growth
    growths, count = plan.growths, len(problems)
    grown = grow(
        features.design,
        list(problems) * len(growths),
        [growth for growth in growths for _ in problems],
        trace,
        None if starts is None else [start for growth in growths for start in starts(growth.reach)],
        watch,
    )
    models = [_Model(problem, grown[index::count], growths, trace) for index, problem in enumerate(problems)]
    interrupted, in_X = grown[0].interrupted, Whole(features, models, trace)
    later: Later | None = None
    more: list[Station] = []
    try:
        for model in [] if interrupted else models:
            if plan.eliminates:
                model.thresh()
            elif plan.spec.debias:
                model.refit()
        if plan.eliminates and not interrupted:
            rest = Later(in_X, models)
            if rest.nbytes <= module_path.KEEP:
                later = rest
            else:
                more = rest(plan.spec.deadline)
    except KeyboardInterrupt:
        interrupted = True
    return selection(in_X, models, trace, path(in_X, models, more, later), interrupted=interrupted)


def held_out_scores(
    features: Features,
    problems: Sequence[Problem],
    plan: FitPlan,
    trace: Trace,
    excluded: Sequence[tuple[int, ...]],
) -> Iterator[np.ndarray]:
    """Scores (samples, outputs) of the pick of each problem, on all samples: those without cost were held out.

    The models are those of ``select``, solved roughly and from at most twice as many units as wanted: accurate enough
    to compare the problems. ``excluded`` are the units that each problem must not select.
    """
    if plan.every_feature:
        yield from held_out_scores_of_all(features, problems, plan, trace, excluded)
        return
    plans = [plan.rough(units) for units in excluded]
    apart = Trace(steps=trace.steps)  # the turns are not part of the fit, their cost is
    grown = grow(features.design, problems, plans, apart)
    if grown[0].interrupted:  # nothing is selected yet, so there is no model to return
        raise KeyboardInterrupt
    for problem, growth, result in zip(problems, plans, grown, strict=True):
        model = _Model(problem, [result], [growth], apart)
        if plan.gathers:
            model.thresh_to_pick()
        elif plan.spec.debias:
            model.refit()
        yield model.scores


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
        fitted_features=in_X.fitted,
    )
