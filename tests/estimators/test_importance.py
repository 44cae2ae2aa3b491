"""Importance: |weight| times the standard deviation of the column, whatever the units and the scale of the fit."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer

import thresher
from tests.models.make_fixtures import HERE
from tests.rule import fgm_by_rule
from thresher import FGMClassifier, SparseSVC, SparseSVCPath, StreamClassifier
from thresher.data.input.scaling import spread_of
from thresher.errors import InconsistentResultError
from thresher.results import Spread

X, Y = load_breast_cancer(return_X_y=True)
THREE = np.digitize(X[:, 0], np.quantile(X[:, 0], (0.3, 0.7)))

FITS = {
    "std": lambda: fgm_by_rule(3).fit(X, Y),
    "max": lambda: fgm_by_rule(3, scale="max").fit(X, Y),
    "unit, growth alone": lambda: fgm_by_rule(3, scale="unit", elimination=False).fit(X, Y),
    "no scale, logistic": lambda: fgm_by_rule(3, scale=None, loss="logistic").fit(X, Y),
    "three classes": lambda: fgm_by_rule(3).fit(X, THREE),
    "per class": lambda: fgm_by_rule(3, per_class=True).fit(X, THREE),
    "sparse": lambda: fgm_by_rule(3).fit(sparse.csr_array(X), Y),
    "svc": lambda: SparseSVC(1e-2, 1e-2, scale="std").fit(X, Y),
    "svc without scale": lambda: SparseSVC(1e-1, 1e-1, tol=1e-3).fit(X / X.max(axis=0), Y),
    "grid": lambda: SparseSVCPath(2, 3, cv=2, scale="std").fit(X, Y),
}


def expected(model, data):
    """By the definition."""
    weights = model.weights.reshape(*model.features.shape, -1) if model.features.size else np.zeros((0, 1))
    lengths = np.sqrt((weights**2).sum(axis=1))
    return lengths * data[:, model.features].std(axis=0)


@pytest.mark.parametrize("case", FITS)
def test_importance_of_the_selection_of_stations_and_of_points(case):
    """The same definition everywhere, whatever the scale."""
    clf, data = FITS[case](), X / X.max(axis=0) if case == "svc without scale" else X
    models = [clf.selection_]
    if isinstance(clf, FGMClassifier):
        models += [*clf.path_, *(clf.at(number).selection_ for number in clf.path_.numbers.tolist())]
    elif isinstance(clf, SparseSVCPath):
        models += [clf.path_.at(1, 1), clf.at(1, 1).selection_, clf.path_.at(0, 0)]
    for model in models:
        np.testing.assert_allclose(model.importance, expected(model, data), rtol=1e-9)
        np.testing.assert_array_equal(model.ranking, np.argsort(-model.importance, kind="stable"))
    assert len(models) == 1 or max(model.features.size for model in models) > 1


def test_the_largest_weight_need_not_be_the_most_important_feature():
    """Units change weights and not the ranking."""
    selection = fgm_by_rule(3).fit(X, Y).selection_
    assert np.argmax(np.abs(selection.weights)) != selection.ranking[0]
    other = fgm_by_rule(3).fit(X * np.geomspace(1e-3, 1e3, X.shape[1]), Y).selection_
    np.testing.assert_array_equal(other.features[other.ranking], selection.features[selection.ranking])
    np.testing.assert_allclose(other.importance, selection.importance, rtol=1e-6)


def test_sample_weights_count():
    """Rows without weight do not; a column that is constant on the others has importance 0."""
    rng = np.random.default_rng(0)
    A, y = rng.standard_normal((60, 4)), np.tile([0, 1], 30)
    A[:, 0] += 2.0 * y
    weights = np.where(np.arange(60) < 40, 1.0, 0.0)
    A[:40, 3] = 1.0
    selection = SparseSVC(1e-3, 1e-4, scale=None, fit_intercept=False).fit(A, y, sample_weight=weights).selection_
    spread = np.where(np.arange(4) == 3, 0.0, A[:40].std(axis=0))
    np.testing.assert_allclose(selection.importance, np.abs(selection.weights) * spread[selection.features], rtol=1e-9)
    assert selection.features[-1] == 3
    assert selection.ranking[-1] == selection.features.size - 1


def test_of_columns_whose_squares_overflow_the_largest_value_counts():
    """Only "max" can use them."""
    A = X[:, :4].copy()
    A[:, 1] *= 1e180
    selection = fgm_by_rule(4, scale="max").fit(A, Y).selection_
    assert np.isfinite(selection.importance).all()
    assert selection.spread.of(np.array([1]))[0] == A[:, 1].max()


def test_many_columns_are_looked_at_in_parts(monkeypatch):
    """The result does not depend on where one ends."""
    table = np.abs(np.random.default_rng(0).standard_normal((5, 100))) + [[0.0], [5.0], [0.0], [0.0], [0.0]]
    whole = spread_of(table, 7.0)
    monkeypatch.setattr("thresher.data.input.scaling.AT_A_TIME", 13)
    np.testing.assert_array_equal(spread_of(table, 7.0), whole)


def test_streams_and_files_of_earlier_versions_rank_by_weight():
    """They have no statistics of columns."""
    clf = StreamClassifier(3, random_state=0).fit(X / X.max(axis=0), Y)
    for selection in (clf.selection_, thresher.load(HERE / "v2_two.json").selection_):
        assert selection.importance is None
        np.testing.assert_array_equal(selection.ranking, np.argsort(-np.abs(selection.weights), kind="stable"))


def test_a_column_without_a_standard_deviation_is_an_error():
    """Such a result is not consistent."""
    with pytest.raises(InconsistentResultError, match="standard deviation of a selected column is missing"):
        Spread(np.array([1, 3]), np.ones(2)).of(np.array([1, 2]))
