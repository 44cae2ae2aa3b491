"""Collects the points of a walk over a grid, in the units of X, into a Grid."""

from typing import Any, NamedTuple

import numpy as np

from thresher.optim.problems.losses import SmoothedHinge
from thresher.results import ProvenInactive
from thresher.results.grid import COUNTS, PER_POINT, SAFE_TESTS, Grid


class PointWeights(NamedTuple):
    """Features in X, sorted, their weights, (features,) or (features, classes), and the intercept."""

    features: np.ndarray
    weights: np.ndarray
    intercept: float | np.ndarray


class SolvedPoint(NamedTuple):
    """What a Grid has of a point: numbers by their names in PER_POINT, the model, what was proven, and the tests."""

    numbers: dict[str, float]
    model: PointWeights
    proven: ProvenInactive
    tests: list[tuple[int, int, int]]


class GridMaker:
    """Collects the points of a walk over a grid, by their indices."""

    def __init__(self, training):
        self.training = training
        n_problems = len(training.svms)
        self.across = () if n_problems == 1 else (n_problems,)
        self.points: dict[tuple[int, int], SolvedPoint] = {}

    def add(self, i, j, points):
        """Add the points of all classes at (i, j)."""
        svms, proven = self.training.svms, self.training.proven(points)
        off_margin = np.logical_and.reduce([(p.z >= 1.0) | (p.z <= 1.0 - svms[0].gamma) for p in points])
        numbers = {
            "gap": relative_gap(svms, points),
            "objective": sum(objective(svm, point) for svm, point in zip(svms, points, strict=True)),
            "features_removed": proven.n_features,
            "samples_removed": proven.n_samples,
            "inactive_samples": np.count_nonzero(off_margin & svms[0].rows),
            "steps": sum(point.steps for point in points),
        }
        tests = []
        if all(point.screened.log for point in points):  # else nothing is known of all classes
            log = points[0].screened.log
            tests = [(SAFE_TESTS.index(run.rule), run.columns, run.samples) for run in log]
        self.points[i, j] = SolvedPoint(numbers, in_units_of_X(self.training.design, points), proven, tests)

    def grid(self, betas, alphas):
        """The Grid of the points that were added, of ``betas`` x ``alphas``."""
        shape = alphas.shape
        points = [self.points.get(at) for at in np.ndindex(shape)]
        none = PointWeights(np.zeros(0, dtype=np.int64), np.zeros((0, *self.across)), np.zeros(self.across))
        models = [none if point is None else point.model for point in points]
        tests = [np.array([] if point is None else point.tests, dtype=np.int64).reshape(-1, 3) for point in points]
        intercepts: Any = np.array([model.intercept for model in models])
        features = np.concatenate([model.features for model in models])
        return Grid(
            betas, alphas, **{name: self._numbers(name, points).reshape(shape) for name in PER_POINT},
            intercepts=intercepts.reshape(*shape, *self.across), begins=ends([model.features for model in models]),
            ids=features, weights=np.concatenate([model.weights for model in models]),
            test_begins=ends(tests), tests=np.concatenate(tests),
            n_samples=int(np.count_nonzero(self.training.svms[0].rows)),
            n_features_in=int(self.training.n_features_in),
            spread=self.training.spread_of(np.unique(features)),
            proven_inactive=tuple(None if point is None else point.proven for point in points),
        )  # fmt: skip

    def _numbers(self, name, points):
        """A number of each point; of one that was not solved zero or nan."""
        missing = 0 if name in COUNTS else np.nan
        return np.array([missing if point is None else point.numbers[name] for point in points])


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
