"""Laws of elimination by cuts: exactly the units asked for, nested, and each station as if solved from nothing."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from tests.laws.measures import FREE, LIST, parameters
from tests.laws.storages import BLOCKS
from tests.oracles import cuts as oracle
from thresher.data.blocks.dense import DenseBlock
from thresher.optim.elimination import by_cuts as cut_elimination
from thresher.optim.elimination.by_cuts import eliminate
from thresher.optim.elimination.rules import Needs, Rules
from thresher.optim.measures.values import F1, PRBEP, ErrorRate, RecallAtK, RocArea
from thresher.optim.penalties.layout import Layout
from thresher.optim.penalties.norms import KSupport
from thresher.optim.problems.cuts import CutProblem
from thresher.optim.solvers import bundle
from thresher.optim.solvers.solution import DeadlinePassed, Start

FEW = [ErrorRate(), F1(), PRBEP(), RecallAtK(2.0), RocArea()]
few = pytest.mark.parametrize("measure", FEW, ids=repr)


def rows(count=1, n=30, p=10, seed=0):
    """(X, Y (count, n)): each class leans on two columns of its own."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    pull = X[:, : 2 * count].reshape(n, count, 2).sum(axis=2) + 0.5 * rng.standard_normal((n, count))
    return X, np.where(pull > np.quantile(pull, 0.65, axis=0), 1.0, -1.0).T


def pose(measure, count=1, total=100.0, **options):
    X, Y = rows(count, **options)
    return X, [CutProblem(y, np.full(y.size, total / y.size), measure) for y in Y]


def dense(X):
    return DenseBlock(np.asfortranarray(X))


def down(X, problems, numbers, *, tol=1e-4, starts=None, block=None, **options):
    """The stations at ``numbers``; ``tol`` is a share of the totals."""
    block = dense(X) if block is None else block
    starts = [Start.zero(block) for _ in problems] if starts is None else starts
    return list(eliminate(block, problems, starts, numbers, Rules(tol * scale(problems), **options)))


def scale(problems):
    return sum(float(problem.totals.sum()) for problem in problems)


def solved(X, problems, kept):
    """The solutions on the columns ``kept`` by themselves."""
    return [bundle.solve(dense(X[:, kept]), problem, KSupport(kept.size), tol=0.0) for problem in problems]


@pytest.mark.parametrize("measure", LIST, ids=repr)
@pytest.mark.parametrize("count", [1, 3])
def test_each_station_is_as_if_solved_from_nothing(measure, count):
    """Exact numbers, nested, bound <= optimum <= objective, and the gap is what was asked for."""
    X, problems = pose(measure, count)
    numbers, tol = [10, 8, 7, 4, 2, 1], 1e-3
    stations = down(X, problems, numbers, tol=tol)
    assert [station.kept.size for station in stations] == numbers
    for before, after in itertools.pairwise(stations):
        assert set(after.kept) < set(before.kept)
    for station in stations:
        exact = solved(X, problems, station.kept)
        low, high = sum(s.bound for s in exact), sum(s.objective for s in exact)
        assert sum(s.bound for s in station.solutions) <= high * (1.0 + 1e-9)
        assert low * (1.0 - 1e-9) <= station.objective <= high + tol * scale(problems)
        assert station.gap <= max(tol * scale(problems), bundle.FINEST_GAP * station.objective)


@few
def test_a_station_has_the_optimum_of_all_cuts(measure):
    """The conic solver is given every labelling or ranking, on the columns that are left."""
    X, (problem,) = pose(measure, n=6 if measure == RocArea() else 9, total=20.0)
    losses, V = oracle.every_cut(measure.name, problem.y, **parameters(measure))
    for station in down(X, [problem], [10, 5, 3, 1], tol=0.0):
        cuts = V @ X[:, station.kept], losses, V.sum(axis=1), 20.0
        optimum = oracle.optimum([cuts], station.kept.size, shifted=measure in FREE)[0]
        assert station.objective == pytest.approx(optimum, rel=3e-5)
        assert station.solutions[0].bound <= optimum * (1.0 + 1e-6)


@few
@pytest.mark.parametrize("count", [1, 3])
def test_the_lightest_column_goes(measure, count):
    """By the squared weights of all classes, up to what the gap leaves open."""
    X, problems = pose(measure, count)
    for before, after in itertools.pairwise(down(X, problems, range(10, 4, -1), tol=1e-6)):
        (gone,) = np.setdiff1d(before.kept, after.kept)
        squares = sum(solution.w**2 for solution in before.solutions)
        assert squares[np.searchsorted(before.kept, gone)] == squares.min()
        known = sum(solution.w**2 for solution in solved(X, problems, before.kept))
        own = known[np.searchsorted(before.kept, gone)]
        slack = np.sqrt(2.0 * count * bundle.FINEST_GAP * before.objective)
        assert np.sqrt(own) <= np.sqrt(known.min()) + 4.0 * slack


@few
@pytest.mark.parametrize("count", [1, 3])
def test_forced_columns_never_go(measure, count):
    """However little they say: these are noise, and one is zero."""
    X, problems = pose(measure, count)
    X = np.concatenate([1e-3 * np.random.default_rng(1).standard_normal((30, 1)), np.zeros((30, 1)), X], axis=1)
    stations = down(X, problems, range(12, 1, -2), forced=2)
    assert [station.kept.size for station in stations] == list(range(12, 1, -2))
    assert all(station.kept[:2].tolist() == [0, 1] for station in stations)


@few
@pytest.mark.parametrize("numbers", [range(16, 0, -3), [16, 6, 5, 2], [16, 3]])
def test_the_pool_stays_while_others_are_left(measure, numbers):
    """The first 6 columns are noise, so they would all go first."""
    X, problems = pose(measure)
    X = np.concatenate([0.1 * np.random.default_rng(1).standard_normal((30, 6)), X], axis=1)
    for station in down(X, problems, numbers, pool=6):
        pool = set(range(6))
        assert pool <= set(station.kept.tolist()) or set(station.kept.tolist()) <= pool


@few
@pytest.mark.parametrize("count", [1, 3])
def test_columns_of_a_unit_go_together(measure, count):
    """Numbers are those of units; the unit that goes has the least sum of squares."""
    X, problems = pose(measure, count)
    layout = Layout(np.array([1, 3, 2, 4]))
    unit, stations = layout.unit_of(np.arange(10)), down(X, problems, [4, 3, 2, 1], layout=layout)
    for station in stations:
        np.testing.assert_array_equal(station.units, np.unique(unit[station.kept]))
        np.testing.assert_array_equal(station.kept, np.flatnonzero(np.isin(unit, station.units)))
    assert [station.units.size for station in stations] == [4, 3, 2, 1]
    for before, after in itertools.pairwise(stations):
        (gone,) = np.setdiff1d(before.units, after.units)
        squares = sum(solution.w**2 for solution in before.solutions)
        sums = np.bincount(unit[before.kept], squares, minlength=4)
        assert sums[gone] == sums[before.units].min()
        exact = solved(X, problems, after.kept)
        assert after.objective <= sum(s.objective for s in exact) + 1e-4 * scale(problems)


@few
def test_what_others_need_stays(measure):
    """Column 9, which is zero and so the lightest, is needed by all others."""
    X, problems = pose(measure)
    X[:, 9] = 0.0
    others = np.full((10, 2), -1)
    others[:9, 0] = 9
    stations = down(X, problems, [10, 7, 3, 2, 1], needs=Needs(others, both=True))
    assert all(9 in station.kept for station in stations)
    assert down(X, problems, [10, 9])[1].kept.tolist() == list(range(9))


@few
def test_weights_scores_and_objective_belong_together(measure):
    X, problems = pose(measure, 3)
    for station in down(X, problems, [10, 6, 1]):
        for problem, found in zip(problems, station.solutions, strict=True):
            np.testing.assert_allclose(found.z, X[:, station.kept] @ found.w, atol=1e-10)
            assert found.objective == pytest.approx(0.5 * found.w @ found.w + found.loss, rel=1e-12)
            assert problem.at(found.z).loss <= found.loss * (1.0 + 1e-9)
            np.testing.assert_allclose(found.scores, X[:, station.kept].T @ found.dual.vector, atol=1e-9)


@few
def test_cuts_of_earlier_stations_make_later_ones_cheap(measure):
    """Fewer iterations than from nothing; the start hands its cuts on."""
    X, problems = pose(measure, n=60, p=16, total=1e4)
    numbers = range(16, 0, -1)
    start = bundle.solve(dense(X), problems[0], KSupport(16), tol=1.0)
    starts = [Start(start.w, start.z, start.b, start.memory)]
    stations = down(X, problems, numbers, starts=starts)
    alone = [
        bundle.solve(dense(X[:, s.kept]), problems[0], KSupport(s.kept.size), tol=1e-4 * scale(problems))
        for s in stations
    ]
    assert sum(s.solutions[0].iterations for s in stations) < sum(s.iterations for s in alone)
    assert stations[0].solutions[0].iterations <= alone[0].iterations


@few
def test_columns_that_were_taken_after_the_last_solve(measure):
    """Cuts of a solve on the first six columns: the other four have no products yet."""
    X, problems = pose(measure)
    first = bundle.solve(dense(X[:, :6]), problems[0], KSupport(6), tol=1.0)
    start = Start(np.append(first.w, np.zeros(4)), first.z, first.b, first.memory)
    station = down(X, problems, [10, 8], starts=[start])[0]
    (exact,) = solved(X, problems, station.kept)
    assert station.objective <= exact.objective + 1e-4 * scale(problems)


@few
def test_two_tolerances(measure):
    """``first_tol`` is that of the first station, ``tol`` of the others."""
    X, problems = pose(measure)
    first, *others = down(X, problems, [10, 9, 5], tol=0.3, first_tol=1e-3 * scale(problems))
    assert first.gap <= 1e-3 * scale(problems)
    assert all(station.gap <= 0.3 * scale(problems) for station in others)


@pytest.mark.parametrize("storage", ["dense_F_float64", "csr_int32", "stacked_csc", "shifted_csc"])
def test_large_blocks_are_not_copied_and_give_the_same_stations(storage, monkeypatch):
    X, problems = pose(F1(), 3)
    X = np.round(X * 64) / 64
    block = BLOCKS[storage](X)
    small = down(X, problems, [10, 6, 3, 1], block=block)
    monkeypatch.setattr(cut_elimination, "ELIMINATION_ENTRIES", 0)
    for one, other in zip(small, down(X, problems, [10, 6, 3, 1], block=block), strict=True):
        np.testing.assert_array_equal(one.kept, other.kept)
        assert one.objective == pytest.approx(other.objective, rel=1e-6)


@pytest.mark.parametrize("count", [1, 3])
def test_a_station_that_the_deadline_passes_in_is_given_up(count, monkeypatch):
    """Those before it are as if there were no deadline; the clock is looked at in every iteration."""
    X, problems = pose(F1(), count)
    with pytest.raises(DeadlinePassed):
        down(X, problems, range(10, 0, -1), deadline=0.0)
    whole, calls = down(X, problems, range(10, 0, -1)), itertools.count()
    monkeypatch.setattr("thresher.optim.solvers.solution.time", SimpleNamespace(perf_counter=calls.__next__))
    stations, starts = [], [Start.zero(dense(X))] * count
    rules = Rules(1e-4 * scale(problems), deadline=30 * count)
    made = eliminate(dense(X), problems, starts, range(10, 0, -1), rules)
    with pytest.raises(DeadlinePassed):
        stations.extend(made)
    assert next(calls) <= 30 * count + 4
    assert 0 < len(stations) < len(whole)
    for station, other in zip(stations, whole, strict=False):
        np.testing.assert_array_equal(station.kept, other.kept)
        assert station.gap == other.gap
