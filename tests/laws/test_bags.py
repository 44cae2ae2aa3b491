"""Laws of the design of bags: threads, pieces and what is kept cannot change a bit of it."""

import numpy as np
import pytest
from scipy import sparse

from tests.laws.designs import bag_design, bags_for
from tests.oracles import bags as oracle
from thresher.data import workers as workers_module
from thresher.data.scan.reducers import Collect
from thresher.data.scan.scores import Correlation
from thresher.data.workers import ONE_BLAS_THREAD, Workers
from thresher.features.instances import design as bags_module
from thresher.features.instances.design import BagDesign, BagDistances, Bags, distinct_rows, on_scale

rng = np.random.default_rng(5)
X = rng.standard_normal((150, 7))
V = rng.standard_normal((10, 3))
FACTOR = np.linspace(0.5, 2.0, 7)


def scores(design):
    return design.scan(Correlation(V), Collect(design.width))


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_similarities_are_those_of_plain_loops(storage, dtype):
    given = X.astype(dtype)
    expected = oracle.embedding(given * FACTOR, bags_for(X).codes, given * FACTOR, 2.0)
    design = bag_design(storage(given), factor=FACTOR, sigma=2.0)
    np.testing.assert_allclose(design.take(np.arange(150)).toarray(), expected, atol=1e-13)
    np.testing.assert_allclose(scores(design), expected.T @ V, atol=1e-11)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_no_bit_depends_on_threads_or_on_what_is_kept(storage, monkeypatch):
    monkeypatch.setattr(workers_module, "SMALL", 0)
    given, ids = storage(X), np.array([140, 3, 77, 4])
    reference = bag_design(given)
    first, second = scores(reference), scores(reference)
    assert reference.complete is not None
    columns = reference.take(ids).toarray()
    assert np.array_equal(first, second), "computed, then kept"
    with Workers(3) as workers, ONE_BLAS_THREAD:
        for design in (bag_design(given, workers), bag_design(given, workers, keep=True)):
            assert np.array_equal(design.take(ids).toarray(), columns), "some of them are kept now"
            assert np.array_equal(scores(design), first)
            assert np.array_equal(scores(design), first)
    monkeypatch.setattr(bags_module, "CACHE", 0)
    for keep in (False, True):
        free = bag_design(given, keep=keep)
        assert np.array_equal(scores(free), first)
        assert np.array_equal(free.take(ids).toarray(), columns)
        assert free.complete is None
        assert free.distances.kept_bytes == 0


def test_a_tile_is_computed_the_same_wherever_rows_are_cut(monkeypatch):
    """Bags may go on from one part of the rows to the next."""
    reference = scores(bag_design(X))
    monkeypatch.setattr(bags_module, "TILE_ROWS", 4)
    np.testing.assert_allclose(scores(bag_design(X)), reference, rtol=1e-13)


def test_what_is_kept_is_within_the_cache(monkeypatch):
    size = 8 * 10 * 150
    for limit, distances, similarities in (
        (2 * size, True, True),
        (2 * size - 1, False, True),
        (size - 1, False, False),
    ):
        monkeypatch.setattr(bags_module, "CACHE", limit)
        design = bag_design(X, keep=True)
        scores(design)
        assert (design.distances.kept_bytes > 0, design.complete is not None) == (distances, similarities)


def test_distances_are_computed_once_for_several_widths(monkeypatch):
    computed = []
    tile = BagDistances._tile
    monkeypatch.setattr(BagDistances, "_tile", lambda self, places: computed.append(places.size) or tile(self, places))
    distances = bag_design(X, keep=True).distances
    for sigma in (1.0, 2.0, 4.0):
        design = BagDesign(distances, sigma)
        scores(design)
        expected = oracle.embedding(X, bags_for(X).codes, X[:3], sigma)
        np.testing.assert_allclose(design.take(np.arange(3)).toarray(), expected, atol=1e-13)
    assert sum(computed) == 150


def test_costs_tell_what_is_read():
    design = bag_design(X)
    assert design.scan_cost().bytes == X.nbytes
    assert design.take_cost(np.arange(15)) == (0.1, X.nbytes)
    assert design.entry_cost > 1
    scores(design)
    assert design.scan_cost().bytes == 8 * 10 * 150
    assert design.take_cost(np.arange(15)) == (0.1, 8 * 10 * 15)
    assert design.entry_cost == 1


def test_tiles_are_narrow_where_rows_are_many(monkeypatch):
    widths = []
    for products in (1 << 40, 150 * 7 * 64, 1):
        monkeypatch.setattr(bags_module, "TILE_PRODUCTS", products)
        widths.append(BagDistances(X, bags_for(X), None, np.arange(150)).tile_width)
    assert widths == [256, 64, 16]


def test_far_from_the_origin_nothing_cancels():
    """Rows are centred; the distance of a row to itself is zero up to rounding."""
    far = X + 1e6
    expected = oracle.embedding(far, bags_for(X).codes, far, 2.0)
    np.testing.assert_allclose(bag_design(far, sigma=2.0).take(np.arange(150)).toarray(), expected, atol=1e-9)


def test_bags_come_in_parts():
    bags = Bags(np.array([2, 0, 2, 1, 2]), 3)
    assert bags.order.tolist() == [1, 3, 0, 2, 4]
    assert bags.starts.tolist() == [0, 1, 2]
    parts = [(rows.start, rows.stop, own.start, own.stop, begins.tolist()) for rows, own, begins in bags.parts(3)]
    assert parts == [(0, 3, 0, 3, [0, 1, 2]), (3, 5, 2, 3, [0])]


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_equal_rows_are_the_first_of_them(storage, monkeypatch):
    rows = np.array([[0.0, 1.0], [2.0, 0.0], [-0.0, 1.0], [2.0, 0.0], [1.0, 0.0]])
    assert distinct_rows(storage(rows)).tolist() == [0, 1, 0, 1, 4]
    monkeypatch.setattr(bags_module, "hash", lambda content: 0, raising=False)  # all collide
    assert distinct_rows(storage(rows)).tolist() == [0, 1, 0, 1, 4]


def test_zeros_that_are_stored_are_zeros():
    S = sparse.csr_array((np.array([0.0, 1.0, 1.0]), np.array([0, 1, 1]), np.array([0, 2, 3])), shape=(2, 2))
    assert distinct_rows(S).tolist() == [0, 0]


def test_a_scaled_copy_leaves_X_alone():
    given = X.copy()
    assert not np.shares_memory(on_scale(given, None), given)
    np.testing.assert_array_equal(on_scale(given, FACTOR), X * FACTOR)
    np.testing.assert_array_equal(on_scale(sparse.csr_array(given), FACTOR).toarray(), X * FACTOR)
    np.testing.assert_array_equal(given, X)
