"""Folds follow from what rows hold: neither their order, nor the storage, nor repetition matters."""

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, cross_validate

from tests.problems import content_of, fold_scores, folds_of, many_classes, problem
from thresher import AlignmentPathClassifier, FGMClassifier, MILESClassifier, SparseSVCPath
from thresher.data.input import digests
from thresher.errors import InvalidDataError
from thresher.estimators.fgm.base import FGMBase
from thresher.estimators.shared.folds import _cut, held_out_parts, rarest_class

X, y, _ = problem(90, 40, 8)
Z, CODES, _, _ = many_classes(97, 12, classes=4, seed=3)
RNG = np.random.default_rng(5)


def fold_of(count, A, labels, weights=None, groups=None):
    """The fold of each row, -1 of rows in none."""
    weights = np.ones(len(labels)) if weights is None else weights
    codes, out = np.unique(labels, return_inverse=True)[1], np.full(len(labels), -1)
    for fold, test in enumerate(held_out_parts(count, codes, weights, content_of(A), groups)):
        assert (out[test] == -1).all()
        out[test] = fold
    return out


@pytest.mark.parametrize("count", [2, 3, 5, 7])
def test_folds_are_balanced_in_each_class_and_in_all(count):
    folds = fold_of(count, Z, CODES)
    table = np.array([np.bincount(folds[c == CODES], minlength=count) for c in range(4)])
    assert (np.ptp(table, axis=1) <= 1).all()
    assert np.ptp(table.sum(axis=0)) <= 3
    order = np.argsort(Z[:, 0])
    assert abs(np.corrcoef(np.argsort(order), folds)[0, 1]) < 0.3


def test_permuted_rows_have_permuted_folds():
    order = RNG.permutation(97)
    weights = RNG.random(97)
    np.testing.assert_array_equal(fold_of(5, Z[order], CODES[order]), fold_of(5, Z, CODES)[order])
    moved = fold_of(5, Z[order], CODES[order], weights[order])
    np.testing.assert_array_equal(moved, fold_of(5, Z, CODES, weights)[order])
    assert not np.array_equal(moved, fold_of(5, Z, CODES)[order])


@pytest.mark.parametrize("share", [1.0, 0.1, 1 / 3])
def test_integer_weights_equal_repeated_rows(share):
    """Those of one class multiplied by what is no integer, as class weights are; and of zero left out."""
    weights = RNG.integers(0, 5, 97)
    weights[CODES == 2] = 3  # many ties
    rows = RNG.permutation(np.repeat(np.arange(97), weights))
    factor = np.where(CODES == 1, share, 1.0)
    weighted, repeated = fold_of(4, Z, CODES, weights * factor), fold_of(4, Z[rows], CODES[rows], factor[rows])
    np.testing.assert_array_equal(repeated, weighted[rows])
    np.testing.assert_array_equal(weighted == -1, weights == 0)
    np.testing.assert_array_equal(fold_of(4, Z, CODES, weights * factor * 2.0**-70), weighted)


def test_equal_rows_of_a_class_are_in_one_fold():
    rows = np.sort(RNG.integers(0, 30, 97))
    labels = CODES[: rows.size] % 2
    folds = fold_of(3, Z[rows], labels)
    for label in (0, 1):
        for row in np.unique(rows[labels == label]):
            assert np.unique(folds[(rows == row) & (labels == label)]).size == 1


def test_a_class_is_cut_by_the_middles_of_its_rows():
    """The last may have hardly any weight; where one row would take two folds, by number."""
    assert _cut(np.array([1.0, 1.0, 1.0, 1.0, 1e-300]), 2).tolist() == [0, 0, 1, 1, 1]
    assert _cut(np.array([3.0, 1.0, 1.0, 1.0]), 2).tolist() == [0, 1, 1, 1]
    assert _cut(np.array([9.0, 1.0, 1.0, 1.0]), 3).tolist() == [0, 1, 1, 2]
    assert _cut(np.ones(4) / 3, 4).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("heavy", [1e3, 1e12, 1e300])
def test_no_fold_is_empty_where_few_rows_have_most_of_the_weight(heavy):
    weights = np.ones(97)
    weights[:4] = heavy
    folds = fold_of(5, Z, CODES, weights)
    assert all(np.unique(folds[c == CODES]).size == 5 for c in range(4))
    order = RNG.permutation(97)
    np.testing.assert_array_equal(fold_of(5, Z[order], CODES[order], weights[order]), folds[order])


def test_as_many_folds_as_the_smallest_class_has_different_rows():
    A, labels = np.repeat(Z[:20], 3, axis=0), np.repeat(np.r_[np.zeros(17), np.ones(3)], 3)
    weights = np.ones(60)
    assert rarest_class(labels.astype(int), weights, content_of(A))[1] == 3
    assert set(fold_of(3, A, labels)) == set(fold_of(None, A, labels)) == {0, 1, 2}
    message = "cv=4 cannot be greater than the number of different samples in each class, but the smallest has 3: use"
    with pytest.raises(ValueError, match=message):
        fold_of(4, A, labels)
    weights[-3:] = 0.0
    assert set(fold_of(None, A, labels, weights)) == {-1, 0, 1}
    weights[-6:] = 0.0
    assert rarest_class(labels.astype(int), weights, content_of(A))[1] == 1
    with pytest.raises(ValueError, match="a class has only 1 different samples, and two folds need two of each"):
        fold_of(None, A, labels, weights)
    assert len(folds_of(None, Z, CODES)) == 5


ESTIMATORS = {
    "fgm": FGMClassifier(3, C="auto", elimination="auto"),
    "classes apart": FGMClassifier(2, C="auto", per_class=True, cv=3),
    "miles": MILESClassifier(3, sigma=3.0, C="auto", cv=2),
    "grid": SparseSVCPath(3, 4, cv=3),
    "alignment": AlignmentPathClassifier(cv=3, max_features=5),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_choices_are_the_same_for_rows_in_any_order(name):
    A, labels = (Z, CODES) if name == "classes apart" else (X, y)
    order = RNG.permutation(len(A))
    one = clone(ESTIMATORS[name]).fit(A, labels)
    other = clone(ESTIMATORS[name]).fit(A[order], labels[order])
    np.testing.assert_allclose(fold_scores(one), fold_scores(other), atol=1e-12)
    chosen = [(getattr(clf, "C_", None), getattr(clf, "elimination_", None)) for clf in (one, other)]
    assert chosen[0] == chosen[1]


@pytest.mark.parametrize(
    "stored",
    [np.asfortranarray, sparse.csr_array, sparse.csc_array, np.float32],
    ids=["columns", "csr", "csc", "float32"],
)
def test_choices_are_the_same_in_any_storage(stored):
    A = np.where(RNG.random(X.shape) < 0.5, np.round(64 * X) / 64, 0.0)
    clf = FGMClassifier(3, C="auto", elimination="auto", scale=None)
    np.testing.assert_allclose(fold_scores(clone(clf).fit(stored(A), y)), fold_scores(clf.fit(A, y)), atol=1e-12)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_choices_with_integer_weights_equal_those_with_repeated_rows(class_weight, monkeypatch):
    """Solved well: how rough models are solved depends on how many rows there are."""
    monkeypatch.setattr(FGMBase, "_compares_in_full", True)
    weights = np.random.default_rng(1).integers(1, 4, 90)
    rows = np.random.default_rng(2).permutation(np.repeat(np.arange(90), weights))
    clf = FGMClassifier(3, C="auto", elimination="auto", class_weight=class_weight, tol=0.0, scale=None, cv=2)
    weighted, repeated = clone(clf).fit(X, y, sample_weight=weights), clf.fit(X[rows], y[rows])
    np.testing.assert_allclose(fold_scores(weighted), fold_scores(repeated), atol=1e-12)
    assert (weighted.C_, weighted.elimination_) == (repeated.C_, repeated.elimination_)


def test_folds_by_some_of_the_columns(monkeypatch):
    """Where X has too many entries to look at all of them."""
    whole = fold_scores(FGMClassifier(3, C="auto").fit(X, y))
    monkeypatch.setattr(digests, "MOST_ENTRIES", 300)
    clf = FGMClassifier(3, C="auto").fit(X, y)
    assert not np.array_equal(fold_scores(clf), whole)
    read = next(step for step in clf.selection_.trace.steps if step.kind == "digest")
    assert read.passes == pytest.approx(3 / 40)
    np.testing.assert_array_equal(fold_scores(FGMClassifier(3, C="auto").fit(sparse.csr_array(X), y)), fold_scores(clf))


# Groups of rows.

GROUPS = np.array(["a", "b", "c", "d", "e", "f", "g", "h", "i"])[RNG.integers(0, 9, 97)]


@pytest.mark.parametrize("count", [2, 3, 5, None])
def test_rows_of_a_group_are_in_one_fold(count):
    groups = np.unique(GROUPS, return_inverse=True)[1]
    folds = fold_of(count, Z, CODES, groups=groups)
    assert all(np.unique(folds[groups == group]).size == 1 for group in range(9))
    assert np.unique(folds).size == (count or 5)
    order = RNG.permutation(97)
    moved = fold_of(count, Z[order], CODES[order], groups=groups[order])
    np.testing.assert_array_equal(moved, folds[order])
    renamed = fold_of(count, Z, CODES, groups=RNG.permutation(9)[groups])
    np.testing.assert_array_equal(renamed, folds)


def test_groups_are_dealt_as_evenly_as_by_scikit_learn():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        groups = rng.integers(0, 25, 97)
        mine = fold_of(4, Z, CODES, groups=groups)
        theirs = np.zeros(97, dtype=int)
        for fold, (_, test) in enumerate(StratifiedGroupKFold(4).split(Z, CODES, groups)):
            theirs[test] = fold
        spread = [
            sum(np.var([np.mean(folds[c == CODES] == fold) for fold in range(4)]) for c in range(4))
            for folds in (mine, theirs)
        ]
        assert spread[0] < 1.5 * spread[1]


def test_groups_with_integer_weights_equal_repeated_rows():
    weights = RNG.integers(0, 4, 97)
    rows = RNG.permutation(np.repeat(np.arange(97), weights))
    groups = RNG.integers(0, 30, 97)
    weighted = fold_of(3, Z, CODES, weights * 0.1, groups)
    repeated = fold_of(3, Z[rows], CODES[rows], np.full(rows.size, 0.1), groups[rows])
    np.testing.assert_array_equal(repeated, weighted[rows])


def test_fits_hold_groups_out_together():
    groups = RNG.integers(0, 12, 90)
    A = X + 3.0 * np.random.default_rng(0).standard_normal((12, 40))[groups]
    clf = FGMClassifier(3, C="auto", elimination=False, cv=3)
    apart, together = fold_scores(clone(clf).fit(A, y)), fold_scores(clone(clf).fit(A, y, groups=groups))
    assert not np.array_equal(apart, together)
    splitter = GroupKFold(3)
    given = fold_scores(clone(clf).set_params(cv=splitter).fit(A, y, groups=groups))
    listed = fold_scores(clone(clf).set_params(cv=list(splitter.split(A, y, groups))).fit(A, y))
    np.testing.assert_array_equal(given, listed)


def test_groups_that_mean_nothing_are_refused_or_told():
    clf = FGMClassifier(3, C="auto", cv=2)
    with pytest.raises(InvalidDataError, match="groups has 3 values, but X has 90 rows: it needs one for each row"):
        clf.fit(X, y, groups=[1, 2, 3])
    with pytest.raises(InvalidDataError, match="groups has 1 missing value, first in row 1: each row must belong"):
        clf.fit(X, y, groups=[1, None, *range(88)])
    few = "cv=2 cannot be greater than the number of groups of samples in each class, but the smallest has 1: use fewer"
    with pytest.raises(ValueError, match=few):
        clf.fit(X, y, groups=y)
    with pytest.warns(UserWarning, match="groups has no effect, since nothing is chosen: set C or elimination to"):
        FGMClassifier(3, C=1.0, elimination=True).fit(X, y, groups=y)
    with pytest.warns(UserWarning, match="groups has no effect, since cv lists the folds"):
        clf.set_params(cv=folds_of(2, X, y)).fit(X, y, groups=y)


def test_groups_are_routed_where_they_are_asked_for():
    """By default to the splitter outside alone."""
    groups = RNG.integers(0, 12, 90)
    clf = FGMClassifier(3, C="auto", elimination=False, cv=2)
    with sklearn.config_context(enable_metadata_routing=True):
        how = {"cv": GroupKFold(2), "params": {"groups": groups}, "return_estimator": True}
        apart = cross_validate(clone(clf), X, y, **how)["estimator"]
        together = cross_validate(clone(clf).set_fit_request(groups=True), X, y, **how)["estimator"]
    train, _ = next(GroupKFold(2).split(X, y, groups))
    for fitted, given in ((apart[0], None), (together[0], groups[train])):
        expected = clone(clf).fit(X[train], y[train], groups=given)
        np.testing.assert_array_equal(fold_scores(fitted), fold_scores(expected))


def test_equal_rows_of_several_classes_are_held_out_together():
    """Else labels without meaning would be predicted worse than by chance."""
    A = np.repeat(RNG.standard_normal((40, 3)), 2, axis=0)
    labels = RNG.permutation(np.repeat([0, 1], 40))
    for weights in (np.ones(80), RNG.integers(1, 4, 80).astype(float)):
        tests = held_out_parts(5, labels, weights, content_of(A))
        assert sorted(np.concatenate(tests)) == list(range(80))
        for test in tests:
            assert len(np.unique(test // 2)) == len(test) / 2
            assert 10 <= len(test) <= 22
            assert len(np.unique(labels[test])) == 2
    few = np.array([[0.0], [1.0], [0.0], [1.0], [0.0]])
    assert len(held_out_parts(2, np.array([0, 0, 1, 1, 1]), np.ones(5), content_of(few))) == 2


def test_groups_are_dealt_so_that_each_training_part_has_all_classes():
    labels, groups = np.repeat([0, 1, 0, 0, 1, 1], 10), np.repeat([0, 2, 0, 2, 1, 1], 10)
    for seed in range(20):
        A = np.random.default_rng(seed).standard_normal((60, 4))
        parts = held_out_parts(2, labels, np.ones(60), content_of(A), groups)
        assert {tuple(np.unique(groups[test])) for test in parts} == {(2,), (0, 1)}
    clf = FGMClassifier(2).fit(A, labels, groups=np.repeat([0, 0, 1, 1, 0, 2], 10))
    assert hasattr(clf, "cv_results_") or "missing a class" in clf.by_rule_
