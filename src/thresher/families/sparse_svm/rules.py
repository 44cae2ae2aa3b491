"""Screening at a point of an elastic-net SVM's grid: samples with known theta, columns with known weight."""

import itertools
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from thresher.optim.elastic import screening

SLIP = 1e-13  # rounding error, as a share of a sum of squares from which parts are subtracted


class Rules(NamedTuple):
    """Which tests are run: static ones in this ``order``, alternately, before a solve; gap-safe ones (``gap``)."""

    order: tuple = ()
    gap: bool = False

    @property
    def some(self):
        """Whether any test is run."""
        return self.gap or bool(self.order)


# "auto" is what is fastest: no tests, since the solver reads the active rows and columns only (docs/theory/sifs.md)
RULES = {
    "auto": Rules(),
    "sifs+gap": Rules(("iss", "ifs"), gap=True),
    "sifs": Rules(("iss", "ifs")),
    "sifs, ifs first": Rules(("ifs", "iss")),
    "iss": Rules(("iss",)),
    "ifs": Rules(("ifs",)),
    "gap": Rules(gap=True),
    None: Rules(),
}


class Tested(NamedTuple):
    """A test that was run, and how many columns and samples it was the first to remove."""

    rule: str
    columns: int
    samples: int


@dataclass
class Screened:
    """What was proven at a point: masks over samples (theta is 0, theta is 1) and over columns (w is 0).

    ``log`` has a Tested for each test, in order. Samples with weight zero are settled, but not counted.
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

    @property
    def settled(self):
        """Samples whose theta is known."""
        return self.zero | self.one

    @property
    def counts(self):
        """Numbers of (columns, samples) removed."""
        return sum(test.columns for test in self.log), sum(test.samples for test in self.log)

    def add(self, rule, idle=None, zero=None, one=None):
        """Add the result of a test; returns how many columns and samples are new."""
        columns = samples = 0
        if idle is not None:
            new = idle & ~self.idle
            columns = int(np.count_nonzero(new))
            self.idle |= new
        if zero is not None:
            known = self.settled
            samples = int(np.count_nonzero((zero | one) & ~known))
            self.zero |= zero & ~known
            self.one |= one & ~known
        self.log.append(Tested(rule, columns, samples))
        return columns + samples


class Static:
    """The paper's rules at ``alpha`` from a point at the same beta: ISS and IFS, each using the result of the other."""

    def __init__(self, svm, point, alpha, screened):
        self.svm, self.point, self.screened = svm, point, screened
        distance = point.theta - 1.0 / svm.gamma
        length = np.sqrt(float(svm.cost @ distance**2))
        self.balls = screening.from_reference(point.alpha, alpha, point.length, length, point.gap, svm.gamma)
        m = self.balls.multiple
        self.margins = m * (point.z - svm.y * point.b)
        self.row_squares, self.columns_seen = svm.row_squares, np.zeros(svm.sides.shape[1], dtype=bool)
        self.centre = m * point.theta + (1.0 - m) / svm.gamma
        self.scores = m * point.v + ((1.0 - m) / svm.gamma) * svm.ones
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
        new = self.screened.idle & ~self.columns_seen
        if new.any():
            self._forget_columns(new)
        lost = self.point.weights[self.screened.idle[self.point.ids]]
        return self._test_samples(screening.smaller(self.balls.primal, self.balls.multiple**2 * float(lost @ lost)))

    def _test_samples(self, radius):
        svm = self.svm
        norms = svm.row_norms if self.row_squares is svm.row_squares else np.sqrt(self.row_squares)
        settled = screening.settled_samples(self.margins, norms, radius, svm.gamma)
        return self.screened.add("iss", None, *settled)

    def _columns(self):
        """IFS (lemma 4, theorem 4): the ball of theta, smaller by the samples known to be settled."""
        screened, cost, centre = self.screened, self.svm.cost, self.centre
        new = screened.settled & ~self.rows_seen
        if new.any():
            self._forget_rows(new)
        ones = float(cost[screened.one] @ (1.0 - centre[screened.one]) ** 2)
        zeros = float(cost[screened.zero] @ centre[screened.zero] ** 2)
        return self._test_columns(screening.smaller(self.balls.dual, ones, zeros))

    def _test_columns(self, radius):
        svm = self.svm
        norms = svm.column_norms if self.column_squares is svm.column_squares else np.sqrt(self.column_squares)
        idle = screening.idle_columns(self.scores, norms, radius, self.point.beta)
        return self.screened.add("ifs", idle)

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
            less = svm.sides.row_squares(new)
            self.row_squares = np.maximum(0.0, self.row_squares - less) + SLIP * svm.row_squares
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
            self.column_squares = np.maximum(0.0, self.column_squares - less) + SLIP * svm.column_squares
        self.rows_seen = settled.copy()


def around(screened, svm, z, v, gap, alpha, beta):
    """Gap-safe tests around a solution with margins z and scores v; with an intercept for columns only."""
    balls = screening.from_gap(gap, alpha, svm.gamma)
    idle = screening.idle_columns(v, svm.column_norms, balls.dual, beta)
    if svm.shift:
        return screened.add("gap", idle)
    return screened.add("gap", idle, *screening.settled_samples(z, svm.row_norms, balls.primal, svm.gamma))
