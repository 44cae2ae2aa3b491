"""Backward elimination on columns in memory: fewer and fewer units under the plain penalty 1/2 ||w||^2, each solved.

Given the second derivative H of the objective, the optimum without column j follows from the one with it:
w - H^-1 e_j w_j / (H^-1)_jj. So units are removed on this model, always those with the smallest weights, and Newton's
method solves the problem on what is left until its duality gap is small enough. The inverse is kept on the smaller
side, rows or columns (``inverses``), and only changes by the columns that left and the rows whose curvature changed.

Where the model is accurate enough, as on large blocks with a coarse tolerance, many stations are predicted at once: the
gaps of all of them are computed together, by two products with the columns, and stations whose gap is too large get
Newton steps, again together. Stations are accepted up to the first one whose gap is still too large, or that lacks
another column than the previous weights imply.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from thresher.data.blocks.base import Block
from thresher.data.blocks.dense import densified
from thresher.optim.elimination.inverses import LEAST_DIAGONAL, ByColumns, ByRows
from thresher.optim.elimination.rules import COMPACT_SHARE, ELIMINATION_ENTRIES, Remaining, Rules
from thresher.optim.penalties.norms import KSupport
from thresher.optim.problems.margins import Problem
from thresher.optim.solvers import newton
from thresher.optim.solvers.dual_active_set import dual_solution
from thresher.optim.solvers.solution import DeadlinePassed, Solution, Start, better, in_time, out_of_time

BATCH_STATIONS = 64
BATCH_SCORES = 1 << 22  # entries: limit of the scores of a batch on all samples
BATCH_STEPS = 6  # Newton steps that a batch of stations gets
STATION_STEPS = 30  # Newton steps of a single station before ``newton`` takes over
FULL_STEPS = 5  # full steps that may fail to decrease the objective before a careful one
GUARD_MORE = 0.5  # careful: more samples with curvature, as a share of those that have it,
GUARD_LEAST = 1.5  # and of the columns
GUARDED_LENGTHS = 1.0, 0.5, 0.25, 0.1, 0.03, 0.01
TALLEST_BLOCK = 2.0  # rows per column from which on products of all rows would cost more than they save
REFRESH_WORK = 16.0  # a new second derivative is always worth this many evaluations
STEP_PROGRESS = 0.1  # ... and more, once a step with the old one reduces the gap by less than this factor


def rows_are_fewer(rows: int, columns: int) -> bool:
    """Whether the rows, those with curvature, are the smaller side of a problem."""
    return rows < columns


def eliminate(
    block: Block, problems: Sequence[Problem], starts: Sequence[Start], stops: Iterable[int], rules: Rules
) -> Iterator[Remaining]:
    """Yield what remains at each number of units in ``stops``, which decreases; ``starts`` are points on all columns.

    ``problems`` share the columns, and units are compared by the length of their weights over all problems.
    """
    state = _Elimination(block, problems, starts, rules)
    stops = list(stops)
    most, size = max(1, min(BATCH_STATIONS, BATCH_SCORES // block.shape[0])), 1
    if stops and stops[0] == state.here.units.size:
        yield state.station(state.here)
        del stops[0]
    while stops:
        if state.uses_active_set:
            state.remove(stops.pop(0))
            yield state.station(state.here)
            continue
        batch = stops[:size]
        ahead = state.ahead(batch)
        good = state.good(ahead)
        yield from map(state.station, ahead[:good])
        state.move(ahead[max(good, 1) - 1])
        if good == 0:
            state.settle(rules.tol)
            yield state.station(state.here)
        del stops[: max(good, 1)]
        size = min(2 * size, most) if good == len(batch) else max(good, 1)


class _Place(NamedTuple):
    """A station on the way: the columns that are left, as a mask, their units, and the solutions on all columns."""

    left: np.ndarray
    units: np.ndarray
    solutions: list[Solution]


class _Elimination:
    """The columns in memory, the current place, and the inverses of the second derivatives there.

    ``ids`` are the positions of the columns in memory; weights and scores of those that have left are zero. ``gone``
    contains, for the batch ahead, the vectors u such that inverse - uu' is the inverse without the removed columns.
    """

    def __init__(self, block, problems, starts, rules):
        self.block, self.problems, self.rules = block, problems, rules
        self.columns, self.ids = densified(block, ELIMINATION_ENTRIES), np.arange(block.shape[1])
        left = np.ones(block.shape[1], dtype=bool)
        self.here = self.at(left, [self.solved(c, starts[c].w, left, starts[c].b) for c in self.each_problem()])
        n, m = block.shape
        with_curvature = max(np.count_nonzero(self.curvature(c)) for c in range(len(problems)))
        few_rows = n <= TALLEST_BLOCK * m and n * n <= ELIMINATION_ENTRIES
        side = ByRows if few_rows and rows_are_fewer(int(with_curvature), m) else ByColumns
        self.inverses = [side(self.columns, left, shifted=problems[c].fit_intercept) for c in self.each_problem()]
        self.gone = [np.zeros((0, 0)) for _ in problems]
        self.quadratic = all(problem.dual_weights() is not None for problem in problems)
        self.solve_here()
        # the gap is small, and the inverse belongs to the solution
        self.settle(rules.first_gap, at_least=not self.uses_active_set)

    def each_problem(self):
        """The number of each problem; there may be hundreds, so the clock is looked at before each."""
        return in_time(range(len(self.problems)), self.rules.deadline)

    def at(self, left, solutions):
        """The _Place with the columns ``left``, which are whole units."""
        return _Place(left, self.rules.units(self.ids[left]), solutions)

    def curvature(self, c):
        """The curvature of problem ``c`` here."""
        solution = self.here.solutions[c]
        return self.problems[c].curvature(solution.z, solution.b)

    def station(self, place):
        """What remains at a place: without the columns that have left."""
        left, units, solutions = place
        fewer = tuple(replace(s, w=s.w[left], scores=s.scores[left]) for s in solutions)
        return Remaining(self.ids[left], units, fewer)

    def solved(self, c, w, left, b):
        """The Solution of problem ``c`` at w, on the columns ``left``."""
        z = self.columns.combine(w)
        evaluation = self.problems[c].at(z, b)
        return self.solution(w, z, evaluation, self.columns.correlate(evaluation.dual.vector), left)

    def solution(self, w, z, evaluation, scores, left):
        """The Solution at w, whose scores z and products ``scores`` with the dual point are known."""
        b, loss, dual = evaluation
        scores = np.where(left, scores, 0.0)
        objective, square = 0.5 * float(w @ w) + loss, float(scores @ scores)
        bound = dual.value(square)
        if objective - bound > self.rules.tol:  # the best multiple of the dual point may give a better bound
            bound = dual.bound(square)
        return Solution(w, z, b, dual, scores, loss, objective, bound)

    def evaluated(self, c, W, masks, b):
        """Solutions of problem ``c`` at the rows of W, each on the columns in its row of ``masks``."""
        if len(W) == 1:
            return [self.solved(c, W[0], masks[0], b)]
        Z = np.ascontiguousarray(self.columns.combine(W.T).T)
        evaluations = [self.problems[c].at(z, b) for z in Z]
        scores = self.columns.correlate(np.array([evaluation.dual.vector for evaluation in evaluations]).T).T
        return [self.solution(*each) for each in zip(W, Z, evaluations, scores, masks, strict=True)]

    def settle(self, tol, at_least=0):
        """Newton steps here, at least ``at_least``, until the gap is at most ``tol``.

        Full steps find the samples with curvature soonest, though the objective may increase on the way. If it does not
        decrease for FULL_STEPS steps, the method goes back to the best point and takes one careful step from there.
        """
        for c in self.each_problem():
            share = tol / len(self.problems)
            best = now = self.here.solutions[c]
            stale, watch = at_least > 0, FULL_STEPS
            for step in range(STATION_STEPS):
                if best.gap <= share and step >= at_least:
                    break
                if out_of_time(self.rules.deadline):
                    raise DeadlinePassed
                if watch:
                    self.refresh(c, now, stale)
                    new = self.solved(c, now.w + self.inverses[c].times(now.scores - now.w), self.here.left, now.b)
                else:
                    new = self.careful(c, best)
                stale = new.gap > STEP_PROGRESS * now.gap
                watch = FULL_STEPS if new.objective < best.objective or not watch else watch - 1
                best = better(best, new)
                now = new if watch else best
            else:
                best = self.by_newton(c, best, share)
            self.here.solutions[c] = best

    @property
    def uses_active_set(self):
        """Whether the problems are solved by the dual active set method: over rows, if their duals are quadratic."""
        return self.quadratic and all(isinstance(inverse, ByRows) for inverse in self.inverses)

    def by_active_set(self, c):
        """The solution of problem ``c`` by the dual active set method, from here: dual points hold on any columns."""
        problem, old, left = self.problems[c], self.here.solutions[c], self.here.left
        v, shifted = old.dual.vector, problem.fit_intercept
        v = dual_solution(self.inverses[c].K, problem.y, problem.dual_weights(), v, shifted=shifted)
        return self.solved(c, np.where(left, self.columns.correlate(v), 0.0), left, old.b)

    def solve_here(self):
        """Solve by the dual active set method, if it is in use."""
        if self.uses_active_set:
            self.here.solutions[:] = [self.by_active_set(c) for c in self.each_problem()]

    def remove(self, stop):
        """Go on to ``stop`` units, and solve there."""
        left = self.here.left.copy()
        places = np.flatnonzero(left)
        left[places[self.leaving(self.here.solutions, places, stop)]] = False
        self.move(self.at(left, [replace(s, w=np.where(left, s.w, 0.0)) for s in self.here.solutions]))
        left, old = self.here.left, self.here.solutions
        if not self.uses_active_set:  # rows are no longer the smaller side
            self.here.solutions[:] = [self.solved(c, old[c].w, left, old[c].b) for c in self.each_problem()]
        self.solve_here()
        self.settle(self.rules.tol)

    def leaving(self, solutions, places, stop):
        """Which of the columns at ``places`` leave until ``stop`` units are left, by the weights of ``solutions``."""
        return self.rules.leaving(self.ids[places], sum(s.w[places] ** 2 for s in solutions), stop)

    def refresh(self, c, solution, stale):
        """Change the inverse of problem ``c`` to the curvature at ``solution``, if ``stale`` or if that is cheap."""
        D = self.problems[c].curvature(solution.z, solution.b)
        if stale or self.inverses[c].work(D) <= REFRESH_WORK * 2.0 * self.columns.entries:
            self.inverses[c].refresh(D)

    def careful(self, c, old):
        """A step from ``old`` that decreases the objective of problem ``c``: more samples than needed get curvature."""
        problem, inverse = self.problems[c], self.inverses[c]
        inverse.refresh(problem.guarded_curvature(old.z, old.b, GUARD_MORE, GUARD_LEAST * self.ids.size))
        step = inverse.times(old.scores - old.w)
        for length in GUARDED_LENGTHS:
            solution = self.solved(c, old.w + length * step, self.here.left, old.b)
            if solution.objective < old.objective:
                return solution
        return old

    def by_newton(self, c, old, tol):
        """The solution of problem ``c`` from ``old`` by the general solver, where these steps do not arrive."""
        left = self.here.left
        block = self.block.take(self.ids[left])
        start = Start(old.w[left], old.z, old.b)
        penalty, deadline = KSupport(block.shape[1]), self.rules.deadline
        solution = newton.solve(block, self.problems[c], penalty, start, tol=tol, deadline=deadline)
        full = np.zeros((2, left.size))
        full[:, left] = solution.w, solution.scores
        return replace(solution, w=full[0], scores=full[1])

    def good(self, ahead):
        """How many places of ``ahead`` are accepted: solved, and on the columns that the weights before imply."""
        for index, place in enumerate(ahead):
            gap = sum(solution.gap for solution in place.solutions)
            if not gap <= self.rules.tol or (index and not self.is_right(ahead[index - 1], place)):
                return index
        return len(ahead)

    def ahead(self, stops):
        """The places at ``stops``: predicted by the model, evaluated and, if several, corrected while that helps."""
        for c in self.each_problem():
            self.refresh(c, self.here.solutions[c], stale=False)
        weights, masks = self.modelled(stops)
        solutions = [self.evaluated(c, weights[c], masks, self.here.solutions[c].b) for c in self.each_problem()]
        first, before = -1, np.inf
        for _ in range(BATCH_STEPS if len(stops) > 1 else 0):
            gaps = np.sum([[s.gap for s in row] for row in solutions], axis=0)
            bad = np.flatnonzero(~(gaps <= self.rules.tol))
            if bad.size == 0 or (bad[0] == first and gaps[first] > STEP_PROGRESS * before):
                break
            first, before = bad[0], gaps[bad[0]]
            for c in self.each_problem():
                row = solutions[c]
                W = np.array([self.corrected(c, row[t], masks[t]) for t in bad])
                again = self.evaluated(c, W, masks[bad], row[bad[0]].b)
                for t, solution in zip(bad, again, strict=True):
                    row[t] = better(row[t], solution)
        return [self.at(mask, [row[t] for row in solutions]) for t, mask in enumerate(masks)]

    def modelled(self, stops):
        """(weights, remaining columns) at each stop, predicted by the second-order model around this place."""
        left, places = self.here.left.copy(), np.flatnonzero(self.here.left)
        sizes = np.unique(self.rules.layout.unit_of(self.ids[places]), return_counts=True)[1]
        most = int(np.sort(sizes)[stops[-1] :].sum())  # columns that so many units may have
        W = [s.w + G.times(s.scores - s.w) for s, G in zip(self.here.solutions, self.inverses, strict=True)]
        self.gone = [np.zeros((G.column(places[0]).size, most), order="F") for G in self.inverses]
        weights, masks = [np.zeros((len(stops), left.size)) for _ in W], np.zeros((len(stops), left.size), dtype=bool)
        t = 0
        for row, stop in enumerate(in_time(stops, self.rules.deadline)):
            leaving = self.rules.leaving(self.ids[places], sum(w[places] ** 2 for w in W), stop)
            for j in places[leaving]:
                for w, G, U in zip(W, self.inverses, self.gone, strict=True):
                    u = G.column(j) - U[:, :t] @ U[j, :t]
                    u[j] = u[j] if u[j] > LEAST_DIAGONAL else max(u[j], G.floor(j))
                    u /= np.sqrt(u[j])
                    w -= u[: w.size] * (w[j] / u[j])
                    U[:, t] = u
                t += 1
            left[places[leaving]] = False
            places = np.delete(places, leaving)
            masks[row] = left
            for w, predicted in zip(W, weights, strict=True):
                predicted[row, places] = w[places]
        return weights, masks

    def is_right(self, place, following):
        """Whether the columns removed between two places are those that the weights of the first imply."""
        places = np.flatnonzero(place.left)
        leaving = self.leaving(place.solutions, places, following.units.size)
        return np.array_equal(np.delete(places, leaving), np.flatnonzero(following.left))

    def corrected(self, c, solution, mask):
        """A Newton step from ``solution``, with the inverse on its columns."""
        residual = solution.scores - solution.w
        U = self.gone[c][: mask.size, : np.count_nonzero(self.here.left) - np.count_nonzero(mask)]
        return np.where(mask, solution.w + (self.inverses[c].times(residual) - U @ (U.T @ residual)), 0.0)

    def move(self, place):
        """Continue from ``place``: the columns that it lacks leave; the smaller side may change."""
        left = int(np.count_nonzero(place.left))
        removed = np.count_nonzero(self.here.left) - left
        for inverse, U in zip(self.inverses, self.gone, strict=True):
            inverse.drop(place.left, U[:, :removed])
        self.here = place
        if left < COMPACT_SHARE * self.ids.size:
            self.compact(np.flatnonzero(place.left))
        for c, inverse in enumerate(self.inverses):
            if isinstance(inverse, ByRows):
                D = self.curvature(c)
                if not rows_are_fewer(int(np.count_nonzero(D)), left):
                    self.inverses[c] = ByColumns(self.columns, self.here.left, shifted=inverse.shifted)
                    self.inverses[c].refresh(D)

    def compact(self, kept):
        """Copy the columns at ``kept`` together."""
        self.columns, self.ids = self.columns.take(kept), self.ids[kept]
        for inverse in self.inverses:
            inverse.compact(self.columns, kept)
        left, units, solutions = self.here
        fewer = [replace(s, w=s.w[kept], scores=s.scores[kept]) for s in solutions]
        self.here = _Place(left[kept], units, fewer)
