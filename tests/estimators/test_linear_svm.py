"""svm="linear": LinearSVC on explicit columns that are written out, without an n x n matrix."""

import pickle

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.svm import LinearSVC

from tests.oracles import alignment as oracle
from thresher import AlignmentPathClassifier, InvalidDataError, KernelPath, load, save

rng = np.random.default_rng(7)
X = np.round(rng.standard_normal((150, 12)), 1) * (rng.random((150, 12)) < 0.8)
y = np.where(X[:, 4] ** 2 + X[:, 9] ** 2 + 0.3 * rng.standard_normal(150) > 1.2, "far", "near")
NEW = np.round(rng.standard_normal((40, 12)), 2)
QUICK = {"svm": "linear", "path": KernelPath(step=0.1), "cv": 3}


def written_out(clf, name, w):
    """Columns whose products are the learnt kernel, of all rows of X and then NEW; zero where X is zero."""
    both, blocks = np.concatenate([X, NEW, np.zeros((1, 12))]), []
    everywhere = np.concatenate([w, np.zeros(len(NEW) + 1)])
    for j, eta in zip(clf.selection_.features, clf.selection_.weights, strict=True):
        K = oracle.kernel_matrix(name, both[:, j], both[:, j], oracle.gamma_of(name, X[:, j], w))
        trace = everywhere @ np.diag(oracle.centred(K, everywhere))
        K = K - K[-1] - K[:, [-1]] + K[-1, -1]
        values, vectors = linalg.eigh(K)
        kept = values > 1e-13 * values[-1]
        scale = eta / trace * w.sum() / clf.selection_.weights.sum()
        blocks.append(vectors[:, kept] * np.sqrt(values[kept] * scale))
    return np.concatenate(blocks, axis=1)


@pytest.mark.parametrize("name", ["rbf", "laplace", "polynomial", "linear"])
def test_predictions_are_those_of_a_LinearSVC_on_the_written_out_columns(name):
    """The columns differ by a rotation, which LinearSVC does not see."""
    w = rng.integers(0, 3, 150).astype(float)
    clf = AlignmentPathClassifier(name, **QUICK, C=[0.1, 1.0]).fit(X, y, sample_weight=w)
    columns, rows = written_out(clf, name, w), np.flatnonzero(w)
    peer = LinearSVC(C=clf.C_, dual=False, tol=1e-8, intercept_scaling=1e3).fit(
        columns[rows], y[rows], sample_weight=w[rows]
    )
    expected = peer.decision_function(columns[150:-1])
    for form in (np.asarray, sparse.csr_array):
        np.testing.assert_allclose(clf.decision_function(form(NEW)), expected, atol=2e-3 * np.abs(expected).max())
    assert np.array_equal(clf.predict(X), peer.predict(columns[:150]))


def test_svms_of_folds_are_those_of_fits():
    train, test = np.arange(100), np.arange(100, 150)
    clf = AlignmentPathClassifier(svm="linear", path=KernelPath(step=0.1), cv=[(train, test)], C=1.0).fit(X, y)
    alone = AlignmentPathClassifier(svm="linear", path=KernelPath(step=0.1), cv=None, C=1.0).fit(X[train], y[train])
    for number in (12, 6, 2):
        place = alone.path_.place(number)
        score = alone.at(number).score(X[test], y[test])
        assert abs(score - clf.cv_results_["split0_test_score"][place]) < 0.021  # one row at the margin


def test_the_model_keeps_anchors_not_rows(tmp_path):
    many = np.repeat(X, 20, axis=0) + 1e-3 * rng.standard_normal((3000, 12))
    path = KernelPath(p_end=1.2, step=0.2)
    clf = AlignmentPathClassifier(svm="linear", path=path, cv=None, store_training_columns=False, C=1.0)
    clf.fit(many, np.repeat(y, 20))
    assert not hasattr(clf, "training_")
    assert clf.selection_.features.size > 1
    assert clf.svm_.columns.n_rows <= 40 * clf.selection_.features.size
    assert clf.score(many, np.repeat(y, 20)) > 0.8
    save(clf, tmp_path / "linear.json")
    for other in (load(tmp_path / "linear.json"), pickle.loads(pickle.dumps(clf))):
        assert np.array_equal(other.decision_function(NEW), clf.decision_function(NEW))


def test_many_classes_units_and_other_points():
    labels = np.where(X[:, 4] ** 2 > 1.0, 2, np.where(X[:, 7] > 0.2, 1, 0))
    units = [("rbf", [4]), ("linear", [7, 8]), ("rbf", [4, 7]), ("polynomial", [9, 10, 11])]
    clf = AlignmentPathClassifier(units, **QUICK).fit(X, labels)
    assert clf.decision_function(NEW).shape == (40, 3)
    assert clf.score(X, labels) > 0.8
    kernel = AlignmentPathClassifier(units, path=KernelPath(step=0.1), cv=3).fit(X, labels)
    for number in (4, 3):
        same = clf.at(number).predict(NEW) == kernel.at(number).predict(NEW)
        assert same.mean() > 0.8  # squared hinge against hinge


def test_more_samples_than_a_kernel_matrix_has():
    many = np.random.default_rng(0).standard_normal((20_001, 3))
    labels = np.abs(many[:, 1]) > 0.7
    clf = AlignmentPathClassifier(svm="linear", path=KernelPath(step=0.25), cv=2, C=1.0).fit(many, labels)
    assert clf.selection_.features.tolist() == [1]
    assert clf.score(many, labels) > 0.97


def test_kernels_that_take_too_many_columns(monkeypatch):
    many = np.random.default_rng(0).standard_normal((600, 2))
    with pytest.raises(InvalidDataError, match="a laplace kernel takes more than 512 explicit columns"):
        AlignmentPathClassifier("laplace", svm="linear", cv=None, path=KernelPath(step=0.5)).fit(many, many[:, 0] > 0)
    monkeypatch.setattr("thresher.features.kernels.explicit.EXPLICIT_ENTRIES", 1000)
    for options in ({"svm": "linear", "cv": None}, {"svm": "kernel", "cv": None}, {"svm": "kernel", "cv": 2}):
        with pytest.raises(InvalidDataError, match=r"more than 1,000 entries.*set max_features to fewer"):
            AlignmentPathClassifier(path=KernelPath(step=0.5), **options).fit(many, many[:, 0] > 0)


def test_columns_that_say_nothing():
    clf = AlignmentPathClassifier(svm="linear", cv=None, path=KernelPath(step=0.5))
    with pytest.warns(UserWarning, match="no feature was selected"):
        clf.fit(np.ones((20, 3)), np.arange(20) % 5 > 0)
    assert clf.predict(np.zeros((2, 3))).tolist() == [True, True]
