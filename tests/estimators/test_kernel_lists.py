"""kernel=[(name, columns), ...]: each entry one unit, against kernels that are written out."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import laplacian_kernel, linear_kernel, polynomial_kernel, rbf_kernel
from sklearn.svm import SVC

from tests.oracles.alignment import centred
from thresher import AlignmentPathClassifier, InvalidDataError, KernelPath, alignments, load, save

rng = np.random.default_rng(3)
X = np.round(rng.standard_normal((90, 8)), 2) * (rng.random((90, 8)) < 0.7)
y = np.where(X[:, 1] * X[:, 2] > 0.0, "same", "other")  # no kernel of a single column sees it
NEW = np.round(rng.standard_normal((30, 8)), 2)
UNITS = [("rbf", [1, 2]), ("laplace", [2, 0, 5]), ("polynomial", [1, 4]), ("linear", [3, 6, 7]), ("rbf", 1),
         ("polynomial", [2]), ("linear", 4), ("laplace", (5,))]  # fmt: skip
WRITTEN = {
    "rbf": lambda A, B, g: rbf_kernel(A, B, gamma=g),
    "laplace": lambda A, B, g: laplacian_kernel(A, B, gamma=g),
    "polynomial": lambda A, B, g: polynomial_kernel(A, B, gamma=g, coef0=1.0, degree=3),
    "linear": lambda A, B, g: linear_kernel(A, B),
}


def gamma_of(name, A, w):
    """gamma="scale" of several columns together."""
    variance = np.average((A - np.average(A, axis=0, weights=w)) ** 2, axis=0, weights=w)
    return {"rbf": 0.5 / variance.sum(), "laplace": 1.0 / np.sqrt(variance).sum()}.get(name, 1.0 / variance.sum())


def written(unit, A, B, w, gamma=None):
    """The kernel of a unit between the rows of A, of weights w, and then those of B: centred, of unit trace."""
    name, columns = unit
    Z = np.concatenate([A, B])[:, np.atleast_1d(columns)]
    everywhere = np.concatenate([w, np.zeros(len(B))])
    gamma = gamma_of(name, Z[: len(A)], w) if gamma is None else gamma
    K = centred(WRITTEN[name](Z, Z, gamma), everywhere)
    return K / (everywhere @ np.diag(K))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_matrix, pd.DataFrame])
def test_alignments_are_those_of_written_out_kernels(form):
    w = rng.integers(0, 3, 90).astype(float)
    signs = np.where(y == "same", 1.0, -1.0) * w
    for gamma in ("scale", 0.7, 0.2 + np.arange(8.0)):
        each = [None] * 8 if isinstance(gamma, str) else np.broadcast_to(gamma, 8)
        found = alignments(form(X), y, UNITS, gamma=gamma, sample_weight=w)
        expected = [signs @ written(unit, X, X[:0], w, g) @ signs for unit, g in zip(UNITS, each, strict=True)]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert np.argmax(alignments(form(X), y, UNITS)) == 0


def test_units_of_single_columns_are_the_columns():
    for name in WRITTEN:
        np.testing.assert_array_equal(alignments(X, y, [(name, j) for j in range(8)]), alignments(X, y, name))


def test_tiny_gammas_lose_no_digits():
    """As gamma falls, the joint RBF kernel becomes the linear one."""
    found = alignments(X, y, [("rbf", [1, 2])], gamma=1e-12)
    np.testing.assert_allclose(found, alignments(X, y, [("linear", [1, 2])]), rtol=1e-6)


def test_kernels_that_are_computed_in_slices(monkeypatch):
    whole = alignments(X, y, UNITS)
    monkeypatch.setattr("thresher.features.kernels.sources.KERNEL_VALUES", 500)
    np.testing.assert_allclose(alignments(X, y, UNITS), whole, rtol=1e-12)


@pytest.mark.parametrize("number", [2, 4, 8])
def test_predictions_are_those_of_an_SVC_on_the_written_out_kernel(number, monkeypatch):
    monkeypatch.setattr("thresher.features.kernels.explicit.PREDICTION_VALUES", 300)
    clf = AlignmentPathClassifier(UNITS, path=KernelPath(step=0.02), cv=None).fit(X, y).at(number)
    assert clf.selection_.features.size <= number
    parts = [eta * written(UNITS[k], X, NEW, np.ones(90))
             for k, eta in zip(clf.selection_.features, clf.selection_.weights, strict=True)]  # fmt: skip
    K = sum(parts) * 90 / clf.selection_.weights.sum()
    svc = SVC(kernel="precomputed", C=10.0, tol=1e-9).fit(K[:90, :90], y)
    for form in (np.asarray, sparse.csr_array):
        np.testing.assert_allclose(clf.decision_function(form(NEW)), svc.decision_function(K[90:, :90]), atol=1e-5)


def test_columns_of_the_chosen_units():
    clf = AlignmentPathClassifier(UNITS, path=KernelPath(step=0.05), cv=3, max_features=3).fit(X, y)
    features = clf.selection_.features
    assert 0 in features  # the product of columns 1 and 2
    assert clf.path_.alignments.size == 8
    assert clf.path_.weights.shape == (21, 8)
    columns = np.unique(np.concatenate([np.atleast_1d(UNITS[k][1]) for k in features]))
    assert np.array_equal(clf.get_support(indices=True), columns)
    assert clf.get_support().shape == (8,)
    assert np.array_equal(clf.transform(NEW), NEW[:, columns])
    assert clf.score(X, y) > 0.9
    broken = NEW.copy()
    broken[:, np.setdiff1d(np.arange(8), columns)] = np.nan
    assert np.array_equal(clf.decision_function(broken), clf.decision_function(NEW))
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    named = AlignmentPathClassifier(UNITS, path=KernelPath(step=0.05), cv=3, max_features=3).fit(frame, y)
    assert list(named.get_feature_names_out()) == [frame.columns[j] for j in columns]
    assert named.fitted_features_.names([0, 6], frame.columns.__getitem__) == ["rbf(b, c)", "linear(e)"]


def test_copies_and_files(tmp_path):
    clf = AlignmentPathClassifier(UNITS, path=KernelPath(step=0.1), cv=3).fit(X, y)
    save(clf, tmp_path / "units.json")
    for other in (pickle.loads(pickle.dumps(clf)), clone(clf).fit(X, y), load(tmp_path / "units.json")):
        assert np.array_equal(other.decision_function(NEW), clf.decision_function(NEW))
        assert np.array_equal(other.at(4).decision_function(NEW), clf.at(4).decision_function(NEW))
        assert np.array_equal(other.get_support(), clf.get_support())


def test_columns_of_zeros_of_a_very_wide_matrix():
    wide = sparse.csr_array((X[X != 0], (np.nonzero(X)[0], 9000 * np.nonzero(X)[1])), shape=(90, 100_000))
    units = [(name, 9000 * np.atleast_1d(columns)) for name, columns in UNITS] + [("rbf", [4, 7]), ("linear", 5)]
    found = alignments(wide, y, units)
    np.testing.assert_allclose(found[:8], alignments(X, y, UNITS), rtol=1e-12)
    assert found[8:].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("kernel", "message"), [
    ([], "kernel is an empty list"),
    (["rbf"], r"kernel\[0\] must be a tuple of the name of a kernel and its columns.*got 'rbf'"),
    ([("rbf", 0), ("gauss", 1)], r"the name in kernel\[1\] must be one of 'rbf'"),
    ([("rbf", [])], r"the columns of kernel\[0\] must be an integer or a list of integers"),
    ([("rbf", [0.5])], r"the columns of kernel\[0\] must be an integer"),
    ([("rbf", ["a"])], r"the columns of kernel\[0\] must be an integer"),
    ([("rbf", [1, 1])], r"kernel\[0\] lists a column twice"),
    ([("rbf", [1, 8])], r"kernel\[0\] has the column 8, which does not exist: X has 8 features, numbered from 0"),
    ([("rbf", [-1])], r"kernel\[0\] has the column -1, which does not exist"),
])  # fmt: skip
def test_bad_lists_are_refused(kernel, message):
    with pytest.raises(ValueError, match=message):
        alignments(X, y, kernel)
    with pytest.raises(ValueError, match=message):
        AlignmentPathClassifier(kernel).fit(X, y)


def test_gammas_and_values_that_do_not_fit():
    with pytest.raises(ValueError, match="gamma has 3 values, but kernel lists 8 kernels"):
        alignments(X, y, UNITS, gamma=[1.0, 2.0, 3.0])
    with pytest.raises(InvalidDataError, match=r"kernel\[0\] is not finite: powers of its values overflow"):
        alignments(X * 1e40, y, [("polynomial", [0, 1])], gamma=1.0, degree=5)
