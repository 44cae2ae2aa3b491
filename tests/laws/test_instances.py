"""Laws of training instances as features: the median distance, and how much new bags take."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from thresher.features.instances import design as bags_module
from thresher.features.instances import fitted as module
from thresher.features.instances.bags import Bags
from thresher.features.instances.design import BagDistances, instances_of
from thresher.features.instances.fitted import BagRows, InstanceFeatures, Prototypes, median_distance

rng = np.random.default_rng(0)
X = rng.standard_normal((400, 8))
ONES = np.ones(400)
OWN = {"rows": np.arange(400), "bags": np.arange(400) // 20}


def bags_of(codes):
    return Bags(codes, codes.max() + 1)


def median(X, codes, factor=None, weights=ONES):
    return median_distance(X, instances_of(X, weights), bags_of(codes), weights, factor)


def by_brute_force(X, codes):
    """Of pairs in the same bag, or of all if each row is one."""
    alone = np.unique(codes).size == codes.size
    pairs = [(i, j) for i in range(len(X)) for j in range(i) if alone or codes[i] == codes[j]]
    return np.sqrt(np.median([((X[i].astype(float) - X[j].astype(float)) ** 2).sum() for i, j in pairs]))


@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_median_is_that_of_all_pairs(own, storage, dtype):
    given, factor = X.astype(dtype), np.linspace(0.5, 2.0, 8)
    expected = by_brute_force(given * factor, OWN[own])
    found = median(storage(given), OWN[own], factor)
    assert found == pytest.approx(expected, rel=1e-12)
    order = rng.permutation(400)
    assert median(storage(given[order]), OWN[own][order], factor) == found, "to the bit, in any order of the rows"


@pytest.mark.parametrize("own", OWN)
def test_differences_of_large_single_precision_do_not_overflow(own):
    """Values that float32 has, and differences that it has not."""
    large = (X * 8e37).astype(np.float32)
    assert np.isfinite(large).all()
    assert median(large, OWN[own]) == pytest.approx(by_brute_force(large, OWN[own]), rel=1e-12)


@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("bound", ["MEDIAN_PAIRS", "MEDIAN_WORK"])
def test_many_pairs_are_sampled(own, bound, monkeypatch):
    monkeypatch.setattr(module, bound, 1800 if bound == "MEDIAN_PAIRS" else 1800 * 8)
    measured, distances = [], module.squared_distances
    monkeypatch.setattr(
        module, "squared_distances", lambda rows, centres: measured.append(rows.shape[0]) or distances(rows, centres)
    )
    weighed, weighted = [], module._weighted_median
    monkeypatch.setattr(
        module, "_weighted_median", lambda values, sizes: weighed.append(values.size) or weighted(values, sizes)
    )
    found = [median(storage(X), OWN[own]) for storage in (np.asarray, sparse.csr_array)]
    assert found == pytest.approx([4.0, 4.0], rel=0.1)
    assert bound == "MEDIAN_WORK" or found[0] == pytest.approx(found[1])
    assert max(weighed) <= 1800 < 3800, "of 3800 pairs in bags, or 79800"
    assert (sum(measured) > 0) == (own == "rows"), "of dense rows without pairs in bags"


def test_a_wide_sparse_matrix_counts_by_its_entries(monkeypatch):
    """A hundred entries in 2^30 columns: pairs are compared many at a time."""
    rows, columns = np.repeat(np.arange(100), 3), rng.integers(0, 1 << 30, 300)
    wide = sparse.csr_array((rng.standard_normal(300), (rows, columns)), shape=(100, 1 << 30))
    steps, pairs = [], module._squares_of_pairs
    monkeypatch.setattr(
        module, "_squares_of_pairs", lambda X, some, factor, step: steps.append(step) or pairs(X, some, factor, step)
    )
    assert 1.0 < median(wide, np.arange(100) // 5, weights=np.ones(100)) < 4.0
    assert steps == [module.IN_CACHE // (3 * module.SPARSE_COST)]


def test_tiles_of_sparse_rows_are_as_wide_as_their_work_allows(monkeypatch):
    """Products of sparse entries take many times as long as those of BLAS."""
    monkeypatch.setattr(bags_module, "TILE_PRODUCTS", 1 << 24)
    widths = {}
    for density in (0.01, 0.2, 1.0):
        S = sparse.random_array((400, 100), density=density, format="csr", rng=np.random.default_rng(1))
        widths[density] = BagDistances(S, bags_of(OWN["bags"]), None, np.arange(400)).tile_width
    dense = BagDistances(S.toarray(), bags_of(OWN["bags"]), None, np.arange(400)).tile_width
    assert widths == {0.01: 80, 0.2: 64, 1.0: 16}
    assert dense == 256


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_many_prototypes_of_few_columns_take_little(storage):
    """Distances of all rows to all prototypes would take 320 MB, of which some parts are alive at a time."""
    new = np.round(rng.standard_normal((100_000, 2)), 3)
    prototypes = Prototypes(np.arange(400), storage(X[:, :2]), 1.0, None, 400, 400)
    space = InstanceFeatures(2, prototypes)
    rows = BagRows(storage(new), bags_of(np.arange(100_000) // 500))
    tracemalloc.start()
    try:
        found = space.nearest(rows, np.arange(400))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100e6
    expected = ((new[:500, None] - X[None, :400, :2]) ** 2).sum(axis=2)
    np.testing.assert_allclose(found.similarities[0], np.exp(-0.5 * expected.min(axis=0)), atol=1e-12)
