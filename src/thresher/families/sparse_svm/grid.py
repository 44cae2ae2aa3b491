"""Points of a walk over a grid, in the units of X, to a Grid."""

import numpy as np

from thresher.results.grid import PER_POINT, RULES, Grid


class GridMaker:
    """Collects the points of a walk over a grid."""

    def __init__(self, betas, alphas, svms, design, n_features):
        self.betas, self.alphas, self.svms, self.design, self.n_features = betas, alphas, svms, design, n_features
        self.across = () if len(svms) == 1 else (len(svms),)
        size = alphas.size
        self.per_point = {name: np.zeros(size, dtype=np.int64) for name in PER_POINT}
        self.per_point |= {"gap": np.full(size, np.nan), "objective": np.full(size, np.nan)}
        self.intercepts = np.zeros((size, *self.across))
        self.ids, self.weights, self.tests = [[None] * size for _ in range(3)]

    def add(self, i, j, points):
        """Note the points of all classes at (i, j)."""
        s, per = i * self.alphas.shape[1] + j, self.per_point
        empty = self.n_features - self.design.shape[1]  # columns that the design leaves out, since they hold nothing
        rows = self.svms[0].rows
        idle, settled = (
            np.logical_and.reduce(masks)
            for masks in zip(*((p.found.idle, p.found.settled) for p in points), strict=True)
        )
        per["objective"][s] = sum(objective(svm, point) for svm, point in zip(self.svms, points, strict=True))
        per["features_removed"][s] = np.count_nonzero(idle) + empty
        per["samples_removed"][s] = np.count_nonzero(settled & rows)
        off = np.logical_and.reduce([(p.z >= 1.0) | (p.z <= 1.0 - self.svms[0].gamma) for p in points])
        per["inactive_samples"][s] = np.count_nonzero(off & rows)
        per["steps"][s] = sum(point.steps for point in points)
        self.ids[s], self.weights[s], self.intercepts[s] = in_units_of_X(self.design, points)
        self.tests[s] = [(RULES.index(rule), *counts) for rule, *counts in points[0].found.log]
        per["gap"][s] = max(point.gap for point in points) / self.svms[0].at_zero  # last: now the point is there

    def grid(self):
        """The Grid of what was noted."""
        shape = self.alphas.shape
        none = np.zeros(0, dtype=np.int64), np.zeros((0, *self.across))
        ids = [none[0] if each is None else each for each in self.ids]
        weights = [none[1] if each is None else each for each in self.weights]
        tests = [np.array(each or [], dtype=np.int64).reshape(-1, 3) for each in self.tests]
        return Grid(
            self.betas, self.alphas, *(self.per_point[name].reshape(shape) for name in PER_POINT),
            self.intercepts.reshape(*shape, *self.across), ends(ids), np.concatenate(ids), np.concatenate(weights),
            ends(tests), np.concatenate(tests), int(np.count_nonzero(self.svms[0].rows)), int(self.n_features),
        )  # fmt: skip


def ends(parts):
    """Where each of the parts begins when they are laid end to end, and where the last one ends."""
    return np.concatenate([[0], np.cumsum([len(part) for part in parts], dtype=np.int64)])


def objective(svm, point):
    """The primal objective of a point."""
    slack = 1.0 - point.z
    theta = np.clip(slack / svm.gamma, 0.0, 1.0)
    loss = float(svm.cost @ (theta * (slack - 0.5 * svm.gamma * theta)))
    return loss + 0.5 * point.alpha * point.length**2 + point.beta * float(np.abs(point.weights).sum())


def in_units_of_X(design, points):
    """(features in X, sorted; their weights; intercept) of the points of all classes."""
    ids = points[0].ids if len(points) == 1 else np.unique(np.concatenate([point.ids for point in points]))
    W = np.zeros((ids.size, len(points)))
    for column, point in enumerate(points):
        W[np.searchsorted(ids, point.ids), column] = point.weights
    weights, offset = design.in_units_of_X(ids, W)
    intercept = np.array([point.b for point in points]) + offset
    features = design.numbers_in_X(ids)
    return (features, weights[:, 0], float(intercept[0])) if len(points) == 1 else (features, weights, intercept)
