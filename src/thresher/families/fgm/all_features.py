"""A model on all features, without any selection, for losses that are a maximum over cuts: the baseline of a pick.

Nothing is taken: each iteration of the bundle method reads X twice, once by columns for the scores of a model and once
by rows for the products of all new cuts in one pass. A cut needs 8 bytes for each column.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from thresher.data.blocks.sides import Sides
from thresher.data.designs.base import Design
from thresher.engine.reading import reading
from thresher.families.fgm.spec import FitPlan, FitSpec
from thresher.features.base import Earlier, Features
from thresher.features.fitted import FittedFeatures
from thresher.optim.penalties.norms import KSupport
from thresher.optim.problems.cuts import CutProblem
from thresher.optim.solvers.bundle import BundleSearch
from thresher.optim.solvers.solution import Solution, Start, out_of_time
from thresher.results import (
    Certificate,
    Path,
    Selection,
    Station,
    Stop,
    StopReason,
    Trace,
    Turn,
    relative,
)

ITERATIONS = 10  # for each turn that ``max_iter`` allows: they are shorter


class _Through:
    """The columns ``ids`` of X, with the methods that the bundle method calls."""

    def __init__(self, sides: Sides, ids: np.ndarray):
        self.sides, self.ids = sides, ids
        self.shape = sides.shape[0], ids.size

    def of_a_class(self) -> "_Through":
        return self

    def correlate(self, V: np.ndarray) -> np.ndarray:
        """X'V, in one pass for all vectors."""
        return self.sides.correlate(V)[self.ids]

    def combine(self, w: np.ndarray) -> np.ndarray:
        """Xw."""
        return self.sides.combine(self.ids, w)


def fit_all(
    features: Features,
    problems: Sequence[Any],
    plan: FitPlan,
    trace: Trace,
    starts: Callable[[int | None], list[Earlier]] | None = None,
    watch: Callable[[Turn], None] = lambda turn: None,
) -> Selection:
    """A model of each class on all columns but those that are excluded, as one Selection; of measures.

    ITERATIONS iterations for each turn that the plan allows; ``starts`` as in ``select``.
    """
    design, spec = features.design, plan.spec
    sides, ids = design.sides(), candidates(design, features.excluded)
    each = [part for problem in problems for part in problem.per_class()]
    at_zero = [problem.at_zero() for problem in each]
    with reading(sides, sides.rows.nbytes, trace):
        begins = np.zeros((len(each), ids.size)) if starts is None else begins_of(starts(None), ids)
        searches = [begun(sides, ids, problem, w) for problem, w in zip(each, begins, strict=True)]
    stop = Stop(StopReason.CONVERGED)
    try:
        for search, zero in zip(searches, at_zero, strict=True):
            for _ in iterated(search, spec.tol * zero, spec, sides, trace):
                gap, used = relative(search.gap, zero), int(np.count_nonzero(search.best.w))
                told = search.best.objective, search.bound, zero
                watch(trace.record_turn(used, used, *told, cuts=search.n_cuts, inner_gap=gap))
            if search.cut_short:
                stop = Stop(StopReason.MAX_TIME if out_of_time(spec.deadline) else StopReason.MAX_ITER)
            elif not search.has_converged(spec.tol * zero):
                text = f"not converged: a gap of {relative(search.gap, zero):.1e} that rounding errors leave"
                stop = Stop(StopReason.NOT_CONVERGED, text)
    except KeyboardInterrupt:  # classes whose turn had not come keep the weights that they began with
        stop = Stop(StopReason.INTERRUPTED)
        for search in searches:
            search.cut_short = True
    solutions = [search.solution() for search in searches]
    fitted = features.fitted(ids, np.zeros(0, dtype=np.int64))
    return _selection(design, ids, solutions, sum(at_zero), stop, trace, fitted)


def held_out_scores_of_all(
    features: Features,
    problems: Sequence[Any],
    plan: FitPlan,
    trace: Trace,
    excluded: Sequence[tuple[int, ...]],
) -> Iterator[np.ndarray]:
    """Scores (samples, outputs) of the model of each problem, on all samples: those without cost were held out."""
    design, sides = features.design, features.design.sides()
    for problem, barred in zip(problems, excluded, strict=True):
        ids = candidates(design, barred)
        scores = []
        for part in problem.per_class():
            with reading(sides, sides.rows.nbytes, trace):
                search = begun(sides, ids, part, np.zeros(ids.size))
            for _ in iterated(search, plan.spec.tol * part.at_zero(), plan.spec, sides, trace):
                pass
            solution = search.solution()
            scores.append(solution.z + solution.b)
        yield np.column_stack(scores)


def candidates(design: Design, exclude: Sequence[int]) -> np.ndarray:
    """The columns that are in the model."""
    return np.setdiff1d(np.arange(design.shape[1]), np.asarray(exclude, dtype=np.int64))


def begins_of(starts: list[tuple[np.ndarray, np.ndarray]], ids: np.ndarray) -> np.ndarray:
    """Weights of the columns ``ids`` to begin with, (classes, ids)."""
    rows = []
    for known, W in starts:  # of each problem: some columns, and their weights in each of its classes
        w = np.zeros((ids.size, W.shape[1]))
        there = np.isin(known, ids)
        w[np.searchsorted(ids, known[there])] = W[there]
        rows.append(w.T)
    return np.vstack(rows)


def begun(sides: Sides, ids: np.ndarray, problem: CutProblem, w: np.ndarray) -> BundleSearch:
    """The search for the model of one class, from the weights ``w``."""
    z = sides.combine(ids, w) if w.any() else np.zeros(sides.shape[0])
    return BundleSearch(_Through(sides, ids), problem, KSupport(ids.size), Start(w, z))


def iterated(search: BundleSearch, tol: float, spec: FitSpec, sides: Sides, trace: Trace) -> Iterator[None]:
    """Iterate until the gap is at most ``tol``, or time or iterations are used up; what was read is recorded."""
    while not search.is_settled(tol):
        with reading(sides, sides.rows.nbytes, trace):
            search.iterate(tol)
        yield
        if out_of_time(spec.deadline) or search.iterations >= ITERATIONS * spec.max_turns:
            search.cut_short = True
            return


def _selection(
    design: Design,
    ids: np.ndarray,
    solutions: list[Solution],
    at_zero: float,
    stop: Stop,
    trace: Trace,
    fitted: FittedFeatures,
) -> Selection:
    W = np.array([solution.w for solution in solutions]).T
    used = np.flatnonzero(W.any(axis=1))
    weights, offset = design.in_units_of_X(ids[used], W[used])
    intercept = np.array([float(solution.b) for solution in solutions]) + offset
    single = len(solutions) == 1
    objective = sum(solution.objective for solution in solutions)
    bound = sum(solution.bound for solution in solutions)
    pick = Station(
        "grow", used.size, design.ids_in_X(ids[used]), weights[:, 0] if single else weights,
        float(intercept[0]) if single else intercept, objective, bound, fitted_features=fitted,
    )  # fmt: skip
    certificate = Certificate(objective, bound, objective, bound, at_zero)
    return Selection(
        pick.features, pick.weights, pick.intercept, stop.text, certificate, trace, Path([pick]), budget=ids.size,
        interrupted=stop.reason is StopReason.INTERRUPTED, stop=stop.reason, fitted_features=fitted,
    )  # fmt: skip
