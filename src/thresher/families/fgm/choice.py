"""Candidates compared on samples that are held out: which C, and whether to eliminate.

Each fold gathers units once, in the same scans as all others, at a strong and at the usual penalty; every candidate is
then fitted on the columns gathered, in memory. docs/theory/fgm.md says how near that is to fitting each on all of X.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from thresher.data.designs.base import Design
from thresher.data.workers import threads_of
from thresher.engine.growing import Grown
from thresher.engine.growth import grow
from thresher.engine.plans import GatherPlan, Plan
from thresher.engine.pool import Pool
from thresher.engine.threshing import ROUGH_SHARE, Elimination, stops, thresh
from thresher.engine.working_set import WorkingSet
from thresher.families.fgm.all_features import held_out_scores_of_all
from thresher.families.fgm.fitted_problem import CLEARLY, FittedProblem
from thresher.families.fgm.spec import FitPlan, FitSpec
from thresher.features.base import Features
from thresher.optim.problems.margins import Problem
from thresher.optim.solvers.solution import out_of_time
from thresher.results import StopReason, Trace
from thresher.targets.base import Target

POOLED = 1 << 30  # bytes of the columns that are gathered at a time for the models of folds
REACH, LEAST_REACH = 4, 60  # units gathered: times the number wanted, at least
TURNS = 5  # in which they are gathered
STAGES, KEPT = 5, 0.7  # parts of the folds, after each of which this share of the candidates is kept, two at least
FEWEST_FOLDS = 4  # with which any are left out
COMPARED_TOL = 1e-6  # of the objective: inner accuracy of models that are compared


class Candidate(NamedTuple):
    """What a fit may be made with."""

    C: float
    elimination: bool


class Fold(NamedTuple):
    """Samples that are held out, and the units that their models must not select."""

    held_out: np.ndarray
    barred: tuple[int, ...]


class Gathered(NamedTuple):
    """The units that a model of a fold has gathered, and those of them under the usual penalty."""

    pool: Pool
    usual: np.ndarray


class Comparison(NamedTuple):
    """Candidates to compare on folds; ``plans`` are those without and with elimination."""

    features: Features
    target: Target
    plans: dict[bool, FitPlan]
    candidates: Sequence[Candidate]
    folds: Sequence[Fold]


Judge = Callable[[np.ndarray, np.ndarray], float]  # of (scores of all samples, the samples of a fold)


def compared(
    features: Features,
    target: Target,
    spec: FitSpec,
    candidates: Sequence[Candidate],
    folds: Sequence[np.ndarray],
    judge: Judge,
    trace: Trace,
) -> np.ndarray:
    """The score (folds, candidates) of each candidate on the samples that a fold holds out; NaN where it was left out.

    After each fifth of the folds the worst three in ten candidates are left out, as long as two are left. There are no
    scores after the deadline.
    """
    each = [Fold(test, features.barred(test)) for test in folds]
    plans = {kind: replace(spec, elimination=kind).on(features, target) for kind in (True, False)}
    comparison = Comparison(features, target, plans, candidates, each)
    if spec.compares_in_full or plans[True].wanted is None:
        return compared_in_full(comparison, judge, trace)
    table = np.full((len(folds), len(candidates)), np.nan)
    left = np.arange(len(candidates))
    pools = pools_of_folds(comparison, trace)
    workers = threads_of(features.design.workers)
    for some, keep in rounds(len(folds), len(candidates)):
        own = dict(zip(some, itertools.islice(pools, len(some)), strict=True))
        tasks = [(fold, place) for fold in some for place in left]
        # small solves hold the interpreter most of the time: on several threads they take longer
        work = len(tasks) * features.design.shape[0] * gathering(plans[True]).reach
        with trace.step("solve"):
            found = workers.map(
                lambda fold, place, own=own: scores_on(own[fold], comparison, candidates[place], each[fold]),
                tasks, entries=work,
            )  # fmt: skip
        if out_of_time(spec.deadline):
            break
        for (fold, place), scores in zip(tasks, found, strict=True):
            table[fold, place] = judge(scores, folds[fold])
        means = table[: some[-1] + 1, left].mean(axis=0)
        left = np.sort(left[np.argsort(-means, kind="stable")[:keep]])
    return table


def rounds(folds: int, candidates: int) -> list[tuple[range, int]]:
    """(folds, candidates left after them), one after the other; all in one if there are few folds."""
    if folds < FEWEST_FOLDS:
        return [(range(folds), candidates)]
    ends = sorted({math.ceil(stage * folds / STAGES) for stage in range(STAGES + 1)})
    plan = []
    for begin, end in itertools.pairwise(ends):
        candidates = max(min(2, candidates), int(KEPT * candidates + 0.5))
        plan.append((range(begin, end), candidates))
    return plan


def pools_of_folds(comparison: Comparison, trace: Trace) -> Iterator[list[Gathered]]:
    """What the models of each fold have gathered, as many folds in the same scans as memory allows."""
    features, target, plans, candidates, folds = comparison
    Cs = sorted({candidate.C for candidate in candidates})
    gathered_at = sorted({Cs[0], Cs[len(Cs) // 2]})
    plan, n = gathering(plans[True]), target.n_models
    columns = n * len(gathered_at) * plan.reach * max(1.0, features.units.mean_size)
    at_once = max(1, int(POOLED / (8 * features.design.shape[0] * columns)))
    for first in range(0, len(folds), at_once):
        pools = gathered(features, target, plan, gathered_at, folds[first : first + at_once], trace)
        yield from (pools[place : place + n] for place in range(0, len(pools), n))


def scores_on(pools: Sequence[Gathered], comparison: Comparison, candidate: Candidate, fold: Fold) -> np.ndarray:
    """Scores of all samples by a candidate, fitted on what the models of a fold have gathered."""
    plan = comparison.plans[candidate.elimination]
    problems = comparison.target.problems(candidate.C, held_out=fold.held_out)
    each = [fitted_on(own.pool, own.usual, problem, plan) for own, problem in zip(pools, problems, strict=True)]
    return np.hstack(each)


def compared_in_full(comparison: Comparison, judge: Judge, trace: Trace) -> np.ndarray:
    """See ``compared``: each is fitted on all of X, the folds of one candidate in the same scans; none is left out."""
    features, target, plans, candidates, folds = comparison
    table = np.empty((len(folds), len(candidates)))
    for place, candidate in enumerate(candidates):
        plan = plans[candidate.elimination]
        problems = [problem for fold in folds for problem in target.problems(candidate.C, held_out=fold.held_out)]
        barred = [fold.barred for fold in folds for _ in range(target.n_models)]
        found = held_out_scores(features, problems, plan, trace, barred)
        for number, fold in enumerate(folds):
            scores = np.hstack([next(found) for _ in range(target.n_models)])
            table[number, place] = judge(scores, fold.held_out)
    return np.full_like(table, np.nan) if out_of_time(plans[True].spec.deadline) else table


def held_out_scores(
    features: Features, problems: Sequence[Problem], plan: FitPlan, trace: Trace, excluded: Sequence[tuple[int, ...]]
) -> Iterator[np.ndarray]:
    """Scores (samples, outputs) of the pick of each problem, on all samples: those without cost were held out.

    The models are those of ``select``; ``excluded`` are the units that each must not select.
    """
    if plan.every_feature:
        yield from held_out_scores_of_all(features, problems, plan, trace, excluded)
        return
    growths = [replace(plan, excluded=units).growths for units in excluded]
    apart = Trace(steps=trace.steps)  # the turns are not part of the fit, their cost is
    each = [problem for problem, own in zip(problems, growths, strict=True) for _ in own]
    grown = grown_apart(features.design, each, [growth for own in growths for growth in own], apart)
    count = len(plan.pools)
    for place, problem in enumerate(problems):
        model = FittedProblem(problem, grown[place * count : (place + 1) * count], apart)
        model.finish(eliminates=plan.gathers, debias=plan.spec.debias)
        yield model.scores


def grown_apart(design: Design, problems: Sequence[Problem], plans: Sequence[Plan], trace: Trace) -> list[Grown]:
    """``grow`` for a choice: Ctrl-C leaves no model to return, since nothing is selected yet."""
    grown = grow(design, problems, plans, trace)
    if grown[0].stop.reason is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    return grown


def gathering(plan: FitPlan) -> GatherPlan:
    """The plan that gathers what the models of a fold are made of: solved roughly, in few turns."""
    wanted: Any = plan.wanted
    reach = max(LEAST_REACH, REACH * wanted)
    reach = reach if plan.pools[-1] is None else min(reach, plan.pools[-1])
    growth: Any = replace(plan, pools=(reach,)).growths[0]
    budget = max(growth.budget, -(-growth.reach // TURNS))
    return replace(growth, rough=True, at_least=growth.reach, budget=budget)


def gathered(
    features: Features, target: Target, plan: GatherPlan, Cs: Sequence[float], folds: Sequence[Fold], trace: Trace
) -> list[Gathered]:
    """What each model of each fold gathers at each of ``Cs``, all in the same scans."""
    problems: list[Problem] = []
    plans: list[GatherPlan] = []
    for fold in folds:
        for C in Cs:
            problems += target.problems(C, held_out=fold.held_out)
        reach = min(plan.reach, features.units.count - len(fold.barred))
        of_fold = replace(plan, exclude=fold.barred, reach=reach, at_least=reach)
        plans += [of_fold] * (len(Cs) * target.n_models)
    grown = grown_apart(features.design, problems, plans, Trace(steps=trace.steps))  # no turns of the fit, but its cost
    found = np.empty((len(folds), len(Cs), target.n_models), dtype=object)
    found.ravel()[:] = [result.taken.units for result in grown]
    del grown  # each has a copy of what it took
    at_each_C = [of_model for of_fold in found for of_model in of_fold.T.tolist()]
    union = np.unique(np.concatenate(list(itertools.chain.from_iterable(at_each_C))))
    with trace.step("take", *features.design.take_cost(features.units.members(union).columns)):
        everything = Pool(features.units, union, features.units.take(features.design, union), plan.forced)
    return [Gathered(everything.part(np.unique(np.concatenate(units))), units[-1]) for units in at_each_C]


def fitted_on(pool: Pool, units: np.ndarray, problem: Problem, plan: FitPlan) -> np.ndarray:
    """Scores (samples, outputs) of what ``plan`` makes of a pool; elimination starts from some of its ``units``."""
    if not plan.gathers:
        return grown_on(pool, problem, plan).scores
    here = replace(plan, units=pool.units, forced=pool.forced, excluded=())
    rough, few = gathering(here), here.pools[0]
    best = eliminated(pool.taken(units, problem), problem, rough)
    if few is not None and few < min(rough.reach, pool.units.count) and pool.units.needed(np.arange(0)) is None:
        smaller = replace(rough, reach=few, at_least=few, budget=-(-few // TURNS))
        grown = grown_apart(pool.design, [problem], [smaller], Trace())[0]
        other = eliminated(grown.taken, problem, smaller)
        if other.used == best.used and _objective(other) < (1.0 - CLEARLY) * _objective(best):
            best = other
    return problem.by_class(best.solution.z).T + best.solution.b


def grown_on(pool: Pool, problem: Problem, plan: FitPlan) -> FittedProblem:
    """What growth alone makes of a pool."""
    here = replace(plan, units=pool.units, forced=pool.forced, excluded=())
    growths = [replace(growth, final_tol=COMPARED_TOL) for growth in here.growths]
    apart = Trace()
    model = FittedProblem(problem, grown_apart(pool.design, [problem], growths, apart), apart)
    model.finish(eliminates=False, debias=plan.spec.debias)
    return model


def eliminated(taken: WorkingSet, problem: Problem, plan: GatherPlan) -> WorkingSet:
    """What elimination leaves of the units taken; those taken, if the deadline leaves no time."""
    least = min(plan.wanted, taken.units.size)
    task = Elimination(taken, problem, problem.at_zero(), plan, stops(taken.units.size, least, least, ROUGH_SHARE))
    stations = list(thresh(task, Trace(), plan.deadline))
    return taken.like(stations[-1]) if stations else taken


def _objective(taken: WorkingSet) -> float:
    """1/2 ||w||^2 plus the loss."""
    solution = taken.solution
    return 0.5 * float(solution.w @ solution.w) + solution.loss
