"""Laws of every Block: products agree with the dense answer, with each other, and with any number of threads."""

import itertools

import numpy as np
import pytest

from tests.laws.storages import BLOCKS, STORED, TWO_ORDERS, matrix
from thresher.data import workers as workers_module
from thresher.data.blocks.repeated import RepeatedBlock
from thresher.data.blocks.stacked import JOIN_BELOW, StackedBlock, stack
from thresher.data.workers import Workers
from thresher.loops import moments

X = matrix()
rng = np.random.default_rng(1)


@pytest.fixture(params=BLOCKS, ids=str)
def block(request):
    return BLOCKS[request.param](X)


@pytest.mark.parametrize("k", [None, 1, 5])
def test_products_equal_the_dense_answer(block, k):
    V = rng.standard_normal(X.shape[0] if k is None else (X.shape[0], k))
    W = rng.standard_normal(X.shape[1] if k is None else (X.shape[1], k))
    np.testing.assert_allclose(block.correlate(V), X.T @ V, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(block.combine(W), X @ W, rtol=1e-12, atol=1e-11)


def test_products_are_adjoint(block):
    u, v = rng.standard_normal(X.shape[1]), rng.standard_normal(X.shape[0])
    assert block.combine(u) @ v == pytest.approx(u @ block.correlate(v), rel=1e-12)


def test_second_derivatives_equal_the_dense_answer(block, monkeypatch):
    """Weights may be zero or negative; neither threads nor the number of sums at a time change a bit."""
    weights = rng.standard_normal(X.shape[0]) * (rng.random(X.shape[0]) < 0.7)
    found = block.gram(weights)
    np.testing.assert_allclose(found, (X.T * weights) @ X, rtol=1e-12, atol=1e-9)
    monkeypatch.setattr("thresher.data.blocks.compressed.PRODUCT_SUMS", 20)
    assert np.array_equal(block.gram(weights), found)


@pytest.mark.parametrize("ids", [[], [4], [0, 1, 22], [22, 3, 4, 0], [7, 7]])
def test_take_commutes_with_correlate(block, ids):
    v = rng.standard_normal(X.shape[0])
    taken = block.take(np.array(ids, dtype=np.int64))
    assert taken.shape == (X.shape[0], len(ids))
    np.testing.assert_allclose(taken.correlate(v), block.correlate(v)[ids], rtol=1e-13, atol=1e-12)
    np.testing.assert_allclose(taken.toarray(), X[:, ids], rtol=1e-13, atol=1e-12)


def test_joined_blocks_are_side_by_side(block):
    both = block.take(np.arange(5)).joined(block.take(np.arange(5, 9)))
    np.testing.assert_allclose(both.toarray(), X[:, :9], rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize("size", [1, 40, 1 << 20])
def test_stored_values_make_up_the_columns(block, size, monkeypatch):
    """Column by column, rows in ascending order; without zeros where these are not stored."""
    monkeypatch.setattr("thresher.data.blocks.base.PART_VALUES", size)
    written, first = np.zeros((X.shape[0], 13)), 4
    for part in block.stored_parts(4, 17):
        assert part.first == first
        columns = part.first - 4 + part.columns
        written[part.rows, columns] = part.values
        assert np.all(np.diff(columns * X.shape[0] + part.rows) > 0)
        assert np.all(part.values != 0.0) if block.sparse else part.rows.size == X.shape[0] * (part.indptr.size - 1)
        first += part.indptr.size - 1
    assert first == 17
    np.testing.assert_allclose(written, X[:, 4:17], rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize("ids", [[], [36], [0, 3, 4, 20]])
def test_take_rows_commutes_with_combine(block, ids):
    w = rng.standard_normal(X.shape[1])
    taken = block.take_rows(np.array(ids, dtype=np.int64))
    assert taken.shape == (len(ids), X.shape[1])
    np.testing.assert_allclose(taken.combine(w), block.combine(w)[ids], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(taken.toarray(), X[ids], rtol=1e-13, atol=1e-12)


def test_parts_and_sums_of_some_columns(block):
    rows, columns = np.array([1, 5, 30]), np.array([0, 3, 4, 21])
    np.testing.assert_allclose(block.part(rows, columns).toarray(), X[np.ix_(rows, columns)], rtol=1e-13, atol=1e-12)
    w = rng.standard_normal(4)
    np.testing.assert_allclose(block.combine_some(columns, w), X[:, columns] @ w, rtol=1e-12, atol=1e-12)


def test_squares_equal_the_dense_answer(block):
    rows, columns = rng.random(X.shape[0]), rng.random(X.shape[1])
    rows[:5] = columns[::3] = 0.0
    np.testing.assert_allclose(block.column_squares(rows), rows @ X**2, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(block.row_squares(columns), X**2 @ columns, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", STORED)
def test_squares_a_piece_at_a_time_have_the_same_bits(name, monkeypatch):
    wide = matrix(273, 1025, seed=7)  # ranges of 32 columns would leave a single one over
    rows, columns = rng.random(273), rng.random(1025)
    whole = STORED[name](wide).column_squares(rows), STORED[name](wide).row_squares(columns)
    monkeypatch.setattr("thresher.data.blocks.dense.SQUARED_VALUES", 1 << 13)
    monkeypatch.setattr("thresher.data.blocks.compressed.SQUARED_VALUES", 100)
    pieces = STORED[name](wide).column_squares(rows), STORED[name](wide).row_squares(columns)
    for mine, theirs in zip(pieces, whole, strict=True):
        assert np.array_equal(mine, theirs)


def arrays(block):
    """The arrays that a block is made of."""
    found = [part for part in vars(block).values() if isinstance(part, np.ndarray)]
    assert found
    return found


@pytest.mark.parametrize("name", TWO_ORDERS)
def test_reordered_blocks_hold_the_same_values_in_the_other_order(name):
    """By rows where columns lay apart, and the other way round; copied, and the same again when reordered twice."""
    block = BLOCKS[name](X)
    reordered = block.reordered()
    assert type(reordered) is not type(block)
    assert (reordered.shape, reordered.dtype, reordered.entries) == (block.shape, block.dtype, block.entries)
    assert np.array_equal(reordered.toarray(), X)
    by_rows, by_columns = (block, reordered) if block.row_entries is not None else (reordered, block)
    assert by_rows.column_entries is None
    assert by_columns.row_entries is None
    assert np.array_equal(by_rows.row_entries, np.count_nonzero(X, axis=1))
    assert np.array_equal(by_columns.column_entries, np.count_nonzero(X, axis=0))
    v, w = rng.standard_normal(X.shape[0]), rng.standard_normal(X.shape[1])
    np.testing.assert_allclose(reordered.correlate(v), X.T @ v, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(reordered.combine(w), X @ w, rtol=1e-12, atol=1e-12)
    back = reordered.reordered()
    assert type(back) is type(block)
    assert np.array_equal(back.toarray(), X)
    pairs = itertools.product(arrays(reordered), arrays(block))
    assert not any(np.shares_memory(mine, theirs) for mine, theirs in pairs)


def test_storages_with_two_orders_are_listed():
    """All others are used as they lie for rows and for columns: reordering them is no copy."""
    blocks = {name: make(X) for name, make in BLOCKS.items()}
    assert {name for name, block in blocks.items() if block.reordered() is not block} == set(TWO_ORDERS)


@pytest.mark.parametrize("name", ["dense_F_float64", "csc_int32", "csr_int32", "shifted_csc", "stacked_dense_C"])
def test_a_block_repeated_for_classes_is_block_diagonal(name):
    """Every member of Block against the matrix written out: one vector for all classes, and several."""
    repeated, whole = RepeatedBlock(BLOCKS[name](X), 3), np.kron(np.eye(3), X)
    assert repeated.shape == whole.shape
    np.testing.assert_allclose(repeated.toarray(), whole, atol=1e-12)
    for k in ((), (4,)):
        v, w = rng.standard_normal((whole.shape[0], *k)), rng.standard_normal((whole.shape[1], *k))
        np.testing.assert_allclose(repeated.correlate(v), whole.T @ v, atol=1e-11)
        np.testing.assert_allclose(repeated.combine(w), whole @ w, atol=1e-11)
    squares = rng.random(whole.shape[0]), rng.random(whole.shape[1])
    np.testing.assert_allclose(repeated.column_squares(squares[0]), squares[0] @ whole**2, atol=1e-11)
    np.testing.assert_allclose(repeated.row_squares(squares[1]), whole**2 @ squares[1], atol=1e-11)
    ids = np.array([0, 22, 23, 40, 68])
    np.testing.assert_allclose(repeated.take(ids).toarray(), whole[:, ids], atol=1e-12)
    np.testing.assert_allclose(repeated.take_rows(ids).toarray(), whole[ids], atol=1e-12)
    np.testing.assert_allclose(repeated.gram(squares[0]), whole.T @ (squares[0][:, None] * whole), atol=1e-10)


def test_a_block_without_columns_may_be_repeated():
    empty = RepeatedBlock(BLOCKS["dense_F_float64"](X[:, :0]), 3)
    np.testing.assert_array_equal(empty.combine(np.zeros(0)), np.zeros(3 * len(X)))
    assert empty.correlate(np.ones(3 * len(X))).shape == (0,)


def test_statistics_of_blocks_that_no_design_scans_whole(block):
    """Blocks without a loop of their own make some columns dense: the numbers are those of the dense answer."""
    weights = rng.integers(0, 3, X.shape[0]).astype(float)
    anchor, table = np.zeros(13), np.zeros((moments.STATISTICS, 13))
    block.statistics_into(weights, 4, 17, anchor, table)
    part = block.take(np.arange(4, 17)).toarray()
    mean = weights @ part / weights.sum()
    np.testing.assert_allclose(anchor + table[moments.SUM] / weights.sum(), mean, atol=1e-12)
    np.testing.assert_allclose(table[moments.LARGEST], np.abs(part[weights > 0]).max(axis=0), atol=1e-12)


def test_zero_vector_gives_zero(block):
    assert not block.correlate(np.zeros(X.shape[0])).any()
    assert not block.combine(np.zeros(X.shape[1])).any()


@pytest.mark.parametrize("k", [1, 3, 7, 16])
@pytest.mark.parametrize("name", BLOCKS)
def test_threads_do_not_change_a_bit(name, k, monkeypatch):
    monkeypatch.setattr(workers_module, "SMALL", 0)
    wide = matrix(300, 211, seed=5)
    v, w = rng.standard_normal((300, k)), rng.standard_normal((211, k))
    alone = BLOCKS[name](wide)
    for count in (2, 3, 8):
        with Workers(count) as workers:
            many = BLOCKS[name](wide, workers)
            assert np.array_equal(many.correlate(v), alone.correlate(v))
            assert np.array_equal(many.combine(w), alone.combine(w))


@pytest.mark.parametrize("k", [1, 2, 5, 16])
@pytest.mark.parametrize("name", BLOCKS)
def test_column_ranges_do_not_change_a_bit(name, k):
    """One vector, several, an odd number: each column's sum is its own, whatever its neighbours in the call."""
    wide = matrix(5000, 40, seed=6)  # more rows than one block of a dot product
    block, V = BLOCKS[name](wide), rng.standard_normal((k, 5000))
    V[:, ::3] = 0.0
    whole = np.zeros((k, 40))
    block.correlate_into(V, 0, 40, whole)
    np.testing.assert_allclose(whole, V @ wide, rtol=1e-11, atol=1e-10)
    for cuts in ([0, 1, 2, 3, 40], [0, 7, 19, 22, 40], list(range(41))):
        pieces = [np.zeros((k, b - a)) for a, b in itertools.pairwise(cuts)]
        for piece, a, b in zip(pieces, cuts[:-1], cuts[1:], strict=True):
            block.correlate_into(V, a, b, piece)
        assert np.array_equal(np.concatenate(pieces, axis=1), whole)


@pytest.mark.parametrize("k", [2, 5, 7, 8, 13])
@pytest.mark.parametrize("name", TWO_ORDERS)
def test_sparse_sums_of_many_vectors_are_those_of_each_alone(name, k, monkeypatch):
    """Whatever the size of the tile that holds the sums."""
    wide = matrix(120, 300, density=0.2, seed=8)
    block, V = BLOCKS[name](wide), rng.standard_normal((120, k))
    W = rng.standard_normal((300, k))
    correlated = np.stack([block.correlate(v) for v in V.T], axis=1)
    combined = np.stack([block.combine(w) for w in W.T], axis=1)
    for tile, visit in ((1 << 18, 4), (k, 0), (17 * k, 0), (1, 2)):
        monkeypatch.setattr("thresher.data.blocks.compressed.TILE_SUMS", tile)
        monkeypatch.setattr("thresher.data.blocks.compressed.TILE_ENTRIES", visit)
        assert np.array_equal(block.correlate(V), correlated)
        assert np.array_equal(block.combine(W), combined)


@pytest.mark.parametrize("name", TWO_ORDERS)
def test_threads_turn_and_take_the_same_arrays(name, monkeypatch):
    monkeypatch.setattr(workers_module, "SMALL", 0)
    wide = matrix(90, 211, density=0.1, seed=9)
    wide[40:60] = 0.0  # rows without entries
    alone = BLOCKS[name](wide)
    ids = np.array([200, 4, 3, 3, 117])
    for count in (2, 3, 8):
        with Workers(count) as workers:
            many = BLOCKS[name](wide, workers)
            pairs = [
                (many.reordered(), alone.reordered()),
                (many.take(ids), alone.take(ids)),
                (many.take(np.arange(211)), alone.take(np.arange(211))),
            ]
        for mine, theirs in pairs:
            for left, right in zip(arrays(mine), arrays(theirs), strict=True):
                assert left.dtype == right.dtype
                assert np.array_equal(left, right)
    np.testing.assert_array_equal(alone.take(ids).toarray(), wide[:, ids])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["dense_F_float64", "dense_C_float32"])
def test_regrouped_sums_keep_nan_and_inf(name, bad):
    vector = np.ones(X.shape[0])
    vector[3] = bad
    assert not np.isfinite(BLOCKS[name](X).correlate(vector)[4])


@pytest.mark.parametrize("name", STORED)
@pytest.mark.parametrize("weighted", [False, True])
def test_statistics_equal_the_definition(name, weighted):
    weights = rng.integers(0, 4, X.shape[0]).astype(float) if weighted else np.ones(X.shape[0])
    anchor, table = np.zeros(X.shape[1]), np.zeros((moments.STATISTICS, X.shape[1]))
    STORED[name](X).statistics_into(weights, 0, X.shape[1], anchor, table)
    total = weights.sum()
    mean = anchor + table[moments.SUM] / total
    variance = table[moments.SQUARES] / total - (table[moments.SUM] / total) ** 2
    true_mean = weights @ X / total
    np.testing.assert_allclose(mean, true_mean, atol=1e-13)
    np.testing.assert_allclose(variance, weights @ (X - true_mean) ** 2 / total, atol=1e-12)
    np.testing.assert_array_equal(table[moments.LARGEST], np.abs(X[weights > 0]).max(axis=0))
    np.testing.assert_allclose(table[moments.NONZERO], weights @ (X != 0))
    assert variance[5] == 0.0, "a constant column has no variance, exactly"
    assert not table[moments.NOT_FINITE].any()


@pytest.mark.parametrize("name", STORED)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("weight", [0.0, 1.0])
@pytest.mark.parametrize("row", [11, -1])
def test_statistics_show_what_is_not_finite(name, bad, weight, row):
    spoilt, weights = X.copy(), np.ones(X.shape[0])
    spoilt[row, 4], weights[row] = bad, weight
    anchor, table = np.zeros(X.shape[1]), np.zeros((moments.STATISTICS, X.shape[1]))
    STORED[name](spoilt).statistics_into(weights, 0, X.shape[1], anchor, table)
    assert np.flatnonzero(table[moments.NOT_FINITE]).tolist() == [4]
    assert table[moments.NOT_FINITE, 4] == 1


def test_rows_without_weight_count_for_nothing_even_if_their_differences_overflow():
    huge, weights = X.copy(), np.zeros(X.shape[0])
    huge[:2, 4], huge[7, 4], weights[:2] = -1e308, 1.7e308, 1.0
    anchor, table = np.zeros(X.shape[1]), np.zeros((moments.STATISTICS, X.shape[1]))
    STORED["dense_C_float64"](huge).statistics_into(weights, 0, X.shape[1], anchor, table)
    assert table[moments.LARGEST, 4] == 1e308
    assert not table[moments.NOT_FINITE].any()
    assert table[moments.SUM, 4] == table[moments.SQUARES, 4] == 0.0


def test_stack_joins_small_blocks_and_leaves_large_ones(monkeypatch):
    parts = [BLOCKS["dense_F_float64"](X[:, a : a + 4]) for a in range(0, 20, 4)]
    assert not isinstance(stack(parts), StackedBlock)
    monkeypatch.setattr("thresher.data.blocks.stacked.JOIN_BELOW", 1)
    assert JOIN_BELOW > 1
    assert len(stack(parts).parts) == 5
    np.testing.assert_array_equal(stack(parts).toarray(), X[:, :20])


def test_read_only_and_memory_mapped_arrays(tmp_path):
    path = tmp_path / "X.npy"
    np.save(path, X)
    mapped = np.load(path, mmap_mode="r")
    v = rng.standard_normal(X.shape[0])
    from thresher.data.blocks.dense import DenseBlock

    np.testing.assert_allclose(DenseBlock(mapped).correlate(v), X.T @ v, atol=1e-12)
