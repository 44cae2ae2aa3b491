"""A grid of (alpha, beta) solved with one set of rules: seconds, those of screening, work done and what was removed."""

import os
import statistics
import time
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from thresher.data.input.validation import as_design, checked_sparse
from thresher.data.workers import ONE_BLAS_THREAD
from thresher.families.sparse_svm import grid_of, newton, problems, rules, walk
from thresher.families.sparse_svm.rules import SCREENING_RULES

CONTESTANTS = (None, "ifs", "iss", "sifs", "sifs+gap", "gap", "auto")
SMOOTHING, TOL = 0.5, 1e-6
SHORT, REPEATS = 10.0, 3  # runs of fewer seconds are repeated


class Grid(NamedTuple):
    """Sizes of the grid, and where it ends as shares of where it begins."""

    betas: int = 10
    alphas: int = 100
    beta_ratio: float = 0.05
    alpha_ratio: float = 0.01

    @property
    def points(self):
        return self.betas * self.alphas


PAPERS, TINY = Grid(), Grid(3, 6)


class Run(NamedTuple):
    """What one walk over a grid took, in seconds of the processor, and what came of it.

    Shares are means over the points that had to be solved: the scaling ratio before the first step and in the end, and
    of the inactive (columns, samples) those found by static and by gap-safe tests.
    """

    seconds: float
    screening: float
    passes: float
    steps: int
    gap: float
    scaling_before: float
    scaling: float
    static: tuple[float, float]
    gap_safe: tuple[float, float]
    points: int
    asked: int

    @property
    def complete(self):
        return self.points == self.asked


@contextmanager
def pinned(count=1):
    """This process on ``count`` cores, the last ones there are; on all that there are with 0."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, range(os.cpu_count()))
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cores[-count:])
        yield
    finally:
        os.sched_setaffinity(0, before)


class Clock:
    """Seconds of the processor spent in functions that were wrapped; calls within one another count once."""

    def __init__(self):
        self.total, self.depth = 0.0, 0

    def around(self, function):
        def timed(*args, **kwargs):
            if self.depth:
                return function(*args, **kwargs)
            self.depth, begun = 1, time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                self.depth = 0
                self.total += time.process_time() - begun

        return timed


@contextmanager
def screening_clock():
    """A Clock of all tests: building the static ones, running them, and the gap-safe ones."""
    clock, static = Clock(), rules.StaticTests
    places = [(static, "__init__"), (static, "run"), (rules, "gap_safe_tests"), (newton, "gap_safe_tests")]
    kept = [getattr(owner, name) for owner, name in places]
    try:
        for (owner, name), function in zip(places, kept, strict=True):
            setattr(owner, name, clock.around(function))
        yield clock
    finally:
        for (owner, name), function in zip(places, kept, strict=True):
            setattr(owner, name, function)


class Counts:
    """What was removed at the points of a walk, and how far they were solved."""

    def __init__(self, svm):
        self.n, self.p = svm.sides.shape
        self.at_zero = svm.at_zero
        self.steps, self.gap, self.points, self.solved = 0, 0.0, 0, []

    def add(self, point):
        """Note a point; one that has a closed form has nothing to be screened."""
        self.points += 1
        self.steps += point.steps
        self.gap = max(self.gap, point.gap / self.at_zero)
        log = point.screened.log
        if any(rule == "ends" for rule, _, _ in log):
            return
        before, all_of_it = _found(log[: self._first(log)]), _found(log)
        static, gap = (_found([entry for entry in log if (entry[0] == "gap") == kind]) for kind in (False, True))
        idle = np.count_nonzero(~point.screened.idle[point.ids])
        settled = np.count_nonzero(point.screened.settled | (point.theta <= 0.0) | (point.theta >= 1.0))
        inactive = np.maximum(1, [self.p - idle, settled])
        self.solved.append((self._scaling(before), self._scaling(all_of_it), *static / inactive, *gap / inactive))

    def _first(self, log):
        """How many tests of ``log`` were run before the first step of the solve: see ``newton_point``."""
        gaps = [place for place, entry in enumerate(log) if entry[0] == "gap"]
        return gaps[1] if len(gaps) > 1 else len(log)

    def _scaling(self, found):
        """Share of the samples x columns that (columns, samples) found takes away."""
        return 1.0 - (1.0 - found[0] / self.p) * (1.0 - found[1] / self.n)

    def means(self):
        """(Scaling before a solve, after it, (columns, samples) by static tests, the same by gap-safe ones)."""
        first, last, *shares = map(float, np.mean(self.solved, axis=0) if self.solved else np.zeros(6))
        return first, last, tuple(shares[:2]), tuple(shares[2:])


def _found(log):
    """(columns, samples) that the tests in ``log`` found."""
    return np.array([entry[1:] for entry in log], dtype=np.float64).reshape(-1, 2).sum(axis=0)


def svm_of(X, y, smoothing=SMOOTHING):
    """(sides, Svm) of two classes with equal costs, on one thread."""
    sides = as_design(checked_sparse(X)).sides()
    (svm,) = problems(sides, np.atleast_2d(y), np.full(y.size, 1.0 / y.size), smoothing, False)
    return sides, svm


def walked(data, grid, name, limit=np.inf, smoothing=SMOOTHING):
    """One Run over the grid, from the arranging of X on; ended after ``limit`` seconds of the processor."""
    with ONE_BLAS_THREAD, screening_clock() as clock:
        begun = time.process_time()
        sides, svm = svm_of(data.X, data.y, smoothing)
        penalties = grid_of([svm], grid.betas, grid.alphas, grid.beta_ratio, grid.alpha_ratio)
        counts, spent, screening = Counts(svm), time.process_time() - begun, 0.0
        points = walk([svm], penalties.betas, penalties.alphas, TOL * svm.at_zero, SCREENING_RULES[name])
        while spent < limit:
            resumed, clock.total = time.process_time(), 0.0
            found = next(points, None)
            spent += time.process_time() - resumed
            screening += clock.total
            if found is None:
                break
            counts.add(found[2][0])  # off the clock
    return Run(spent, screening, sides.passes, counts.steps, counts.gap, *counts.means(), counts.points, grid.points)


def contest(data, grid, names=CONTESTANTS, limit=np.inf, repeats=REPEATS):
    """{rules: Run} with the median seconds of interleaved rounds; who needs long runs once, after a warm-up of all."""
    for name in names:
        walked(data, TINY, name, min(limit, 0.1 * SHORT))
    runs = {name: [] for name in names}
    for number in range(repeats):
        for name, done in runs.items():
            if number == 0 or done[0].seconds < SHORT:
                done.append(walked(data, grid, name, limit))
    return {name: _median(done) for name, done in runs.items()}


def _median(runs):
    middle = statistics.median_low(run.seconds for run in runs)
    return next(run for run in runs if run.seconds == middle)


def median(call, repeats=REPEATS):
    """What ``call`` returns, a run with seconds; the median of a few if that is quick."""
    runs = [call()]
    while len(runs) < repeats and runs[0].seconds < SHORT:
        runs.append(call())
    return _median(runs)
