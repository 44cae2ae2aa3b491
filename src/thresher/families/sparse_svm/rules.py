"""Screening at a point of an elastic-net SVM's grid: samples with known theta, columns with known weight."""

import itertools
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from thresher.optim.elastic import screening

SQUARES_ROUNDING = 1e-13  # as a share of a sum of squares from which parts are subtracted


class ScreeningRules(NamedTuple):
    """Which tests are run: static ones in this ``order``, alternately, before a solve; gap-safe ones (``gap``)."""

    order: tuple = ()
    gap: bool = False


NO_TESTS = ScreeningRules()
# "auto" is what is fastest: no tests, since the solver reads the active rows and columns only (docs/theory/sifs.md)
SCREENING_RULES = {
    "auto": NO_TESTS,
    "sifs+gap": ScreeningRules(("iss", "ifs"), gap=True),
    "sifs": ScreeningRules(("iss", "ifs")),
    "sifs, ifs first": ScreeningRules(("ifs", "iss")),
    "iss": ScreeningRules(("iss",)),
    "ifs": ScreeningRules(("ifs",)),
    "gap": ScreeningRules(gap=True),
    None: NO_TESTS,
}


class RuleRun(NamedTuple):
    """A test that was run, and how many columns and samples it was the first to remove."""

    rule: str
    columns: int
    samples: int


@dataclass
class Screened:
    """What was proven at a point: masks over samples (theta is 0, theta is 1) and over columns (w is 0).

    ``log`` has a RuleRun for each test, in order. Samples with weight zero are settled, but not counted.
    """

    zero: np.ndarray
    one: np.ndarray
    idle: np.ndarray
    log: list = field(default_factory=list)

    @classmethod
    def nothing(cls, svm):
        """Nothing is proven, except for samples with weight zero, whose theta does not matter."""
        n, p = svm.sides.shape
        return cls(~svm.rows, np.zeros(n, dtype=bool), np.zeros(p, dtype=bool))

    @classmethod
    def closed_form(cls, svm, idle, one):
        """What is known of a solution in closed form."""
        run = RuleRun("ends", int(np.count_nonzero(idle)), int(np.count_nonzero(one)))
        return cls(~svm.rows, one.copy(), idle, [run])

    @property
    def settled(self):
        """Samples whose theta is known."""
        return self.zero | self.one

    def add(self, rule, idle=None, zero=None, one=None):
        """Add the result of a test; returns how many columns and samples are new."""
        columns = samples = 0
        if idle is not None:
            columns = int(np.count_nonzero(idle & ~self.idle))
            self.idle |= idle
        if zero is not None:
            unknown = ~self.settled
            samples = int(np.count_nonzero((zero | one) & unknown))
            self.zero |= zero & unknown
            self.one |= one & unknown
        self.log.append(RuleRun(rule, columns, samples))
        return columns + samples


class StaticTests:
    """The paper's rules at ``alpha`` from a point at the same beta: ISS and IFS, each using the result of the other."""

    def __init__(self, svm, point, alpha, screened):
        self.svm, self.point = svm, point
        self.screened = screened
        distance = np.sqrt(float(svm.cost @ (point.theta - 1.0 / svm.gamma) ** 2))
        self.balls = screening.from_reference(point.alpha, alpha, point.length, distance, point.gap, svm.gamma)
        m = self.balls.multiple
        self.margins = m * (point.z - svm.y * point.b)
        self.row_squares, self.columns_seen = svm.row_squares, np.zeros(svm.sides.shape[1], dtype=bool)
        self.centre = m * point.theta + (1.0 - m) / svm.gamma
        self.scores = m * point.v + ((1.0 - m) / svm.gamma) * svm.v_at_one
        self.column_squares, self.rows_seen = svm.column_squares, ~svm.rows

    def run(self, order):
        """Alternate until a test removes nothing; each is run at least once."""
        tests = {"iss": self._samples, "ifs": self._columns}
        for run in itertools.count(1):
            new = tests[order[(run - 1) % len(order)]]()
            if len(order) == 1 or (run >= len(order) and new == 0):
                return

    def _samples(self):
        """ISS (lemma 5, theorem 5): the ball of w, smaller by the columns known to be idle."""
        svm, idle = self.svm, self.screened.idle
        new = idle & ~self.columns_seen
        if new.any():
            self._forget_columns(new)
        lost = self.point.weights[idle[self.point.ids]]
        radius = screening.smaller(self.balls.primal, self.balls.multiple**2 * float(lost @ lost))
        norms = svm.row_norms if self.row_squares is svm.row_squares else np.sqrt(self.row_squares)
        return self.screened.add("iss", None, *screening.settled_samples(self.margins, norms, radius, svm.gamma))

    def _columns(self):
        """IFS (lemma 4, theorem 4): the ball of theta, smaller by the samples known to be settled."""
        svm, screened = self.svm, self.screened
        new = screened.settled & ~self.rows_seen
        if new.any():
            self._forget_rows(new)
        ones = float(svm.cost[screened.one] @ (1.0 - self.centre[screened.one]) ** 2)
        zeros = float(svm.cost[screened.zero] @ self.centre[screened.zero] ** 2)
        radius = screening.smaller(self.balls.dual, ones, zeros)
        norms = svm.column_norms if self.column_squares is svm.column_squares else np.sqrt(self.column_squares)
        return screened.add("ifs", screening.idle_columns(self.scores, norms, radius, self.point.beta))

    def _forget_columns(self, new):
        """Margins and norms of the rows without the columns ``new``: from those or the rest, whichever are fewer."""
        svm, point = self.svm, self.point
        gone = new[point.ids]
        if gone.any():
            part = svm.sides.combine(point.ids[gone], point.weights[gone])
            self.margins = self.margins - self.balls.multiple * (svm.y * part)
        rest = ~self.screened.idle
        if svm.sides.entries_of(columns=rest) <= svm.sides.entries_of(columns=new):
            self.row_squares = svm.sides.row_squares(rest)
        else:
            self.row_squares = _less(self.row_squares, svm.sides.row_squares(new), svm.row_squares)
        self.columns_seen = self.screened.idle.copy()

    def _forget_rows(self, new):
        """Scores and norms of the columns with the rows ``new`` at their known theta: from those rows or the rest."""
        svm, point = self.svm, self.point
        settled, known = self.screened.settled, self.screened.one.astype(np.float64)
        rest = svm.rows & ~settled
        if svm.sides.entries_of(rows=rest) <= svm.sides.entries_of(rows=new):
            target = np.where(rest, self.centre, known)  # differs from theta in few rows but the rest
            self.scores = point.v + svm.sides.correlate(svm.signed * (target - point.theta))
            self.column_squares = svm.sides.column_squares(np.where(rest, svm.cost, 0.0))
        else:
            change = np.where(new, known - self.centre, 0.0)
            self.scores = self.scores + svm.sides.correlate(svm.signed * change)
            less = svm.sides.column_squares(np.where(new, svm.cost, 0.0))
            self.column_squares = _less(self.column_squares, less, svm.column_squares)
        self.rows_seen = settled.copy()


def _less(squares, part, whole):
    """Sums of squares without a part of them, at least: rounding errors are shares of the ``whole`` sums."""
    return np.maximum(0.0, squares - part) + SQUARES_ROUNDING * whole


def gap_safe_tests(screened, svm, solution, gap, alpha, beta):
    """Gap-safe tests around a solution with z and v, which has this gap; with an intercept for columns only."""
    balls = screening.from_gap(gap, alpha, svm.gamma)
    idle = screening.idle_columns(solution.v, svm.column_norms, balls.dual, beta)
    samples = () if svm.shift else screening.settled_samples(solution.z, svm.row_norms, balls.primal, svm.gamma)
    return screened.add("gap", idle, *samples)


def screen(svm, start, gap, alpha, beta, rules):
    """What the tests prove at (alpha, beta) before a solve from ``start``, whose gap there is ``gap``.

    Static tests need a start at the same beta, and those of samples a problem without intercept.
    """
    screened = Screened.nothing(svm)
    if rules.gap:
        gap_safe_tests(screened, svm, start, gap, alpha, beta)
    order = [rule for rule in rules.order if not (svm.shift and rule == "iss")]
    if order and start.beta == beta:
        StaticTests(svm, start, alpha, screened).run(order)
    return screened
