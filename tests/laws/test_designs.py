"""Laws of designs and reducers: chunks, threads and order of merging cannot change the answer."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.laws.storages import STORED, matrix
from thresher.data import workers as workers_module
from thresher.data.design import Slice
from thresher.data.door import as_design, checked_sparse
from thresher.data.memory import MemoryDesign
from thresher.data.reducers import Collect, TopK
from thresher.data.scales import scaled
from thresher.data.scores import Correlation
from thresher.data.workers import Workers

X = matrix(60, 150, seed=3)
rng = np.random.default_rng(2)


class CutDesign(MemoryDesign):
    """A design cut into chunks at chosen columns."""

    def __init__(self, block, cuts):
        super().__init__(block)
        self.cuts = cuts

    def pieces(self, vectors=1):
        for lo, hi in zip(self.cuts[:-1], self.cuts[1:], strict=True):
            yield Slice(lo, self.block, lo, hi)


@pytest.mark.parametrize("name", STORED)
def test_scan_is_bitwise_equal_for_any_threads_and_chunks(name, monkeypatch):
    monkeypatch.setattr(workers_module, "SMALL", 0)
    V = rng.standard_normal((60, 3))
    reference = MemoryDesign(STORED[name](X)).scan(Correlation(V), TopK(17))
    for count in (1, 2, 4, 8):
        for cuts in ([0, 150], [0, 1, 50, 149, 150], list(range(151))):
            with Workers(count) as workers:
                found = CutDesign(STORED[name](X, workers), cuts).scan(Correlation(V), TopK(17))
            for mine, theirs in zip(reference, found, strict=True):
                assert np.array_equal(mine[0], theirs[0])
                assert np.array_equal(mine[1], theirs[1])


def test_scan_agrees_across_storages():
    v = rng.standard_normal(60)
    results = {name: MemoryDesign(make(X)).scan(Correlation(v), TopK(20))[0] for name, make in STORED.items()}
    ids, squares = results["dense_C_float64"]
    true = (X.T @ v) ** 2
    np.testing.assert_array_equal(ids, np.lexsort((np.arange(150), -true))[:20])
    for name, (other_ids, other_squares) in results.items():
        np.testing.assert_array_equal(ids, other_ids, err_msg=name)
        np.testing.assert_allclose(squares, other_squares, rtol=1e-12)


def test_collect_gives_all_scores():
    V = rng.standard_normal((60, 2))
    found = MemoryDesign(STORED["csr_int32"](X)).scan(Correlation(V), Collect(150))
    np.testing.assert_allclose(found, X.T @ V, atol=1e-12)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(-4, 4), min_size=1, max_size=40),
    st.integers(0, 12),
    st.lists(st.integers(0, 39), max_size=6),
    st.randoms(use_true_random=False),
)
def test_top_k_equals_sorting_in_any_order_of_merging(scores, size, exclude, random):
    """Ties go to the lower id, zeros and excluded features stay out, merging is associative and commutative."""
    scores = np.array(scores, dtype=float)
    exclude = np.unique(np.array([j for j in exclude if j < scores.size], dtype=np.int64))
    candidates = [j for j in range(scores.size) if scores[j] != 0 and j not in exclude]
    expected = sorted(candidates, key=lambda j: (-(scores[j] ** 2), j))[:size]
    start = TopK(size, exclude)
    parts, at = [], 0
    while at < scores.size:
        width = random.randint(1, 7)
        parts.append(start.started(at, scores[None, at : at + width]))
        at += width
    random.shuffle(parts)
    while len(parts) > 1:
        a, b = parts.pop(), parts.pop(random.randrange(len(parts)))
        parts.append(a.merged(b))
    ((ids, squares),) = parts[0].result()
    assert ids.tolist() == expected
    assert squares.tolist() == [scores[j] ** 2 for j in expected]


def test_top_k_over_many_slices(monkeypatch):
    monkeypatch.setattr("thresher.data.reducers.SLICE", 16)
    scores = rng.integers(-5, 6, 1000).astype(float)
    ((ids, _),) = TopK(33).started(0, scores[None]).result()
    assert ids.tolist() == sorted(np.flatnonzero(scores), key=lambda j: (-(scores[j] ** 2), j))[:33]


def test_summed_top_k_adds_the_squares_of_all_vectors():
    scores = rng.standard_normal((3, 50))
    ((ids, squares),) = TopK(5, summed=True).started(0, scores).result()
    total = (scores**2).sum(axis=0)
    assert ids.tolist() == np.argsort(-total)[:5].tolist()
    np.testing.assert_allclose(squares, np.sort(total)[::-1][:5])


@pytest.mark.parametrize("scale", ["unit", "std", "max"])
@pytest.mark.parametrize("centre", [True, False])
@pytest.mark.parametrize("name", ["dense_C_float64", "csr_int32", "csc_int64_float32"])
def test_scaled_design_equals_scaling_the_matrix(scale, centre, name):
    weights = rng.integers(0, 3, 60).astype(float)
    total, mean = weights.sum(), weights @ X / weights.sum()
    spread = np.sqrt(weights @ (X - mean) ** 2 / total)
    length = {"unit": np.sqrt(weights @ X**2), "std": spread, "max": np.abs(X[weights > 0]).max(axis=0)}[scale]
    expected = (X - (mean if scale == "std" and centre else 0.0)) / np.where(length > 0, length, 1.0)
    base = MemoryDesign(STORED[name](X))
    design, used = scaled(base, *base.statistics(weights), total, scale, centre=centre)
    v, ids = rng.standard_normal(60), np.array([9, 2, 140])
    assert used == scale
    np.testing.assert_allclose(design.scan(Correlation(v), Collect(150))[:, 0], expected.T @ v, atol=1e-10)
    np.testing.assert_allclose(design.take(ids).toarray(), expected[:, ids], atol=1e-12)
    w = rng.standard_normal(3)
    in_X, offset = design.in_units_of_X(ids, w)
    np.testing.assert_allclose(X[:, ids] @ in_X + offset, expected[:, ids] @ w, atol=1e-12)
    np.testing.assert_allclose(design.in_units_here(ids, in_X), w)


def test_very_wide_sparse_design_numbers_only_columns_that_hold_something():
    S = sparse.csr_array((np.ones(3), np.array([7, 4_999_999_999, 7]), np.array([0, 2, 3])), shape=(2, 5_000_000_000))
    design = as_design(checked_sparse(S), keep=[123])
    assert design.shape == (2, 3)
    assert design.ids.tolist() == [7, 123, 4_999_999_999]
    assert design.numbers_in_X(design.numbers_here([123, 7])).tolist() == [123, 7]
    with pytest.raises(KeyError, match="column 8 holds no"):
        design.numbers_here([8])
