"""Whatever the family, ``path_`` has a length, models, and how many features each has."""

import numpy as np
import pytest

from tests.problems import many_classes, problem
from tests.rule import fgm_by_rule
from thresher import (
    AlignmentPath,
    AlignmentPathClassifier,
    FeaturePath,
    Grid,
    KernelPath,
    Path,
    SparseSVCPath,
)

X, y, _ = problem(90, 40, 8)
Z, CODES, _, _ = many_classes(90, 30, seed=8)
FITTED = {}
COARSE = KernelPath(step=0.2)
CASES = {
    "path": lambda: fgm_by_rule(6).fit(X, y),
    "path of growth": lambda: fgm_by_rule(6, elimination=False).fit(X, y),
    "path, per class": lambda: fgm_by_rule(4, per_class=True).fit(Z, CODES),
    "kernels": lambda: AlignmentPathClassifier(path=KernelPath(step=0.1), cv=None).fit(X, y),
    "kernels, three classes": lambda: AlignmentPathClassifier("linear", path=COARSE, cv=None).fit(Z, CODES),
    "grid": lambda: SparseSVCPath(4, 5, scale=None, fit_intercept=False).fit(X, y),
    "grid, three classes": lambda: SparseSVCPath(3, 4, fit_intercept=True, scale=None).fit(Z, CODES),
}


def fitted(case):
    """An estimator with a path, fitted once for all tests."""
    if case not in FITTED:
        FITTED[case] = CASES[case]()
    return FITTED[case]


def models(path):
    """All models of a path, in its order."""
    if isinstance(path, AlignmentPath):
        return [path.point(k) for k in range(len(path))]
    return [path.at(i, j) for i, j in np.ndindex(path.shape)] if isinstance(path, Grid) else list(path)


@pytest.mark.parametrize("case", CASES)
def test_every_path_has_a_length_models_and_their_numbers_of_features(case):
    """Law of FeaturePath: ``n_features`` has ``len`` entries, each the number of features of a model."""
    path = fitted(case).path_
    assert isinstance(path, FeaturePath)
    assert path.n_features.dtype == np.int64
    assert path.n_features.size == len(path) == len(models(path)) > 3
    assert path.n_features.ravel().tolist() == [model.features.size for model in models(path)]
    for model in models(path):
        assert model.weights.shape[:1] == model.features.shape
        assert model.weights.shape[1:] == np.shape(model.intercept)
        assert np.isfinite(model.objective)


def test_what_is_no_path_is_not_taken_for_one():
    assert not isinstance([1, 2], FeaturePath)
    assert not isinstance(fitted("grid"), FeaturePath)
    assert isinstance(Path(), FeaturePath)


@pytest.mark.parametrize("number", [1, 3, 6])
def test_a_path_is_asked_for_a_number_of_features(number):
    assert fitted("path").path_.at(number).features.size == number


@pytest.mark.parametrize("case", ["grid", "grid, three classes"])
def test_a_point_of_a_grid_is_what_its_arrays_say(case):
    clf = fitted(case)
    grid = clf.path_
    assert len(grid) == grid.alphas.size
    assert grid.n_classes == clf.classes_.size
    assert grid.last == (grid.shape[0] - 1, grid.shape[1] - 1)
    for i, j in np.ndindex(grid.shape):
        point = grid.at(i, j)
        assert (point.alpha, point.beta) == (grid.alphas[i, j], grid.betas[i])
        assert (point.gap, point.objective) == (grid.gap[i, j], grid.objective[i, j])
        np.testing.assert_array_equal(point.intercept, grid.intercepts[i, j])
        W = np.zeros((grid.n_features_in, clf.coef_.shape[0]))
        W[point.features] = point.weights.reshape(-1, clf.coef_.shape[0])
        np.testing.assert_array_equal(grid.coef(i, j).toarray(), W.T)
        np.testing.assert_array_equal(clf.at(i, j).selection_.weights, point.weights)
    first, again = grid.at(-1, -1), grid.at(*grid.last)
    np.testing.assert_array_equal(first.weights, again.weights)
    assert first.alpha == again.alpha == grid.alphas.ravel()[-1]


def test_points_that_were_not_reached_count_and_are_refused():
    def stop(turn, total):
        if turn.taken == 7:
            raise KeyboardInterrupt

    clf = SparseSVCPath(4, 5, verbose=stop, scale=None, fit_intercept=False)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, y)
    assert len(clf.path_) == clf.path_.n_features.size == 20
    assert clf.path_.last == (1, 1)
    clf.path_.at(1, 1)
    with pytest.raises(ValueError, match=r"\(1, 2\) of the grid was not solved"):
        clf.path_.at(1, 2)
