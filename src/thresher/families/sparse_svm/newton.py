"""One point of an elastic-net SVM's grid from a near one by Newton's method: screen, solve on the rest, certify."""

from typing import NamedTuple

import numpy as np

from thresher.families.sparse_svm.rules import NO_TESTS, Screened, ScreeningRules, gap_safe_tests, screen
from thresher.families.sparse_svm.svm import Svm, SvmPoint, gap_at
from thresher.optim.elastic.newton import ElasticNewton, Iterate, iterate_at
from thresher.optim.elastic.objective import ElasticObjective, active_columns

NEWTON_STEPS = 200
SLOW = 0.5  # what two steps must make of the gap, or a solve that may end early does
WORTHWHILE = 0.5  # share of X below which a solve continues on the remaining rows and columns alone
STRICTER = 0.25  # the gap of the whole problem can be larger than that of what is left: require more each time


class Effort(NamedTuple):
    """How long a solve goes on: to which gap, for how many steps at most, and whether it ends when it is slow."""

    tol: float
    steps: int = NEWTON_STEPS
    impatient: bool = False


def newton_point(
    svm: Svm, start: SvmPoint, alpha: float, beta: float, effort: Effort, rules: ScreeningRules = NO_TESTS
) -> SvmPoint:
    """The point at (alpha, beta), solved directly from ``start``."""
    gap = gap_at(svm, start, alpha, beta)
    screened = screen(svm, start, gap, alpha, beta, rules)
    solve = NewtonSolve(svm, svm.at(alpha, beta), start, gap, screened, effort)
    solve.run(gap, rules)
    return solve.certified(rules)


class NewtonSolve:
    """A solve on all of X that continues on the remaining rows and columns once that pays off, and back."""

    def __init__(
        self, svm: Svm, objective: ElasticObjective, start: SvmPoint, gap: float, screened: Screened, effort: Effort
    ):
        self.svm, self.objective = svm, objective
        self.screened, self.effort = screened, effort
        self.steps = 0
        self._strictness = 1.0
        self.newton = self._newton(self._begin(start, gap))

    def _begin(self, start, gap):
        """The start without weights on idle columns; its gap is known where it has none."""
        svm, objective, w = self.svm, self.objective, start.dense
        scores = svm.y * start.z - start.b
        lost = np.flatnonzero((w != 0.0) & self.screened.idle)
        if lost.size:
            scores = scores - svm.sides.combine(lost, w[lost])
            w[lost] = 0.0
            return iterate_at(svm.sides, objective, w, scores, b=start.b, theta=start.theta, v=start.v)
        active = active_columns(w, start.v, objective.beta)
        return Iterate(w, start.b, scores, svm.y * (scores + start.b), start.theta, start.v, gap, active)

    def _newton(self, now):
        """The solver on all of X from an iterate."""
        return ElasticNewton(self.svm.sides, self.objective, now, idle=self.screened.idle, tol=self.effort.tol)

    @property
    def done(self) -> bool:
        """Whether the gap is small enough, more steps would not help, or time is over."""
        enough = self.newton.now.gap <= self.effort.tol or self.newton.stuck
        return enough or self.steps >= self.effort.steps or self.svm.monitor.late

    def run(self, gap: float, rules: ScreeningRules) -> None:
        """Step until that is done or, if the effort is impatient, slow; ``gap`` is that of the start."""
        gaps = [np.inf, np.inf, gap]
        while not self.done and not (self.effort.impatient and gaps[-1] > SLOW * gaps[-3]):
            self._go_on(rules)
            gaps.append(self.newton.now.gap)

    def _go_on(self, rules):
        """One step on all of X; or, if there are tests and a step was not enough, all further ones on what is left."""
        svm, screened, now = self.svm, self.screened, self.newton.now
        if self.steps and rules != NO_TESTS:
            if rules.gap:
                self._test_again()
            rows, columns = np.flatnonzero(svm.rows & ~screened.settled), np.flatnonzero(~screened.idle)
            left = min(svm.sides.entries_of(rows=rows), svm.sides.entries_of(columns=columns))
            if left <= WORTHWHILE * svm.sides.entries and not screened.idle[np.flatnonzero(now.w)].any():
                self._solve_what_is_left(rows, columns)
                return
        self._step(self.newton)

    def _test_again(self):
        """Gap-safe tests around the current iterate."""
        now = self.newton.now
        gap_safe_tests(self.screened, self.svm, now, now.gap, self.objective.alpha, self.objective.beta)

    def _step(self, newton):
        newton.step()
        self.steps += 1
        self.svm.monitor.step(newton.now.gap, int(np.count_nonzero(newton.now.w)))

    def _solve_what_is_left(self, rows, columns):
        """Solve on the remaining rows and columns, and map w back to the whole problem."""
        svm, whole = self.svm, self.newton.now
        left = self._what_is_left(rows, columns)
        self._strictness *= STRICTER
        enough = self._strictness * self.effort.tol
        while left.now.gap > enough and not left.stuck and self.steps < self.effort.steps and not svm.monitor.late:
            self._step(left)
        w = np.zeros(whole.w.size)
        w[columns] = left.now.w
        ids = np.flatnonzero(w)
        scores = svm.sides.combine(ids, w[ids])
        now = iterate_at(svm.sides, self.objective, w, scores, b=left.now.b, theta=whole.theta, v=whole.v)
        self.newton = self._newton(now)
        self.newton.stuck = left.stuck or (left.steps == 0 and now.gap >= whole.gap)

    def _what_is_left(self, rows, columns):
        """The solver on the remaining rows and columns, from the current iterate."""
        svm, whole, screened = self.svm, self.newton.now, self.screened
        theta = np.where(screened.one, 1.0, np.where(screened.zero, 0.0, whole.theta))
        v = (whole.v + svm.sides.correlate(svm.signed * (theta - whole.theta)))[columns]
        theta = theta[rows]
        sides = svm.sides.shrunk(rows, columns)
        objective = self.objective.of_rows(rows, known=v - sides.correlate(svm.signed[rows] * theta))
        start = iterate_at(sides, objective, whole.w[columns], whole.scores[rows], b=whole.b, theta=theta, v=v)
        return ElasticNewton(sides, objective, start, tol=self.effort.tol)

    def certified(self, rules: ScreeningRules) -> SvmPoint:
        """The current solution with its gap on all of X, after a last gap-safe test if there are any."""
        if rules.gap:
            self._test_again()
        now, objective = self.newton.now, self.objective
        ids = np.flatnonzero(now.w)
        return SvmPoint(
            objective.alpha, objective.beta, ids, now.w[ids], now.b, now.z, now.theta, now.v, now.gap, self.screened,
            self.steps,
        )  # fmt: skip
