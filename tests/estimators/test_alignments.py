"""thresher.alignments: X as users give it, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tests.oracles import alignment as oracle
from thresher import InvalidDataError, alignments

rng = np.random.default_rng(0)
X = np.round(rng.standard_normal((50, 6)), 1) * (rng.random((50, 6)) < 0.5)
y = np.where(X[:, 2] ** 2 > 0.3, "yes", "no")


def naive(y, gamma=None, w=None):
    w = np.ones(50) if w is None else w
    return np.array([oracle.alignment("rbf", x, y, w, gamma) for x in X.T])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_array, sparse.coo_array, pd.DataFrame])
def test_alignments_of_any_X(form):
    np.testing.assert_allclose(alignments(form(X), y), naive(np.where(y == "yes", 1.0, -1.0)), rtol=1e-9)


def test_weights_and_gammas():
    w, gammas = rng.integers(0, 3, 50).astype(float), 0.5 + np.arange(6.0)
    signs = np.where(y == "yes", 1.0, -1.0)
    np.testing.assert_allclose(alignments(X, y, sample_weight=w), naive(signs, w=w), rtol=1e-9)
    np.testing.assert_allclose(alignments(X, y, gamma=2.0), naive(signs, 2.0), rtol=1e-9)
    one_by_one = [oracle.alignment("rbf", x, signs, np.ones(50), g) for x, g in zip(X.T, gammas, strict=True)]
    np.testing.assert_allclose(alignments(X, y, gamma=gammas), one_by_one, rtol=1e-9)


def test_many_classes_are_the_mean_over_the_classes():
    labels = rng.integers(0, 3, 50)
    each = [naive(np.where(labels == c, 1.0, -1.0)) for c in range(3)]
    np.testing.assert_allclose(alignments(X, labels), np.mean(each, axis=0), rtol=1e-9)


def test_columns_of_zeros_of_a_very_wide_matrix():
    wide = sparse.csr_array((X[X != 0], (np.nonzero(X)[0], 10_000 * np.nonzero(X)[1])), shape=(50, 60_000))
    found = alignments(wide, y, gamma="scale")
    assert found.shape == (60_000,)
    np.testing.assert_allclose(found[::10_000], alignments(X, y), rtol=1e-12)
    assert np.count_nonzero(found) <= 6


@pytest.mark.parametrize(("options", "message"), [
    ({"kernel": "gauss"}, "kernel must be one of 'rbf'"),
    ({"gamma": "auto"}, "gamma must be one of 'scale'"),
    ({"gamma": -1.0}, "gamma must be a positive number"),
    ({"gamma": [1.0, 2.0]}, "gamma has 2 values, but X has 6 features"),
    ({"degree": 0}, "degree must be an integer >= 1"),
    ({"coef0": -1.0}, "coef0 must be a non-negative number"),
    ({"sample_weight": [1.0]}, "sample_weight has shape"),
])  # fmt: skip
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        alignments(X, y, **options)


def test_bad_data_is_refused():
    with pytest.raises(ValueError, match="only one class"):
        alignments(X, np.ones(50))
    broken = X.copy()
    broken[3, 4] = np.nan
    with pytest.raises(InvalidDataError, match="first in column 4"):
        alignments(broken, y)
