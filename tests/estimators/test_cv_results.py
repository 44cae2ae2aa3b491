"""Law: ``cv_results`` has the keys, types and values of scikit-learn's ``cv_results_`` for the same scores."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import GridSearchCV, PredefinedSplit

from thresher.estimators.shared.cross_validation import cv_results

PARAMS = [{"place": 0, "kind": "a"}, {"place": 1, "kind": "a"}, {"place": 2, "kind": "b", "width": 0.5}, {"place": 3}]
SCORES = np.array([[0.25, 0.75, 0.5, 1.0], [0.5, 0.25, 0.25, 0.5], [0.5, 0.25, 0.5, 0.0]])


class Table(ClassifierMixin, BaseEstimator):
    """A classifier with the scores of a table: X has the number of the fold."""

    def __init__(self, place=0, kind=None, width=1.0, table=SCORES):
        self.place, self.kind, self.width, self.table = place, kind, width, table

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def score(self, X, y):
        return self.table[int(X[0, 0]), self.place]


def searched(table):
    """``cv_results_`` of a search of scikit-learn whose scores are those of the table."""
    folds = np.repeat(np.arange(3), 2)
    grids = [{name: [value] for name, value in candidate.items()} for candidate in PARAMS]
    search = GridSearchCV(Table(table=table), grids, cv=PredefinedSplit(folds), refit=False)
    return search.fit(folds[:, None].astype(float), np.tile([0, 1], 3)).cv_results_


def test_the_keys_types_and_values_are_those_of_a_search():
    ours, theirs = cv_results(PARAMS, SCORES), searched(SCORES)
    assert set(ours) == {name for name in theirs if not name.endswith("_time")}
    assert ours["params"] == theirs["params"]
    for name in set(ours) - {"params"}:
        assert ours[name].dtype == theirs[name].dtype
        assert type(ours[name]) is type(theirs[name])
        assert np.array_equal(np.ma.getmaskarray(ours[name]), np.ma.getmaskarray(theirs[name]))
        mine, other = np.ma.compressed(ours[name]), np.ma.compressed(theirs[name])
        assert np.array_equal(mine, other) or mine == pytest.approx(other, rel=1e-15)
    assert ours["rank_test_score"].tolist() == [2, 2, 2, 1]  # ties share the smaller rank


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
@pytest.mark.parametrize("lost", [[1], [0, 2], [0, 1, 2, 3]])
def test_candidates_without_a_score_are_last(lost):
    table = SCORES.copy()
    table[:, lost] = np.nan
    ours, theirs = cv_results(PARAMS, table), searched(table)
    assert np.array_equal(ours["rank_test_score"], theirs["rank_test_score"])
    assert np.array_equal(ours["mean_test_score"], theirs["mean_test_score"], equal_nan=True)


def test_candidates_that_were_left_out_rank_after_those_that_were_not():
    table = np.array([[0.9, 0.5, 0.7, 0.6], [np.nan, 0.5, 0.3, 0.4], [np.nan, 0.5, np.nan, 0.2]])
    results = cv_results(PARAMS, table)
    np.testing.assert_allclose(results["mean_test_score"], [0.9, 0.5, 0.5, 0.4])
    np.testing.assert_allclose(results["std_test_score"], np.nanstd(table, axis=0))
    assert results["rank_test_score"].tolist() == [4, 1, 3, 2]


def test_the_scores_are_copied():
    table = SCORES.copy()
    results = cv_results(PARAMS, table)
    table[:] = 0.0
    assert np.array_equal(results["split2_test_score"], SCORES[2])
