"""Collects the points of a walk over a grid, in the units of X, into a Grid."""

from typing import NamedTuple

import numpy as np

from thresher.results.grid import PER_POINT, RULES, Grid


class Model(NamedTuple):
    """Features in X, sorted, their weights, (features,) or (features, classes), and the intercept."""

    features: np.ndarray
    weights: np.ndarray
    intercept: float | np.ndarray


class GridMaker:
    """Collects the points of a walk over the grid ``betas`` x ``alphas``."""

    def __init__(self, training, betas, alphas):
        self.training, self.svms, self.betas, self.alphas = training, training.svms, betas, alphas
        self.across = () if len(self.svms) == 1 else (len(self.svms),)
        size = alphas.size
        self.per_point = {name: np.zeros(size, dtype=np.int64) for name in PER_POINT}
        self.per_point |= {"gap": np.full(size, np.nan), "objective": np.full(size, np.nan)}
        self.intercepts = np.zeros((size, *self.across))
        self.ids: list[np.ndarray | None] = [None] * size
        self.weights: list[np.ndarray | None] = [None] * size
        self.tests: list[list[tuple[int, int, int]]] = [[] for _ in range(size)]

    def add(self, i, j, points):
        """Add the points of all classes at (i, j)."""
        s, per, svms = i * self.alphas.shape[1] + j, self.per_point, self.svms
        columns, samples = removed(svms, points)
        off = np.logical_and.reduce([(p.z >= 1.0) | (p.z <= 1.0 - svms[0].gamma) for p in points])
        per["objective"][s] = sum(objective(svm, point) for svm, point in zip(svms, points, strict=True))
        per["features_removed"][s] = columns + self.training.n_empty
        per["samples_removed"][s] = samples
        per["inactive_samples"][s] = np.count_nonzero(off & svms[0].rows)
        per["steps"][s] = sum(point.steps for point in points)
        self.ids[s], self.weights[s], self.intercepts[s] = in_units_of_X(self.training.design, points)
        if all(point.screened.log for point in points):  # else nothing is known of all classes
            self.tests[s] = [(RULES.index(test.rule), test.columns, test.samples) for test in points[0].screened.log]
        per["gap"][s] = max(point.gap for point in points) / svms[0].at_zero  # last: this marks the point as solved

    def grid(self):
        """The Grid of the points added so far."""
        shape = self.alphas.shape
        none = np.zeros(0, dtype=np.int64), np.zeros((0, *self.across))
        ids = [none[0] if of_point is None else of_point for of_point in self.ids]
        weights = [none[1] if of_point is None else of_point for of_point in self.weights]
        tests = [np.array(of_point, dtype=np.int64).reshape(-1, 3) for of_point in self.tests]
        features = np.concatenate(ids)
        return Grid(
            self.betas, self.alphas, **{name: self.per_point[name].reshape(shape) for name in PER_POINT},
            intercepts=self.intercepts.reshape(*shape, *self.across), begins=ends(ids), ids=features,
            weights=np.concatenate(weights), test_begins=ends(tests), tests=np.concatenate(tests),
            n_samples=int(np.count_nonzero(self.svms[0].rows)), n_features_in=int(self.training.n_features_in),
            spread=self.training.spread_of(np.unique(features)),
        )  # fmt: skip


def ends(parts):
    """Where each of the parts begins when they are concatenated, and where the last one ends."""
    return np.concatenate([[0], np.cumsum([len(part) for part in parts], dtype=np.int64)])


def removed(svms, points):
    """(columns, samples): how many were proven to be inactive in all classes."""
    idle = np.logical_and.reduce([point.screened.idle for point in points])
    settled = np.logical_and.reduce([point.screened.settled for point in points])
    return int(np.count_nonzero(idle)), int(np.count_nonzero(settled & svms[0].rows))


def objective(svm, point):
    """The primal objective of a point."""
    slack = 1.0 - point.z
    theta = np.clip(slack / svm.gamma, 0.0, 1.0)
    loss = float(svm.cost @ (theta * (slack - 0.5 * svm.gamma * theta)))
    return loss + 0.5 * point.alpha * point.length**2 + point.beta * float(np.abs(point.weights).sum())


def in_units_of_X(design, points):
    """The Model of the points of all classes."""
    ids = points[0].ids if len(points) == 1 else np.unique(np.concatenate([point.ids for point in points]))
    W = np.zeros((ids.size, len(points)))
    for column, point in enumerate(points):
        W[np.searchsorted(ids, point.ids), column] = point.weights
    weights, offset = design.in_units_of_X(ids, W)
    intercept = np.array([point.b for point in points]) + offset
    features = design.ids_in_X(ids)
    if len(points) == 1:
        return Model(features, weights[:, 0], float(intercept[0]))
    return Model(features, weights, intercept)
