"""Laws of elimination: exactly the columns asked for, nested, each station solved, and the lightest column goes."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.storages import BLOCKS, matrix
from tests.oracles import convex, subsets
from tests.problems import many_classes, problem
from thresher.data import workers
from thresher.data.blocks import base as block_module
from thresher.data.blocks.dense import ArrayBlock, DenseBlock, densified
from thresher.engine.threshing import stops
from thresher.optim.elimination import by_curvature as elimination
from thresher.optim.elimination.by_curvature import eliminate
from thresher.optim.elimination.inverses import inverted
from thresher.optim.elimination.rules import Rules
from thresher.optim.penalties.norms import KSupport
from thresher.optim.problems.losses import LOSSES
from thresher.optim.problems.margins import MarginProblem
from thresher.optim.solvers import newton
from thresher.optim.solvers.solution import DeadlinePassed, Start

SHAPES = {"tall": (60, 12), "wide": (20, 30), "separable": (15, 24)}
POSED = [
    (shape, loss, shift, count) for shape in SHAPES for loss in LOSSES for shift in (True, False) for count in (1, 3)
]


def dense(X):
    return DenseBlock(np.asfortranarray(X))


def pose(shape, loss, *, shift=True, count=1, seed=0):
    """(X, block, problems): one problem, or one class against the rest for each of ``count`` classes."""
    n, m = SHAPES[shape]
    if count == 1:
        X, y, cost = problem(n, m, seed, noise=0.0 if shape == "separable" else 1.0, weighted=True)
        labels = [y]
    else:
        X, _, Y, cost = many_classes(n, m, count, seed)
        labels = list(Y.T)
    return X, dense(X), [MarginProblem(y, cost, LOSSES[loss], shift) for y in labels]


def yardstick(problems):
    return sum(each.at_zero() for each in problems)


def down(block, problems, numbers, *, tol=1e-10, starts=None, **options):
    """The stations at ``numbers``; ``tol`` is a share of the objective without columns."""
    starts = [Start.zero(block) for _ in problems] if starts is None else starts
    return list(eliminate(block, problems, starts, numbers, Rules(tol * yardstick(problems), **options)))


def solved(X, problems, kept):
    """The solutions on the columns ``kept`` by themselves."""
    block = dense(X[:, kept])
    return [newton.solve(block, one, KSupport(block.shape[1]), tol=1e-13 * one.at_zero()) for one in problems]


@pytest.mark.parametrize(("shape", "loss", "shift", "count"), POSED)
def test_one_by_one(shape, loss, shift, count):
    """Exact numbers, nested, solved, and the column that goes is the lightest of the exact solution before."""
    X, block, problems = pose(shape, loss, shift=shift, count=count)
    m, scale = X.shape[1], yardstick(problems)
    stations = down(block, problems, range(m, 0, -1))
    assert [station.kept.size for station in stations] == list(range(m, 0, -1))
    assert all(np.array_equal(station.kept, np.unique(station.kept)) for station in stations)
    exact = [solved(X, problems, station.kept) for station in stations]
    for (before, after), known in zip(itertools.pairwise(stations), exact, strict=False):
        gone = np.setdiff1d(before.kept, after.kept)
        assert gone.size == before.kept.size - after.kept.size, "not nested"
        weight = sum(solution.w**2 for solution in known)
        own = weight[np.searchsorted(before.kept, gone[0])]
        assert np.sqrt(own) <= np.sqrt(weight.min()) + 1e-5, (before.kept.size, gone)
    for station, known in zip(stations, exact, strict=True):
        optimum, bound = sum(s.objective for s in known), sum(s.bound for s in station.solutions)
        assert station.gap <= 1e-10 * scale
        assert station.objective == pytest.approx(optimum, abs=2e-10 * scale)
        assert bound <= optimum + 1e-12 * scale
        assert station.objective >= optimum - 1e-12 * scale


@pytest.mark.parametrize(("shape", "loss", "shift", "count"), POSED)
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-7])
def test_gap_is_never_too_small(shape, loss, shift, count, tol):
    """At every accuracy asked for: bound <= optimum <= objective, and the gap between them is what was asked for."""
    X, block, problems = pose(shape, loss, shift=shift, count=count, seed=1)
    scale = yardstick(problems)
    numbers = [X.shape[1], X.shape[1] - 3, 9, 8, 5, 2, 1]
    stations = down(block, problems, numbers, tol=tol)
    assert [station.kept.size for station in stations] == numbers
    for station in stations:
        optimum = sum(s.objective for s in solved(X, problems, station.kept))
        assert sum(s.bound for s in station.solutions) <= optimum + 1e-12 * scale
        assert optimum - 1e-12 * scale <= station.objective <= optimum + tol * scale
        assert 0.0 <= station.gap <= tol * scale


@pytest.mark.parametrize(("shape", "loss", "shift", "count"), POSED)
def test_what_a_solution_says_of_itself(shape, loss, shift, count):
    """Weights, scores z, shift, loss, dual point and objective of each station belong together."""
    X, block, problems = pose(shape, loss, shift=shift, count=count, seed=2)
    for station in down(block, problems, [X.shape[1], 10, 4, 1]):
        assert len(station.solutions) == len(problems)
        for one, found in zip(problems, station.solutions, strict=True):
            z = X[:, station.kept] @ found.w
            np.testing.assert_allclose(found.z, z, atol=1e-10)
            assert (found.b != 0.0) == shift
            assert found.loss == pytest.approx(one.loss.total(one.y * (z + found.b), one.cost), rel=1e-9)
            assert found.objective == pytest.approx(0.5 * found.w @ found.w + found.loss, rel=1e-12)
            np.testing.assert_allclose(found.scores, X[:, station.kept].T @ (found.dual.vector), atol=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shift", [True, False])
def test_optimum_of_the_conic_solver(shape, loss, shift):
    """A budget of all columns makes the adaptive scaling problem plain ridge regression."""
    X, block, (one,) = pose(shape, loss, shift=shift)
    for station in down(block, [one], [X.shape[1], 7, 2], tol=1e-9):
        A = X[:, station.kept]
        optimum, w, b, _ = convex.adaptive_scaling(A, one.y, one.cost, A.shape[1], loss, shift=shift)
        assert station.objective == pytest.approx(optimum, abs=1e-6 * one.at_zero())
        np.testing.assert_allclose(station.solutions[0].w, w, atol=1e-3)
        assert station.solutions[0].b == pytest.approx(b, abs=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_greedy_elimination_by_hand(loss):
    """One by one with nothing but numpy and scipy: the same columns in the same order."""
    X, y, cost = problem(30, 9, 5)
    left, sets = list(range(9)), []
    while left:
        sets.append(list(left))
        w = subsets.ridge(X[:, left], y, cost, loss)[1]
        del left[int(np.argmin(np.abs(w)))]
    found = down(dense(X), [MarginProblem(y, cost, LOSSES[loss])], range(9, 0, -1))
    assert [station.kept.tolist() for station in found] == sets


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("count", [1, 3])
def test_forced_columns_never_go(loss, count):
    """However little they say: these are noise, and one holds nothing at all."""
    X, _, problems = pose("tall", loss, count=count)
    X = np.concatenate([1e-3 * np.random.default_rng(1).standard_normal((60, 2)), np.zeros((60, 1)), X], axis=1)
    stations = down(dense(X), problems, range(15, 2, -1), forced=3)
    assert [station.kept.size for station in stations] == list(range(15, 2, -1))
    assert all(station.kept[:3].tolist() == [0, 1, 2] for station in stations)
    known = solved(X, problems, stations[4].kept)
    assert stations[4].objective == pytest.approx(sum(s.objective for s in known), rel=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("numbers", [range(20, 0, -1), [20, 13, 7, 6, 2], [20, 5]])
def test_the_pool_stays_while_others_are_left(loss, count, numbers):
    """The first 8 columns are noise, so they would all go first."""
    X, _, problems = pose("tall", loss, count=count)
    X = np.concatenate([0.1 * np.random.default_rng(1).standard_normal((60, 8)), X], axis=1)
    stations = down(dense(X), problems, numbers, pool=8, forced=2)
    assert [station.kept.size for station in stations] == list(numbers)
    for station in stations:
        if station.kept.size >= 8:
            assert station.kept[:8].tolist() == list(range(8))
        else:
            assert set(station.kept.tolist()) <= set(range(8))
        assert station.kept[: min(2, station.kept.size)].tolist() == [0, 1][: station.kept.size]


def test_the_pool_alone_competes_by_weight():
    """Below the pool the order is that of an elimination that begins there."""
    X, y, cost = problem(60, 20, 3)
    posed = [MarginProblem(y, cost, LOSSES["logistic"])]
    pooled = down(dense(X), posed, range(20, 0, -1), pool=8)
    alone = down(dense(X[:, :8]), posed, range(8, 0, -1))
    for one, other in zip(pooled[12:], alone, strict=True):
        assert np.array_equal(one.kept, other.kept)
        assert one.objective == pytest.approx(other.objective, rel=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("start", ["zero", "elsewhere"])
def test_of_equal_columns_the_one_taken_last_goes_first(loss, count, start):
    """Every column three times: what goes is always the last copy that is left."""
    X, _, problems = pose("tall", loss, count=count, seed=4)
    block = dense(np.concatenate([X[:, :6], X[:, :6], X[:, :6]], axis=1))
    if start == "zero":
        starts = None
    else:
        W = np.random.default_rng(2).standard_normal((count, 18))
        starts = [Start(w, block.combine(w)) for w in W]
    stations = down(block, problems, range(18, 0, -1), tol=1e-9, first_tol=1e-12 * yardstick(problems), starts=starts)
    for before, after in itertools.pairwise(stations):
        (gone,) = np.setdiff1d(before.kept, after.kept)
        assert gone == before.kept[before.kept % 6 == gone % 6].max()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_depends_on_the_starts(loss, shape):
    X, block, problems = pose(shape, loss)
    numbers, first = range(X.shape[1], 0, -1), 1e-12 * yardstick(problems)
    w = 3.0 * np.random.default_rng(0).standard_normal(X.shape[1])
    from_zero = down(block, problems, numbers, tol=1e-6, first_tol=first)
    elsewhere = down(block, problems, numbers, tol=1e-6, first_tol=first, starts=[Start(w, X @ w, 5.0)])
    for one, other in zip(from_zero, elsewhere, strict=True):
        assert np.array_equal(one.kept, other.kept)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("shape", ["wide", "tall"])
def test_a_station_that_the_deadline_passes_in_is_given_up(shape, count, monkeypatch):
    """Those before it are as if there were no deadline; the clock is looked at for each problem."""
    X, block, problems = pose(shape, "squared_hinge", count=count)
    numbers = range(X.shape[1], 0, -1)
    with pytest.raises(DeadlinePassed):
        down(block, problems, numbers, deadline=0.0)
    whole, calls = down(block, problems, numbers), itertools.count()
    monkeypatch.setattr("thresher.optim.solvers.solution.time", SimpleNamespace(perf_counter=calls.__next__))
    stations, starts = [], [Start.zero(block)] * count
    rules = Rules(1e-10 * yardstick(problems), deadline=25 * count)
    made = eliminate(block, problems, starts, numbers, rules)
    with pytest.raises(DeadlinePassed):
        stations.extend(made)
    assert next(calls) <= 25 * count + 2
    assert 0 < len(stations) < len(whole)
    for station, other in zip(stations, whole, strict=False):
        np.testing.assert_array_equal(station.kept, other.kept)


def test_stations_need_not_begin_with_all_columns():
    X, block, problems = pose("tall", "logistic")
    numbers = range(X.shape[1], 0, -1)
    all_of_them = {station.kept.size: station for station in down(block, problems, numbers)}
    for station in down(block, problems, list(numbers)[3:]):
        assert np.array_equal(station.kept, all_of_them[station.kept.size].kept)
    assert down(block, problems, []) == []


@pytest.mark.parametrize("batch", [1, 3])
def test_the_size_of_batches_does_not_matter(batch, monkeypatch):
    X, block, problems = pose("wide", "squared_hinge")
    numbers = range(X.shape[1], 0, -1)
    usual = down(block, problems, numbers)
    monkeypatch.setattr("thresher.optim.elimination.by_curvature.BATCH_SCORES", batch * X.shape[0])
    for one, other in zip(usual, down(block, problems, numbers), strict=True):
        assert np.array_equal(one.kept, other.kept)
        assert one.objective == pytest.approx(other.objective, abs=2e-10 * yardstick(problems))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("count", [1, 3])
def test_the_way_over_newton_gives_the_same_stations(loss, count, monkeypatch):
    """Where a few steps do not reach the gap asked for, the general solver does."""
    X, block, problems = pose("tall", loss, count=count)
    usual = down(block, problems, range(X.shape[1], 0, -1))
    monkeypatch.setattr("thresher.optim.elimination.by_curvature.STATION_STEPS", 1)
    monkeypatch.setattr("thresher.optim.elimination.by_curvature.BATCH_STEPS", 0)
    for one, other in zip(usual, down(block, problems, range(X.shape[1], 0, -1)), strict=True):
        assert np.array_equal(one.kept, other.kept)
        assert one.objective == pytest.approx(other.objective, abs=2e-10 * yardstick(problems))


@pytest.mark.parametrize(("seed", "shift", "C"), [(5, True, 1e4), (17, False, 1e2), (1, True, 1e4), (27, True, 1e2)])
def test_columns_of_very_different_size_that_tell_all_samples_apart(seed, shift, C):
    """Margins of thousands on the way: exponentials underflow, and nothing else happens."""
    X = np.random.default_rng(seed).standard_normal((6, 10)) * 10.0 ** np.arange(3, -2, -0.5)
    one = MarginProblem(np.tile([1.0, -1.0], 3), np.full(6, C), LOSSES["logistic"], shift)
    stations = down(dense(X), [one], range(10, 0, -1), tol=1e-6, first_tol=1e-12 * one.at_zero())
    assert [station.kept.size for station in stations] == list(range(10, 0, -1))


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("hostile", [lambda X: 1e9 * np.repeat(X, 3, axis=1), lambda X: X + 1e8, lambda X: 1e30 * X])
def test_entries_that_drown_the_penalty_cost_accuracy_only(hostile, loss):
    """The second derivative is singular to rounding: still a station for each number, and bounds that hold."""
    X, y, cost = problem(40, 10, 0)
    X = hostile(X)
    one = MarginProblem(y, 1e3 * cost, LOSSES[loss], True)
    stations = down(dense(X), [one], range(X.shape[1], 0, -1), tol=1e-6)
    assert [station.kept.size for station in stations] == list(range(X.shape[1], 0, -1))
    for station in stations:
        (solution,) = station.solutions
        assert np.isfinite(solution.w).all()
        assert -1e-9 * one.at_zero() <= station.gap < np.inf


def test_inverse_of_a_matrix_that_rounding_made_indefinite():
    H = np.full((6, 6), 1e20)
    H[np.diag_indices(6)] += 1.0
    inverse = inverted(H)
    assert np.isfinite(inverse).all()
    assert np.linalg.eigvalsh(inverse).min() > -1e-12


@pytest.mark.parametrize("storage", ["dense_F_float64", "csr_int32", "stacked_csc", "shifted_csc"])
@pytest.mark.parametrize("count", [1, 3])
def test_large_blocks_are_not_copied_and_give_the_same_stations(storage, count, monkeypatch):
    X, _, problems = pose("tall", "squared_hinge", count=count)
    X = np.round(X * 64) / 64
    block, numbers = BLOCKS[storage](X), range(X.shape[1], 0, -1)
    small = down(block, problems, numbers)
    monkeypatch.setattr(elimination, "ELIMINATION_ENTRIES", 0)
    assert densified(block, elimination.ELIMINATION_ENTRIES) is block
    for one, other in zip(small, down(block, problems, numbers), strict=True):
        assert np.array_equal(one.kept, other.kept)
        assert one.objective == pytest.approx(other.objective, rel=1e-9)
        for mine, theirs in zip(one.solutions, other.solutions, strict=True):
            np.testing.assert_allclose(mine.w, theirs.w, atol=1e-5)


@pytest.mark.parametrize("storage", [name for name in BLOCKS if name not in ("array", "repeated_once")])
@pytest.mark.parametrize("kind", ["array", "block"])
def test_products_of_columns(storage, kind, monkeypatch):
    """combine, correlate, gram and take are those of numpy, also on some of the columns."""
    monkeypatch.setattr(block_module, "DENSE_COLUMNS", 5)
    X, rng = matrix(), np.random.default_rng(3)
    whole, keep = densified(BLOCKS[storage](X), 1 << 20 if kind == "array" else 0), np.array([0, 2, 4, 5, 11, 20])
    assert isinstance(whole, ArrayBlock) == (kind == "array" or storage == "array")
    for found, A in ((whole, X), (whole.take(keep), X[:, keep]), (whole.take(keep).take([1, 3]), X[:, [2, 5]])):
        assert found.shape == A.shape
        assert isinstance(found, ArrayBlock) or kind == "block"
        W, V = rng.standard_normal((A.shape[1], 3)), rng.standard_normal((A.shape[0], 2))
        np.testing.assert_allclose(found.combine(W), A @ W, atol=1e-11)
        np.testing.assert_allclose(found.combine(W[:, 0]), A @ W[:, 0], atol=1e-11)
        np.testing.assert_allclose(found.correlate(V), A.T @ V, atol=1e-11)
        np.testing.assert_allclose(found.correlate(V[:, 0]), A.T @ V[:, 0], atol=1e-11)
        for d in (V[:, 0], np.abs(V[:, 1]), np.where(V[:, 0] > 0, 2.0, 0.0), np.zeros(A.shape[0])):
            np.testing.assert_allclose(found.gram(d), A.T @ (d[:, None] * A), atol=1e-10)


@pytest.mark.parametrize("shape", [(9000, 300), (50, 7)])
def test_products_of_columns_do_not_depend_on_the_number_of_threads(shape, monkeypatch):
    monkeypatch.setattr(workers, "SMALL", 0)
    rng = np.random.default_rng(0)
    X, W, V = rng.standard_normal(shape), rng.standard_normal((shape[1], 5)), rng.standard_normal((shape[0], 5))
    d = rng.standard_normal(shape[0]) * (rng.random(shape[0]) < 0.7)
    one = densified(DenseBlock(np.asfortranarray(X)), X.size)
    with workers.Workers(3) as three, workers.ONE_BLAS_THREAD:
        many = densified(DenseBlock(np.asfortranarray(X), three), X.size)
        for product, given, plain in (("combine", W, X @ W), ("correlate", V, X.T @ V), ("gram", d, (X.T * d) @ X)):
            found = getattr(many, product)(given)
            assert np.array_equal(found, getattr(one, product)(given))
            assert np.allclose(found, plain, rtol=0.0, atol=1e-9)
        assert np.array_equal(many.combine(W[:, 0]), one.combine(W[:, 0]))


@given(most=st.integers(1, 3000), fine=st.integers(1, 3000), least=st.integers(1, 3000))
def test_stops_fall_to_the_least_and_miss_no_number_up_to_fine(most, fine, least):
    least = min(least, most)
    numbers = stops(most, fine, least)
    assert numbers[0] == most
    assert numbers[-1] == least
    assert all(a > b for a, b in itertools.pairwise(numbers))
    assert set(range(least, min(fine, most) + 1)) <= set(numbers)
    assert all(b >= 0.9 * a - 1 for a, b in itertools.pairwise(numbers)), "more than a tenth goes at once"
