"""Backward elimination on columns in memory: fewer and fewer units under the plain penalty 1/2 ||w||^2, each solved.

Given the second derivative H of the objective, the optimum without column j follows from the one with it:
w - H^-1 e_j w_j / (H^-1)_jj. So a batch of units is removed, column by column, on this model alone, always the one with
the smallest weights; then the duality gaps of all its stations are computed together, by two products with the columns,
and stations whose gap is too large get Newton steps, again together. Stations are accepted up to the first one whose
gap is still too large, or that lacks another column than the previous weights imply; H is updated, and the next batch
starts there.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from thresher.data.block import Block
from thresher.optim import newton
from thresher.optim.layout import PLAIN, Layout
from thresher.optim.master import Solution, Start, out_of_time
from thresher.optim.penalties import KSupport
from thresher.optim.problem import Problem

DENSE = 1 << 26  # entries up to which the columns may be copied into one float64 array
FIRST_BATCH, LARGEST_BATCH = 8, 64  # stations
SCORES = 1 << 22  # entries: limit of the scores of a batch on all samples
TIE_DIGITS = 9  # decimals of the logarithm of squared weights; equal after rounding is a tie
ROUNDS = 6  # Newton steps that a batch of stations gets
STEPS = 30  # Newton steps of a single station before ``newton`` takes over
MORE, LEAST = 0.5, 1.5  # additional samples with curvature: as a share of those that have it, and of the columns
COMPACT = 0.8  # columns are copied together when fewer than this share of them are left


class Station(NamedTuple):
    """Positions of the columns and of the units that are left, and the solution of each problem on them."""

    kept: np.ndarray
    units: np.ndarray
    solutions: tuple[Solution, ...]

    @property
    def objective(self) -> float:
        """Sum over the problems."""
        return sum(solution.objective for solution in self.solutions)

    @property
    def gap(self) -> float:
        """Duality gap on these columns."""
        return sum(solution.gap for solution in self.solutions)


def eliminate(
    block: Block,
    problems: Sequence[Problem],
    starts: Sequence[Start],
    stops: Iterable[int],
    *,
    layout: Layout = PLAIN,
    forced: int = 0,
    pool: int | None = None,
    tol: float,
    first_tol: float | None = None,
    deadline: float | None = None,
) -> Iterator[Station]:
    """Yield a Station for each number of units in ``stops``, which decreases; units with small weights go first.

    ``problems`` share the columns, and units are compared by the length of their weights over all problems; ``layout``
    maps columns to units (its classes are ignored); ``starts`` are points on all columns. The first ``forced`` units
    are never removed, the first ``pool`` only when no others are left. The gap of each station is at most ``tol``,
    that on all columns at most ``first_tol``: if this is small, the result does not depend on the starts.
    """
    state = _Elimination(block, problems, starts, layout, forced, forced if pool is None else max(pool, forced), tol)
    stops, most = list(stops), max(1, min(LARGEST_BATCH, SCORES // block.shape[0]))
    size = min(FIRST_BATCH, most)
    state.settle(tol if first_tol is None else first_tol, deadline, at_least=1)
    if stops and stops[0] == state.station.units.size:
        yield state.station
        del stops[0]
    while stops and not out_of_time(deadline):
        batch = stops[:size]
        stations = state.ahead(batch, tol)
        good = state.good(stations, tol)
        yield from stations[:good]
        state.move(stations[max(good, 1) - 1])
        if good == 0:
            state.settle(tol, deadline)
            yield state.station
        elif good < len(stations):
            for c in range(len(problems)):
                state.refresh(c)
        del stops[: max(good, 1)]
        size = min(2 * size, most) if good == len(stations) else max(good, 1)


class _Elimination:
    """The remaining columns, the current station, and the second derivatives there; ``unit`` is that of each column.

    ``plain`` are X'DX, ``inverse`` the inverses of the second derivatives with the shift eliminated, one for each
    problem; ``gone`` contains, for the batch ahead, the vectors u such that inverse - uu' is the inverse without the
    removed columns.
    """

    def __init__(self, block, problems, starts, layout, forced, pool, tol):
        self.block, self.problems, self.forced, self.pool, self.tol = block, problems, forced, pool, tol
        self.columns, self.here = block.densified(DENSE), np.arange(block.shape[1])
        self.single, self.unit = layout.sizes is None, layout.unit_of(block.shape[1])  # single: a unit is a column
        everything = np.ones((1, block.shape[1]), dtype=bool)
        solutions = [self.evaluated(c, start.w[None], everything, start.b)[0] for c, start in enumerate(starts)]
        self.station = self.on(self.here, solutions)
        self.D = [np.zeros(problem.size) for problem in problems]
        self.plain = [np.zeros((block.shape[1],) * 2) for _ in problems]
        self.inverse = [np.zeros((0, 0)) for _ in problems]  # until ``refresh``
        self.gone = [np.zeros((0, 0)) for _ in problems]

    def on(self, kept, solutions):
        """The Station on the columns ``kept``, which are whole units."""
        return Station(kept, kept if self.single else np.unique(self.unit[kept]), tuple(solutions))

    def evaluated(self, c, W, masks, b):
        """Solutions of problem ``c`` at the rows of W, each on the columns in its row of ``masks``."""
        problem = self.problems[c]
        spread = np.zeros((W.shape[0], self.columns.shape[1]))
        spread[:, self.here] = W
        Z = np.ascontiguousarray(self.columns.combine(spread.T).T)
        evaluations = [problem.at(z, b) for z in Z]
        V = np.array([evaluation.dual.vector for evaluation in evaluations])
        scores = self.columns.correlate(V.T).T[:, self.here]
        solutions = []
        for w, mask, z, (b, loss, dual), score in zip(W, masks, Z, evaluations, scores, strict=True):
            w, score = w[mask], score[mask]
            objective = 0.5 * float(w @ w) + loss
            bound = dual.value(float(score @ score))
            if objective - bound > self.tol:  # the best multiple of the dual point may give a better bound
                bound = dual.bound(float(score @ score))
            solutions.append(Solution(w, z, b, dual, score, loss, objective, bound))
        return solutions

    def refresh(self, c, guard=1.0):
        """Update second derivative and inverse of problem ``c``: only samples whose curvature changed cost time."""
        problem, solution = self.problems[c], self.station.solutions[c]
        D = problem.guarded_curvature(solution.z, solution.b, guard * MORE, guard * LEAST * solution.w.size)
        change = D - self.D[c]
        if 2 * np.count_nonzero(change) > np.count_nonzero(D):
            self.plain[c] = self.columns.gram(D)[np.ix_(self.here, self.here)]
        else:
            self.plain[c] += self.columns.gram(change)[np.ix_(self.here, self.here)]
        self.D[c] = D
        H = self.plain[c].copy()
        if problem.fit_intercept and D.any():
            mean = self.columns.correlate(D)[self.here]
            H -= np.multiply.outer(mean, mean / D.sum())
        H[np.diag_indices_from(H)] += 1.0
        self.inverse[c] = inverted(H)

    def settle(self, tol, deadline, at_least=0):
        """Newton steps at this station, at least ``at_least``, until its gap is at most ``tol``."""
        for c, problem in enumerate(self.problems):
            share, guard = tol / len(self.problems), 1.0
            for step in range(STEPS):
                if (self.station.solutions[c].gap <= share and step >= at_least) or out_of_time(deadline):
                    break
                self.refresh(c, guard)
                solution, length = self.stepped(c)
                self.set(c, solution)
                guard = 0.3 * guard if length == 1.0 else min(1.0, 10.0 * guard)
            else:
                solution = self.station.solutions[c]
                block = self.block.take(self.station.kept)
                start = Start(solution.w, solution.z, solution.b)
                penalty = KSupport(block.shape[1])
                self.set(c, newton.solve(block, problem, penalty, start, tol=share, deadline=deadline))
            self.refresh(c)

    def set(self, c, solution):
        solutions = list(self.station.solutions)
        solutions[c] = solution
        self.station = self.station._replace(solutions=tuple(solutions))

    def stepped(self, c):
        """Backtracking line search along a Newton step of problem ``c``: (solution, step length)."""
        old = self.station.solutions[c]
        step = self.inverse[c] @ (old.scores - old.w)
        mask = np.ones((1, step.size), dtype=bool)
        length = 1.0
        while length > 1e-3:
            there = self.evaluated(c, (old.w + length * step)[None], mask, old.b)[0]
            if there.objective < old.objective:
                return better(there, old), length
            length *= 0.5
        return old, 0.0

    def good(self, stations, tol):
        """How many of ``stations`` are accepted: solved, and on the columns that the weights before imply."""
        for index, station in enumerate(stations):
            if not station.gap <= tol or (index and not self.is_right(stations[index - 1], station)):
                return index
        return len(stations)

    def ahead(self, stops, tol):
        """The stations at ``stops``: predicted by the model, evaluated, and corrected while that helps."""
        weights, masks = self.modelled(stops)
        count = len(stops)
        solutions = [
            self.evaluated(c, W, masks, old.b)
            for c, (W, old) in enumerate(zip(weights, self.station.solutions, strict=True))
        ]
        for _ in range(ROUNDS):
            gaps = np.sum([[s.gap for s in row] for row in solutions], axis=0)
            bad = np.flatnonzero(~(gaps <= tol))
            if bad.size == 0:
                break
            for c, row in enumerate(solutions):
                W = np.zeros((bad.size, masks.shape[1]))
                for r, t in enumerate(bad):
                    W[r] = self.corrected(c, row[t], masks[t])
                again = self.evaluated(c, W, masks[bad], row[bad[0]].b)
                for t, solution in zip(bad, again, strict=True):
                    row[t] = better(row[t], solution)
        return [self.on(self.station.kept[masks[t]], [row[t] for row in solutions]) for t in range(count)]

    def modelled(self, stops):
        """(weights, remaining columns) at each stop, predicted by the second-order model around the station."""
        m, most = self.station.kept.size, self.station.units.size - stops[-1]
        if not self.single:  # the columns that so many units may have
            sizes = np.bincount(self.unit[self.station.kept])[self.station.units]
            most = m - int(np.sort(sizes)[: sizes.size - most].sum())
        W = [s.w + G @ (s.scores - s.w) for s, G in zip(self.station.solutions, self.inverse, strict=True)]
        self.gone = [np.zeros((m, most), order="F") for _ in W]
        weights, masks = [np.zeros((len(stops), m)) for _ in W], np.zeros((len(stops), m), dtype=bool)
        floors = [1.0 / (1.0 + plain.diagonal()) for plain in self.plain]  # of the inverse, despite rounding
        left, t = np.arange(m), 0
        for row, stop in enumerate(stops):
            leaving = self.leaving(self.station.kept[left], sum(w[left] ** 2 for w in W), stop)
            for j in left[leaving]:
                for w, G, U, least in zip(W, self.inverse, self.gone, floors, strict=True):
                    u = G[:, j] - U[:, :t] @ U[j, :t]
                    u[j] = max(u[j], least[j])
                    u /= np.sqrt(u[j])
                    w -= u * (w[j] / u[j])
                    U[:, t] = u
                t += 1
            left = np.delete(left, leaving)
            masks[row, left] = True
            for w, predicted in zip(W, weights, strict=True):
                predicted[row, left] = w[left]
        return weights, masks

    def leaving(self, kept, squares, stop):
        """Positions in ``kept`` of the columns to remove until ``stop`` units are left: smallest weights first.

        ``squares`` are the squared weights of the columns. Of tied units the one taken last is removed; the pool only
        when no others are left, forced units never.
        """
        units, size, counts = (kept, squares, None) if self.single else self.summed(kept, squares)
        later = (units >= self.pool) if units.size > self.pool else np.ones(units.size, dtype=bool)
        rank = np.round(np.log(np.maximum(size, np.finfo(float).tiny)), TIE_DIGITS)
        rank[units < self.forced] = np.inf
        lightest = np.sort(np.lexsort((-units, rank, ~later))[: units.size - stop])
        if counts is None:
            return lightest
        going = np.zeros(units.size, dtype=bool)
        going[lightest] = True
        return np.flatnonzero(np.repeat(going, counts))

    def summed(self, kept, squares):
        """(units, sums over their columns, numbers of columns) of the columns ``kept``."""
        unit = self.unit[kept]
        begins = np.flatnonzero(np.diff(unit, prepend=-1))
        sums = np.add.reduceat(squares, begins) if begins.size else squares
        return unit[begins], sums, np.diff(np.append(begins, unit.size))

    def is_right(self, station, following):
        """Whether the columns removed between two stations are those that the weights of the first imply."""
        squares = sum(solution.w**2 for solution in station.solutions)
        leaving = self.leaving(station.kept, squares, following.units.size)
        return np.array_equal(np.delete(station.kept, leaving), following.kept)

    def corrected(self, c, solution, mask):
        """A Newton step from ``solution``, with the inverse on its columns."""
        residual = np.zeros(mask.size)
        residual[mask] = solution.scores - solution.w
        U = self.gone[c][:, : mask.size - np.count_nonzero(mask)]
        step = self.inverse[c] @ residual - U @ (U.T @ residual)
        out = np.zeros(mask.size)
        out[mask] = solution.w + step[mask]
        return out

    def move(self, station):
        """Continue from ``station``; the other columns are dropped."""
        left = np.isin(self.station.kept, station.kept)
        t = left.size - station.kept.size
        for c, U in enumerate(self.gone):
            U = U[left, :t]
            self.inverse[c] = self.inverse[c][np.ix_(left, left)] - U @ U.T
            self.plain[c] = self.plain[c][np.ix_(left, left)]
        self.station, self.here = station, self.here[left]
        if self.here.size < COMPACT * self.columns.shape[1]:
            self.columns, self.here = self.columns.take(self.here), np.arange(self.here.size)


def better(first, second):
    """The solution with the lower objective, with the higher of the two bounds: each bound is valid by itself."""
    lower = first if first.objective <= second.objective else second
    return replace(lower, bound=max(first.bound, second.bound))


def inverted(H):
    """The inverse of a symmetric matrix whose eigenvalues are at least 1, up to rounding.

    If large entries make it numerically singular, the smallest sufficient multiple of the identity is added.
    """
    more, rounding = 0.0, np.finfo(float).eps * H.diagonal().max(initial=1.0)
    factor, failed = dpotrf(H, lower=1)
    while failed:
        more = max(rounding, 10.0 * more)
        factor, failed = dpotrf(H + more * np.eye(H.shape[0]), lower=1)
    half, _ = dpotri(factor, lower=1, overwrite_c=1)
    half = np.tril(half)
    return half + np.tril(half, -1).T
