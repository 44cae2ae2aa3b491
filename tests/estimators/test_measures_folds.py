"""C by cross-validation for the loss of a measure: how folds are posed and judged, and which cannot be."""

import re

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from tests.estimators.test_measures import X, fitted, y
from tests.families.growing import held_out
from tests.problems import fold_scores, many_classes, tried
from thresher import F1, PRBEP, ErrorRate, PrecisionAtK, RecallAtK, RocArea
from thresher.data.input.validation import as_design
from thresher.engine import growing, threshing
from thresher.errors import InvalidDataError
from thresher.estimators.fgm import choice
from thresher.estimators.fgm.base import FGMBase
from thresher.optim.measures import base as measures
from thresher.optim.problems.cuts import CutProblem
from thresher.results import Trace

SLOWER = [pytest.param(loss, marks=pytest.mark.slow) for loss in ("error", "prbep", "auc", RecallAtK(20))]


@pytest.mark.parametrize("loss", ["f1", PrecisionAtK(0.5), *SLOWER], ids=repr)
def test_C_is_chosen_by_the_measure(loss):
    """0.01 to 10 times the default; the best mean score."""
    clf = fitted(loss, C="auto", cv=2)
    Cs, scores = clf.cv_results_["param_C"], fold_scores(clf)
    np.testing.assert_allclose(Cs, 1e6 / y.size * np.array([0.01, 0.1, 1.0, 10.0]))
    assert scores.shape == (2, 4)
    assert Cs[np.argmax(scores.mean(axis=0))] == clf.C_
    assert ((scores >= 0.0) & (scores <= 1.0)).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "measure"), [("f1", F1()), ("auc", RocArea()), ("prbep", PRBEP()), ("error", ErrorRate())]
)
def test_scores_equal_fits_on_the_training_rows(loss, measure, monkeypatch):
    """Each fold and C against a fit without the held-out rows, where the models of the folds are solved well."""
    monkeypatch.setattr(growing, "COMPARED_TOL", 1e-7)
    monkeypatch.setattr(growing, "COARSE_TOL", 1e-7)
    monkeypatch.setattr(threshing, "LARGE_TOL", 1e-9)
    given = CutProblem.__init__.__defaults__
    monkeypatch.setattr(CutProblem.__init__, "__defaults__", (*given[:-1], 1e-9))
    monkeypatch.setattr(FGMBase, "_compares_in_full", True)
    folds = list(StratifiedKFold(2).split(X, y))
    clf = fitted(loss, C="auto", cv=folds, scale=None, tol=0.0)
    for i, (train, test) in enumerate(folds):
        alone = fitted(loss, X[train], y[train], C=tried(clf)[i], scale=None, tol=0.0)
        scores = alone.decision_function(X[test])
        expected = measure.score(np.where(y[test] > 0, 1.0, -1.0), scores)
        assert fold_scores(clf)[i, i] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("measure", [F1(), RocArea(), RecallAtK(2.0), ErrorRate()], ids=repr)
def test_held_out_rows_change_nothing_but_their_own_scores(measure):
    """Other values and labels there: the scores of all other rows are the same, bit for bit."""
    signs, cost = np.where(y > 0, 1.0, -1.0), np.full(y.size, 2.0)
    cost[::4] = 0.0
    spoilt, other = X.copy(), signs.copy()
    spoilt[::4] = np.random.default_rng(5).standard_normal(spoilt[::4].shape)
    other[::4] = -1.0
    scores = [
        next(held_out(as_design(A), [CutProblem(labels, cost, measure)], Trace(), wanted=3, candidate_factor=2.0))
        for A, labels in ((X, signs), (spoilt, other))
    ]
    np.testing.assert_array_equal(scores[0][cost > 0.0], scores[1][cost > 0.0])
    assert not np.array_equal(scores[0], scores[1])


# numbers of samples


@pytest.mark.parametrize("make", [PrecisionAtK, RecallAtK])
def test_weights_of_zero_do_not_change_a_number_of_samples(make):
    """The best 20 of the 40 that are there, not 20 * 40 / 60."""
    weights = np.r_[np.zeros(20), np.ones(40)]
    clf = fitted(make(20), sample_weight=weights)
    assert clf.predict(X[20:]).sum() == 20
    with pytest.raises(ValueError, match=rf"{make.__name__}\(k=41\) needs at least 41 samples, got 40"):
        fitted(make(41), sample_weight=weights)


def test_folds_have_their_share_of_a_number_of_samples(monkeypatch):
    """Half of the samples that are there, and so half of k; the fit itself has all of k."""
    seen = []

    def posed(y, cost, measure, *others):
        seen.append(measure)
        return CutProblem(y, cost, measure, *others)

    monkeypatch.setattr(measures, "CutProblem", posed)
    weights = np.r_[np.zeros(20), np.ones(40)]
    clf = fitted(PrecisionAtK(10), C="auto", cv=2, sample_weight=weights)
    tried, gathered, compared = 2, 2 * 2, 2 * 4
    assert seen == [PrecisionAtK(5)] * (tried + gathered + compared) + [PrecisionAtK(10)]
    assert (5.0 * fold_scores(clf) == np.round(5.0 * fold_scores(clf))).all()


def test_too_large_a_number_is_told_as_it_was_given():
    with pytest.raises(ValueError, match=r"PrecisionAtK\(k=61\) needs at least 61 samples, got 60"):
        fitted(PrecisionAtK(61), C="auto", cv=2)


# folds that cannot be judged


@pytest.mark.parametrize(
    ("loss", "reason"),
    [
        ("prbep", "PRBEP() needs from 1 to 10 positives among 10 samples, got 0"),
        ("auc", "y must have positive and negative rows"),
        ("average_precision", "y has no positive rows"),
        (RecallAtK(2.0), "RecallAtK(k=2.0) is undefined for 0 positive and 10 negative samples"),
    ],
    ids=repr,
)
def test_folds_without_positives_are_refused_before_anything_is_solved(loss, reason, monkeypatch):
    monkeypatch.setattr(choice, "scores_of_candidates", pytest.fail)
    negatives = np.flatnonzero(y == 0)[:10]
    folds = [*StratifiedKFold(2).split(X, y), (np.setdiff1d(np.arange(y.size), negatives), negatives)]
    with pytest.raises(InvalidDataError, match=rf"fold 2 of cv cannot be judged by .*{re.escape(reason)}"):
        fitted(loss, C="auto", cv=folds)


@pytest.mark.parametrize("loss", ["f1", "error", PrecisionAtK(0.5)], ids=repr)
def test_folds_without_positives_have_a_value_where_it_is_defined(loss):
    negatives = np.flatnonzero(y == 0)[:10]
    folds = [*StratifiedKFold(2).split(X, y), (np.setdiff1d(np.arange(y.size), negatives), negatives)]
    clf = fitted(loss, C="auto", cv=folds)
    scores = fold_scores(clf)
    assert np.isfinite(scores).all()
    assert loss == "error" or not scores[2].any()


def test_classes_that_a_fold_does_not_have_are_not_judged_there():
    """The mean is over those that occur; a fold of one class alone has no ROC area."""
    A, codes, _, _ = many_classes(60, 6, seed=8)
    two = np.flatnonzero(codes < 2)[::3]
    clf = fitted("auc", A, codes, C="auto", cv=[(np.setdiff1d(np.arange(60), two), two)], elimination=False)
    assert ((fold_scores(clf) > 0.0) & (fold_scores(clf) <= 1.0)).all()
    one = np.flatnonzero(codes == 0)[::3]
    with pytest.raises(InvalidDataError, match="fold 0 of cv cannot be judged by RocArea"):
        fitted("auc", A, codes, C="auto", cv=[(np.setdiff1d(np.arange(60), one), one)], elimination=False)
