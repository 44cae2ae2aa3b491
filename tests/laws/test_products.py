"""Laws of products of columns: numbers without a width, and the best of all pairs without looking at every one."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from tests.laws.storages import STORED, matrix
from tests.oracles import products as oracle
from thresher import InvalidDataError, Polynomial
from thresher.data import workers as workers_module
from thresher.data.blocks.scaled import Scaling
from thresher.data.designs.memory import MemoryDesign
from thresher.data.designs.scaled import ScaledDesign
from thresher.data.input.validation import as_design
from thresher.data.scan.reducers import Collect, Split, TopK
from thresher.data.scan.scores import Correlation
from thresher.data.workers import SERIAL, Workers
from thresher.errors import UnsupportedDesignError
from thresher.features.base import measured_spread
from thresher.features.fitted_columns import ColumnFeatures
from thresher.features.known import as_feature_map
from thresher.features.polynomial import tiles as pair_tiles
from thresher.features.polynomial import walks as pair_walks
from thresher.features.polynomial.products import ProductDesign
from thresher.features.polynomial.terms import MOST_INPUTS, n_numbers, numbers_of, pairs_of, terms_of
from thresher.features.samples import Base, Restrictions, Samples
from thresher.loops import moments
from thresher.results import Trace

CHUNKS, PROBLEMS = 20, 50  # 1000 in all
PLAIN = Polynomial(coef0=0.0, interaction_only=True)  # products alone: all have the same factor
STORAGES = {
    "dense_C": lambda A: np.ascontiguousarray(A),
    "dense_F": lambda A: np.asfortranarray(A),
    "dense_float32": lambda A: np.ascontiguousarray(A, dtype=np.float32),
    "dense_F_float32": lambda A: np.asfortranarray(A, dtype=np.float32),
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "csr_float32": lambda A: sparse.csr_array(A.astype(np.float32)),
    "csc_float32": lambda A: sparse.csc_array(A.astype(np.float32)),
}


def made(X, polynomial=None, scaling=None, workers=SERIAL, weights=None, exclude=()):
    """The ProductDesign of a matrix in any storage."""
    base = as_design(X, workers)
    base = base if scaling is None else ScaledDesign(base, scaling)
    weights = np.ones(X.shape[0]) if weights is None else weights
    return ProductDesign(base, terms_of(base, polynomial or Polynomial(), weights, exclude))


def flat(result):
    """The (ids, squares) of a reducer, however they are nested."""
    return [result] if isinstance(result, tuple) else [pair for part in result for pair in flat(part)]


def assert_same(found, expected):
    for (ids, squares), (other_ids, other_squares) in zip(flat(found), flat(expected), strict=True):
        np.testing.assert_array_equal(ids, other_ids)
        np.testing.assert_array_equal(squares, other_squares)


# numbers


@pytest.mark.parametrize("p", [1, 2, 7, 40])
def test_numbers_and_pairs_are_one_to_one(p):
    pairs = np.array(oracle.numbered(p))
    numbers = np.arange(n_numbers(p))
    np.testing.assert_array_equal(pairs_of(numbers), pairs)
    np.testing.assert_array_equal(numbers_of(*pairs.T), numbers)
    np.testing.assert_array_equal(numbers_of(*pairs.T[::-1]), numbers)


@pytest.mark.parametrize("most", [10**3, 10**6, 10**8, MOST_INPUTS])
def test_numbers_do_not_depend_on_the_width(most):
    rng = np.random.default_rng(0)
    i, j = np.sort(rng.integers(0, most, (2, 20_000)), axis=0)
    i[:3], j[:3] = [0, most - 1, 0], [most - 1, most - 1, 0]
    j[3:2000] = most - 1 - rng.integers(0, 3, 1997)
    numbers = numbers_of(i, j)
    assert numbers.min() > 0
    each = zip(i.tolist(), j.tolist(), numbers.tolist(), strict=True)  # integers without an end
    assert all(number == (b + 1) * (b + 2) // 2 + a + 1 for a, b, number in each)
    np.testing.assert_array_equal(pairs_of(numbers), np.stack([i, j], axis=1))
    alone = numbers_of(j, np.full_like(j, -1))
    np.testing.assert_array_equal(pairs_of(alone), np.stack([j, np.full_like(j, -1)], axis=1))
    assert int(numbers_of(*np.array([[most - 1], [most - 1]]))[0]) == n_numbers(most) - 1


def test_more_columns_than_64_bits_can_number_are_refused():
    assert n_numbers(MOST_INPUTS) < 2**63
    with pytest.raises(ValueError, match="4,294,967,001 columns, whose products cannot be numbered by 64-bit integers"):
        n_numbers(MOST_INPUTS + 1)


# scans


def random_matrix(rng):
    n, p = int(rng.integers(3, 30)), int(rng.integers(1, 25))
    X = rng.integers(-2, 3, (n, p)).astype(float) if rng.random() < 0.5 else rng.standard_normal((n, p)).round(1)
    X = np.abs(X) if rng.random() < 0.5 else X
    X *= rng.random((n, p)) < rng.choice([rng.random(), 1.0])
    return X.astype(np.float32).astype(float)


def random_vectors(rng, n):
    k = int(rng.integers(1, 5))
    V = rng.integers(-2, 3, (n, k)).astype(float) if rng.random() < 0.5 else rng.standard_normal((n, k))
    return V * (rng.random((n, 1)) < rng.choice([0.3, 0.7, 1.0]))


def random_scaling(rng, p, storage):
    if rng.random() < 0.4:
        return None
    shift = rng.standard_normal(p) if storage.startswith("dense") and rng.random() < 0.7 else None
    return Scaling((rng.random(p) + 0.1) * rng.choice([1.0, -1.0], p, p=[0.95, 0.05]), shift)


def random_ways(rng, monkeypatch):
    """Constants so small that few columns make many stages, grids, pieces, tiles and rounds."""
    small = {
        pair_walks: {"FIRST": [2, 5, 512], "ROOM": [1, 1 << 16], "WALK_WORK": [1, 40, 1 << 24],
                     "GRID": [1, 8, 1 << 17], "ROW_COST": [0.04, 0.5, 9.0]},
        pair_tiles: {"WIDEST": [2, 5, 512], "SURELY": [1, 2048], "TILE_CHUNK": [2, 2048], "MOST_ROUNDED": [0, 1 << 30],
                     "TILES_WORK": [1, 1 << 33], "LARGEST": [40, 1 << 23]},
    }  # fmt: skip
    for module, constants in small.items():
        for name, values in constants.items():
            monkeypatch.setattr(module, name, values[rng.integers(len(values))])


def random_reducers(rng, width, k):
    """(reducer, what it keeps of all scores (features, k) by sorting)."""
    size, exclude = int(rng.integers(0, 12)), np.sort(rng.choice(width, min(3, width), replace=False))
    yield TopK(size, exclude), lambda scores: oracle.best(scores, size, exclude)
    yield TopK(size + 1, exclude, summed=True), lambda scores: oracle.best(scores, size + 1, exclude, summed=True)
    first = int(rng.integers(0, k + 1))
    if 0 < first < k:
        yield (
            Split([TopK(3, summed=True), TopK(2, exclude)], [first, k - first]),
            lambda scores: oracle.best(scores[:, :first], 3, summed=True) + oracle.best(scores[:, first:], 2, exclude),
        )


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_the_pruned_scan_keeps_what_the_exhaustive_one_does(chunk, monkeypatch):
    """Ids and scores, to the bit; all scores are those of the written-out matrix."""
    monkeypatch.setattr(workers_module, "SMALL", 0)
    with Workers(2) as two, Workers(3) as three:
        for seed in range(PROBLEMS * chunk, PROBLEMS * (chunk + 1)):
            rng = np.random.default_rng(seed)
            X, storage = random_matrix(rng), rng.choice(list(STORAGES))
            n, p = X.shape
            V, scaling = random_vectors(rng, n), random_scaling(rng, p, storage)
            polynomial = Polynomial(
                float(rng.choice([1.0, 0.5])), float(rng.choice([0.0, 1.0, 3.0])), bool(rng.random() < 0.3)
            )
            weights = (rng.random(n) < rng.choice([0.6, 1.0])).astype(float)
            weights[0] = 1.0
            exclude = rng.choice(p, 1).tolist() if p > 2 and rng.random() < 0.3 else []
            random_ways(rng, monkeypatch)
            workers = (SERIAL, two, three)[rng.integers(3)]
            design = made(STORAGES[storage](X), polynomial, scaling, workers, weights, exclude)
            Z = X if scaling is None else (X - (0.0 if scaling.shift is None else scaling.shift)) * scaling.factor
            M = oracle.written_out(polynomial, Z, X[weights > 0.0], exclude)
            told = f"problem {seed}, {storage}"
            assert design.terms.count == oracle.existing(polynomial, X[weights > 0.0], exclude).sum(), told
            np.testing.assert_allclose(design.take(np.arange(design.width)).toarray(), M, atol=1e-12, err_msg=told)
            scores = design.scan(Correlation(V), Collect(design.width))
            np.testing.assert_allclose(scores, M.T @ V, atol=1e-10, err_msg=told)
            for reducer, keep in random_reducers(rng, design.width, V.shape[1]):
                assert_same(design.scan(Correlation(V), reducer), keep(scores))


@pytest.mark.parametrize("storage", STORAGES)
def test_ties_go_to_lower_numbers(storage, monkeypatch):
    """Integers, of which every sum is exact: the order is that of the written-out matrix."""
    monkeypatch.setattr(pair_walks, "FIRST", 4)
    monkeypatch.setattr(pair_tiles, "WIDEST", 4)
    rng = np.random.default_rng(1)
    X, v = rng.integers(-1, 2, (12, 20)).astype(float), rng.integers(-1, 2, 12).astype(float)
    design, sums = made(STORAGES[storage](X), PLAIN), np.zeros(n_numbers(20))
    for number, (i, j) in enumerate(oracle.numbered(20)):
        sums[number] = v @ (X[:, i] * X[:, j]) if -1 < i < j else 0.0
    ((expected, squares),) = oracle.best(sums[:, None], 25)
    assert np.unique(squares).size < 10, "there are ties"
    for size in (1, 2, 7, 25):
        ((ids, found),) = design.scan(Correlation(v), TopK(size))
        np.testing.assert_array_equal(ids, expected[:size])
        np.testing.assert_allclose(found, 2.0 * squares[:size])


@pytest.mark.parametrize("seed", range(5))
def test_single_precision_does_not_decide(seed):
    """Two products that are equal in float32, of which the one with the higher number scores more."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((300, 30))
    v = np.sign(X[:, 3] * X[:, 11])
    X[:, 25] = X[:, 11]
    row = np.argsort(np.abs(X[:, 11]))[150]
    X[row, 25] *= 1.0 + 1e-9
    single = X.astype(np.float32)
    np.testing.assert_array_equal(single[:, 25], single[:, 11])
    ((ids, _),) = made(X, PLAIN).scan(Correlation(v), TopK(2))
    assert pairs_of(ids).tolist() == [[3, 25], [3, 11]]


def test_sums_that_nearly_cancel_are_told_apart():
    """The terms are 10^7 times as large as their sums, which float32 cannot see."""
    rng = np.random.default_rng(0)
    half = 1e4 * rng.standard_normal((200, 6))
    X = np.concatenate([half, half])
    X[:200] += 1e-4 * rng.standard_normal((200, 6))
    v = np.repeat([1.0, -1.0], 200)
    design = made(X, PLAIN)
    scores = oracle.written_out(PLAIN, X).T @ v
    ((ids, squares),) = design.scan(Correlation(v), TopK(15))
    ((expected, brute),) = oracle.best(scores[:, None], 15)
    np.testing.assert_array_equal(ids, expected)
    np.testing.assert_allclose(squares, brute, rtol=1e-4)


@pytest.mark.parametrize("storage", ["dense_C", "dense_F_float32", "csr", "csc_float32"])
def test_neither_order_nor_pieces_nor_threads_change_a_bit(storage, monkeypatch):
    """Columns in another order have the same scores under other numbers."""
    monkeypatch.setattr(workers_module, "SMALL", 0)
    rng = np.random.default_rng(3)
    X, V, order = matrix(150, 40, seed=3), rng.standard_normal((150, 3)), rng.permutation(40)
    new = np.argsort(order)
    reference = made(STORAGES[storage](X)).scan(Correlation(V), Collect(n_numbers(40)))
    pairs = pairs_of(np.arange(1, n_numbers(40)))
    moved = numbers_of(*np.where(pairs < 0, -1, new[pairs]).T)
    for constants in ({}, {"FIRST": 3, "GRID": 5, "WALK_WORK": 100, "ROOM": 1}, {"FIRST": 7, "ROW_COST": 9.0}):
        for name, value in constants.items():
            monkeypatch.setattr(pair_walks, name, value)
        monkeypatch.setattr(pair_tiles, "WIDEST", 6 if constants else 512)
        for count in (1, 2, 3):
            with Workers(count) as workers:
                scores = made(STORAGES[storage](X), workers=workers).scan(Correlation(V), Collect(n_numbers(40)))
                np.testing.assert_array_equal(scores, reference)
                other = made(STORAGES[storage](X[:, order]), workers=workers)
                scores = other.scan(Correlation(V), Collect(n_numbers(40)))
                np.testing.assert_array_equal(scores[moved], reference[1:])


def test_sparse_storages_agree_to_the_bit_and_rows_may_come_in_any_order():
    X, v = matrix(90, 25, seed=4), np.random.default_rng(0).integers(-3, 4, 90).astype(float)
    found = [made(STORAGES[name](X)).scan(Correlation(v), TopK(30)) for name in ("csr", "csc", "csc_float32")]
    assert_same(found[1], found[0])
    assert_same(found[2], found[0])
    order = np.random.default_rng(1).permutation(90)
    for name in STORAGES:  # sixty-fourths: every sum is exact
        assert_same(made(STORAGES[name](X[order])).scan(Correlation(v[order]), TopK(30)), found[0])


# pruning


def skewed(n=1500, p=1200, seed=0):
    """Sparse columns of frequencies from 2 to n / 3, evenly spread in their logarithms, in any order."""
    rng = np.random.default_rng(seed)
    counts = rng.permutation(np.geomspace(n / 3, 2, p).astype(int))
    rows = np.concatenate([rng.choice(n, count, replace=False) for count in counts])
    columns = np.repeat(np.arange(p), counts)
    values = 1.0 + rng.integers(0, 3, rows.size)
    return sparse.csc_array((values, (rows, columns)), shape=(n, p))


def best_pairs(X, v, size):
    """Numbers of the pairs of columns with the largest |sum v z z'|, by the whole Gram matrix."""
    G = (X.T @ sparse.diags_array(v) @ X).toarray()
    i, j = np.triu_indices(X.shape[1], 1)
    numbers, squares = numbers_of(i, j), G[i, j] ** 2
    return numbers[np.lexsort((numbers, -squares))[:size]]


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_few_columns_are_visited(form, monkeypatch):
    """Noise with integers: the bound leaves most columns out, by grids and by columns, and the answer is exact."""
    monkeypatch.setattr(pair_walks, "FIRST", 64)
    monkeypatch.setattr(pair_walks, "GRID", 1 << 10)
    ways = {"grid": 0, "found": 0}

    def counted(name):
        original = getattr(pair_walks.Walk, name)

        def call(self, *args):
            ways[name] += 1
            return original(self, *args)

        monkeypatch.setattr(pair_walks.Walk, name, call)

    counted("grid")
    counted("found")
    X, rng = skewed(), np.random.default_rng(1)
    v = rng.integers(-2, 3, 1500) * (rng.random(1500) < 0.5) * 1.0
    design = made(X.asformat(form), PLAIN)
    ((ids, _),) = design.scan(Correlation(v), TopK(50))
    np.testing.assert_array_equal(ids, best_pairs(X, v, 50))
    assert 64 < design.visited_share * design.base.width < 600
    assert min(ways.values()) > 0, ways
    planted = np.where(X[:, [3]].toarray()[:, 0] * X[:, [5]].toarray()[:, 0] > 0, 8.0, v)
    design.scan(Correlation(planted), TopK(1))
    fewer = design.visited_share
    design.scan(Correlation(v), Collect(design.width))
    assert fewer < design.visited_share == np.count_nonzero(abs(X).T @ (v != 0.0)) / design.base.width


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_a_matrix_too_large_to_be_kept_in_two_orders_gives_the_same(form, monkeypatch):
    X, v = matrix(90, 30, seed=8), np.random.default_rng(0).standard_normal(90)
    expected = made(STORAGES[form](X)).scan(Correlation(v), TopK(20))
    monkeypatch.setattr("thresher.data.designs.memory.REORDER_LIMIT", 0)
    assert_same(made(STORAGES[form](X)).scan(Correlation(v), TopK(20)), expected)


@pytest.mark.parametrize("storage", ["dense_C", "dense_F_float32", "csr"])
def test_more_columns_than_a_tile_or_a_first_stage_has(storage):
    """With the constants as they are; three vectors of unequal size, each with a list of its own."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 1100)).astype(np.float32).astype(float)
    X[np.arange(40)[:, None] % 3 != np.arange(1100) % 3] = 0.0
    V = rng.standard_normal((40, 3)) * [100.0, 1.0, 0.01] * (np.arange(40)[:, None] % 3 == np.arange(3))
    i, j = np.triu_indices(1100, 1)
    found = made(STORAGES[storage](X), PLAIN).scan(Correlation(V), TopK(3000))
    for v, (ids, squares) in zip(V.T, found, strict=True):
        expected = 2.0 * (X.T @ (v[:, None] * X))[i, j] ** 2
        order = np.argsort(-expected)[:3000]
        np.testing.assert_array_equal(ids, numbers_of(i, j)[order])
        np.testing.assert_allclose(squares, expected[order], rtol=1e-9)


def test_tiles_that_cannot_matter_are_left_out(monkeypatch):
    """A few large columns among small ones: most tiles are never multiplied."""
    monkeypatch.setattr(pair_tiles, "WIDEST", 16)
    rng, tiles, original = np.random.default_rng(0), [], pair_tiles.Gram.rough
    X = rng.standard_normal((100, 320)) * rng.permutation(np.geomspace(1.0, 1e-3, 320))
    monkeypatch.setattr(pair_tiles.Gram, "rough", lambda self, a, b: tiles.append((a, b)) or original(self, a, b))
    design, v = made(X, PLAIN), rng.standard_normal(100)
    ((ids, _),) = design.scan(Correlation(v), TopK(20))
    pruned = len(tiles)
    ((expected, _),) = oracle.best(design.scan(Correlation(v), Collect(design.width)), 20)
    np.testing.assert_array_equal(ids, expected)
    assert 0 < pruned < 40
    assert len(tiles) - pruned == 20 * 21 // 2


def test_the_best_column_of_one_vector_may_be_far_down_in_the_order_of_all(monkeypatch):
    """Columns that matter for the second vector alone are small beside those of the first."""
    monkeypatch.setattr(pair_tiles, "WIDEST", 2)
    monkeypatch.setattr(pair_walks, "FIRST", 2)
    X = np.zeros((40, 8))
    X[:20, :4] = 100.0 * np.random.default_rng(0).standard_normal((20, 4))
    X[20:, 4:] = np.random.default_rng(1).choice([-1.0, 1.0], (20, 4)) * [1.25, 1.25, 1.0, 1.0]
    X[20:, 7] = X[20:, 6]
    V = np.zeros((40, 2))
    V[:20, 0], V[20:, 1] = 1.0, 1.0
    X = X.astype(np.float32).astype(float)
    scores = oracle.written_out(PLAIN, X).T @ V
    for storage, size in itertools.product(STORAGES, (1, 2, 6)):
        found = made(STORAGES[storage](X), PLAIN).scan(Correlation(V), TopK(size))
        for (ids, _), (expected, _) in zip(found, oracle.best(scores, size), strict=True):
            np.testing.assert_array_equal(ids, expected)


def test_rows_that_are_zero_in_all_vectors_are_not_read(monkeypatch):
    X, v = matrix(80, 20, seed=7), np.zeros(80)
    v[:5] = [1.0, -2.0, 3.0, 0.5, 1.0]
    lengths, original = [], pair_walks.Walks._by_rows
    monkeypatch.setattr(
        pair_walks.Walks, "_by_rows",
        lambda self, columns, rows: lengths.append(rows.size) or original(self, columns, rows),
    )  # fmt: skip
    found = made(sparse.csr_array(X)).scan(Correlation(v), TopK(10))
    assert set(lengths) == {5}
    assert_same(found, made(sparse.csr_array(X[:5])).scan(Correlation(v[:5]), TopK(10)))


# columns that are taken, and terms


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("polynomial", [Polynomial(), Polynomial(2.0, 0.5), Polynomial(0.3, 0.0), PLAIN], ids=str)
def test_columns_taken_are_those_written_out(storage, polynomial):
    X = matrix(30, 12, seed=2)
    X[:, 7] = X[:, 7] != 0.0
    design, M = made(STORAGES[storage](X), polynomial), oracle.written_out(polynomial, X)
    ids = np.random.default_rng(0).permutation(design.width)[:60]
    block = design.take(ids)
    np.testing.assert_allclose(block.toarray(), M[:, ids], atol=1e-12)
    assert sparse.issparse(block.native()) == ("dense" not in storage)
    assert design.take(ids[:0]).shape == (30, 0)
    np.testing.assert_array_equal(design.take(np.zeros(2, dtype=np.int64)).toarray(), np.zeros((30, 2)))


@pytest.mark.parametrize("storage", STORAGES)
def test_squares_of_two_values_and_products_of_constants_are_left_out(storage):
    X = np.zeros((6, 5))
    X[:, 0], X[:, 1], X[:, 2], X[:, 3] = 2.0, [0, 0, 3, 3, 0, 3], [1, 1, -2, -2, 1, 1], [0, 1, 2, 0, 1, 2]
    weights = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.0])
    terms = made(STORAGES[storage](X)).terms
    assert terms.product.tolist() == [False, True, True, True, False]
    assert terms.square.tolist() == [False, False, False, True, False]
    assert terms.linear.all()
    assert terms.count == 5 + 1 + 3
    X[5, 0] = 7.0  # a row without weight
    assert made(STORAGES[storage](X), weights=weights).terms.count == 9
    assert made(STORAGES[storage](X)).terms.product[0]
    assert made(STORAGES[storage](X), exclude=[3]).terms.count == 4 + 0 + 3


def test_zeros_that_are_stored_are_values_like_others():
    stored = sparse.csc_array((np.array([0.0, 1.0, 0.0, -0.0, 2.0]), ([0, 1, 0, 1, 0], [0, 0, 1, 1, 2])), shape=(2, 3))
    for form in (stored, stored.tocsr()):
        block = as_design(form)
        terms = terms_of(block, Polynomial(), np.ones(2))
        assert terms.product.tolist() == [True, False, True]
        assert not terms.square.any()


@pytest.mark.parametrize("storage", ["dense_C", "csr"])
def test_scores_other_than_correlations_see_every_term_piece_by_piece(storage, monkeypatch):
    X, weights = matrix(30, 12, seed=2), np.random.default_rng(0).integers(0, 3, 30).astype(float)
    monkeypatch.setattr("thresher.features.polynomial.products.WRITTEN_ENTRIES", 200)
    design, M = made(STORAGES[storage](X)), oracle.written_out(Polynomial(), X)
    assert len(list(design.pieces())) == 16
    anchor, table = design.statistics(weights)
    np.testing.assert_allclose(anchor + table[moments.SUM] / weights.sum(), weights @ M / weights.sum(), atol=1e-12)
    variance = weights @ M**2 / weights.sum() - (weights @ M / weights.sum()) ** 2
    factors = np.array([oracle.factor(Polynomial(), i, j) for i, j in oracle.numbered(12)])
    ids = np.arange(1, design.width)
    np.testing.assert_allclose(
        measured_spread(design, ids, weights).std, (np.sqrt(np.maximum(variance, 0.0)) / factors)[1:], atol=1e-7
    )


# refusals


def products_of(design, names=None):
    """The ProductDesign of the feature map for the columns of ``design``, as they are."""
    weights = np.ones(design.shape[0])
    samples = Samples(design, np.zeros(weights.size, dtype=np.int64), weights)
    columns = ColumnFeatures(design.n_columns, column_names=names)
    base = Base.read(samples, columns, samples.y, weights, SERIAL, Trace(), scale=None)
    return Polynomial().on(base, samples, Restrictions(), scale=None, centre=False).design


def test_values_whose_products_leave_the_range_are_refused_by_name():
    X = np.random.default_rng(0).standard_normal((9, 3))
    for factor, word in ((1e31, "large"), (1e-32, "small")):
        for form in (np.asarray, sparse.csr_array):
            most = int(np.abs(X).max(axis=0).argmax())
            with pytest.raises(InvalidDataError, match=rf"column '<{most}>' of X .* too {word} to be computed"):
                products_of(as_design(form(factor * X)), ["<0>", "<1>", "<2>"])
    zeros = products_of(as_design(np.zeros((9, 3))))
    ((ids, _),) = zeros.scan(Correlation(np.ones(9)), TopK(3))
    assert ids.size == 0


@pytest.mark.parametrize("size", [1e29, 1e-29])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_values_at_the_ends_of_the_range_are_ranked_exactly(size, form):
    rng = np.random.default_rng(0)
    X, v = rng.standard_normal((50, 12)), rng.standard_normal(50)
    near = made(form(X), PLAIN).scan(Correlation(v), TopK(9))[0][0]
    far = made(form(size * X), PLAIN).scan(Correlation(v), TopK(9))[0][0]
    np.testing.assert_array_equal(far, near)


def test_a_single_column_and_too_many_columns_are_refused():
    X = np.arange(6.0)[:, None]
    with pytest.raises(InvalidDataError, match=r'X has 1 feature\(s\).*use feature_map="columns"'):
        products_of(as_design(X))
    wide = MemoryDesign(STORED["csr_int32"](X), ids=np.array([2**40]), n_columns=2**41)
    with pytest.raises(ValueError, match="cannot be numbered by 64-bit integers"):
        products_of(wide)
    design = ProductDesign(wide, terms_of(wide, Polynomial(), np.ones(6)))
    with pytest.raises(ValueError, match="cannot be numbered by 64-bit integers"):
        design.n_columns  # noqa: B018


def test_shifted_sparse_columns_are_refused():
    base = ScaledDesign(as_design(sparse.csr_array(np.eye(4))), Scaling(np.ones(4), np.ones(4)))
    with pytest.raises(UnsupportedDesignError, match="would not be sparse"):
        ProductDesign(base, terms_of(base, Polynomial(), np.ones(4)))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"gamma": 0.0}, "gamma must be a positive number, got 0.0"),
        ({"gamma": np.inf}, "gamma must be a positive number"),
        ({"gamma": True}, "gamma must be a positive number"),
        ({"coef0": -1}, "coef0 must be a finite number, at least 0, got -1"),
        ({"coef0": "1"}, "coef0 must be a finite number"),
        ({"interaction_only": 1}, "interaction_only must be True or False, got 1"),
    ],
)
def test_invalid_polynomials(options, match):
    with pytest.raises(ValueError, match=match):
        Polynomial(**options)


def test_the_word_is_short_for_the_default():
    assert as_feature_map("polynomial") == Polynomial(gamma=1.0, coef0=1.0, interaction_only=False, heredity=None)
