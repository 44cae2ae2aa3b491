"""AlignmentPathClassifier: predictions of an SVM on the written-out kernel, weights, classes and refusals."""

import pickle
import sys
import threading
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.oracles import alignment as oracle
from thresher import (
    AlignmentPathClassifier,
    FeaturePath,
    FewerFeaturesWarning,
    InvalidDataError,
    KernelPath,
    alignments,
)
from thresher.estimators.alignment import classifier, cross_validation

REPEATED = "scikit-learn's SVC is no different: its tolerance and folds depend on how often a row is there"
WEIGHTS = {f"check_sample_weight_equivalence_on_{kind}_data": REPEATED for kind in ("dense", "sparse")}
rng = np.random.default_rng(1)
X = rng.standard_normal((120, 25))
y = np.where(X[:, 4] ** 2 + X[:, 11] ** 2 + 0.3 * rng.standard_normal(120) > 1.5, "far", "near")
NEW = rng.standard_normal((40, 25))
QUICK = {"path": KernelPath(step=0.1), "cv": 3}


@pytest.mark.filterwarnings("ignore:cv=5 is reduced")  # some of its data has few different rows
@parametrize_with_checks(
    [
        AlignmentPathClassifier(path=KernelPath(step=0.1)),
        AlignmentPathClassifier("linear", path=KernelPath(p_end=1.5, step=0.2), cv=None),
    ],
    expected_failed_checks=lambda estimator: WEIGHTS,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def learnt_kernel(clf, X, Z, w=None, name="rbf"):
    """The centred kernel of rows Z with the training rows X, scaled to mean diagonal 1."""
    w = np.ones(len(X)) if w is None else w
    out, both = 0.0, np.concatenate([X, Z])
    everywhere = np.concatenate([w, np.zeros(len(Z))])
    for j, eta in zip(clf.selection_.features, clf.selection_.weights, strict=True):
        K = oracle.kernel_matrix(name, both[:, j], both[:, j], oracle.gamma_of(name, X[:, j], w))
        K = oracle.centred(K, everywhere)
        out = out + eta * K / (everywhere @ np.diag(K))
    out = out * w.sum() / clf.selection_.weights.sum()
    return out[: len(X), : len(X)], out[len(X) :, : len(X)]


@pytest.mark.parametrize("name", ["rbf", "laplace", "polynomial", "linear"])
def test_predictions_are_those_of_an_SVC_on_the_written_out_kernel(name):
    w = rng.integers(0, 3, 120).astype(float)
    clf = AlignmentPathClassifier(name, **QUICK).fit(X, y, sample_weight=w)
    K, across = learnt_kernel(clf, X, NEW, w, name)
    rows = np.flatnonzero(w)
    svc = SVC(kernel="precomputed", C=clf.C_, tol=1e-9).fit(K[np.ix_(rows, rows)], y[rows], sample_weight=w[rows])
    np.testing.assert_allclose(clf.decision_function(NEW), svc.decision_function(across[:, rows]), atol=1e-5)
    np.testing.assert_allclose(np.sum(w * np.diag(K)), w.sum())


def test_what_is_selected():
    clf = AlignmentPathClassifier(path=KernelPath(step=0.1, lambda2=["auto"]), cv=3, max_features=10).fit(X, y)
    clf.selection_.check()
    clf.path_.check()
    assert set(clf.selection_.features) >= {4, 11}
    assert clf.selection_.features.size <= 10
    assert clf.score(NEW, np.where(NEW[:, 4] ** 2 + NEW[:, 11] ** 2 > 1.5, "far", "near")) > 0.75
    assert not hasattr(clf, "coef_")
    assert isinstance(clf.path_, FeaturePath)
    np.testing.assert_allclose(clf.path_.alignments, alignments(X, y) / 120)
    point = clf.path_.point(clf.point_)
    assert np.array_equal(point.features, clf.selection_.features)
    certificate = clf.selection_.certificate
    assert certificate.objective - certificate.lower_bound == point.deviation_bound
    assert 0.0 <= certificate.gap < 0.1
    assert clf.transform(X).shape == (120, clf.selection_.features.size)


def test_at_is_a_model_of_another_point():
    clf = AlignmentPathClassifier(path=KernelPath(step=0.02), cv=None).fit(X, y)
    for number in (20, 8, 3):
        other = clf.at(number)
        assert 1 <= other.selection_.features.size <= number
        K, across = learnt_kernel(other, X, NEW)
        svc = SVC(kernel="precomputed", C=10.0, tol=1e-9).fit(K, y)
        np.testing.assert_allclose(other.decision_function(NEW), svc.decision_function(across), atol=1e-5)
    assert clf.point_ == np.flatnonzero(clf.path_.n_features)[-1]
    with pytest.raises(ValueError, match="number must be an integer"):
        clf.at(2.5)
    with pytest.raises(ValueError, match="no point of the path has between 1 and 0"):
        clf.at(0)


def test_many_classes_share_one_path():
    labels = np.where(X[:, 4] ** 2 > 1.2, 2, np.where(X[:, 7] > 0.3, 1, 0))
    clf = AlignmentPathClassifier(**QUICK, max_features=8).fit(X, labels)
    assert clf.decision_function(NEW).shape == (40, 3)
    assert set(clf.selection_.features) >= {4, 7}
    K, across = learnt_kernel(clf, X, NEW)
    for c in range(3):
        svc = SVC(kernel="precomputed", C=clf.C_, tol=1e-9).fit(K, labels == c)
        np.testing.assert_allclose(clf.decision_function(NEW)[:, c], svc.decision_function(across), atol=3e-5)


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array, np.asfortranarray, pd.DataFrame])
def test_the_same_from_every_storage(form):
    Z = np.round(X, 1) * (np.abs(X) > 0.8)
    new = np.round(NEW, 1) * (np.abs(NEW) > 0.8)
    reference = AlignmentPathClassifier(**QUICK).fit(Z, y)
    if form is pd.DataFrame:
        names = [f"c{j}" for j in range(25)]
        clf = AlignmentPathClassifier(**QUICK).fit(pd.DataFrame(Z, columns=names), y)
        np.testing.assert_allclose(
            clf.decision_function(pd.DataFrame(new, columns=names)), reference.decision_function(new), atol=1e-9
        )
        assert list(clf.get_feature_names_out()) == [names[j] for j in clf.selection_.features]
        return
    clf = AlignmentPathClassifier(**QUICK).fit(form(Z), y)
    assert np.array_equal(clf.selection_.weights, reference.selection_.weights)
    assert np.array_equal(clf.path_.cv_score, reference.path_.cv_score)
    np.testing.assert_allclose(clf.decision_function(form(new)), reference.decision_function(new), atol=1e-9)


def test_threads_change_nothing():
    one, two = (AlignmentPathClassifier(**QUICK, n_jobs=n).fit(X, y) for n in (1, 2))
    assert np.array_equal(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])
    assert np.array_equal(one.decision_function(NEW), two.decision_function(NEW))


def test_columns_of_a_very_wide_matrix():
    Z = np.round(X, 1) * (np.abs(X) > 0.8)
    wide = sparse.csr_array((Z[Z != 0], (np.nonzero(Z)[0], 4000 * np.nonzero(Z)[1])), shape=(120, 100_000))
    given = QUICK | {"cv": StratifiedKFold(3)}  # of an integer folds depend on the numbers of the columns
    clf, small = AlignmentPathClassifier(**given).fit(wide, y), AlignmentPathClassifier(**given).fit(Z, y)
    assert np.array_equal(clf.selection_.features, 4000 * small.selection_.features)
    np.testing.assert_allclose(clf.decision_function(wide), small.decision_function(Z), atol=1e-9)


def test_a_few_rows_of_a_sparse_matrix_with_many_features():
    """Fewer entries than features: every feature must still be in its place."""
    wide = sparse.random_array((60, 6000), density=0.05, rng=0, format="csr")
    labels = np.asarray(wide[:, :3000].sum(axis=1)).ravel() > np.asarray(wide[:, 3000:].sum(axis=1)).ravel()
    clf = AlignmentPathClassifier("linear", path=KernelPath(p_end=1.8, step=0.1), cv=None).fit(wide, labels)
    assert clf.selection_.features.size > 5000
    alone = np.concatenate([clf.decision_function(wide[[i]]) for i in range(5)])
    np.testing.assert_allclose(alone, clf.decision_function(wide)[:5], atol=1e-9)


def test_integer_weights_count_as_repeated_rows():
    w = rng.integers(0, 3, 120)
    weighted = AlignmentPathClassifier(path=KernelPath(step=0.1), cv=None).fit(X, y, sample_weight=w)
    repeated = AlignmentPathClassifier(path=KernelPath(step=0.1), cv=None).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert np.array_equal(weighted.path_.ids, repeated.path_.ids)
    np.testing.assert_allclose(weighted.path_.values, repeated.path_.values, rtol=1e-8)
    np.testing.assert_allclose(weighted.decision_function(NEW), repeated.decision_function(NEW), atol=1e-2)


def test_class_weights_and_scoring():
    balanced = AlignmentPathClassifier(**QUICK, class_weight="balanced", scoring="balanced_accuracy").fit(X, y)
    share = {label: 60 / np.count_nonzero(y == label) for label in np.unique(y)}
    given = AlignmentPathClassifier(**QUICK, class_weight=share, scoring="balanced_accuracy").fit(X, y)
    np.testing.assert_allclose(balanced.decision_function(NEW), given.decision_function(NEW), atol=1e-9)
    with pytest.raises(ValueError, match="did you mean 'accuracy'"):
        AlignmentPathClassifier(scoring="acuracy").fit(X, y)


def test_a_selector_alone():
    clf = AlignmentPathClassifier(svm=None, path=KernelPath(step=0.05)).fit(X, y)
    assert not hasattr(clf, "predict")
    assert not hasattr(clf, "training_")
    assert clf.transform(X).shape == (120, clf.selection_.features.size)
    assert clf.at(4).transform(X).shape[1] <= 4


def test_too_many_samples_for_a_kernel():
    with pytest.raises(
        InvalidDataError, match=r"20,001 samples, so that a kernel matrix takes 3.2 GB.*svm='linear'.*svm=None"
    ):
        AlignmentPathClassifier().fit(np.ones((20_001, 1)), np.arange(20_001) % 2)
    many = np.random.default_rng(0).standard_normal((20_001, 2))
    clf = AlignmentPathClassifier(svm=None, path=KernelPath(step=0.1)).fit(many, many[:, 1] > 0)
    assert clf.selection_.features.tolist() == [1]


def test_columns_that_say_nothing():
    with pytest.warns(FewerFeaturesWarning, match="no feature was selected.*no column agrees with the labels"):
        clf = AlignmentPathClassifier(path=KernelPath(step=0.2), cv=None).fit(np.ones((20, 3)), np.arange(20) % 5 > 0)
    assert clf.predict(np.zeros((2, 3))).tolist() == [True, True]
    clf = AlignmentPathClassifier(path=KernelPath(step=0.2), max_features=2, cv=StratifiedKFold(4))
    with pytest.warns(FewerFeaturesWarning, match="no feature was selected"):
        clf.fit(np.ones((20, 3)), np.arange(20) % 5 > 0)
    with pytest.warns(FewerFeaturesWarning, match=r"no weight is above eps=0\.0001\. Use a smaller lambda1, lambda2"):
        AlignmentPathClassifier(path=KernelPath(step=0.2, lambda2=1e9)).fit(X, y)


@pytest.mark.parametrize("svm", ["kernel", "linear"])
def test_constant_columns_have_no_weight_where_all_others_begin_with_one(svm):
    """eta_0 > 0 of the KL divergence: their kernels have no trace to be divided by."""
    Z = X.copy()
    Z[:, [0, 7]] = 3.0
    clf = AlignmentPathClassifier(path=KernelPath(step=0.1, divergence="kl"), svm=svm, cv=3).fit(Z, y)
    assert clf.path_.n_features[0] == 23
    assert not {0, 7} & set(clf.path_.ids)
    assert clf.score(Z, y) > 0.8
    with pytest.warns(ConvergenceWarning, match="stopped early: max_time reached; no feature was selected"):
        none = AlignmentPathClassifier(path=KernelPath(divergence="kl"), svm=svm, max_time=1e-9).fit(Z, y)
    assert np.unique(none.predict(NEW)).size == 1


@pytest.mark.parametrize("svm", ["kernel", "linear"])
def test_small_gammas_are_linear_kernels(svm):
    """As gamma falls, an RBF kernel of unit trace becomes the linear one, and so do its predictions."""
    options = {"svm": svm, "cv": None, "C": 1.0, "path": KernelPath(p_end=1.5, step=0.1)}
    labels = X[:, 4] + X[:, 11] > 0.0
    curved = AlignmentPathClassifier(gamma=1e-10, **options).fit(X, labels)
    straight = AlignmentPathClassifier("linear", **options).fit(X, labels)
    np.testing.assert_allclose(curved.path_.alignments, straight.path_.alignments, atol=1e-8)
    np.testing.assert_allclose(curved.decision_function(NEW), straight.decision_function(NEW), atol=1e-3)


def test_pickle_clone_and_refit():
    clf = AlignmentPathClassifier(**QUICK).fit(X, y)
    again = pickle.loads(pickle.dumps(clf))
    assert np.array_equal(again.decision_function(NEW), clf.decision_function(NEW))
    assert np.array_equal(clone(clf).fit(X, y).decision_function(NEW), clf.decision_function(NEW))
    clf.set_params(cv=None).fit(X, y)
    assert not hasattr(clf, "cv_results_")
    assert not hasattr(clf, "best_score_")


def test_features_that_are_not_selected_may_be_missing():
    clf = AlignmentPathClassifier(**QUICK, max_features=5).fit(X, y)
    broken = NEW.copy()
    broken[:, np.setdiff1d(np.arange(25), clf.selection_.features)] = np.nan
    assert np.array_equal(clf.decision_function(broken), clf.decision_function(NEW))
    broken[3, clf.selection_.features[0]] = np.inf
    with pytest.raises(InvalidDataError, match="NaN or infinity"):
        clf.predict(broken)


def test_max_time_keeps_the_best_point_so_far(monkeypatch):
    over = threading.Event()

    def count(turn, total):
        if turn.taken == 4:
            over.set()

    def ended(self):
        self.late = self.late or over.is_set()
        return self.late

    monkeypatch.setattr(classifier.Clock, "ended", ended)
    with pytest.warns(ConvergenceWarning, match="stopped early: max_time reached"):
        clf = AlignmentPathClassifier(**QUICK, verbose=count, max_time=1e6).fit(X, y)
    judged = np.flatnonzero(~np.isnan(clf.path_.cv_score))
    assert judged.size == 4
    assert clf.best_index_ in judged
    assert clf.best_score_ == np.nanmax(clf.path_.cv_score)
    clf.predict(NEW)


def test_no_time_at_all():
    with pytest.warns(ConvergenceWarning, match="stopped early: max_time reached"):
        clf = AlignmentPathClassifier(max_time=1e-9).fit(X, y)
    assert len(clf.path_) >= 1
    clf.predict(NEW)


def test_interrupt_keeps_the_best_point_so_far():
    calls = []

    def interrupt(turn, total):
        calls.append(turn.taken)
        if len(calls) == 4:
            raise KeyboardInterrupt

    clf = AlignmentPathClassifier(**QUICK, verbose=interrupt)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, y)
    assert calls == [1, 2, 3, 4]
    assert clf.selection_.interrupted
    assert np.count_nonzero(~np.isnan(clf.path_.cv_score)) == 4
    clf.predict(NEW)


def test_interrupt_after_the_last_point_loses_nothing(monkeypatch):
    """Ctrl-C while the columns of the chosen path are taken: they are taken again."""
    calls, original = [], cross_validation.KernelData.training_set

    def training(self, *args):
        calls.append(args)
        if len(calls) == 4:  # after three folds
            raise KeyboardInterrupt
        return original(self, *args)

    monkeypatch.setattr(cross_validation.KernelData, "training_set", training)
    clf = AlignmentPathClassifier(**QUICK)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, y)
    assert len(calls) == 5
    assert clf.selection_.interrupted
    assert clf.best_score_ == np.nanmax(clf.path_.cv_score)
    monkeypatch.undo()
    whole = AlignmentPathClassifier(**QUICK).fit(X, y)
    assert np.array_equal(clf.decision_function(NEW), whole.decision_function(NEW))


def test_progress_in_words(capsys, monkeypatch):
    AlignmentPathClassifier(**QUICK, verbose=2).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 11
    assert "fold 1/3 prepared" in lines[0]
    assert "fold 3/3 prepared" in lines[2]
    assert "points  p " in lines[3]
    assert all("s left" in lines[k] for k in (0, 1, 3))
    assert not any("s left" in lines[k] for k in (2, -1))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    AlignmentPathClassifier(**QUICK, verbose=1).fit(X, y)
    assert capsys.readouterr().err.count("\r") == len(lines)


@pytest.mark.parametrize(("options", "message"), [
    ({"path": 0.5}, "path must be None or a KernelPath"), ({"path": "kl"}, "path must be None or a KernelPath"),
    ({"gamma": [1.0]}, "gamma has 1 values, but X has 25 features"), ({"C": 0}, "C must be a positive number"),
    ({"C": []}, "C is an empty list"), ({"store_training_columns": 1}, "store_training_columns must be True or False"),
    ({"max_features": 0}, "max_features must be an integer >= 1"), ({"svm": "rbf"}, "svm must be one of"),
    ({"kernel": "sigmoid"}, "kernel must be one of"), ({"cv": 1}, "cv must be an integer >= 2"),
    ({"max_time": -1}, "max_time must be a positive number"), ({"verbose": -1}, "verbose must be 0, 1, 2 or"),
    ({"class_weight": "some"}, "class_weight must be"),
])  # fmt: skip
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        AlignmentPathClassifier(**options).fit(X, y)


def test_too_few_features_asked_for():
    same = np.outer(np.where(y == "far", 1.0, -1.0), np.ones(30))
    folds = StratifiedKFold(3)
    with pytest.raises(ValueError, match="no point of the path has between 1 and 2 features"):
        AlignmentPathClassifier(path=KernelPath(step=0.1, lambda2=0.1), cv=folds, max_features=2).fit(same, y)


def test_threads_do_not_outlive_a_fit():
    before = threading.active_count()
    AlignmentPathClassifier(**QUICK, n_jobs=2).fit(X, y)
    time.sleep(0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AlignmentPathClassifier(**QUICK).fit(X, y)
    assert threading.active_count() <= before + 1
