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


def rows_of(A, labels, number, weights=None):
    """Those that a fit compares on."""
    codes = np.unique(labels, return_inverse=True)[1]
    return sampled(number, codes, np.ones(len(A)) if weights is None else weights, content_of(A))


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
    rows = rows_of(X, labels, 80, weights)
    assert 80 <= rows.size <= 84
    some = None if weights is None else weights[rows]
    alone = FGMClassifier(3, choose_rows=None, **options).fit(X[rows], labels[rows], sample_weight=some)
    np.testing.assert_array_equal(fold_scores(clf), fold_scores(alone))
    ratio = clf.cv_results_["param_C"] / alone.cv_results_["param_C"]
    np.testing.assert_allclose(ratio, rows.size / 240 if "f1" in options.values() else 1.0)
    assert clf.best_index_ == alone.best_index_
    given = FGMClassifier(3, C=clf.C_, elimination=clf.elimination_, **options).fit(X, labels, sample_weight=weights)
    np.testing.assert_allclose(given.coef_.toarray(), clf.coef_.toarray(), rtol=1e-6, atol=1e-9)


def test_which_rows():
    """The same in any order; each class has its share, two at least; equal rows come together; none without weight."""
    twice = np.r_[X, X]
    labels = np.r_[np.where(np.arange(240) < 6, 0, LABELS + 1), np.where(np.arange(240) < 6, 0, LABELS + 1)]
    order = np.random.default_rng(1).permutation(480)
    rows = rows_of(twice, labels, 40)
    assert set(order[rows_of(twice[order], labels[order], 40)]) == set(rows)
    assert {row % 240 for row in rows[rows >= 240]} == set(rows[rows < 240])
    counts, all_counts = np.bincount(labels[rows]), np.bincount(labels)
    np.testing.assert_array_equal(counts[1:], 2 * np.ceil(all_counts[1:] / 2 * 40 / 240))
    assert counts[0] == 4
    assert (WEIGHTS[rows_of(X, LABELS, 40, WEIGHTS)] > 0.0).all()
    assert rows_of(X, LABELS, 240) is None
    assert rows_of(X, LABELS, 200, WEIGHTS) is None, "there are fewer with a weight"


def test_by_default_rows_are_left_out_where_there_are_many(monkeypatch):
    """More of them if a class is rare; passes are counted as what they are."""
    whole = FGMClassifier(3).fit(X, Y)
    np.testing.assert_array_equal(fold_scores(whole), fold_scores(FGMClassifier(3, choose_rows=None).fit(X, Y)))
    monkeypatch.setattr(choice, "FEWEST_ROWS", 40)
    monkeypatch.setattr(choice, "MOST_ROWS", 60)
    monkeypatch.setattr(choice, "RAREST", 12)
    seen = []
    monkeypatch.setattr(choice, "sampled", lambda number, *others: seen.append(number) or sampled(number, *others))
    clf = FGMClassifier(3).fit(X, Y)
    assert clf.selection_.trace.passes < whole.selection_.trace.passes
    assert any(step.kind == "extract" for step in clf.selection_.trace.steps)
    FGMClassifier(3).fit(X, np.arange(240) < 24)
    monkeypatch.setattr(choice, "MOST_WORK", 1.0)
    FGMClassifier(3).fit(X, Y)
    assert seen == [60, 120, 40]


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
    rows = rows_of(X, Y, 80)
    share = PrecisionAtK(60).of_share(rows.size / 240)
    alone = FGMClassifier(3, loss=share, choose_rows=None).fit(X[rows], Y[rows])
    np.testing.assert_array_equal(fold_scores(clf), fold_scores(alone))


@pytest.mark.parametrize("number", [9, 0, -1, 2.5, "all", True])
def test_wrong_numbers_are_named(number):
    with pytest.raises(ValueError, match="choose_rows must be"):
        FGMClassifier(3, choose_rows=number).fit(X, Y)
