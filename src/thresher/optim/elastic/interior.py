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
from thresher.optim.solvers.barrier import BOUNDARY_SHARE, InteriorPoint, SmallerSide

ELASTIC_STEPS = 80
ELASTIC_IDLE = 6  # steps after which only rounding errors are left: the gap did not fall, and the products
PRODUCT_PROGRESS = 0.9  # not below this share of what they were
START_INSIDE = 0.05  # distance of u from its bounds at the start, as a share of beta


class InteriorSolution(NamedTuple):
    """Weights with exact zeros, intercept, theta, and the gap on these rows and columns."""

    w: np.ndarray
    b: float
    theta: np.ndarray
    gap: float


class ElasticInterior(InteriorPoint):
    """A point inside all bounds, and steps from it: theta, u and b, with the multipliers a, d, r and l.

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
    """

    constrained = "theta_below", "theta", "u_below", "u_above"
    predictor_share = BOUNDARY_SHARE

    def __init__(self, X: np.ndarray, objective: ElasticObjective, far: float = 1.0):
        n, m = X.shape
        self.X, self.objective, self.b = X, objective, 0.0
        self.theta = np.full(n, 0.5)
        self.u = self._inside(X.T @ (objective.signed * self.theta))
        of_rows = np.full(n, 0.5 * far)
        of_columns = np.full(m, 0.5 * far * objective.cost.sum() / (objective.beta * m))
        self.multipliers = [of_rows, of_rows, of_columns, of_columns]
        self.best = self._solution()

    def join(self, X: np.ndarray, v: np.ndarray) -> None:
        """Add columns, with their current v; they begin where the others are on the way to zero."""
        mean = self.means(self.pairs())[-1]
        a, d, r, l = self.multipliers  # noqa: E741 - as in the module's formulas
        beta, u = self.objective.beta, self._inside(v)
        self.X = np.column_stack([self.X, X])
        self.u = np.concatenate([self.u, u])
        self.multipliers = [a, d, np.concatenate([r, mean / (beta - u)]), np.concatenate([l, mean / (beta + u)])]
        self.best = self._solution()

    def solve(self, tol: float, monitor: Any) -> InteriorSolution:
        """Steps until the gap is at most ``tol``, or nothing is to be gained; returns the best solution.

        ``monitor`` (a SolveMonitor) counts the steps, and ends the solve when its time is over.
        """
        self.monitor, self.idle, self.last_products = monitor, 0, self.products
        with np.errstate(all="ignore"):  # a point that is on a bound, up to rounding, has no step
            self.run(ELASTIC_STEPS, ELASTIC_IDLE, lambda: self.best.gap <= tol or monitor.late)
        return self.best

    def look(self) -> None:
        """See InteriorPoint."""
        solution, products = self._solution(), self.products
        self.idle += 1
        if solution.gap < self.best.gap or products < PRODUCT_PROGRESS * self.last_products:
            self.idle = 0
        self.best = solution if solution.gap < self.best.gap else self.best
        self.last_products = products
        self.monitor.step(self.best.gap, int(np.count_nonzero(self.best.w)))

    def refresh(self) -> None:
        """See InteriorPoint."""
        beta = self.objective.beta
        self.theta_below, self.u_below, self.u_above = 1.0 - self.theta, beta - self.u, beta + self.u

    def measured(self, pairs):
        """See InteriorPoint: the mean of rows, weighted by cost, plus that of columns."""
        of_theta, _, of_u, _ = self.means(pairs)
        return of_theta + of_u

    def means(self, pairs, share=1.0):
        """See InteriorPoint: of rows, weighted by cost, and of columns."""
        cost = self.objective.cost
        of_rows = sum(float(cost @ (value * multiplier)) for value, multiplier in pairs[:2]) / (2.0 * float(cost.sum()))
        of_columns = sum(float(value @ multiplier) for value, multiplier in pairs[2:]) / (2.0 * self.u.size)
        return [share * of_rows, share * of_rows, share * of_columns, share * of_columns]

    def _inside(self, v):
        """The u next to v, a little inside its bounds."""
        most = (1.0 - START_INSIDE) * self.objective.beta
        return np.clip(v, -most, most)

    def _solution(self):
        """Update what follows from the point; the solution there with exact zeros.

        Its w is as one step of proximal gradients leaves it, which leaves an optimum where it is.
        """
        self.refresh()
        objective, theta = self.objective, self.theta
        a, d, r, l = self.multipliers  # noqa: E741
        w, v = r - l, self.X.T @ (objective.signed * theta)
        z = objective.y * (self.X @ w + self.b)
        self.off_columns = v - objective.alpha * w - self.u
        self.off_rows = 1.0 - z - objective.gamma * theta - a + d
        steep = objective.beta * w.size / float((r + l).sum())
        w = soft_threshold(w + (v - objective.alpha * w) / steep, objective.beta / steep)
        if objective.shift:
            theta = balanced(theta, objective.cost, objective.y)
            v = self.X.T @ (objective.signed * theta)
        z = objective.y * (self.X @ w + self.b)
        return InteriorSolution(w, self.b, theta, objective.sample_gap(z, theta) + objective.column_gap(w, v))

    def factored(self) -> bool:
        """Factor  X G X' + D,  what is left of the system of Newton's method; False if rounding errors forbid it."""
        objective = self.objective
        of_a, of_d, of_r, of_l = (multiplier / value for value, multiplier in self.pairs())
        self.h = of_r + of_l
        root = np.sqrt(self.h / (1.0 + objective.alpha * self.h))
        self.system = SmallerSide(self.X * root, (objective.gamma + of_a + of_d) / objective.cost)
        if self.system.failed:
            return False
        n = objective.y.size
        self.ones = self.system.times(np.ones(n)) if objective.shift else np.zeros(n)
        return True

    def newton(self, goals, predictor):
        """See InteriorPoint; all other equations are linear."""
        objective = self.objective
        y, alpha = objective.y, objective.alpha
        steps = zip(goals, self.pairs(), strict=True)
        of_a, of_d, of_r, of_l = (goal / value - multiplier for goal, (value, multiplier) in steps)
        push = of_r - of_l
        fixed = (push + self.h * self.off_columns) / (1.0 + alpha * self.h)
        right = y * (self.off_rows - of_a + of_d) - self.X @ fixed
        xi = self.system.times(right)
        b = 0.0
        if objective.shift:
            b = float(self.ones @ right + objective.signed @ self.theta) / float(self.ones.sum())
            xi = xi - b * self.ones
        theta = y * xi / objective.cost
        u = (self.X.T @ xi + self.off_columns - alpha * push) / (1.0 + alpha * self.h)
        return {"theta": theta, "u": u, "b": b, "theta_below": -theta, "u_below": -u, "u_above": u}
