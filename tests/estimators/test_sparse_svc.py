"""SparseSVC and SparseSVCPath as a user meets them."""

import contextlib
import pickle
import re
import sys
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import accuracy_score, f1_score, make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.estimators.test_fgm_classifier import storages
from tests.oracles.sparse_svm import objective
from tests.problems import folds_of, many_classes
from thresher import SparseSVC, SparseSVCPath
from thresher.data.workers import Workers
from thresher.datasets import make_wide
from thresher.errors import FewerFeaturesWarning
from thresher.estimators.sparse_svm import svc as sparse_svm
from thresher.families.sparse_svm.rules import SCREENING_RULES
from thresher.results.grid import SAFE_TESTS

DATA = make_wide(80, 120, n_relevant=6, random_state=0)
X, y = np.round(DATA.X * 64) / 64, DATA.y  # exact in float32
FEW = np.where(np.random.default_rng(9).random(X.shape) < 0.2, X, 0.0)
Z, CODES, _, _ = many_classes(70, 20, seed=8)
ALPHA, BETA = 0.05, 0.03
PAPER = {"beta_ratio": 0.05, "alpha_ratio": 0.01}  # the paper's grid, which is not extended
CHOSEN = ("scores_", "supports_", "cv_results_", "best_index_", "best_score_", "best_estimator_")
SHIFT = pytest.mark.parametrize("shift", [False, True], ids=["plain", "shift"])


def weights_of(clf):
    """All weights, dense."""
    return clf.coef_.toarray()


def assert_same(a, b, rtol=1e-8, atol=1e-10):
    """Two fits have the same features, weights and intercept."""
    np.testing.assert_array_equal(a.selection_.features, b.selection_.features)
    np.testing.assert_allclose(a.selection_.weights, b.selection_.weights, rtol=rtol, atol=atol)
    np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=rtol, atol=atol)


NO_INTERCEPT = {"check_class_weight_classifiers": "without an intercept no model favours one class everywhere"}


@parametrize_with_checks(
    [
        SparseSVC(),
        SparseSVCPath(3, 4, tol=1e-22),
        SparseSVC(scale=None, fit_intercept=False),
        SparseSVCPath(3, 4, tol=1e-22, scale=None, fit_intercept=False),
    ],
    expected_failed_checks=lambda estimator: {} if estimator.fit_intercept else NO_INTERCEPT,
)
def test_scikit_learn_checks(estimator, check):
    if sklearn.__version__.startswith("1.6.") and "sample_weight_equivalence" in check.func.__name__:
        pytest.skip("scikit-learn 1.6 makes the labels two-class after shuffling, so its two fits differ in labels")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerFeaturesWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


@SHIFT
@pytest.mark.parametrize("scale", [None, "std"])
@pytest.mark.parametrize("A", [X, FEW], ids=["dense", "sparse"])
def test_one_answer_from_every_storage(A, scale, shift, tmp_path):
    clf = SparseSVC(ALPHA, BETA, scale=scale, fit_intercept=shift)
    reference = clone(clf).fit(A, y)
    assert 5 < reference.selection_.features.size < 100
    np.save(tmp_path / "X.npy", A)
    for name, stored in (storages(A) | {"map": np.load(tmp_path / "X.npy", mmap_mode="r")}).items():
        if name == "pandas":
            stored.columns = [f"gene{j}" for j in stored.columns]
        assert_same(clone(clf).fit(stored, y), reference)


@SHIFT
def test_a_grid_is_the_same_from_every_storage(shift):
    path = SparseSVCPath(3, 4, tol=1e-18, fit_intercept=shift, scale=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 1e-18 is out of reach at some points
        reference = clone(path).fit(FEW, y).path_
        for stored in (sparse.csr_array(FEW), sparse.csc_array(FEW.astype(np.float32)), np.asfortranarray(FEW)):
            found = clone(path).fit(stored, y).path_
            np.testing.assert_allclose(found.alphas, reference.alphas, rtol=1e-12)
            np.testing.assert_array_equal(found.begins, reference.begins)
            np.testing.assert_array_equal(found.ids, reference.ids)
            np.testing.assert_allclose(found.weights, reference.weights, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("A", [X, sparse.csr_array(FEW)], ids=["dense", "sparse"])
def test_any_number_of_threads_gives_the_same_answer(A, monkeypatch):
    monkeypatch.setattr("thresher.data.workers.SMALL", 0)  # threads are used however small the work
    one = SparseSVC(ALPHA, BETA, n_jobs=1, scale=None, fit_intercept=False).fit(A, y)
    for jobs in (2, None, -1):
        assert_same(SparseSVC(ALPHA, BETA, n_jobs=jobs, scale=None, fit_intercept=False).fit(A, y), one)
    grids = [SparseSVCPath(3, 4, n_jobs=jobs, scale=None, fit_intercept=False).fit(A, y).path_ for jobs in (1, 2)]
    np.testing.assert_array_equal(grids[0].ids, grids[1].ids)
    np.testing.assert_allclose(grids[0].weights, grids[1].weights, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("jobs", "many", "expected"), [(None, False, 0), (None, True, 2), (2, False, 2), (1, True, 0)])
def test_without_n_jobs_there_are_as_many_threads_as_pay(jobs, many, expected, monkeypatch):
    """One for fewer than PARALLEL_FROM stored values, else all cores granted; with n_jobs as many as it says."""
    counts = []
    monkeypatch.setattr("thresher.data.workers.granted_cores", lambda: 2)
    monkeypatch.setattr(sparse_svm, "PARALLEL_FROM", X.size if many else X.size + 1)
    monkeypatch.setattr(sparse_svm, "Workers", lambda count: counts.append(count) or Workers(count))
    SparseSVC(ALPHA, BETA, n_jobs=jobs, scale=None, fit_intercept=False).fit(X, y)
    assert sum(counts) == expected


@pytest.mark.parametrize(
    "clf",
    [
        SparseSVC(ALPHA, BETA, scale="std", fit_intercept=False),
        SparseSVCPath(2, 2, scale="max", cv=StratifiedKFold(2), fit_intercept=False),
    ],
)
@pytest.mark.parametrize("kind", [np.array, sparse.csr_array, sparse.csc_array])
def test_inputs_are_neither_changed_nor_kept(clf, kind):
    A, b, weights = kind(FEW), y.copy(), np.linspace(1.0, 2.0, y.size)
    kept = weights.copy()
    fitted = clone(clf).fit(A, b, weights)
    np.testing.assert_array_equal(A.toarray() if sparse.issparse(A) else A, FEW)
    np.testing.assert_array_equal(b, y)
    np.testing.assert_array_equal(weights, kept)
    before = fitted.decision_function(FEW)
    (A.data if sparse.issparse(A) else A)[:] = 0.0
    b[:] = 1
    np.testing.assert_array_equal(fitted.decision_function(FEW), before)


@SHIFT
@pytest.mark.parametrize("scale", [None, "std", "max", "unit"])
def test_integer_weights_equal_repeated_rows_and_zero_weights_rows_left_out(scale, shift):
    weights = np.random.default_rng(1).integers(0, 4, y.size)
    assert (weights == 0).sum() > 5
    for more in ({}, {"class_weight": "balanced"}):
        clf = SparseSVC(ALPHA, BETA, scale=scale, fit_intercept=shift, **more)
        weighed = clone(clf).fit(X, y, sample_weight=weights)
        assert_same(weighed, clone(clf).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)), 1e-7, 1e-9)
        kept = weights > 0
        assert_same(weighed, clone(clf).fit(X[kept], y[kept], sample_weight=weights[kept]), 1e-7, 1e-9)


def test_samples_without_weight_do_not_matter_to_a_grid_nor_to_its_folds():
    rng = np.random.default_rng(4)
    A = np.concatenate([X, 50.0 * rng.standard_normal((20, 120))])
    labels, weights = (
        np.concatenate([y, rng.permutation(y)[:20]]),
        np.concatenate([rng.integers(1, 4, 80), np.zeros(20)]),
    )
    order = rng.permutation(100)
    rows = order[order < 80]
    with_all = SparseSVCPath(3, 4, cv=2, scale=None, fit_intercept=False).fit(A[order], labels[order], weights[order])
    without = SparseSVCPath(3, 4, cv=2, scale=None, fit_intercept=False).fit(A[rows], labels[rows], weights[rows])
    np.testing.assert_allclose(with_all.path_.alphas, without.path_.alphas, rtol=1e-12)
    np.testing.assert_allclose(with_all.scores_, without.scores_, atol=1e-12)
    np.testing.assert_array_equal(with_all.path_.samples_removed, without.path_.samples_removed)
    assert with_all.path_.n_samples == without.path_.n_samples == 80
    assert with_all.best_index_ == without.best_index_


@SHIFT
def test_class_weights_equal_sample_weights(shift):
    clf = SparseSVC(ALPHA, BETA, fit_intercept=shift, scale=None)
    by_sample = clone(clf).fit(X, y, sample_weight=np.where(y < 0, 3.0, 1.0))
    assert_same(clone(clf).set_params(class_weight={-1: 3.0}).fit(X, y), by_sample)
    share = (y > 0).mean()
    balanced = clone(clf).set_params(class_weight="balanced").fit(X, y)
    assert_same(balanced, clone(clf).set_params(class_weight={1: 0.5 / share, -1: 0.5 / (1 - share)}).fit(X, y))


@SHIFT
def test_only_the_shares_of_the_weights_matter(shift):
    weights = np.random.default_rng(2).random(80)
    fits = [
        SparseSVC(ALPHA, BETA, fit_intercept=shift, scale=None).fit(X, y, f * weights) for f in (1.0, 1e-200, 1e200)
    ]
    assert_same(fits[1], fits[0])
    assert_same(fits[2], fits[0])


@SHIFT
def test_many_classes_equal_separate_fits_of_one_against_the_rest(shift):
    together = SparseSVC(ALPHA, BETA, fit_intercept=shift, scale=None).fit(Z, CODES)
    alone = [SparseSVC(ALPHA, BETA, fit_intercept=shift, scale=None).fit(Z, c == CODES) for c in range(3)]
    np.testing.assert_allclose(weights_of(together), np.vstack([weights_of(clf) for clf in alone]), atol=1e-8)
    np.testing.assert_allclose(together.intercept_, np.concatenate([clf.intercept_ for clf in alone]), atol=1e-8)
    scores = np.column_stack([clf.decision_function(Z) for clf in alone])
    np.testing.assert_allclose(together.decision_function(Z), scores, atol=1e-7)
    np.testing.assert_array_equal(together.predict(Z), scores.argmax(axis=1))
    total = sum(clf.selection_.certificate.objective for clf in alone)
    assert together.selection_.certificate.objective == pytest.approx(total, abs=1e-9)
    assert together.selection_.certificate.gap <= 1e-6


@pytest.mark.parametrize("labels", [("no", "yes"), (False, True), (3, 70), (0.0, 1.0)])
def test_labels_of_any_kind(labels):
    named = np.array(labels)[(y > 0).astype(int)]
    clf = SparseSVC(ALPHA, BETA, scale=None, fit_intercept=False).fit(X, named)
    assert clf.classes_.tolist() == list(labels)
    assert (clf.predict(X) == named).mean() > 0.85
    path = SparseSVCPath(2, 3, cv=2, scoring="balanced_accuracy", scale=None, fit_intercept=False).fit(X, named)
    assert path.at(1, 2).predict(X).dtype == named.dtype
    assert (path.best_estimator_.predict(X) == path.predict(X)).all()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_names_and_set_output(frame):
    table = frame({f"g{j}": X[:, j].astype(np.float32) for j in range(40)})
    kind = "pandas" if frame is pd.DataFrame else "polars"
    for clf in (
        SparseSVC(ALPHA, 0.08, scale=None, fit_intercept=False),
        SparseSVCPath(3, 2, cv=2, scale=None, fit_intercept=False),
    ):
        clf.set_output(transform=kind).fit(table, y)
        out = clf.transform(table)
        assert isinstance(out, frame)
        chosen = [f"g{j}" for j in clf.get_support(indices=True)]
        assert 0 < len(chosen) < 40
        assert list(out.columns) == clf.get_feature_names_out().tolist() == chosen
        np.testing.assert_array_equal(np.asarray(out), np.asarray(table)[:, clf.get_support()])
    inner = clf.at(-1, -1)
    assert inner.feature_names_in_.tolist() == list(table.columns)
    with pytest.raises(ValueError, match="feature names"):
        inner.predict(table.rename({"g0": "h0"}) if kind == "polars" else table.rename(columns={"g0": "h0"}))


def test_pickle_and_clone():
    path = SparseSVCPath(3, 4, cv=2, scale=None, fit_intercept=False).fit(X, y)
    again = pickle.loads(pickle.dumps(path))
    np.testing.assert_array_equal(again.decision_function(X), path.decision_function(X))
    np.testing.assert_array_equal(again.at(1, 2).decision_function(X), path.at(1, 2).decision_function(X))
    np.testing.assert_array_equal(again.scores_, path.scores_)
    assert not hasattr(clone(path), "path_")
    clf = pickle.loads(pickle.dumps(path.best_estimator_))
    np.testing.assert_array_equal(clf.predict(X), path.predict(X))
    assert clone(clf).get_params() == path.best_estimator_.get_params()


@SHIFT
@pytest.mark.parametrize("scale", ["std", "max", "unit"])
def test_scales_equal_scaling_by_hand_without_centring(scale, shift):
    A = X * 10.0 ** np.random.default_rng(2).integers(-2, 3, 120) + 0.5
    by = {"std": A.std(axis=0), "max": np.abs(A).max(axis=0), "unit": np.linalg.norm(A, axis=0)}[scale]
    beta = 1e-3 if scale == "unit" else BETA
    inside = SparseSVC(ALPHA, beta, scale=scale, fit_intercept=shift).fit(A, y)
    by_hand = SparseSVC(ALPHA, beta, fit_intercept=shift, scale=None).fit(A / by, y)
    assert inside.selection_.scale == scale
    assert 2 < inside.selection_.features.size < 110
    np.testing.assert_array_equal(inside.selection_.features, by_hand.selection_.features)
    np.testing.assert_allclose(weights_of(inside) * by, weights_of(by_hand), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(inside.intercept_, by_hand.intercept_, rtol=1e-6, atol=1e-9)


@SHIFT
def test_the_certificate_is_the_objective_of_the_weights(shift):
    weights = np.random.default_rng(0).integers(1, 4, 80).astype(float)
    clf = SparseSVC(ALPHA, BETA, smoothing=0.3, fit_intercept=shift, scale=None).fit(X, y, weights)
    found = objective(X, y, weights / weights.sum(), 0.3, ALPHA, BETA, weights_of(clf)[0], clf.intercept_[0])
    assert clf.selection_.certificate.objective == pytest.approx(found, rel=1e-12)
    assert 0.0 <= clf.selection_.certificate.gap <= 1e-6
    assert clf.selection_.certificate.at_zero == pytest.approx(0.85)
    clf.selection_.check()
    assert clf.features_removed_ <= 120 - clf.selection_.features.size
    margins = y * clf.decision_function(X)
    assert clf.samples_removed_ <= ((margins > 1 - 1e-9) | (margins < 0.7 + 1e-9)).sum()


# Input that is wrong.

BOTH = pytest.mark.parametrize(
    "clf",
    [SparseSVC(scale=None, fit_intercept=False), SparseSVCPath(3, 4, cv=2, scale=None, fit_intercept=False)],
    ids=["svc", "path"],
)


def spoiled(what):
    """X with one entry that cannot be."""
    A = X.copy()
    A[3, 7] = what
    return A


def broken(name, value):
    """X as a sparse matrix with one number in its structure changed."""
    A = sparse.csr_array(FEW)
    part = getattr(A, name).copy()
    part[3] = value
    setattr(A, name, part)
    return A


WRONG_DATA = {
    "nan": (lambda: (spoiled(np.nan), y), "NaN"),
    "inf": (lambda: (spoiled(-np.inf), y), "infinity"),
    "nan in a sparse matrix": (lambda: (sparse.csc_array(spoiled(np.nan)), y), "column 7"),
    "one class": (lambda: (X, np.ones(80)), "only one class"),
    "too few labels": (lambda: (X, y[:-1]), "inconsistent numbers of samples"),
    "no rows": (lambda: (X[:0], y[:0]), "minimum of 2 is required"),
    "no columns": (lambda: (X[:, :0], y), "0 feature"),
    "one row as a vector": (lambda: (X[0], y), "Expected 2D array"),
    "labels that are measurements": (lambda: (X, X[:, 0] / 3.0), "[Cc]ontinuous|label type"),
    "words": (lambda: (np.where(np.arange(120) == 7, "gene", X.astype(object)), y), "could not convert"),
    "indptr falls": (lambda: (broken("indptr", 10**6), y), "indptr"),
    "index out of range": (lambda: (broken("indices", 10**6), y), "indices"),
    "index below zero": (lambda: (broken("indices", -1), y), "indices"),
    "negative weights": (lambda: (X, y, -np.ones(80)), "Negative values in sample_weight"),
    "too few weights": (lambda: (X, y, np.ones(3)), "sample_weight has shape"),
    "nan in the weights": (lambda: (X, y, np.full(80, np.nan)), "sample_weight"),
    "a class without weight": (lambda: (X, y, (y > 0) * 1.0), "class -1 are zero"),
    "too large": (lambda: (X * 1e150, y), "contains a value of magnitude .* Rescale the column"),
}


@BOTH
@pytest.mark.parametrize("case", WRONG_DATA)
def test_wrong_data_is_refused(clf, case):
    data, message = WRONG_DATA[case][0](), WRONG_DATA[case][1]
    with pytest.raises(ValueError, match=message):
        clone(clf).fit(*data)


@BOTH
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"smoothing": 0}, "smoothing must be a positive number, got 0"),
        ({"smoothing": 1}, "smoothing must be between 0 and 1 \\(exclusive\\), got 1"),
        ({"smoothing": "wide"}, "smoothing must be a positive number"),
        ({"tol": 0}, "tol must be a positive number"),
        ({"scale": "robust"}, "scale must be one of None, 'unit', 'std', 'max', 'auto'; got 'robust'"),
        ({"screening": "all"}, "screening must be one of 'auto', 'sifs\\+gap', .*, None; got 'all'"),
        ({"screening": False}, "screening must be one of"),
        ({"class_weight": {7: 2.0}}, "class_weight contains 7, which is not one of the classes"),
        ({"class_weight": {1: 0.0}}, "class_weight must be a positive number"),
        ({"class_weight": "equal"}, "class_weight must be one of"),
        ({"n_jobs": 0}, "n_jobs must be None or a non-zero integer"),
    ],
)
def test_wrong_parameters_are_named(clf, options, message):
    with pytest.raises(ValueError, match=message):
        clone(clf).set_params(**options).fit(X, y)


@pytest.mark.parametrize("name", ["alpha", "beta"])
@pytest.mark.parametrize("value", [0, -1, np.inf, np.nan, "big", None, True])
def test_penalties_that_are_not_positive_are_refused(name, value):
    with pytest.raises(ValueError, match=f"{name} must (be|contain)"):
        SparseSVC(**{name: value}).fit(X, y)


ONE_CLASS = [(np.flatnonzero(y > 0), np.flatnonzero(y < 0))]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"betas": []}, "betas must be a 1D array"),
        ({"betas": 0.1}, "betas must be a 1D array"),
        ({"betas": [[0.1]]}, "betas must be a 1D array"),
        ({"betas": [0.1, 0.0]}, "betas must be positive"),
        ({"betas": [0.1, -1.0]}, "betas must be positive"),
        ({"betas": [np.nan]}, "betas must be positive"),
        ({"betas": ["much"]}, "betas must contain numbers"),
        ({"alphas": [[[1.0]]]}, "alphas must be a 1D or 2D array"),
        ({"alphas": [0.0]}, "alphas must be positive"),
        ({"alphas": [[1.0, 0.1]]}, "alphas has 1 rows, but there are 3 betas"),
        ({"betas": [0.1, 0.2], "alphas": [[1.0]] * 3}, "alphas has 3 rows, but there are 2 betas"),
        ({"n_betas": 0}, "n_betas must be an integer >= 1"),
        ({"n_alphas": 2.5}, "n_alphas must be an integer"),
        ({"beta_ratio": 0}, "beta_ratio must be"),
        ({"alpha_ratio": 1.0}, "alpha_ratio must be between 0 and 1"),
        ({"max_time": 0}, "max_time must be a positive number"),
        ({"verbose": -1}, "verbose must be 0, 1, 2 or a callable"),
        ({"cv": 1}, "cv must be an integer >= 2, got 1"),
        ({"cv": True}, "cv must be an integer >= 2"),
        ({"cv": "five"}, "cv"),
        ({"cv": []}, "cv yields no folds"),
        ({"cv": 60}, "cv=60 cannot be greater than the number of different samples in each class"),
        ({"cv": ONE_CLASS}, "the training set of fold 0 of cv is missing a class"),
        (
            {"cv": 2, "scoring": "acuracy"},
            "scoring='acuracy' is not the name of a scorer of scikit-learn; did you mean 'accuracy'",
        ),
        ({"cv": 2, "scoring": 7}, "scoring"),
    ],
)
def test_wrong_grids_and_folds_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        SparseSVCPath(3, 4, scale=None, fit_intercept=False).set_params(**options).fit(X, y)


@BOTH
def test_weights_whose_sum_overflows_are_refused_or_weigh_alike(clf):
    with contextlib.suppress(ValueError):
        assert_same(clone(clf).fit(X, y, np.full(80, 1e308)), clone(clf).fit(X, y))


@pytest.mark.parametrize("scoring", ["neg_log_loss", ["f1", "accuracy"]])
def test_scorers_that_cannot_be_used_are_named(scoring):
    with pytest.raises(ValueError, match="scoring"):
        SparseSVCPath(2, 2, cv=2, scoring=scoring, scale=None, fit_intercept=False).fit(X, y)


def test_points_outside_the_grid_are_refused():
    path = SparseSVCPath(3, 4, cv=2, scale=None, fit_intercept=False)
    with pytest.raises(NotFittedError):
        path.at(0, 0)
    path.fit(X, y)
    for i, j, name in ((3, 0, "i=3"), (-4, 0, "i=-4"), (0, 4, "j=4"), (0, -5, "j=-5")):
        with pytest.raises(ValueError, match=f"{name} is outside the grid of 3 betas x 4 alphas"):
            path.at(i, j)
    for i, j, name in ((0.5, 0, "i"), (0, "a", "j"), (True, 0, "i"), (0, None, "j")):
        with pytest.raises(ValueError, match=f"{name} must be an integer"):
            path.at(i, j)
    assert path.at(np.int64(-1), np.int32(-2)).alpha == path.path_.alphas[2, 2]
    with pytest.raises(ValueError, match="rule must be one of 'gap', 'iss', 'ifs', 'ends', got 'x'"):
        path.path_.rejections("x")


@SHIFT
def test_empty_columns_count_as_removed(shift):
    A = np.zeros((80, 200))
    A[:, 30:150] = X
    for stored in (A, sparse.csr_array(A), sparse.csc_array(A)):
        padded, plain = (
            SparseSVC(ALPHA, BETA, fit_intercept=shift, screening="gap", scale=None).fit(M, y) for M in (stored, X)
        )
        np.testing.assert_array_equal(padded.selection_.features, plain.selection_.features + 30)
        assert padded.features_removed_ == plain.features_removed_ + 80
        grids = [
            SparseSVCPath(2, 2, fit_intercept=shift, screening="gap", scale=None).fit(M, y).path_ for M in (stored, X)
        ]
        np.testing.assert_array_equal(grids[0].features_removed, grids[1].features_removed + 80)
        assert grids[0].n_features_in == 200


@SHIFT
def test_nothing_of_size_p_is_made_or_held(shift):
    """20 x 10^9: an array over the columns would be 8 GB."""
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 10**9, 100)
    columns[::5] = 7
    rows, labels = np.repeat(np.arange(20), 5), np.arange(20) % 2
    values = rng.standard_normal(100)
    values[::5] = 2.0 * labels - 1.0
    A = sparse.csr_array((values, (rows, columns)), shape=(20, 10**9))
    tracemalloc.start()
    try:
        clf = SparseSVC(beta=0.05, fit_intercept=shift, scale=None).fit(A, labels)
        path = SparseSVCPath(3, 4, cv=2, fit_intercept=shift, scale=None).fit(A, labels)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20e6
    assert 7 in clf.selection_.features
    assert clf.score(A, labels) == 1.0
    assert clf.features_removed_ > 10**9 - 100
    assert (path.path_.features_removed > 10**9 - 100).all()
    assert len(pickle.dumps(clf)) + len(pickle.dumps(path)) < 100_000


@SHIFT
@pytest.mark.parametrize("size", [1e-50, 1e50])
def test_a_grid_does_not_depend_on_the_unit_of_X(size, shift):
    plain, other = (SparseSVCPath(3, 4, fit_intercept=shift, scale=None).fit(A, y).path_ for A in (X, X * size))
    np.testing.assert_allclose(other.betas, plain.betas * size, rtol=1e-9)
    np.testing.assert_allclose(other.alphas[1:], plain.alphas[1:] * size**2, rtol=0.05 if shift else 1e-6)
    assert np.abs(other.n_features - plain.n_features).max() <= (3 if shift else 1)
    np.testing.assert_allclose(other.objective, plain.objective, rtol=0.02 if shift else 1e-5)
    assert (other.gap <= 1e-6).all()


@SHIFT
def test_a_column_that_is_tiny_gets_no_weight_and_one_in_other_units_does_with_a_scale(shift):
    A = X.copy()
    A[:, 4] *= 1e-50
    plain = SparseSVC(ALPHA, BETA, fit_intercept=shift, scale=None).fit(X, y)
    assert 4 in plain.selection_.features
    assert 4 not in SparseSVC(ALPHA, BETA, fit_intercept=shift, scale=None).fit(A, y).selection_.features
    for factor in (1e-50, 1e50):
        A[:, 4] = X[:, 4] * factor
        with_scale, unscaled = (SparseSVC(ALPHA, BETA, scale="std", fit_intercept=shift).fit(M, y) for M in (A, X))
        np.testing.assert_array_equal(with_scale.selection_.features, unscaled.selection_.features)
        np.testing.assert_allclose(with_scale.decision_function(A), unscaled.decision_function(X), atol=1e-6)


def test_constant_columns_are_a_shift_that_is_penalised():
    """All alike they share one weight; with an intercept they get none."""
    labels = np.where(np.arange(80) < 60, 1, -1)
    plain = SparseSVC(ALPHA, BETA, scale=None, fit_intercept=False).fit(np.ones((80, 5)), labels)
    assert plain.selection_.features.size == 5
    assert np.ptp(plain.selection_.weights) < 1e-12
    assert (plain.predict(np.ones((3, 5))) == 1).all()
    with pytest.warns(FewerFeaturesWarning, match="use a smaller beta"):
        shifted = SparseSVC(ALPHA, BETA, fit_intercept=True, scale=None).fit(np.ones((80, 5)), labels)
    assert shifted.selection_.features.size == 0
    assert (shifted.predict(np.ones((3, 5))) == 1).all()


@SHIFT
def test_copies_of_a_column_share_its_weight_alike(shift):
    """The squared penalty spreads a weight over m copies, as if alpha were alpha / m."""
    doubled = SparseSVC(ALPHA, BETA, fit_intercept=shift, scale=None).fit(np.hstack([X, X]), y)
    first, second = weights_of(doubled)[0].reshape(2, 120)
    np.testing.assert_allclose(first, second, atol=1e-7)
    alone = SparseSVC(ALPHA / 2, BETA, fit_intercept=shift, scale=None).fit(X, y)
    np.testing.assert_allclose(first + second, weights_of(alone)[0], atol=1e-6)


@pytest.mark.parametrize("empty", [np.zeros((80, 5)), sparse.csr_array((80, 5))], ids=["dense", "sparse"])
@SHIFT
def test_without_any_feature_the_model_is_the_class_it_begins_with(empty, shift):
    options, folds = {"fit_intercept": shift, "scale": None}, StratifiedKFold(2)
    for clf in (SparseSVC(**options), SparseSVCPath(2, 3, cv=folds, **options)):
        with pytest.warns(FewerFeaturesWarning, match="no feature was selected"):
            clf.fit(empty, y)
        assert clf.coef_.nnz == 0
        assert np.unique(clf.predict(empty)).size == 1


def test_a_tolerance_out_of_reach_is_said():
    with pytest.warns(ConvergenceWarning, match="above tol=1e-300"):
        SparseSVCPath(2, 2, tol=1e-300, fit_intercept=True, scale=None).fit(X, y)


# The grid.


def test_the_grid_is_that_of_the_paper():
    path = SparseSVCPath(4, 5, smoothing=0.4, scale=None, fit_intercept=False, **PAPER).fit(X, y)
    grid, share = path.path_, y / 80
    pull = X.T @ share
    beta_max = np.abs(pull).max()
    np.testing.assert_allclose(grid.betas, beta_max * np.geomspace(1.0, 0.05, 4), rtol=1e-12)
    for i in (1, 2, 3):
        w = np.sign(pull) * np.maximum(np.abs(pull) - grid.betas[i], 0.0)
        alpha_max = (y * (X @ w)).max() / (1.0 - 0.4)
        np.testing.assert_allclose(grid.alphas[i], alpha_max * np.geomspace(1.0, 0.01, 5), rtol=1e-9)
        np.testing.assert_allclose(grid.coef(i, 0).toarray()[0], w / grid.alphas[i, 0], atol=1e-12)
    np.testing.assert_array_equal(grid.alphas[0], grid.alphas[1])
    assert grid.shape == grid.n_features.shape == grid.solved.shape == grid.scaling_ratio.shape == (4, 5)
    for name in ("gap", "objective", "features_removed", "samples_removed", "inactive_samples", "steps", "intercepts"):
        assert getattr(grid, name).shape == (4, 5), name
    assert grid.begins.shape == grid.test_begins.shape == (21,)
    assert grid.ids.size == grid.weights.size == grid.begins[-1]
    assert grid.tests.shape == (grid.test_begins[-1], 3)
    assert (grid.n_features[0] == 0).all()
    assert (grid.features_removed[0] == 120).all()
    assert (grid.samples_removed[0] == 80).all()
    assert (grid.scaling_ratio[0] == 1.0).all()
    np.testing.assert_allclose(grid.objective[0], 0.8)
    assert (grid.n_features[1:] > 0).all()
    assert grid.n_samples == 80
    assert "4 betas x 5 alphas, 20 points solved" in repr(grid)
    assert path.n_iter_ == max(1, grid.steps.sum())


@pytest.mark.parametrize(
    ("betas", "alphas", "shape"),
    [
        ([0.1, 0.02], None, (2, 4)),
        ([0.02, 5.0, 0.1], [0.01, 10.0, 0.1, 0.1], (3, 4)),
        (None, [1.0, 0.1], (3, 2)),
        (None, [[1.0], [0.1], [0.01]], (3, 1)),
        ([0.1, 0.05], [[1.0, 0.5], [1e3, 0.2]], (2, 2)),
    ],
)
@SHIFT
def test_betas_and_alphas_can_be_given_in_any_order(betas, alphas, shape, shift):
    grid = SparseSVCPath(3, 4, betas=betas, alphas=alphas, fit_intercept=shift, scale=None).fit(X, y).path_
    assert grid.shape == shape
    if betas is not None:
        np.testing.assert_array_equal(grid.betas, betas)
    if alphas is not None:
        np.testing.assert_array_equal(grid.alphas, np.broadcast_to(alphas, shape))
    assert grid.solved.all()
    for i in range(shape[0]):
        for j in range(shape[1]):
            w, b = grid.coef(i, j).toarray()[0], grid.intercepts[i, j]
            alone = SparseSVC(grid.alphas[i, j], grid.betas[i], fit_intercept=shift, scale=None)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FewerFeaturesWarning)
                best = alone.fit(X, y).selection_.certificate.objective
            found = objective(X, y, np.full(80, 1 / 80), 0.5, grid.alphas[i, j], grid.betas[i], w, b)
            assert found == pytest.approx(grid.objective[i, j], abs=1e-12)
            assert best - 1e-12 <= found <= best + grid.gap[i, j] * 0.75 + 1e-12
    if betas is not None and 5.0 in betas:
        assert (grid.n_features[1] == 0).all()


@SHIFT
def test_a_point_is_the_model_of_one_fit(shift):
    path = SparseSVCPath(3, 4, fit_intercept=shift, smoothing=0.3, scale="std", class_weight="balanced").fit(X, y)
    for i, j in ((1, 0), (1, 3), (2, 1), (-1, -1)):
        point = path.at(i, j)
        alone = clone(point).fit(X, y)
        assert point.get_params() == alone.get_params()
        assert point.alpha == path.path_.alphas[i, j]
        assert point.beta == path.path_.betas[i]
        mine, best = point.selection_.certificate, alone.selection_.certificate
        assert best.objective - 1e-12 <= mine.objective <= best.objective + mine.gap * 0.85 + 1e-12
        assert mine.lower_bound <= best.objective + 1e-12
        assert mine.gap == pytest.approx(path.path_.gap[i, j])
        np.testing.assert_allclose(weights_of(point), weights_of(alone), atol=np.sqrt(2 * 1e-6 / point.alpha))
        coef = path.path_.coef(i, j).toarray()
        np.testing.assert_array_equal(weights_of(point), coef)
        scores = X @ coef[0] + path.path_.intercepts[i, j]
        np.testing.assert_allclose(point.decision_function(X), scores, atol=1e-12)
        assert point.fingerprint_ == alone.fingerprint_
        assert point.features_removed_ == path.path_.features_removed[i, j]
        point.selection_.check()


def test_without_cv_the_last_point_predicts():
    path = SparseSVCPath(3, 4, scale=None, fit_intercept=False).fit(X, y)
    np.testing.assert_array_equal(path.coef_.toarray(), path.path_.coef(2, 3).toarray())
    np.testing.assert_array_equal(path.decision_function(X), path.at(-1, -1).decision_function(X))
    after = clone(path).set_params(cv=2).fit(X, y).set_params(cv=None).fit(X, y)
    for name in (*CHOSEN, "fold_support", "stability"):
        assert not hasattr(path, name), name
        assert not hasattr(after, name), name


@SHIFT
def test_many_classes_on_a_grid_equal_fits_alone(shift):
    path = SparseSVCPath(3, 3, cv=2, fit_intercept=shift, tol=1e-10, scale=None, **PAPER).fit(Z, CODES)
    grid = path.path_
    assert grid.weights.shape == (grid.ids.size, 3)
    assert grid.intercepts.shape == (3, 3, 3)
    point, alone = (
        path.at(2, 1),
        SparseSVC(grid.alphas[2, 1], grid.betas[2], fit_intercept=shift, scale=None).fit(Z, CODES),
    )
    np.testing.assert_allclose(weights_of(point), weights_of(alone), atol=1e-4)
    np.testing.assert_array_equal(point.predict(Z), alone.predict(Z))
    assert point.selection_.certificate.at_zero == pytest.approx(alone.selection_.certificate.at_zero)
    assert point.selection_.certificate.objective == pytest.approx(alone.selection_.certificate.objective, abs=1e-8)
    for fold, (train, test) in enumerate(folds_of(2, Z, CODES)):
        refit = clone(point).fit(Z[train], CODES[train])
        assert path.scores_[fold, 2, 1] == pytest.approx(refit.score(Z[test], CODES[test]), abs=1e-12)
    with pytest.raises(ValueError, match="for binary classification only"):
        grid.rejections("iss")


# Folds.


def scorers():
    """(scoring, score of a fitted model on rows)."""
    return {
        "accuracy": ("accuracy", lambda m, A, b, w: accuracy_score(b, m.predict(A), sample_weight=w)),
        "roc_auc": ("roc_auc", lambda m, A, b, w: roc_auc_score(b, m.decision_function(A), sample_weight=w)),
        "f1": ("f1", lambda m, A, b, w: f1_score(b, m.predict(A), sample_weight=w)),
        "own": (
            make_scorer(lambda b, s: np.mean(b * s), response_method="decision_function"),
            lambda m, A, b, w: np.mean(b * m.decision_function(A)),
        ),
        "function": (lambda m, A, b: (m.predict(A) == b).mean(), lambda m, A, b, w: m.score(A, b)),
    }


@pytest.mark.parametrize("name", scorers())
@SHIFT
def test_scores_equal_refits_on_the_training_rows(name, shift):
    scoring, by_hand = scorers()[name]
    folds = folds_of(3, X, y)
    path = SparseSVCPath(3, 4, cv=3, scoring=scoring, fit_intercept=shift, tol=1e-10, scale=None, **PAPER).fit(X, y)
    assert path.scores_.shape == (3, 3, 4)
    for fold, (train, test) in enumerate(folds):
        for i, j in ((1, 3), (2, 0), (2, 3)):
            refit = clone(path.at(i, j)).fit(X[train], y[train])
            assert path.scores_[fold, i, j] == pytest.approx(by_hand(refit, X[test], y[test], None), abs=1e-4)
            np.testing.assert_array_equal(path.fold_support(fold, i, j), refit.selection_.features)


@pytest.mark.parametrize("name", ["accuracy", "roc_auc", "f1"])
def test_weights_reach_the_scorer(name):
    scoring, by_hand = scorers()[name]
    weights = np.random.default_rng(3).integers(1, 6, 80).astype(float)
    path = SparseSVCPath(2, 3, cv=2, scoring=scoring, tol=1e-10, scale=None, fit_intercept=False).fit(X, y, weights)
    differ = 0
    for fold, (train, test) in enumerate(folds_of(2, X, y, weights)):
        refit = clone(path.at(1, 2)).fit(X[train], y[train], weights[train])
        found = path.scores_[fold, 1, 2]
        assert found == pytest.approx(by_hand(refit, X[test], y[test], weights[test]), abs=1e-9)
        differ += abs(found - by_hand(refit, X[test], y[test], None)) > 1e-3
    assert differ


def test_the_best_point_is_the_first_with_the_best_mean():
    path = SparseSVCPath(4, 5, cv=3, scale=None, fit_intercept=False).fit(X, y)
    mean = path.scores_.mean(axis=0)
    i, j = path.best_index_
    assert path.best_score_ == mean[i, j] == mean.max()
    assert i * 5 + j == np.flatnonzero(mean.ravel() == mean.max())[0]
    assert path.best_estimator_.alpha == path.path_.alphas[i, j]
    np.testing.assert_array_equal(path.coef_.toarray(), path.best_estimator_.coef_.toarray())
    np.testing.assert_array_equal(path.predict(X), path.best_estimator_.predict(X))


def test_results_are_those_of_a_search_over_the_points():
    """``cv_results_`` of GridSearchCV that fits each point alone, in the same order, but for the times."""
    path = SparseSVCPath(n_alphas=4, betas=[0.2, 0.1, 0.03], cv=3, scoring="roc_auc", tol=1e-12, scale=None).fit(X, y)
    betas, alphas = path.path_.betas, path.path_.alphas
    each = [{"alpha": [alphas[i, j]], "beta": [betas[i]]} for i, j in np.ndindex(3, 4)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerFeaturesWarning)
        search = GridSearchCV(SparseSVC(scale=None), each, cv=folds_of(3, X, y), scoring="roc_auc").fit(X, y)
    found, expected = path.cv_results_, search.cv_results_
    assert set(found) == {name for name in expected if not name.endswith("_time")}
    assert found["params"] == expected["params"]
    for name in set(found) - {"params"}:
        np.testing.assert_allclose(found[name], expected[name], atol=1e-9, err_msg=name)
    assert np.array_equal(found["split1_test_score"].reshape(3, 4), path.scores_[1])
    best = found["params"][np.argmin(found["rank_test_score"])]
    assert best == {name: getattr(path.best_estimator_, name) for name in ("alpha", "beta")}


def test_of_equal_scores_the_larger_penalties_are_taken():
    A = np.random.default_rng(0).standard_normal((60, 8))
    A[:, 5] = np.repeat([-4.0, 4.0], 30)
    path = SparseSVCPath(3, 4, cv=3, scale=None, fit_intercept=False).fit(A, A[:, 5] > 0)
    assert (path.scores_[:, 1:] == 1.0).all()
    assert path.best_index_ == (1, 0)
    assert path.selection_.features.tolist() == [5]


def test_stability_is_the_share_of_the_folds_that_hold_a_feature():
    path = SparseSVCPath(n_alphas=4, betas=[5.0, 0.1], cv=4, scale=None, fit_intercept=False).fit(X, y)
    features, shares = path.stability(1, 2)
    held = [set(path.fold_support(fold, 1, 2).tolist()) for fold in range(4)]
    assert set(features.tolist()) == set.union(*held)
    assert shares.tolist() == [sum(feature in each for each in held) / 4 for feature in features.tolist()]
    assert (np.diff(shares) <= 0).all()
    assert 0.0 < shares.min() < shares.max() == 1.0
    assert path.stability(0, 0)[0].size == 0
    with pytest.raises(ValueError, match="outside the grid"):
        path.stability(5, 0)


def test_folds_of_any_kind():
    folds = list(KFold(3, shuffle=True, random_state=1).split(X))
    given = [
        KFold(3, shuffle=True, random_state=1),
        folds,
        iter(folds),
        [tuple(np.isin(np.arange(80), part) for part in fold) for fold in folds],
    ]
    fits = [SparseSVCPath(2, 3, cv=cv, scale=None, fit_intercept=False).fit(X, y) for cv in given]
    for path in fits[1:]:
        np.testing.assert_array_equal(path.scores_, fits[0].scores_)
    one, other = (
        SparseSVCPath(2, 3, cv=cv, scale=None, fit_intercept=False).fit(X, y) for cv in (3, folds_of(3, X, y))
    )
    np.testing.assert_array_equal(one.scores_, other.scores_)
    assert not np.array_equal(one.scores_, fits[0].scores_)


# Screening.


def near_points(screening, shift=False, tol=1e-13):
    """A grid whose alphas lie so near to each other that static tests find something."""
    options = {"alpha_ratio": 0.3, "tol": tol, "fit_intercept": shift, "screening": screening}
    return SparseSVCPath(3, 10, **options, scale=None).fit(X, y).path_


BEYOND = np.s_[1:, 1:]  # points that are not known in closed form


@SHIFT
def test_screening_does_not_change_the_weights_and_removes_no_feature_with_one(shift):
    plain = near_points(None, shift)
    assert plain.features_removed[BEYOND].sum() == plain.samples_removed[BEYOND].sum() == 0
    for screening in (name for name, run in SCREENING_RULES.items() if any(run) and not (shift and name == "iss")):
        grid = near_points(screening, shift)
        for i in range(3):
            for j in range(10):
                a, b = grid.coef(i, j).toarray()[0], plain.coef(i, j).toarray()[0]
                np.testing.assert_allclose(a, b, rtol=0, atol=1e-5 * np.abs(b).max(), err_msg=screening)
                assert grid.features_removed[i, j] <= 120 - np.count_nonzero(np.abs(b) > 1e-7)
        assert (grid.samples_removed <= grid.inactive_samples)[BEYOND].all()
        assert (grid.features_removed[BEYOND].sum() > 0) == (screening != "iss"), screening
        assert (grid.samples_removed[BEYOND].sum() > 0) == (screening != "ifs" and not shift), screening


@pytest.mark.parametrize("screening", ["sifs", "sifs+gap", "sifs, ifs first", "gap"])
def test_rejections_add_up_to_what_was_removed(screening):
    grid = near_points(screening, tol=1e-6)
    samples = grid.rejections("iss").sum(axis=0) * np.maximum(1, grid.inactive_samples)
    features = sum(grid.rejections(rule).sum(axis=0) for rule in SAFE_TESTS if rule != "iss")
    features *= np.maximum(1, 120 - grid.n_features)
    assert all(grid.rejections(rule).min(initial=0.0) >= 0.0 for rule in SAFE_TESTS)
    assert grid.rejections("iss").shape[1:] == (3, 10)
    np.testing.assert_allclose(features[BEYOND], grid.features_removed[BEYOND], atol=1e-9)
    if screening.startswith("sifs") and "gap" not in screening:
        np.testing.assert_allclose(samples[BEYOND], grid.samples_removed[BEYOND], atol=1e-9)
        assert grid.rejections("gap").sum() == 0.0
    else:
        assert (samples <= grid.samples_removed + 1e-9).all()
    left = (80 - grid.samples_removed) * (120 - grid.features_removed)
    np.testing.assert_allclose(grid.scaling_ratio, 1.0 - left / (80 * 120), atol=1e-12)
    assert grid.scaling_ratio[BEYOND].max() > 0.3


@SHIFT
def test_by_default_no_test_is_run_and_the_grid_says_so(shift):
    """The models, steps and passes are those without screening; with a test every point is marked."""
    plain, usual, tested = (near_points(screening, shift, tol=1e-6) for screening in (None, "auto", "gap"))
    for name in ("gap", "objective", "steps", "ids", "weights", "tests"):
        np.testing.assert_array_equal(getattr(usual, name), getattr(plain, name))
    assert not usual.screened[BEYOND].any()
    assert usual.features_removed[BEYOND].sum() == usual.samples_removed[BEYOND].sum() == 0
    assert not any(usual.tested(rule).any() for rule in SAFE_TESTS if rule != "ends")
    assert tested.screened.all()
    fits = [
        SparseSVC(1e-3, 0.05, fit_intercept=shift, screening=name, scale=None).fit(X, y)
        for name in (None, "auto", "gap")
    ]
    passes = [clf.selection_.trace.passes for clf in fits]
    assert passes[0] == passes[1] < passes[2]


def test_a_point_counts_as_screened_only_if_it_is_in_all_classes():
    """A class may be known in closed form where another one was solved without a test."""
    labels = np.argmax(X[:, :3] * np.array([3.0, 1.0, 1.0]), axis=1)
    grid = SparseSVCPath(3, 12, alpha_ratio=0.3, scale=None, fit_intercept=False).fit(X, labels).path_
    known = [
        SparseSVCPath(betas=grid.betas, alphas=grid.alphas, scale=None, fit_intercept=False)
        .fit(X, labels == k)
        .path_.screened
        for k in range(3)
    ]
    assert not (np.array_equal(known[0], known[1]) and np.array_equal(known[0], known[2]))
    np.testing.assert_array_equal(grid.screened, np.logical_and.reduce(known))


# How a fit ends and what it says.


def ending_after(points, seen):
    """A function that notes the turns and presses Ctrl-C after so many points."""

    def watch(turn, total):
        seen.append((turn.taken, total))
        if turn.taken == points:
            raise KeyboardInterrupt

    return watch


@pytest.mark.parametrize("points", [1, 6, 12])
def test_ctrl_c_keeps_the_points_reached_and_raises_again(points):
    seen = []
    path = SparseSVCPath(3, 4, verbose=ending_after(points, seen), scale=None, fit_intercept=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerFeaturesWarning)
        with pytest.raises(KeyboardInterrupt):
            path.fit(X, y)
    assert seen == [(k, 12) for k in range(1, points + 1)]
    grid, whole = path.path_, SparseSVCPath(3, 4, scale=None, fit_intercept=False).fit(X, y).path_
    np.testing.assert_array_equal(grid.solved.ravel(), np.arange(12) < points)
    assert path.selection_.interrupted
    i, j = divmod(points - 1, 4)
    np.testing.assert_array_equal(path.coef_.toarray(), whole.coef(i, j).toarray())
    np.testing.assert_array_equal(path.at(i, j).decision_function(X), path.decision_function(X))
    assert f"{points} points solved" in repr(grid)
    if points < 12:
        with pytest.raises(ValueError, match=r"point \(2, 3\) of the grid was not solved: the fit stopped early"):
            path.at(2, 3)


def test_ctrl_c_among_the_folds_keeps_the_whole_grid_without_scores():
    path = SparseSVCPath(3, 4, cv=2, scale=None, fit_intercept=False)
    path.fit(X, y)
    path.verbose = ending_after(20, [])
    with pytest.raises(KeyboardInterrupt):
        path.fit(X, y)
    assert path.path_.solved.all()
    for name in CHOSEN:
        assert not hasattr(path, name), name
    with pytest.raises(NotFittedError):
        path.stability(1, 1)
    np.testing.assert_array_equal(path.predict(X), path.at(2, 3).predict(X))


def test_ctrl_c_before_the_first_point_leaves_no_model(monkeypatch):
    def walk(*_):
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr("thresher.families.sparse_svm.grid_walk.walk", walk)
    path = SparseSVCPath(3, 4, scale=None, fit_intercept=False)
    with pytest.raises(KeyboardInterrupt):
        path.fit(X, y)
    assert not hasattr(path, "path_")
    with pytest.raises(NotFittedError):
        path.predict(X)


def test_max_time_ends_with_the_points_reached():
    early = "1 of 12 points solved and none chosen"
    with pytest.warns(FewerFeaturesWarning), pytest.warns(ConvergenceWarning, match=early):
        path = SparseSVCPath(3, 4, max_time=1e-9, cv=2, scale=None, fit_intercept=False).fit(X, y)
    assert path.path_.solved.sum() == 1
    assert not hasattr(path, "scores_")
    assert not path.selection_.interrupted
    assert path.predict(X).shape == (80,)
    assert SparseSVCPath(3, 4, max_time=100.0, scale=None, fit_intercept=False).fit(X, y).path_.solved.all()


def test_verbose_draws_on_standard_error(capsys, monkeypatch):
    SparseSVCPath(3, 4, verbose=2, scale=None, fit_intercept=False).fit(X, y)
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert len(lines) == 4  # one as each beta begins, one at the end
    assert re.search(r"12/12 points  beta \S+  alpha \S+  \d+ features  gap \S+  ", lines[-1])
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    SparseSVCPath(3, 4, verbose=1, cv=2, scale=None, fit_intercept=False).fit(X, y)
    err = capsys.readouterr().err
    assert err.startswith("\r")
    assert err.endswith("\n")
    assert err.count("\r") == 36
    assert "36/36 points" in err
    SparseSVCPath(3, 4, scale=None, fit_intercept=False).fit(X, y)
    assert capsys.readouterr() == ("", "")
