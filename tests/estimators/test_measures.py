"""FGMClassifier(loss=<a measure>) as a user meets it."""

import pickle
import re
import warnings

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.problems import many_classes
from tests.rule import fgm_by_rule
from thresher import (
    F1,
    PRBEP,
    AveragePrecision,
    ErrorRate,
    FBeta,
    FGMClassifier,
    Polynomial,
    PrecisionAtK,
    RecallAtK,
    RocArea,
)
from thresher.errors import FewerFeaturesWarning, InvalidDataError
from thresher.optim.solvers import bundle

NAMES = ["error", "f1", "prbep", "auc", "average_precision"]
VALUES = [FBeta(0.5), FBeta(2.0), PrecisionAtK(5), PrecisionAtK(0.5), RecallAtK(30), RecallAtK(2.0)]
COUNTED = ["f1", "prbep", "average_precision", PrecisionAtK(5), RecallAtK(2.0)]
every = pytest.mark.parametrize("loss", NAMES + VALUES, ids=repr)
WEIGHTED = [
    "check_sample_weights_list", "check_sample_weights_not_overwritten", "check_class_weight_classifiers",
    "check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data",
]  # fmt: skip
REFUSED = "weights other than 0 and 1 make the search a knapsack problem: refused with that reason"
named = pytest.mark.parametrize("loss", NAMES)


def rare(n=60, p=20, seed=0, share=0.25):
    """(X, y, exact in float32): a rare class that leans on three columns."""
    rng = np.random.default_rng(seed)
    X = np.round(64 * rng.standard_normal((n, p))) / 64
    pull = X[:, :3].sum(axis=1) + 0.8 * rng.standard_normal(n)
    return X, np.where(pull > np.quantile(pull, 1.0 - share), 1, 0)


X, y = rare()
FEW = np.where(np.random.default_rng(9).random(X.shape) < 0.25, X, 0.0)
Z, CODES, _, _ = many_classes(60, 12, seed=8)


def fitted(loss, A=X, labels=y, k=3, *, sample_weight=None, **options):
    options = {"C": 1.0, "n_candidates": 2.0} | options
    return fgm_by_rule(k, loss=loss, **options).fit(A, labels, sample_weight=sample_weight)


# models


@every
def test_exactly_the_number_asked_for_with_a_path(loss):
    """The pick, every number up to twice as many on the path, and the classifier of each."""
    clf = fitted(loss)
    assert clf.selection_.features.size == 3
    clf.selection_.check()
    numbers = {station.number for station in clf.path_ if station.phase == "thresh"}
    assert set(range(1, 7)) <= numbers
    for k in (1, 2, 5):
        small = clf.at(k)
        assert small.selection_.features.size == k
        assert small.predict(X).shape == y.shape
    np.testing.assert_allclose(clf.decision_function(X), (X @ clf.coef_.T).ravel() + clf.intercept_, atol=1e-9)
    np.testing.assert_array_equal(clf.predict(X), np.where(clf.decision_function(X) > 0.0, 1, 0))
    assert not hasattr(clf, "predict_proba")


@named
def test_the_measure_is_learnt(loss):
    """On new samples of a clean problem, from three columns of twenty."""
    A, labels = rare(300, seed=3)
    clf = fgm_by_rule(3, loss=loss, C=10.0, n_candidates=2.0).fit(A[:150], labels[:150])
    assert clf.selection_.features.tolist() == [0, 1, 2]
    scores, new = clf.decision_function(A[150:]), labels[150:]
    assert roc_auc_score(new, scores) > 0.85
    assert average_precision_score(new, scores) > 0.65
    assert f1_score(new, clf.predict(A[150:])) > 0.55


@pytest.mark.parametrize(
    ("loss", "count"),
    [("prbep", 15), ("auc", 15), ("average_precision", 15), (PrecisionAtK(5), 5), (RecallAtK(2.0), 30)],
)
def test_the_threshold_counts_where_no_shift_is_learnt(loss, count):
    """As many training samples are predicted positive as the measure counts."""
    assert fitted(loss).predict(X).sum() == count


@pytest.mark.parametrize("options", [{"elimination": False}, {"n_candidates": "auto"}], ids=str)
def test_other_ways_to_select(options):
    clf = fitted("f1", **options)
    assert clf.selection_.features.size == 3
    assert fitted("f1", debias=True, **options).selection_.features.size == 3


@named
def test_default_C_is_a_million_for_all_samples_together(loss):
    assert pytest.approx(1e6 / y.size) == fitted(loss, C=None).C_
    weights = np.r_[np.zeros(10), np.ones(50)]
    assert pytest.approx(1e6 / 50) == fitted(loss, C=None, sample_weight=weights).C_


def test_error_has_the_C_of_the_hinge_loss():
    """The objective of the pick is that of an SVM on its columns."""
    clf = fitted("error", scale=None)
    slack = np.maximum(0.0, 1.0 - np.where(y > 0, 1.0, -1.0) * clf.decision_function(X))
    objective = 0.5 * float((clf.selection_.weights**2).sum()) + slack.sum()
    assert clf.selection_.certificate.pick_objective == pytest.approx(objective, rel=1e-6)


# storage, threads, weights


@named
def test_one_answer_from_every_storage(loss):
    A = FEW if loss in ("f1", "auc") else X
    reference = fitted(loss, A)
    for stored in (A.astype(np.float32), sparse.csc_array(A), sparse.csr_array(A)):
        found = fitted(loss, stored)
        np.testing.assert_array_equal(found.selection_.features, reference.selection_.features)
        np.testing.assert_allclose(found.selection_.weights, reference.selection_.weights, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(found.intercept_, reference.intercept_, rtol=1e-6, atol=1e-9)


@named
def test_any_number_of_threads_gives_the_same_bits(loss, monkeypatch):
    monkeypatch.setattr("thresher.data.workers.SMALL", 0)  # threads are used however small the work
    one, two = (fitted(loss, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.selection_.weights, two.selection_.weights)
    assert one.intercept_ == two.intercept_


@every
def test_rows_of_weight_zero_are_not_there(loss):
    weights = np.ones(y.size)
    weights[::9] = 0.0
    there = weights > 0.0
    noisy = np.where(there[:, None], X, 1e3 * np.random.default_rng(0).standard_normal(X.shape))
    with_them = fitted(loss, noisy, sample_weight=weights)
    without = fitted(loss, X[there], y[there])
    np.testing.assert_array_equal(with_them.selection_.features, without.selection_.features)
    np.testing.assert_allclose(with_them.selection_.weights, without.selection_.weights, rtol=1e-5)
    np.testing.assert_allclose(with_them.intercept_, without.intercept_, rtol=1e-5)


@pytest.mark.parametrize("loss", ["error", "auc"])
@pytest.mark.parametrize("class_weight", [None, {1: 2}])
def test_integer_weights_equal_repeated_rows(loss, class_weight):
    weights = np.random.default_rng(1).integers(0, 4, y.size)
    weighed = fitted(loss, sample_weight=weights, class_weight=class_weight)
    repeated = fitted(loss, np.repeat(X, weights, axis=0), np.repeat(y, weights), class_weight=class_weight)
    np.testing.assert_array_equal(weighed.selection_.features, repeated.selection_.features)
    size = np.abs(repeated.selection_.weights).max()
    np.testing.assert_allclose(weighed.selection_.weights, repeated.selection_.weights, atol=0.01 * size)
    assert weighed.intercept_ == pytest.approx(repeated.intercept_, abs=0.01 * size)
    np.testing.assert_array_equal(weighed.predict(X), repeated.predict(X))
    objectives = [each.selection_.certificate.pick_objective for each in (weighed, repeated)]
    assert objectives[0] == pytest.approx(objectives[1], rel=3e-5)


@pytest.mark.parametrize("loss", COUNTED, ids=repr)
def test_other_weights_are_refused_with_the_reason(loss):
    name = loss if isinstance(loss, str) else loss.name
    message = (
        rf"loss='{name}' takes sample weights 0 and 1 only, and no class_weight: .*knapsack.*loss='error' or 'auc'"
    )
    with pytest.raises(InvalidDataError, match=message):
        fitted(loss, sample_weight=np.where(y > 0, 2.0, 1.0))
    with pytest.raises(InvalidDataError, match=message):
        fitted(loss, class_weight="balanced")


# many classes, restrictions


@named
def test_classes_share_one_set_of_features_or_have_their_own(loss):
    shared = fitted(loss, Z, CODES)
    assert shared.selection_.features.size == 3
    assert shared.coef_.shape == (3, 12)
    assert {station.number for station in shared.path_} >= {1, 2, 3}
    assert shared.at(2).selection_.features.size == 2
    own = fitted(loss, Z, CODES, k=2, per_class=True)
    assert (np.diff(own.coef_.indptr) == 2).all()
    for c in range(3):
        alone = fitted(loss, Z, (c == CODES).astype(int), k=2)
        np.testing.assert_array_equal(own.coef_[[c]].indices, alone.selection_.features)
        np.testing.assert_allclose(own.coef_[[c]].data, alone.selection_.weights, rtol=1e-6)
    assert (shared.predict(Z) == CODES).mean() > 0.5


@named
def test_always_include_and_exclude(loss):
    clf = fitted(loss, always_include=[10, 11], exclude=[0])
    assert {10, 11} <= set(clf.selection_.features.tolist())
    assert 0 not in clf.selection_.features
    assert clf.selection_.features.size == 3
    assert all(0 not in station.features for station in clf.path_)
    assert all({10, 11} <= set(station.features.tolist()) for station in clf.path_ if station.number >= 2)


@named
def test_groups_are_selected_together(loss):
    labels = np.arange(20) // 4
    clf = fitted(loss, k=2, groups=labels)
    chosen = np.unique(labels[clf.selection_.features])
    assert chosen.size == 2
    assert 0 in chosen
    np.testing.assert_array_equal(clf.selection_.features, np.flatnonzero(np.isin(labels, chosen)))


@pytest.mark.parametrize("loss", ["f1", "error", "auc"])
def test_products_of_columns(loss):
    """The class depends on a product that no single column tells of."""
    rng = np.random.default_rng(4)
    A = rng.standard_normal((120, 6))
    labels = (A[:, 1] * A[:, 4] > 0.3).astype(int)
    clf = fitted(loss, A, labels, k=1, feature_map="polynomial")
    assert [set(pair) for pair in clf.selection_.pairs] == [{1, 4}]
    assert fitted(loss, A, labels, k=4, feature_map=Polynomial(heredity="strong")).selection_.features.size == 4


def test_kernel_of_columns():
    clf = fitted("f1", np.abs(X), k=2, feature_map="intersection")
    assert len(clf.selection_.groups) == 2


# values


@pytest.mark.parametrize("loss", [F1(), PRBEP(), FBeta(2.0), PrecisionAtK(5), RecallAtK(2.0), RocArea(), ErrorRate(),
                                  AveragePrecision()], ids=repr)  # fmt: skip
def test_measures_are_parameters_like_others(loss):
    """clone, pickle, repr, get_params, set_params; a name is short for the value."""
    clf = fgm_by_rule(3, loss=loss, C=1.0, n_candidates=2.0)
    assert clone(clf).loss == loss
    assert clf.get_params()["loss"] is loss
    assert f"loss={loss!r}" in repr(clf)
    assert clone(clf).set_params(loss="f1").loss == "f1"
    clf.fit(X, y)
    again = pickle.loads(pickle.dumps(clf))
    assert again.loss == loss
    np.testing.assert_array_equal(again.decision_function(X), clf.decision_function(X))
    if loss.name in NAMES:
        np.testing.assert_array_equal(fitted(loss.name).selection_.weights, clf.selection_.weights)


def test_scorers_judge_the_estimator():
    clf = fgm_by_rule(3, loss="f1", C=1.0, n_candidates=2.0)
    scores = cross_val_score(clf, X, y, scoring=F1().scorer(), cv=3)
    np.testing.assert_allclose(scores, cross_val_score(clf, X, y, scoring="f1", cv=3))


@parametrize_with_checks(
    [FGMClassifier(loss="error"), FGMClassifier(loss="f1")],
    expected_failed_checks=lambda estimator: dict.fromkeys(WEIGHTED, REFUSED) if estimator.loss == "f1" else {},
)
def test_scikit_learn_checks(estimator, check):
    if sklearn.__version__.startswith("1.6.") and "sample_weight_equivalence" in check.func.__name__:
        pytest.skip("scikit-learn 1.6 makes the labels two-class after shuffling, so its two fits differ in labels")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerFeaturesWarning)
        check(estimator)


# running


@pytest.mark.parametrize("per_class", [False, True])
def test_max_time_keeps_the_best_model(per_class):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerFeaturesWarning)
        clf = fitted("f1", Z, CODES, C=None, max_time=1e-4, per_class=per_class)
    assert "max_time" in clf.selection_.stop_reason
    assert clf.selection_.features.size >= 1
    assert np.isfinite(clf.decision_function(Z)).all()
    clf.selection_.check()


@pytest.mark.parametrize("turns", [2, 4])
def test_ctrl_c_keeps_the_model_so_far(turns):
    seen = []

    def interrupt(turn, target):
        seen.append(turn)
        if len(seen) == turns:
            raise KeyboardInterrupt

    clf = fgm_by_rule(8, loss="f1", C=1.0, n_candidates=2.0, features_per_turn=2, verbose=interrupt)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, y)
    assert clf.selection_.interrupted
    assert clf.selection_.features.size >= 1
    assert clf.predict(X).shape == y.shape


def test_ctrl_c_inside_the_solver_keeps_the_model_so_far(monkeypatch):
    """Between iterations of the bundle method, after some turns."""
    iterate, count = bundle.BundleSearch.iterate, iter(range(100000))

    def counted(self, *args):
        if next(count) == 25:
            raise KeyboardInterrupt
        return iterate(self, *args)

    monkeypatch.setattr(bundle.BundleSearch, "iterate", counted)
    clf = fgm_by_rule(8, loss="f1", C=1.0, n_candidates=2.0, features_per_turn=2)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, y)
    assert clf.selection_.interrupted
    assert clf.predict(X).shape == y.shape


# refusals


def test_bad_input():
    """What was given, what is expected, what to do."""
    with pytest.raises(ValueError, match=r"(?i)class"):
        fitted("f1", X, np.zeros(y.size))
    hole = X.copy()
    hole[3, 4] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        fitted("f1", hole)
    with pytest.raises(ValueError, match="n_features_to_select"):
        fitted("f1", k=0)
    expected = "loss must be one of 'squared_hinge', 'logistic', 'error', 'f1', 'prbep', 'auc', 'average_precision'"
    for name in ("f2", "F1", None, F1):
        with pytest.raises(ValueError, match=re.escape(expected)):
            fitted(name)
    for name, measure in (("precision_at_k", "PrecisionAtK(k=50)"), ("recall_at_k", "RecallAtK(k=50)"),
                          ("fbeta", "FBeta(beta=2.0)")):  # fmt: skip
        with pytest.raises(ValueError, match=re.escape(f"loss='{name}' has a parameter: pass ")) as told:
            fitted(name)
        assert str(told.value).endswith(f"for example loss={measure}")
    for make in (PrecisionAtK, RecallAtK):
        with pytest.raises(ValueError, match="k must be an integer of at least 1, or a float above 0"):
            make(0)
    with pytest.raises(ValueError, match=r"PrecisionAtK\(k=61\) needs at least 61 samples, got 60"):
        fitted(PrecisionAtK(61))
    with pytest.raises(
        InvalidDataError, match="all sample weights of class 1 are zero: every class needs a positive weight"
    ):
        fitted("f1", sample_weight=np.where(y > 0, 0.0, 1.0))


def test_a_measure_that_counts_all_samples_says_so():
    """Twice as many as are positive is everyone where half are: no model can be better than another."""
    halves = np.arange(y.size) % 2
    with pytest.warns(FewerFeaturesWarning, match="zero loss without any feature, so none is needed"):
        clf = fgm_by_rule(3, loss=RecallAtK(2.0)).fit(X, halves)
    assert clf.selection_.features.size == 0
