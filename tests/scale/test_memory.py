"""Memory and width: nothing of size n x p is copied or made dense, nothing of size p where p is absurd."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from thresher import FGMClassifier
from thresher.datasets import make_wide


def peak_bytes(function):
    """Largest memory that Python and numpy held during ``function()``, beyond what they held before."""
    tracemalloc.start()
    try:
        result = function()
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("order", ["C", "F"])
def test_dense_fit_holds_a_small_share_of_X(order):
    data = make_wide(1000, 20_000, n_relevant=20, dtype=np.float32)
    X = np.array(data.X, order=order)
    peak, clf = peak_bytes(lambda: FGMClassifier(20).fit(X, data.y))
    assert clf.selection_.features.size == 20
    assert peak < 0.25 * X.nbytes + 10e6, f"{peak / X.nbytes:.2f} of X"


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array])
def test_sparse_fit_never_makes_dense(kind, monkeypatch):
    rng = np.random.default_rng(0)
    places = (rng.integers(0, 20_000, 200_000), rng.integers(0, 200_000, 200_000))
    S = kind(sparse.coo_array((rng.standard_normal(200_000), places), shape=(20_000, 200_000)))
    y = np.where(np.arange(20_000) % 3, 1, -1)

    def refuse(*_, **__):
        raise AssertionError("made dense")

    for name in ("toarray", "todense"):
        monkeypatch.setattr(kind, name, refuse)
    peak, clf = peak_bytes(lambda: FGMClassifier(30, max_iter=5, features_per_turn=10).fit(S, y))
    assert clf.selection_.features.size == 30
    assert peak < 60e6


@pytest.mark.slow
def test_ten_million_columns_of_density_one_in_a_million():
    rng = np.random.default_rng(0)
    n, p, nnz = 100_000, 10_000_000, 1_000_000
    S = sparse.csr_array((rng.standard_normal(nnz), (rng.integers(0, n, nnz), rng.integers(0, p, nnz))), shape=(n, p))
    peak, clf = peak_bytes(lambda: FGMClassifier(20, features_per_turn=10).fit(S, np.arange(n) % 2))
    assert clf.selection_.features.size == 20
    assert peak < 500e6


def test_five_billion_columns_give_the_answer_of_the_small_problem():
    rng = np.random.default_rng(0)
    small = sparse.random(200, 1000, density=0.05, random_state=1, format="csr")
    y = np.where(small[:, [3]].toarray()[:, 0] + 0.1 * rng.standard_normal(200) > 0, 1, -1)
    numbers = np.sort(rng.choice(5_000_000_000, 1000))
    wide = sparse.csr_array((small.data, numbers[small.indices], small.indptr), shape=(200, 5_000_000_000))
    for options in ({"scale": None}, {"scale": "max"}, {"scale": None, "always_include": True}):
        forced = options.pop("always_include", None)
        here, there = ([7], [int(numbers[7])]) if forced else (None, None)
        reference = FGMClassifier(10, always_include=here, **options).fit(small, y)
        clf = FGMClassifier(10, always_include=there, **options)
        peak, clf = peak_bytes(lambda clf=clf: clf.fit(wide, y))
        assert peak < 20e6
        assert np.array_equal(clf.selection_.features, numbers[reference.selection_.features])
        np.testing.assert_allclose(clf.selection_.weights, reference.selection_.weights, rtol=1e-9)
        np.testing.assert_allclose(clf.decision_function(wide), reference.decision_function(small), rtol=1e-9)
        assert clf.transform(wide).shape == (200, 10)
        assert clf.coef_.shape == (1, 5_000_000_000)


def test_a_forced_column_that_holds_nothing_is_reported():
    S = sparse.csr_array((np.ones(50), (np.arange(50), np.zeros(50, dtype=int))), shape=(50, 10**9))
    clf = FGMClassifier(2, always_include=[12345], scale=None, fit_intercept=False)
    with pytest.warns(UserWarning, match=r"columns \[12345\] of always_include have weight zero"):
        clf.fit(S, np.arange(50) % 3 > 0)
    assert clf.selection_.features.tolist() == [0, 12345]
    assert clf.selection_.weights[1] == 0.0
