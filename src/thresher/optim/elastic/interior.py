"""An interior point method for the elastic-net SVM on few rows or columns: robust, for small systems.

With theta the dual point and u in [-beta, beta] the slope of the l1 penalty, the solution (see ``objective``) has

    v - alpha w = u,   1 - z - gamma theta = a - d,   a (1 - theta) = d theta = 0,   r (beta - u) = l (beta + u) = 0

with w = r - l, and a, d, r, l >= 0. The products are kept positive and brought to zero together. Where weights
outnumber samples and alpha is small, hundreds of weights are about to become zero or non-zero, and Newton's method,
which has to guess which, may take thousands of steps; this takes about twenty. Each solves one system of the size of
the smaller side.
"""

from typing import Any, NamedTuple

import numpy as np

from thresher.optim.elastic.objective import ElasticObjective, balanced
from thresher.optim.penalties.prox import soft_threshold
from thresher.optim.solvers.barrier import SmallerSide, longest

INTERIOR_STEPS = 80
TO_THE_BOUNDARY = 0.995  # share of the way to the boundary that a step goes at most
SHORTEST_STEP = 1e-8  # shorter steps do not lead anywhere
STALLED_STEPS = 6  # steps after which only rounding errors are left: the gap did not fall, and the products
PROGRESS = 0.9  # not below this share of what they were
START_INSIDE = 0.05  # distance of u from its bounds at the start, as a share of beta


class InteriorSolution(NamedTuple):
    """Weights with exact zeros, intercept, theta, and the gap on these rows and columns."""

    w: np.ndarray
    b: float
    theta: np.ndarray
    gap: float


class InteriorPoint(NamedTuple):
    """Theta and u, the multipliers of their bounds, and the intercept; or a change of these."""

    theta: np.ndarray
    u: np.ndarray
    a: np.ndarray
    d: np.ndarray
    r: np.ndarray
    l: np.ndarray  # noqa: E741 - as in the module's formulas
    b: float

    def moved(self, length: float, move: "InteriorPoint") -> "InteriorPoint":
        """The point that is ``length`` times the move further."""
        pairs: Any = zip(self, move, strict=True)
        return InteriorPoint(*(part + length * change for part, change in pairs))


class ElasticInterior:
    """A point inside all bounds, and steps from it.

    It begins in the middle: from a better point near the bounds steps would be short.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        The rows and columns.
    objective : ElasticObjective
        The problem on these rows, whose costs are positive.
    far : float, default=1.0
        How far away the multipliers begin.

    Attributes
    ----------
    best : InteriorSolution
        The solution with the smallest gap so far.
    steps : int
        Steps taken.
    """

    def __init__(self, X: np.ndarray, objective: ElasticObjective, far: float = 1.0):
        n, m = X.shape
        self.X, self.objective = X, objective
        self.steps = 0
        self.best: Any = None
        theta, of_rows = np.full(n, 0.5), np.full(n, 0.5 * far)
        of_columns = np.full(m, 0.5 * far * objective.cost.sum() / (objective.beta * m))
        u = self._inside(X.T @ (objective.signed * theta))
        self.point = InteriorPoint(theta, u, of_rows, of_rows, of_columns, of_columns, 0.0)
        self._look()

    def join(self, X: np.ndarray, v: np.ndarray) -> None:
        """Add columns, with their current v; they begin where the others are on the way to zero."""
        _, mean = self._means()
        beta, point, u = self.objective.beta, self.point, self._inside(v)
        self.X = np.column_stack([self.X, X])
        self.point = point._replace(
            u=np.concatenate([point.u, u]),
            r=np.concatenate([point.r, mean / (beta - u)]),
            l=np.concatenate([point.l, mean / (beta + u)]),
        )
        self.best = None
        self._look()

    def solve(self, tol: float, monitor: Any) -> InteriorSolution:
        """Steps until the gap is at most ``tol``, or nothing is to be gained; returns the best solution.

        ``monitor`` (a SolveMonitor) counts the steps, and ends the solve when its time is over.
        """
        stalled = 0
        most = self.steps + INTERIOR_STEPS
        while self.best.gap > tol and self.steps < most and stalled < STALLED_STEPS and not monitor.late:
            gap = self.best.gap
            products = sum(self._means())
            with np.errstate(all="ignore"):  # of a point that is on a bound, up to rounding, nothing more can be had
                if not self._step():
                    break
            self._look()
            monitor.step(self.best.gap, int(np.count_nonzero(self.best.w)))
            stalled += 1
            if self.best.gap < gap or sum(self._means()) < PROGRESS * products:
                stalled = 0
        return self.best

    def _inside(self, v):
        """The u next to v, a little inside its bounds."""
        most = (1.0 - START_INSIDE) * self.objective.beta
        return np.clip(v, -most, most)

    @property
    def _bounds(self):
        """(values that must be positive, their multipliers) of rows, then of columns."""
        point, beta = self.point, self.objective.beta
        rows = (1.0 - point.theta, point.a), (point.theta, point.d)
        return rows, ((beta - point.u, point.r), (beta + point.u, point.l))

    def _means(self, length=0.0, move=None):
        """Means of the products of values and multipliers, of rows (weighted by cost) and of columns; after a move."""
        rows, columns = self._bounds
        cost = self.objective.cost
        if move is not None:
            pairs = zip((*rows, *columns), _changes(move), strict=True)
            moved = [(value + length * s, multiplier + length * t) for (value, multiplier), (s, t) in pairs]
            rows, columns = moved[:2], moved[2:]
        of_rows = sum(float(cost @ (value * multiplier)) for value, multiplier in rows)
        of_columns = sum(float(value @ multiplier) for value, multiplier in columns)
        return of_rows / (2.0 * float(cost.sum())), of_columns / (2.0 * self.point.u.size)

    def _look(self):
        """Update the residuals, and the best solution."""
        point, objective = self.point, self.objective
        w = point.r - point.l
        v = self.X.T @ (objective.signed * point.theta)
        z = objective.y * (self.X @ w + point.b)
        self.off_columns = v - objective.alpha * w - point.u
        self.off_rows = 1.0 - z - objective.gamma * point.theta - point.a + point.d
        solution = self._rounded(w, v)
        if self.best is None or solution.gap < self.best.gap:
            self.best = solution

    def _rounded(self, w, v):
        """With exact zeros: w as one step of proximal gradients leaves it, which moves an optimum nowhere."""
        point, objective = self.point, self.objective
        steep = objective.beta * w.size / float((point.r + point.l).sum())
        w = soft_threshold(w + (v - objective.alpha * w) / steep, objective.beta / steep)
        theta = point.theta
        if objective.shift:
            theta = balanced(theta, objective.cost, objective.y)
            v = self.X.T @ (objective.signed * theta)
        z = objective.y * (self.X @ w + point.b)
        gap = objective.sample_gap(z, theta) + objective.column_gap(w, v)
        return InteriorSolution(w, point.b, theta, gap)

    def _step(self):
        """Mehrotra's predictor and corrector, with one factorisation; False if rounding errors forbid it."""
        self.steps += 1
        if not self._factored():
            return False
        predictor = self._direction(0.0, 0.0)
        now = self._means()
        then = self._means(self._longest(predictor), predictor)
        centre = (sum(then) / sum(now)) ** 3
        move = self._direction(centre * now[0], centre * now[1], predictor)
        length = self._longest(move)
        if not length > SHORTEST_STEP:
            return False
        self.point = self.point.moved(length, move)
        return True

    def _longest(self, move):
        """The longest step up to 1 that stays inside; nan if the direction is."""
        rows, columns = self._bounds
        return TO_THE_BOUNDARY * longest((*rows, *columns), _changes(move), 1.0 / TO_THE_BOUNDARY)

    def _factored(self):
        """Factor  X G X' + D,  what is left of the system of Newton's method; False if rounding errors forbid it."""
        (P, a), (Q, d) = self._bounds[0]
        (R, r), (L, l) = self._bounds[1]  # noqa: E741
        objective = self.objective
        self.h = r / R + l / L
        root = np.sqrt(self.h / (1.0 + objective.alpha * self.h))
        self.system = SmallerSide(self.X * root, (objective.gamma + a / P + d / Q) / objective.cost)
        if self.system.failed:
            return False
        n = objective.y.size
        self.ones = self.system.times(np.ones(n)) if objective.shift else np.zeros(n)
        return True

    def _direction(self, mu_rows, mu_columns, predictor=None):
        """The step to where all products are these means, up to the second-order terms of ``predictor``."""
        (P, a), (Q, d) = self._bounds[0]
        (R, r), (L, l) = self._bounds[1]  # noqa: E741
        y, alpha = self.objective.y, self.objective.alpha
        goal_a = goal_d = mu_rows
        goal_r = goal_l = mu_columns
        if predictor is not None:
            goal_a = mu_rows + predictor.a * predictor.theta
            goal_d = mu_rows - predictor.d * predictor.theta
            goal_r = mu_columns + predictor.r * predictor.u
            goal_l = mu_columns - predictor.l * predictor.u
        push = (goal_r / R - r) - (goal_l / L - l)
        fixed = (push + self.h * self.off_columns) / (1.0 + alpha * self.h)
        right = y * (self.off_rows - (goal_a / P - a) + (goal_d / Q - d)) - self.X @ fixed
        xi = self.system.times(right)
        b = 0.0
        if self.objective.shift:
            b = float(self.ones @ right + self.objective.signed @ self.point.theta) / float(self.ones.sum())
            xi = xi - b * self.ones
        theta = y * xi / self.objective.cost
        u = (self.X.T @ xi + self.off_columns - alpha * push) / (1.0 + alpha * self.h)
        return InteriorPoint(
            theta, u,
            a=goal_a / P - a + a / P * theta,
            d=goal_d / Q - d - d / Q * theta,
            r=goal_r / R - r + r / R * u,
            l=goal_l / L - l - l / L * u,
            b=b,
        )  # fmt: skip


def _changes(move):
    """How values and multipliers, as in ``_bounds``, change along a move."""
    return (-move.theta, move.a), (move.theta, move.d), (-move.u, move.r), (move.u, move.l)
