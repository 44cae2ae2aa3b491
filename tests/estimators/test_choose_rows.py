"""The rows of a large X on which candidates are compared: which they are, and that nothing else is looked at."""

import numpy as np
import pytest
from scipy import sparse

from tests.laws.designs import MappedDesign
from tests.problems import content_of, fold_scores, many_classes, problem
from thresher import FGMClassifier, Polynomial, PrecisionAtK
from thresher.estimators.fgm import choice
from thresher.estimators.shared import sampled

X, Y, _ = problem(240, 12, 8)
X = np.round(X * 64) / 64
WEIGHTS = np.random.default_rng(0).integers(0, 3, 240).astype(float)
LABELS = many_classes(240, 12, seed=8)[1]


def sample_of(A, labels, number, weights=None):
    """What a fit compares on."""
    classes, codes = np.unique(labels, return_inverse=True)
    weights = np.ones(len(A)) if weights is None else weights
    return sampled(number, min(50, number // classes.size), codes, weights, content_of(A))


@pytest.mark.parametrize(
    ("options", "labels", "weights", "form"),
    [({}, Y, None, np.asarray), ({}, Y, None, np.asfortranarray), ({}, Y, None, sparse.csr_array),
     ({}, Y, None, sparse.csc_array), ({"scale": None}, Y, WEIGHTS, np.asarray),
     ({"loss": "logistic"}, LABELS, None, np.asarray), ({"loss": "f1"}, Y, None, np.asarray),
     ({"feature_map": Polynomial(), "scale": "max"}, Y, None, sparse.csc_array)],
    ids=["rows", "columns", "csr", "csc", "weights", "classes", "f1", "products"],
)  # fmt: skip
def test_the_choice_is_that_of_a_fit_on_these_rows(options, labels, weights, form):
    clf = FGMClassifier(3, choose_rows=80, **options).fit(form(X), labels, sample_weight=weights)
    rows, factors = sample_of(X, labels, 80, weights)
    assert 80 <= rows.size <= 90
    some = factors if weights is None else factors * weights[rows]
    some = None if "f1" in options.values() else some
    alone = FGMClassifier(3, choose_rows=None, **options).fit(X[rows], labels[rows], sample_weight=some)
    np.testing.assert_array_equal(fold_scores(clf), fold_scores(alone))
    ratio = clf.cv_results_["param_C"] / alone.cv_results_["param_C"]
    np.testing.assert_allclose(ratio, rows.size / 240 if "f1" in options.values() else 1.0)
    assert clf.best_index_ == alone.best_index_
    given = FGMClassifier(3, C=clf.C_, elimination=clf.elimination_, **options).fit(X, labels, sample_weight=weights)
    np.testing.assert_allclose(given.coef_.toarray(), clf.coef_.toarray(), rtol=1e-6, atol=1e-9)


def test_which_rows():
    """The same in any order; classes have their shares; equal rows come together; none without weight."""
    twice, labels = np.r_[X, X], np.r_[LABELS, LABELS]
    order = np.random.default_rng(1).permutation(480)
    rows, factors = sample_of(twice, labels, 40)
    assert set(order[sample_of(twice[order], labels[order], 40).rows]) == set(rows)
    assert {row % 240 for row in rows[rows >= 240]} == set(rows[rows < 240])
    shares = np.bincount(labels) / 2 * 40 / 240
    np.testing.assert_array_equal(np.bincount(labels[rows]), 2 * np.maximum(np.ceil(shares), 13))
    weighted = np.bincount(labels[rows], factors) / 2
    np.testing.assert_allclose(weighted, np.where(np.ceil(shares) < 13, shares, np.ceil(shares)))
    assert (WEIGHTS[sample_of(X, LABELS, 40, WEIGHTS).rows] > 0.0).all()
    assert sample_of(X, LABELS, 240) is None
    assert sample_of(X, LABELS, 200, WEIGHTS) is None, "there are fewer with a weight"
    assert sample_of(twice, labels, 240) is None, "there are no more different ones"


def test_a_rare_class_has_enough_rows_and_weighs_what_it_weighs():
    rare = np.arange(240) < 12
    rows, factors = sample_of(X, rare, 60)
    assert np.count_nonzero(rare[rows]) == 12
    np.testing.assert_allclose(factors, np.where(rare[rows], 60 * 12 / 240 / 12, 1.0))
    assert len(fold_scores(FGMClassifier(3, choose_rows=60, cv=12).fit(X, rare))) == 12


def test_rows_without_weight_have_no_influence():
    weights = (np.arange(240) % 3 > 0).astype(float)
    with_them = FGMClassifier(3, scale=None).fit(X, Y, sample_weight=weights)
    alone = FGMClassifier(3, scale=None).fit(X[weights > 0], Y[weights > 0])
    np.testing.assert_array_equal(fold_scores(with_them), fold_scores(alone))


def test_scorers_are_told_the_numbers_of_rows_of_X():
    def score(estimator, rows, truth):
        np.testing.assert_array_equal(Y[rows], truth)
        return np.mean(estimator.predict(rows) == truth)

    assert FGMClassifier(3, choose_rows=80, scoring=score).fit(X, Y).cv_results_["mean_test_score"].max() > 0.5


def test_by_default_rows_are_left_out_where_there_are_many(monkeypatch):
    """Passes are counted as what they are."""
    whole = FGMClassifier(3).fit(X, Y)
    np.testing.assert_array_equal(fold_scores(whole), fold_scores(FGMClassifier(3, choose_rows=None).fit(X, Y)))
    monkeypatch.setattr(choice, "FEWEST_ROWS", 40)
    monkeypatch.setattr(choice, "MOST_ROWS", 60)
    seen = []
    monkeypatch.setattr(choice, "sampled", lambda number, *others: seen.append(number) or sampled(number, *others))
    clf = FGMClassifier(3).fit(X, Y)
    assert clf.selection_.trace.passes < whole.selection_.trace.passes
    assert any(step.kind == "extract" for step in clf.selection_.trace.steps)
    monkeypatch.setattr(choice, "MOST_WORK", 1.0)
    FGMClassifier(3).fit(X, Y)
    FGMClassifier(3).fit(X, Y, groups=np.arange(240) // 4)
    assert seen == [60, 40], "groups are compared on all rows"


def test_folds_that_are_given_are_about_all_rows():
    folds = [(np.arange(0, 240, 2), np.arange(1, 240, 2))]
    few, whole = (FGMClassifier(3, cv=folds, choose_rows=rows).fit(X, Y) for rows in (40, None))
    np.testing.assert_array_equal(fold_scores(few), fold_scores(whole))


def test_a_design_whose_rows_cannot_be_read_alone_is_compared_in_full(tmp_path):
    design = MappedDesign(X, tmp_path)
    assert design.of_rows(np.arange(10)) is None
    few, whole = (FGMClassifier(3, choose_rows=rows).fit(design, Y) for rows in (40, None))
    np.testing.assert_array_equal(fold_scores(few), fold_scores(whole))


def test_a_number_of_samples_is_as_large_a_share_of_some_rows():
    clf = FGMClassifier(3, loss=PrecisionAtK(60), choose_rows=80).fit(X, Y)
    rows = sample_of(X, Y, 80).rows
    share = PrecisionAtK(60).of_share(rows.size / 240)
    alone = FGMClassifier(3, loss=share, choose_rows=None).fit(X[rows], Y[rows])
    np.testing.assert_array_equal(fold_scores(clf), fold_scores(alone))


@pytest.mark.parametrize("number", [9, 0, -1, 2.5, "all", True])
def test_wrong_numbers_are_named(number):
    with pytest.raises(ValueError, match="choose_rows must be"):
        FGMClassifier(3, choose_rows=number).fit(X, Y)
