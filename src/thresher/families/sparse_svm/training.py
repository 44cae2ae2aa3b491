"""The training data in the form of the solvers, and the model at one point (alpha, beta) as a Selection."""

from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from thresher.engine.reading import reading
from thresher.families.sparse_svm.grid import in_units_of_X, objective, relative_gap
from thresher.families.sparse_svm.monitor import SolveMonitor
from thresher.families.sparse_svm.points import AlphaPath, polished, problems
from thresher.features.fitted_columns import ColumnFeatures
from thresher.results import Certificate, ProvenInactive, Selection, Spread, Stop, StopReason


class SvmTraining:
    """X by rows and by columns, and ``svms``: one problem for each row of ``signs`` (one row: two classes) on it.

    Parameters
    ----------
    design : Design
        The columns of X, scaled; columns of zeros may be omitted.
    sides : Sides
        The same by rows and by columns.
    signs : ndarray of shape (n_problems, n_samples)
        Labels -1 and 1.
    weights : ndarray of shape (n_samples,)
        Weights of the samples; only their shares matter.
    gamma : float
        Width of the smooth part of the hinge.
    shift : bool
        Whether there is an intercept.
    n_features_in : int
        Number of columns of X as given, including columns of zeros.
    scale : str or None
        The scaling of the design.
    spread : ndarray, default=None
        Standard deviation of each column of the design as given, for the importance of features; None: not known.
    """

    def __init__(self, design, sides, signs, weights, *, gamma, shift, n_features_in, scale, spread=None):
        self.design, self.sides = design, sides
        self.signs, self.weights = signs, weights
        self.gamma, self.shift = gamma, shift
        self.n_features_in, self.scale = n_features_in, scale
        self.spread = spread
        self.svms = self.problems(weights)

    def problems(self, weights):
        """One Svm for each class (of two: one), with these weights of the samples."""
        return problems(self.sides, self.signs, weights / weights.sum(), self.gamma, self.shift)

    def without(self, rows):
        """The problems in which the samples ``rows`` have weight zero: held out, but with margins."""
        weights = self.weights.copy()
        weights[rows] = 0.0
        return self.problems(weights)

    def spread_of(self, features):
        """The Spread of columns of X, sorted; None if it is not known."""
        return None if self.spread is None else Spread(features, self.spread[self.design.ids_here(features)])

    def proven(self, points):
        """ProvenInactive: what was proven of the points of all classes, and that columns of zeros have no weight."""
        idle = np.logical_and.reduce([point.screened.idle for point in points])
        settled = np.logical_and.reduce([point.screened.settled for point in points]) & self.svms[0].rows
        if not (idle.any() or settled.any()):
            return self._nothing_proven
        return self._packed(idle, settled, [point.screened.one for point in points])

    @cached_property
    def _nothing_proven(self):
        """One value for all points where nothing was tested or found."""
        n, p = self.design.shape
        return self._packed(np.zeros(p, dtype=bool), np.zeros(n, dtype=bool), np.zeros((len(self.svms), n), dtype=bool))

    def _packed(self, idle, settled, ones):
        n_features = int(np.count_nonzero(idle)) + self.n_features_in - self.design.shape[1]
        return ProvenInactive(
            self.n_features_in, n_features, int(np.count_nonzero(settled)), self.design.ids,
            zero_weight=np.packbits(idle), off_margin=np.packbits(settled), linear=np.packbits(ones, axis=1),
        )  # fmt: skip

    def selection(self, points, tol, trace):
        """The Selection of the points of all classes."""
        features, weights, intercept = in_units_of_X(self.design, points)
        value = sum(objective(svm, point) for svm, point in zip(self.svms, points, strict=True))
        gap = relative_gap(self.svms, points)
        certificate = certified(value, gap, sum(svm.at_zero for svm in self.svms))
        why = stop(gap, tol)
        return Selection(
            features, weights, intercept, why.text, certificate, trace, scale=self.scale, stop=why.reason,
            fitted_features=ColumnFeatures(self.n_features_in, spread=self.spread_of(features)),
        )  # fmt: skip


class PointFit(NamedTuple):
    """The model at one point, what was proven to be inactive, and the number of steps."""

    selection: Selection
    proven: ProvenInactive
    steps: int


def fit_point(training, alpha, beta, *, tol, rules, trace, monitor=None):
    """The PointFit at (alpha, beta): solved to a gap of ``tol`` times the objective at w = 0, then polished.

    ``monitor`` counts the steps; the point is returned as it is once its time is over.
    """
    monitor = SolveMonitor() if monitor is None else monitor
    for svm in training.svms:
        svm.monitor = monitor
    least = tol * training.svms[0].at_zero
    with reading(training.sides, training.design.nbytes, trace):
        points = [polished(svm, AlphaPath(svm, beta).point(alpha, least, rules), rules) for svm in training.svms]
    selection = training.selection(points, tol, trace)
    if monitor.late and selection.stop is StopReason.NOT_CONVERGED:
        why = f"{StopReason.MAX_TIME.value}; {selection.stop_reason}"
        selection = replace(selection, stop_reason=why, stop=StopReason.MAX_TIME)
    return PointFit(selection, training.proven(points), sum(point.steps for point in points))


def certified(value, gap, at_zero):
    """The Certificate of a model without elimination: ``gap`` is its duality gap as a share of ``at_zero``."""
    bound = value - gap * at_zero
    return Certificate(value, bound, value, bound, at_zero)


def stop(gap, tol):
    """Why a solve stopped."""
    if gap <= tol:
        return Stop(StopReason.CONVERGED, f"converged: duality gap {gap:.1e} <= tol={tol:g}")
    return Stop(StopReason.NOT_CONVERGED, f"not converged: duality gap {gap:.1e} > tol={tol:g}")
