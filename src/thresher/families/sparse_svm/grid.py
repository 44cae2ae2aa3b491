"""Collects the points of a walk over a grid, in the units of X, into a Grid."""

from typing import Any, NamedTuple

import numpy as np

from thresher.optim.problems.losses import SmoothedHinge
from thresher.results import ProvenInactive
from thresher.results.grid import PER_POINT, SAFE_TESTS, Grid


class PointWeights(NamedTuple):
    """Features in X, sorted, their weights, (features,) or (features, classes), and the intercept."""

    features: np.ndarray
    weights: np.ndarray
    intercept: float | np.ndarray


class GridMaker:
    """Collects the points of a walk over the grid ``betas`` x ``alphas``."""

    def __init__(self, training, betas, alphas):
        self.training = training
        self.betas, self.alphas = betas, alphas
        n_problems, size = len(training.svms), alphas.size
        self.across = () if n_problems == 1 else (n_problems,)
        none = PointWeights(np.zeros(0, dtype=np.int64), np.zeros((0, *self.across)), np.zeros(self.across))
        self.per_point = {name: np.zeros(size, dtype=np.int64) for name in PER_POINT}
        self.per_point |= {"gap": np.full(size, np.nan), "objective": np.full(size, np.nan)}
        self.models = [none] * size
        self.proven: list[ProvenInactive | None] = [None] * size
        self.tests: list[list[tuple[int, int, int]]] = [[] for _ in range(size)]

    def add(self, i, j, points):
        """Add the points of all classes at (i, j)."""
        svms, proven = self.training.svms, self.training.proven(points)
        s, per_point = i * self.alphas.shape[1] + j, self.per_point
        off_margin = np.logical_and.reduce([(p.z >= 1.0) | (p.z <= 1.0 - svms[0].gamma) for p in points])
        per_point["objective"][s] = sum(objective(svm, point) for svm, point in zip(svms, points, strict=True))
        per_point["features_removed"][s] = proven.n_features
        per_point["samples_removed"][s] = proven.n_samples
        per_point["inactive_samples"][s] = np.count_nonzero(off_margin & svms[0].rows)
        per_point["steps"][s] = sum(point.steps for point in points)
        self.models[s], self.proven[s] = in_units_of_X(self.training.design, points), proven
        if all(point.screened.log for point in points):  # else nothing is known of all classes
            log = points[0].screened.log
            self.tests[s] = [(SAFE_TESTS.index(run.rule), run.columns, run.samples) for run in log]
        per_point["gap"][s] = relative_gap(svms, points)  # last: this marks the point as solved

    def grid(self):
        """The Grid of the points added so far."""
        shape, ids = self.alphas.shape, [model.features for model in self.models]
        tests = [np.array(of_point, dtype=np.int64).reshape(-1, 3) for of_point in self.tests]
        intercepts: Any = np.array([model.intercept for model in self.models])
        features = np.concatenate(ids)
        return Grid(
            self.betas, self.alphas, **{name: self.per_point[name].reshape(shape) for name in PER_POINT},
            intercepts=intercepts.reshape(*shape, *self.across), begins=ends(ids), ids=features,
            weights=np.concatenate([model.weights for model in self.models]),
            test_begins=ends(tests), tests=np.concatenate(tests),
            n_samples=int(np.count_nonzero(self.training.svms[0].rows)),
            n_features_in=int(self.training.n_features_in),
            spread=self.training.spread_of(np.unique(features)), proven_inactive=tuple(self.proven),
        )  # fmt: skip


def ends(parts):
    """Where each of the parts begins when they are concatenated, and where the last one ends."""
    return np.concatenate([[0], np.cumsum([len(part) for part in parts], dtype=np.int64)])


def objective(svm, point):
    """The primal objective of a point."""
    loss = float(svm.cost @ SmoothedHinge(svm.gamma).value(point.z))
    return loss + 0.5 * point.alpha * point.length**2 + point.beta * float(np.abs(point.weights).sum())


def relative_gap(svms, points):
    """The largest duality gap of the points of all classes, as a share of the objective at w = 0."""
    return max(point.gap for point in points) / svms[0].at_zero


def in_units_of_X(design, points):
    """The PointWeights of the points of all classes."""
    ids = points[0].ids if len(points) == 1 else np.unique(np.concatenate([point.ids for point in points]))
    W = np.zeros((ids.size, len(points)))
    for column, point in enumerate(points):
        W[np.searchsorted(ids, point.ids), column] = point.weights
    weights, offset = design.in_units_of_X(ids, W)
    intercept = np.array([point.b for point in points]) + offset
    features = design.ids_in_X(ids)
    if len(points) == 1:
        return PointWeights(features, weights[:, 0], float(intercept[0]))
    return PointWeights(features, weights, intercept)
