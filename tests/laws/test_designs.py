"""Laws of designs and reducers: chunks, threads and order of merging cannot change the answer."""

import itertools
import pickle
import time
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.laws.designs import (
    DESIGNS,
    ComputedDesign,
    ComputedPiece,
    CountingDesign,
    CutDesign,
    MappedDesign,
    PiecewiseDesign,
    processes,
    written_out,
)
from tests.laws.storages import STORED, matrix
from thresher.data import workers as workers_module
from thresher.data.blocks.scaled import Scaling
from thresher.data.designs.memory import MemoryDesign
from thresher.data.designs.scaled import ScaledDesign
from thresher.data.input.scaling import scaled
from thresher.data.input.validation import as_design, checked_sparse
from thresher.data.scan.pieces import OutOfTime
from thresher.data.scan.reducers import Collect, Split, TopK, passing
from thresher.data.scan.scores import Correlation
from thresher.data.workers import SERIAL, Workers
from thresher.errors import UnsupportedDesignError
from thresher.features.expanded import ExpandedDesign
from thresher.features.instances.design import BagDesign
from thresher.features.polynomial.products import ProductDesign
from thresher.loops import moments

X = matrix(60, 150, seed=3)
SMALL_X = matrix(40, 17, seed=4)
rng = np.random.default_rng(2)


@pytest.fixture(params=DESIGNS, ids=str)
def made(request, tmp_path):
    """(make(workers), the matrix that the design stands for)."""
    name = request.param
    return lambda workers=SERIAL: DESIGNS[name](SMALL_X, workers, tmp_path), written_out(name, SMALL_X)


def same_lists(mine, theirs):
    pairs = zip(mine, theirs, strict=True)
    return all(np.array_equal(a[0], b[0]) and np.array_equal(a[1], b[1]) for a, b in pairs)


def test_a_design_states_its_contract(made):
    design, whole = made[0](), made[1]
    assert design.shape == whole.shape
    assert design.width == whole.shape[1] <= design.n_columns
    assert 0 < design.entries <= whole.size
    assert design.scan_cost().passes in (1.0, 2.0)  # of products of dense columns two: tests/scale/test_passes.py
    assert design.check_cost().passes >= 1.0
    assert 0.0 < design.take_cost(np.arange(2)).passes <= 1.0
    assert design.nbytes > 0
    first = 0
    for piece in design.pieces(3):
        assert piece.first == first
        first += piece.width
        if hasattr(piece, "counter"):
            piece.counter.done()
    assert first == design.width, "pieces are all columns, in order"


def test_scans_score_every_column(made):
    design, whole = made[0](), made[1]
    V = rng.standard_normal((whole.shape[0], 3))
    np.testing.assert_allclose(design.scan(Correlation(V), Collect(design.width)), whole.T @ V, atol=1e-10)
    ((ids, squares),) = design.scan(Correlation(V), TopK(9, summed=True))
    expected = ((whole.T @ V) ** 2).sum(axis=1)
    np.testing.assert_allclose(squares, np.sort(expected)[::-1][:9], rtol=1e-9)
    np.testing.assert_allclose(expected[ids], squares, rtol=1e-9)


def test_scans_are_bitwise_equal_for_any_threads(made, monkeypatch):
    monkeypatch.setattr(workers_module, "SMALL", 0)
    V = rng.standard_normal((made[1].shape[0], 3))
    reference, all_scores = (made[0]().scan(Correlation(V), each) for each in (TopK(5), Collect(made[1].shape[1])))
    for count in (2, 3):
        with Workers(count) as workers:
            design = made[0](workers)
            assert same_lists(reference, design.scan(Correlation(V), TopK(5)))
            assert np.array_equal(all_scores, design.scan(Correlation(V), Collect(design.width)))


def test_take_is_what_is_scanned(made):
    design, whole = made[0](), made[1]
    ids, v = np.array([11, 2, 16]), rng.standard_normal(whole.shape[0])
    block = design.take(ids)
    np.testing.assert_allclose(block.toarray(), whole[:, ids], atol=1e-12)
    scanned = design.scan(Correlation(v), Collect(design.width))[ids, 0]
    np.testing.assert_allclose(block.correlate(v), scanned, atol=1e-10)


def test_statistics_are_those_of_the_stored_columns(made):
    design = made[0]()
    weights = rng.integers(0, 3, design.shape[0]).astype(float)
    base = design.base if design.scaling is not None else design
    stored = base.take(np.arange(design.width)).toarray()
    anchor, table = design.statistics(weights)
    mean = weights @ stored / weights.sum()
    np.testing.assert_allclose(anchor + table[moments.SUM] / weights.sum(), mean, atol=1e-12)
    np.testing.assert_allclose(table[moments.LARGEST], np.abs(stored[weights > 0]).max(axis=0), atol=1e-12)
    np.testing.assert_allclose(table[moments.NONZERO], weights @ (stored != 0))


def test_weights_go_to_the_units_of_X_and_back(made):
    design, whole = made[0](), made[1]
    ids, w = np.array([2, 9, 16]), rng.standard_normal(3)
    weights, offset = design.in_units_of_X(ids, w)
    given = design.ids_in_X(ids)
    block, known = design.take_as_given(given)
    np.testing.assert_array_equal(known, np.arange(3))
    np.testing.assert_allclose(block.combine(weights) + offset, whole[:, ids] @ w, atol=1e-10)
    np.testing.assert_allclose(design.in_units_here(ids, weights), w)
    np.testing.assert_array_equal(design.ids_here(given), ids)


def test_a_scan_ends_at_its_deadline_unless_it_is_done(made, monkeypatch):
    """The clock passes the deadline when the first piece is done; a scan that begins late reads nothing."""
    design, score = made[0](), Correlation(rng.standard_normal(made[1].shape[0]))
    pieces = 0
    for piece in design.pieces():
        pieces += 1
        if hasattr(piece, "counter"):
            piece.counter.done()
    window = workers_module.WINDOW * design.workers.parallelism if design.workers is not SERIAL else 1
    whole = design.scan(score, TopK(3))
    clock = SimpleNamespace(perf_counter=itertools.count().__next__)
    monkeypatch.setattr("thresher.data.designs.base.time", clock)
    products = isinstance(design, ProductDesign)
    if pieces > window or products:  # columns themselves come before their products, all of which are asked for
        with pytest.raises(OutOfTime) as cut:
            design.scan(score, TopK(design.width if products else 3), deadline=1 + (products and not design.sparse))
        assert 0.0 < cut.value.share < 1.0
    else:  # all pieces are under way when the first is done: nothing is thrown away
        assert same_lists(design.scan(score, TopK(3), deadline=1), whole)
    with pytest.raises(OutOfTime) as cut:
        design.scan(score, TopK(3), deadline=0)
    assert cut.value.share == 0.0


def test_a_design_without_columns_is_scanned_all_the_same():
    empty = CutDesign(STORED["dense_F_float64"](np.zeros((5, 0))), [0])
    ((ids, squares),) = empty.scan(Correlation(np.ones((5, 2))), TopK(3, summed=True))
    assert ids.size == squares.size == 0
    assert empty.scan(Correlation(np.ones((5, 2))), Collect(0)).shape == (0, 2)
    assert empty.statistics(np.ones(5)).table.shape == (moments.STATISTICS, 0)


def test_a_used_design_can_be_pickled(monkeypatch):
    """Threads stay where they are; a copy starts its own."""
    monkeypatch.setattr(workers_module, "SMALL", 0)
    v = rng.standard_normal(40)
    with Workers(2) as workers:
        design = MemoryDesign(STORED["csc_int32"](SMALL_X, workers))
        reference = design.scan(Correlation(v), TopK(3))
        copy = pickle.loads(pickle.dumps(design))
    assert copy.workers.parallelism == 2
    assert same_lists(reference, copy.scan(Correlation(v), TopK(3)))
    copy.workers.close()


@pytest.mark.parametrize("shifts", [(None, None), ("both", "both"), (None, "second"), ("first", None)])
def test_scalings_join_with_and_without_shifts(shifts):
    parts = [Scaling(np.array([2.0, 3.0]), None if each is None else np.array([1.0, -1.0])) for each in shifts]
    joined, X = parts[0].joined(parts[1]), rng.standard_normal((6, 4))
    halves = zip(np.hsplit(X, 2), parts, strict=True)
    expected = np.hstack([(half - (0.0 if own.shift is None else own.shift)) * own.factor for half, own in halves])
    found = (X - (0.0 if joined.shift is None else joined.shift)) * joined.factor
    np.testing.assert_allclose(found, expected)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_what_may_not_be_kept_is_not_among_the_best(seed, summed):
    """Bounds on scores alone: features that are not ``passing`` are left out, and the result stays the same."""
    random = np.random.default_rng(seed)
    scores = random.integers(-4, 5, (3, 30)).astype(float)
    bounds = np.abs(scores) + random.integers(0, 2, scores.shape)
    root = Split([TopK(4, summed=summed), TopK(2)], [2, 1])
    whole, total = root.started(0, scores), root
    for index, part in enumerate(np.array_split(np.arange(30), 5)):
        kept = part[passing(bounds[:, part], root.gates(3), total.bar)]
        more = root.started(kept, scores[:, kept])
        total = total.merged(more) if index else more
    pairs = zip(whole.result(), total.result(), strict=True)
    assert all(same_lists(one, other) for one, other in pairs)
    assert passing(bounds, Collect(30).gates(3), Collect(30).bar).all()


def test_sides_are_there_or_missed_by_name(made):
    design, whole = made[0](), made[1]
    v = rng.standard_normal(whole.shape[0])
    by_columns = (PiecewiseDesign, CountingDesign, ExpandedDesign, ProductDesign, BagDesign)
    if any(isinstance(each, by_columns) for each in (design, getattr(design, "base", design))):
        with pytest.raises(UnsupportedDesignError, match="by columns only"):
            design.sides()
    else:
        np.testing.assert_allclose(design.sides().correlate(v), whole.T @ v, atol=1e-10)


def test_rows_cannot_be_indexed_and_the_error_names_the_way(made):
    with pytest.raises(UnsupportedDesignError, match=r"sample_weight=0.*FGMClassifier\(k, cv="):
        made[0]()[np.arange(3)]


def test_pieces_run_in_other_processes(tmp_path):
    """A description goes there, a reducer comes back; columns never do."""
    there, here = MappedDesign(SMALL_X, tmp_path, processes()), MappedDesign(SMALL_X, tmp_path)
    V = rng.standard_normal((40, 2))
    mine, theirs = (design.scan(Correlation(V), Split([TopK(3), TopK(2)], [1, 1])) for design in (there, here))
    assert all(same_lists(one, other) for one, other in zip(mine, theirs, strict=True))
    scaling = Scaling(np.linspace(0.5, 2.0, 17), np.linspace(-1.0, 1.0, 17))
    mine, theirs = (ScaledDesign(each, scaling).scan(Correlation(V), Collect(17)) for each in (there, here))
    assert np.array_equal(mine, theirs)
    assert np.array_equal(there.statistics(np.ones(40)).table, here.statistics(np.ones(40)).table)


def test_a_window_of_a_few_pieces_is_alive(monkeypatch):
    """The lazy design itself fails when more are; here the bound is seen to be sharp."""
    monkeypatch.setattr(workers_module, "SMALL", 0)
    v = rng.standard_normal(40)
    serial = ComputedDesign(SMALL_X)
    serial.scan(Correlation(v), TopK(3))
    assert serial.alive.most == 1
    opened = ComputedPiece.open

    def slowly(piece):  # so that the window fills before the first piece is done
        time.sleep(0.01)
        return opened(piece)

    monkeypatch.setattr(ComputedPiece, "open", slowly)
    with Workers(2) as workers:
        several = ComputedDesign(SMALL_X, workers)
        several.scan(Correlation(v), TopK(3))
    assert 2 < several.alive.most <= 2 * workers_module.WINDOW + 1 < len(list(several.cuts()))


@pytest.mark.parametrize("name", STORED)
def test_pieces_keep_below_the_work_asked_for(name, monkeypatch):
    """Entries times vectors of a piece, so that Ctrl-C and max_time are heard inside a scan."""
    monkeypatch.setattr("thresher.data.designs.memory.MOST_WORK", 2000)
    design = MemoryDesign(STORED[name](X))
    few, many = (list(design.pieces(vectors)) for vectors in (1, 40))
    assert len(many) > len(few)
    widest = max(piece.width for piece in many)
    assert widest == 1 if "dense" in name else widest < 30
    V = rng.standard_normal((60, 40))
    reference = CutDesign(STORED[name](X), [0, 150]).scan(Correlation(V), TopK(3))
    assert same_lists(reference, design.scan(Correlation(V), TopK(3)))


@pytest.mark.parametrize("k", [3, 9])
@pytest.mark.parametrize("name", STORED)
def test_scan_is_bitwise_equal_for_any_threads_and_chunks(name, k, monkeypatch):
    monkeypatch.setattr(workers_module, "SMALL", 0)
    V = rng.standard_normal((60, k))
    reference = MemoryDesign(STORED[name](X)).scan(Correlation(V), TopK(17))
    for count in (1, 2, 4, 8):
        for cuts in ([0, 150], [0, 1, 50, 149, 150], list(range(151))):
            with Workers(count) as workers:
                found = CutDesign(STORED[name](X, workers), cuts).scan(Correlation(V), TopK(17))
            assert same_lists(reference, found)


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


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=40), st.integers(0, 12), st.integers(0, 2**32))
def test_what_does_not_pass_the_bar_may_be_left_out(scores, size, seed):
    """Ids and scores instead of runs, less those that are not above the bar so far: the same lists."""
    scores, random = np.array(scores, dtype=float), np.random.default_rng(seed)
    whole = TopK(size).started(0, scores[None])
    total = TopK(size)
    assert total.bar.tolist() == [0.0]
    for at, part in enumerate(np.array_split(np.arange(scores.size), random.integers(1, 6))):
        kept = part[scores[part] ** 2 > total.bar[0]]
        more = TopK(size).started(kept, scores[None, kept])
        total = total.merged(more) if at else more
    assert same_lists(whole.result(), total.result())
    full = whole.result()[0][0].size == size
    assert whole.bar[0] == (np.inf if size == 0 else whole.result()[0][1][-1] if full else 0.0)


def test_split_has_the_bars_of_all():
    split = Split([TopK(1), TopK(2, summed=True)], [1, 2]).started(0, np.array([[1.0, 2.0], [1.0, 1.0], [3.0, 1.0]]))
    assert split.bar.tolist() == [4.0, 2.0]
    assert split.gates(3).tolist() == [1, 2]


def test_top_k_over_many_slices(monkeypatch):
    monkeypatch.setattr("thresher.data.scan.reducers.FIRST", 5)
    monkeypatch.setattr("thresher.data.scan.reducers.SLICE", 16)
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
    assert design.ids_in_X(design.ids_here([123, 7])).tolist() == [123, 7]
    with pytest.raises(KeyError, match="column 8 contains only zeros"):
        design.ids_here([8])
