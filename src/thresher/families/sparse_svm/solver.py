"""One point of an elastic-net SVM's grid from its neighbour: screen, solve on the rest, certify on all of X."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from thresher.families.sparse_svm import interior as inside
from thresher.families.sparse_svm.rules import RULES, Screened, Static, Tested, around
from thresher.families.sparse_svm.watch import Watch
from thresher.optim.elastic.newton import ElasticNewton, active_columns, column_terms, sample_terms
from thresher.optim.penalties.prox import soft_threshold
from thresher.optim.problems.losses import SmoothedHinge

MOST_STEPS, PATIENCE = 200, 12  # steps of a solve; fewer if a shorter stride may help
TOO_MANY = 24  # steps for a point, after which the interior point method takes over on larger problems too
FAR = 10.0  # ratio of alphas from which on, with more active columns than samples, it is used at once
SLOW = 0.5  # what two steps must make of the gap, or the interior point method takes over where it can
WORTH = 0.5  # share of X below which a solve continues on the remaining rows and columns alone
MOST_IN_ALL = 2000  # total steps for a point, after which the current solution is returned
STRIDE, SHORTEST = 30.0, 1.05  # factors by which alpha decreases at a time
LOOSE = 1e-3  # gap of intermediate solutions
INNER = 1e-9  # gap of the interior point method, which is fast there, and from which Newton's method goes on


class Svm:
    """A problem of two classes: costs c sum to 1; ``ones`` is X'(c y), squares are those of all of X.

    Samples with cost 0 have margins, but do not influence the model. Squares and norms take a pass over X each; they
    are computed when a test first needs them, those of rows once for all problems that are ``like`` each other.
    ``watch`` is told of every step, and says when to stop.
    """

    def __init__(self, sides, y, cost, gamma, *, shift=False, like=None):
        self.sides, self.y, self.cost, self.gamma, self.shift = sides, y, cost, gamma, shift
        self.rows, self.signed, self._like, self.watch = cost > 0.0, cost * y, like, Watch()
        self.ones = sides.correlate(self.signed)

    @cached_property
    def row_squares(self):
        """||x_i||^2 of every row."""
        return self.sides.row_squares() if self._like is None else self._like.row_squares

    @cached_property
    def row_norms(self):
        """||x_i|| of every row."""
        return np.sqrt(self.row_squares) if self._like is None else self._like.row_norms

    @cached_property
    def column_squares(self):
        """sum_i c_i x_ij^2 of every column."""
        return self.sides.column_squares(self.cost)

    @cached_property
    def column_norms(self):
        """The root of ``column_squares``."""
        return np.sqrt(self.column_squares)

    @property
    def at_zero(self):
        """The objective at w = 0 and b = 0; gaps are a share of it."""
        return 1.0 - 0.5 * self.gamma


@dataclass(frozen=True)
class Point:
    """A solution at (alpha, beta): w on ``ids``, margins z = y (X w + b), theta, v = X'(c y theta), and its gap.

    ``screened`` is what was proven about the optimum, ``steps`` are those of the solve.
    """

    alpha: float
    beta: float
    ids: np.ndarray
    weights: np.ndarray
    b: float
    z: np.ndarray
    theta: np.ndarray
    v: np.ndarray
    gap: float
    screened: Screened
    steps: int = 0

    @property
    def length(self):
        """||w||."""
        return float(np.sqrt(self.weights @ self.weights))


def largest_beta(svm):
    """The beta from which on w = 0 for every alpha (theorem 2), with the optimal intercept if there is one."""
    return float(np.abs(_without_columns(svm)[2]).max(initial=0.0))


def _without_columns(svm):
    """(b, theta, v) at w = 0."""
    if not svm.shift:
        return 0.0, np.ones(svm.y.size), svm.ones
    loss = SmoothedHinge(svm.gamma)
    b = loss.best_shift(svm.y, np.zeros(svm.y.size), svm.cost)
    theta = np.clip((1.0 - svm.y * b) / svm.gamma, 0.0, 1.0)
    return b, theta, svm.sides.correlate(svm.signed * theta)


def empty(svm, alpha, beta):
    """The Point w = 0, the solution from ``largest_beta`` on."""
    b, theta, v = _without_columns(svm)
    settled = svm.rows & (theta >= 1.0)
    screened = Screened(~svm.rows, settled, np.ones(v.size, dtype=bool))
    screened.log.append(Tested("ends", v.size, int(np.count_nonzero(settled))))
    none = np.zeros(0, dtype=np.int64)
    gap = float(column_terms(np.zeros(v.size), v, alpha, beta).sum())
    return Point(alpha, beta, none, np.zeros(0), b, svm.y * b, theta, v, gap, screened)


def largest_alpha(svm, beta):
    """The alpha from which on theta = 1 and the solution has a closed form (theorem 3); zero where w = 0."""
    w = soft_threshold(svm.ones, beta)
    ids = np.flatnonzero(w)
    z = svm.y * svm.sides.combine(ids, w[ids])
    return max(0.0, float(z[svm.rows].max(initial=0.0))) / (1.0 - svm.gamma)


def closed_form(svm, alpha, beta):
    """The Point at ``largest_alpha`` or above, without intercept: theta is 1 everywhere (theorem 3)."""
    w = soft_threshold(svm.ones, beta) / alpha
    ids = np.flatnonzero(w)
    z = svm.y * svm.sides.combine(ids, w[ids])
    theta = np.ones(z.size)
    screened = Screened(~svm.rows, svm.rows.copy(), w == 0.0)
    screened.log.append(Tested("ends", int(w.size - ids.size), int(np.count_nonzero(svm.rows))))
    gap = float(svm.cost @ sample_terms(1.0 - z, theta, svm.gamma))
    return Point(alpha, beta, ids, w[ids], 0.0, z, theta, svm.ones, gap, screened)


def reach(svm, start, alpha, beta, tol, rules=RULES["auto"]):
    """The Point at (alpha, beta), solved from ``start`` until its gap is at most ``tol``, or time is over.

    If ``start`` is far, or the solve takes too long, points in between are solved first: from a close start a solve
    takes a step or two. Where that is slow too, the interior point method takes over.
    """
    stride, loose, steps = STRIDE, max(tol, LOOSE * svm.at_zero), 0
    sure, tried = inside.suits(svm), False
    if sure and start.alpha > FAR * alpha and np.count_nonzero(np.abs(start.v) > beta) > np.count_nonzero(svm.rows):
        better, tried, sure = solve_inside(svm, start, alpha, beta, tol, rules), True, False
        if better.gap <= tol or svm.watch.late:
            return better
    while True:
        ratio = start.alpha / alpha
        stride = min(stride, max(ratio, SHORTEST))
        last = ratio <= stride
        goal, bar = (alpha, tol) if last else (start.alpha / stride, loose)
        most = MOST_STEPS if stride <= SHORTEST else PATIENCE
        point = solve(svm, start, goal, beta, bar, rules, most, impatient=sure)
        steps += point.steps
        if steps >= MOST_IN_ALL or svm.watch.late:  # no further progress is possible in floating point, or in time
            return replace(point if last else solve(svm, point, alpha, beta, tol, rules, PATIENCE), steps=steps)
        if point.gap > bar and not tried and (sure or (steps >= TOO_MANY and inside.suits(svm, inside.LATE))):
            better, tried, sure = solve_inside(svm, point, alpha, beta, tol, rules), True, False
            steps += better.steps
            if better.gap <= tol or svm.watch.late:
                return replace(better, steps=steps)
        if point.gap > bar and stride > SHORTEST:
            stride = np.sqrt(stride)
            continue
        if last:
            return replace(point, steps=steps)
        start, stride = point, stride**1.5


def solve(svm, start, alpha, beta, tol, rules=RULES["auto"], most=MOST_STEPS, *, impatient=False):
    """The Point at (alpha, beta), solved directly from ``start``, in at most ``most`` steps; fewer if it is slow."""
    screened, gap = Screened.nothing(svm), gap_at(svm, start, alpha, beta)
    if rules.gap:
        around(screened, svm, start.z, start.v, gap, alpha, beta)
    order = [rule for rule in rules.order if not (svm.shift and rule == "iss")]
    if order and start.beta == beta:
        Static(svm, start, alpha, screened).run(order)
    work = _Work(svm, start, gap, screened, alpha, beta, tol, most)
    gaps = [np.inf, np.inf, gap]
    while not work.done and not svm.watch.late and not (impatient and gaps[-1] > SLOW * gaps[-3]):
        work.go_on(rules)
        gaps.append(work.solver.gap)
    return work.point(rules.gap)


def solve_inside(svm, start, alpha, beta, tol, rules=RULES["auto"]):
    """The Point at (alpha, beta) by the interior point method, and a few steps of Newton's method from there."""
    ids, weights, b, theta, steps = inside.solved(svm, start, alpha, beta, INNER * svm.at_zero)
    z = svm.y * (svm.sides.combine(ids, weights) + b)
    v = svm.sides.correlate(svm.signed * theta)
    point = Point(alpha, beta, ids, weights, b, z, theta, v, np.inf, Screened.nothing(svm))
    point = solve(svm, replace(point, gap=gap_at(svm, point, alpha, beta)), alpha, beta, tol, rules, PATIENCE)
    return replace(point, steps=point.steps + steps)


def gap_at(svm, point, alpha, beta):
    """The gap that a point solved elsewhere has at (alpha, beta)."""
    w = np.zeros(point.v.size)
    w[point.ids] = point.weights
    active = active_columns(w, point.v, beta)
    terms = column_terms(w[active], point.v[active], alpha, beta).sum()
    return float(svm.cost @ sample_terms(1.0 - point.z, point.theta, svm.gamma) + terms)


class _Work:
    """A solve on all of X that continues on the remaining rows and columns once that pays off, and back."""

    def __init__(self, svm, start, gap, screened, alpha, beta, tol, most):
        self.svm, self.screened, self.alpha, self.beta, self.tol = svm, screened, alpha, beta, tol
        self.steps, self.most, self.strictness = 0, most, 1.0
        w = np.zeros(svm.sides.shape[1])
        w[start.ids] = start.weights
        scores = svm.y * start.z - start.b
        lost = np.flatnonzero((w != 0.0) & screened.idle)
        if lost.size:
            scores = scores - svm.sides.combine(lost, w[lost])
            w[lost] = 0.0
        self.solver = self._solver(w, scores, start.v, start.theta, start.b, None if lost.size else gap)

    def _solver(self, w, scores, v, theta, b, gap=None):
        svm = self.svm
        return ElasticNewton(
            svm.sides, svm.y, svm.cost, w, scores, v, theta, b, alpha=self.alpha, beta=self.beta, gamma=svm.gamma,
            shift=svm.shift, idle=self.screened.idle, tol=self.tol, gap=gap,
        )  # fmt: skip

    @property
    def done(self):
        """Whether the gap is small enough, or more steps would not help."""
        return self.solver.gap <= self.tol or self.solver.stuck or self.steps >= self.most

    def go_on(self, rules):
        """One step on all of X; or, if there are tests and a step was not enough, all further ones on what is left."""
        svm, screened, solver = self.svm, self.screened, self.solver
        if self.steps and rules.some:
            if rules.gap:
                around(screened, svm, solver.z, solver.v, solver.gap, self.alpha, self.beta)
            kept, columns = np.flatnonzero(svm.rows & ~screened.settled), np.flatnonzero(~screened.idle)
            left = min(svm.sides.entries_of(rows=kept), svm.sides.entries_of(columns=columns))
            if left <= WORTH * svm.sides.entries and not screened.idle[np.flatnonzero(solver.w)].any():
                self._on_what_is_left(kept, columns)
                return
        self._step(solver)

    def _step(self, solver):
        solver.step()
        self.steps += 1
        self.svm.watch.step(solver.gap, int(np.count_nonzero(solver.w)))

    def _on_what_is_left(self, kept, columns):
        """Solve on the remaining rows and columns, and map w back to the full problem."""
        svm, screened, whole = self.svm, self.screened, self.solver
        theta = np.where(screened.one, 1.0, np.where(screened.zero, 0.0, whole.theta))
        v = whole.v + svm.sides.correlate(svm.signed * (theta - whole.theta))
        w, sides = whole.w[columns], svm.sides.shrunk(kept, columns)
        part = ElasticNewton(
            sides, svm.y[kept], svm.cost[kept], w, whole.scores[kept], v[columns], theta[kept], whole.b,
            alpha=self.alpha, beta=self.beta, gamma=svm.gamma, shift=svm.shift,
            known=v[columns] - sides.correlate(svm.signed[kept] * theta[kept]), tol=self.tol,
        )  # fmt: skip
        self.strictness *= 0.25  # the gap of the full problem can be larger: require more each time
        enough, watch = self.strictness * self.tol, svm.watch
        while part.gap > enough and not part.stuck and self.steps < self.most and not watch.late:
            self._step(part)
        w = np.zeros(v.size)
        w[columns] = part.w
        ids = np.flatnonzero(w)
        self.solver = self._solver(w, svm.sides.combine(ids, w[ids]), whole.v, whole.theta, part.b)
        self.solver.stuck = part.stuck or (part.steps == 0 and self.solver.gap >= whole.gap)

    def point(self, gap_safe):
        """The current solution."""
        solver = self.solver
        if gap_safe:
            around(self.screened, self.svm, solver.z, solver.v, solver.gap, self.alpha, self.beta)
        ids = np.flatnonzero(solver.w)
        return Point(
            self.alpha, self.beta, ids, solver.w[ids], solver.b, solver.z, solver.theta, solver.v, solver.gap,
            self.screened, self.steps,
        )  # fmt: skip
