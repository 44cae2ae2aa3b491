"""The elastic-net SVM of two classes, its points, and the points that have a closed form."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from thresher.data.blocks.sides import Sides
from thresher.families.sparse_svm.monitor import SolveMonitor
from thresher.families.sparse_svm.rules import Screened
from thresher.optim.elastic.objective import ElasticObjective, active_columns
from thresher.optim.penalties.prox import soft_threshold
from thresher.optim.problems.losses import SmoothedHinge


class Svm:
    """A problem of two classes, for any alpha and beta.

    Squares and norms take a pass over X each; they are computed when a test first needs them, those of rows once for
    all problems on the same X.

    Parameters
    ----------
    sides : Sides
        X by rows and by columns.
    y, cost : ndarray of shape (n_samples,)
        Labels -1 and 1, and what each sample counts: costs sum to 1. Samples with cost 0 have margins, but no
        influence.
    gamma : float
        Width of the smooth part of the loss.
    shift : bool, default=False
        Whether there is an intercept.

    Attributes
    ----------
    v_at_one : ndarray of shape (n_columns,)
        X'(c y): v where theta is 1 everywhere.
    monitor : SolveMonitor
        Counts the steps of all solves, and says when to stop.
    """

    def __init__(self, sides: Sides, y: np.ndarray, cost: np.ndarray, gamma: float, *, shift: bool = False):
        self.sides = sides
        self.y, self.cost = y, cost
        self.gamma, self.shift = gamma, shift
        self.rows, self.signed = cost > 0.0, cost * y
        self.monitor = SolveMonitor()
        self.v_at_one = sides.correlate(self.signed)

    def at(self, alpha: float, beta: float) -> ElasticObjective:
        """The problem at a point, as the solvers take it."""
        return ElasticObjective(self.y, self.cost, self.gamma, self.shift, alpha, beta)

    @property
    def row_squares(self) -> np.ndarray:
        """||x_i||^2 of every row."""
        return self.sides.all_row_squares

    @cached_property
    def row_norms(self) -> np.ndarray:
        """||x_i|| of every row."""
        return np.sqrt(self.row_squares)

    @cached_property
    def column_squares(self) -> np.ndarray:
        """sum_i c_i x_ij^2 of every column."""
        return self.sides.column_squares(self.cost)

    @cached_property
    def column_norms(self) -> np.ndarray:
        """The root of ``column_squares``."""
        return np.sqrt(self.column_squares)

    @property
    def at_zero(self) -> float:
        """The objective at w = 0 and b = 0; gaps are a share of it."""
        return 1.0 - 0.5 * self.gamma


@dataclass(frozen=True)
class SvmPoint:
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
    def length(self) -> float:
        """||w||."""
        return float(np.sqrt(self.weights @ self.weights))

    @property
    def dense(self) -> np.ndarray:
        """The weights of all columns."""
        w = np.zeros(self.v.size)
        w[self.ids] = self.weights
        return w


def gap_at(svm: Svm, point: SvmPoint, alpha: float, beta: float) -> float:
    """The gap that a point solved elsewhere has at (alpha, beta)."""
    objective, w = svm.at(alpha, beta), point.dense
    active = active_columns(w, point.v, beta)
    return objective.sample_gap(point.z, point.theta) + objective.column_gap(w[active], point.v[active])


def largest_beta(svm: Svm) -> float:
    """The beta from which on w = 0 for every alpha (theorem 2), with the optimal intercept if there is one."""
    return float(np.abs(_without_columns(svm)[2]).max(initial=0.0))


def _without_columns(svm):
    """(b, theta, v) at w = 0."""
    if not svm.shift:
        return 0.0, np.ones(svm.y.size), svm.v_at_one
    b = SmoothedHinge(svm.gamma).best_shift(svm.y, np.zeros(svm.y.size), svm.cost)
    theta = np.clip((1.0 - svm.y * b) / svm.gamma, 0.0, 1.0)
    return b, theta, svm.sides.correlate(svm.signed * theta)


def zero_point(svm: Svm, alpha: float, beta: float) -> SvmPoint:
    """The point w = 0, the solution from ``largest_beta`` on."""
    b, theta, v = _without_columns(svm)
    screened = Screened.closed_form(svm, np.ones(v.size, dtype=bool), svm.rows & (theta >= 1.0))
    gap = svm.at(alpha, beta).column_gap(np.zeros(v.size), v)
    none = np.zeros(0, dtype=np.int64)
    return SvmPoint(alpha, beta, none, np.zeros(0), b, svm.y * b, theta, v, gap, screened)


def largest_alpha(svm: Svm, beta: float) -> float:
    """The alpha from which on theta = 1 and the solution has a closed form (theorem 3); zero where w = 0."""
    w = soft_threshold(svm.v_at_one, beta)
    ids = np.flatnonzero(w)
    z = svm.y * svm.sides.combine(ids, w[ids])
    return max(0.0, float(z[svm.rows].max(initial=0.0))) / (1.0 - svm.gamma)


def closed_form(svm: Svm, alpha: float, beta: float) -> SvmPoint:
    """The point at ``largest_alpha`` or above, without intercept: theta is 1 everywhere (theorem 3)."""
    w = soft_threshold(svm.v_at_one, beta) / alpha
    ids = np.flatnonzero(w)
    z = svm.y * svm.sides.combine(ids, w[ids])
    theta = np.ones(z.size)
    screened = Screened.closed_form(svm, w == 0.0, svm.rows)
    gap = svm.at(alpha, beta).sample_gap(z, theta)
    return SvmPoint(alpha, beta, ids, w[ids], 0.0, z, theta, svm.v_at_one, gap, screened)
