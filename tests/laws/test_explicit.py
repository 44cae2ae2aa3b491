"""Laws of explicit columns: their products are the kernels, once these are centred."""

import numpy as np
import pytest

from tests.laws.storages import STORED, matrix
from tests.oracles import alignment as oracle
from thresher.data.scan.pieces import OutOfTime
from thresher.features.kernels.columns import LOOP_KINDS, ColumnKernel, sorted_columns_of
from thresher.features.kernels.explicit import AnchoredColumns, ExplicitColumns, additive_scores
from thresher.features.kernels.sources import SameKernel

rng = np.random.default_rng(5)
SPARSE = matrix(50, 9, seed=2)
DENSE = rng.standard_normal((50, 6))
DENSE[:, 1] = rng.integers(0, 2, 50)
DENSE[:, 2] += 30.0
LONG = rng.standard_normal((90, 3))


def fitted(name, gammas):
    """The same kernel of each column, with these gammas."""
    return SameKernel(ColumnKernel(name)).fitted(np.arange(gammas.size), gammas)


def summed(name, X, Z, gammas, shares):
    """The sum of the kernels, by formula."""
    columns = zip(X.T, Z.T, gammas, shares, strict=True)
    return sum(share * oracle.kernel_matrix(name, x, z, gamma) for x, z, gamma, share in columns)


@pytest.mark.parametrize("X", [SPARSE, DENSE, LONG], ids=["sparse", "dense", "long"])
@pytest.mark.parametrize("name", LOOP_KINDS)
def test_products_of_explicit_columns_are_the_kernels(name, X):
    p = X.shape[1]
    gammas, shares, w = rng.random(p) + 0.1, rng.random(p), rng.random(len(X))
    shares[1] = 0.0
    for storage in ("csc_int32", "csr_int64_float32", "dense_C_float64"):
        kept = X.astype(np.float32).astype(float) if "float32" in storage else X
        columns = ExplicitColumns(sorted_columns_of(STORED[storage](X)), fitted(name, gammas))
        expected = oracle.centred(summed(name, kept, kept, gammas, shares), w)
        np.testing.assert_allclose(oracle.centred(columns.for_svm(shares), w), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", LOOP_KINDS)
def test_scores_are_additive(name):
    for X in (SPARSE, DENSE):
        p, new = X.shape[1], X[::3] + (X[::3] != 0.0) * 0.1
        gammas, shares = rng.random(p) + 0.1, rng.random(p)
        dual = rng.standard_normal((50, 2))
        dual -= dual.mean(axis=0)
        found = additive_scores(sorted_columns_of(STORED["csr_int32"](new)), sorted_columns_of(STORED["csc_int32"](X)),
                                fitted(name, gammas), shares, dual)  # fmt: skip
        expected = summed(name, new, X, gammas, shares) @ dual
        zero = summed(name, np.zeros((1, p)), X, gammas, shares) @ dual
        np.testing.assert_allclose(found, expected - zero, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", LOOP_KINDS)
def test_scores_of_the_training_rows_are_products_with_the_kernel(name):
    """Of explicit columns and of unwritten ones: both are anchored at zero."""
    gammas, shares, dual = np.full(3, 0.6), rng.random(3), rng.standard_normal((90, 1))
    dual -= dual.mean()
    columns = sorted_columns_of(STORED["dense_C_float64"](LONG))
    scores = additive_scores(columns, columns, fitted(name, gammas), shares, dual)
    gram = ExplicitColumns(columns, fitted(name, gammas)).for_svm(shares)
    np.testing.assert_allclose(scores, gram @ dual, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", ["rbf", "laplace"])
@pytest.mark.parametrize("gamma", [1e-6, 1e-12])
def test_kernels_of_small_gamma_keep_their_digits(name, gamma):
    """The centred kernel is then tiny, and multiplied with a large share: errors are relative to it, not to 1."""
    binary = (rng.random(80) < 0.3).astype(float)
    X = np.stack([rng.standard_normal(80), binary, np.round(rng.standard_normal(80))], axis=1)
    away = X[:, None] - X[None]
    less_one = np.expm1(-gamma * (away**2 if name == "rbf" else np.abs(away))).sum(axis=2)
    columns, kernels = sorted_columns_of(STORED["csc_int32"](X)), fitted(name, np.full(3, gamma))
    expected = oracle.centred(less_one, np.ones(80)) / gamma
    found = oracle.centred(ExplicitColumns(columns, kernels).for_svm(np.full(3, 1.0 / gamma)), np.ones(80))
    np.testing.assert_allclose(found, expected, atol=1e-7)
    dual = rng.standard_normal((80, 1))
    dual -= dual.mean()
    scores = additive_scores(columns, columns, kernels, np.full(3, 1.0 / gamma), dual)
    products = less_one @ dual / gamma
    np.testing.assert_allclose(scores - scores.mean(), products - products.mean(), atol=1e-7)


def test_a_binary_column_is_one_column_and_a_continuous_one_a_few_dozen():
    X = np.stack([rng.integers(0, 2, 400), rng.standard_normal(400), np.zeros(400)], axis=1)
    kernels = fitted("rbf", np.full(3, 0.5))
    columns = ExplicitColumns(sorted_columns_of(STORED["dense_C_float64"](X)), kernels)
    counts = np.bincount(columns.owner, minlength=3)
    assert counts[0] == 1
    assert 10 < counts[1] < 30
    assert counts[2] == 0


@pytest.mark.parametrize("explicit", [ExplicitColumns, AnchoredColumns])
def test_explicit_columns_are_given_up_when_the_time_is_over(explicit):
    columns, looks = sorted_columns_of(STORED["csc_int32"](SPARSE)), []

    def ended():
        looks.append(len(looks))
        return len(looks) == 4

    with pytest.raises(OutOfTime):
        explicit(columns, fitted("rbf", np.ones(9)), ended)
    assert len(looks) == 4


def test_columns_can_be_taken():
    columns = sorted_columns_of(STORED["csc_int32"](SPARSE))
    ids = np.array([7, 0, 3])
    some = columns.take(ids)
    for place, j in enumerate(ids):
        for mine, theirs in zip(some.column(place), columns.column(j), strict=True):
            assert np.array_equal(mine, theirs)
