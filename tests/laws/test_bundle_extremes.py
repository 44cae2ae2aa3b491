"""The bundle method at the ends: bad starts, starts without loss, no time, slow progress, and all units of X."""

import time
import warnings

import numpy as np
import pytest

from tests.laws.measures import by_kind
from tests.laws.test_bundle import block_of, larger, posed
from thresher import F1, PRBEP, AveragePrecision, ErrorRate, PrecisionAtK
from thresher.optim.penalties.norms import KSupport
from thresher.optim.solvers import bundle
from thresher.optim.solvers.solution import Start


@by_kind
@pytest.mark.parametrize("size", [1e3, 1e12])
def test_a_start_that_is_worse_than_no_model(measure, size):
    """However bad it is, and however early the search ends: the model is no worse than none, and not zero."""
    X, y = larger(0, 40, 6, share=0.3)
    problem = posed(measure, y, 100.0)
    w = -size * np.array([1.0, 1.0, 1.0, 0.5, 0.0, 0.0])
    start = Start(w, X @ w)
    assert problem.at(X @ w).loss > 100.0
    search = bundle.BundleSearch(block_of(X), problem, KSupport(2), start)
    assert search.best.objective <= 100.0 * (1.0 + 2.0 * bundle.FINEST_GAP)
    assert search.best.w[:4].all()
    found = bundle.solve(block_of(X), problem, KSupport(2), start, tol=0.1)
    cold = bundle.solve(block_of(X), problem, KSupport(2), tol=0.1)
    assert found.objective == pytest.approx(cold.objective, abs=0.1)
    assert found.bound <= cold.objective * (1.0 + 1e-9)


@by_kind
def test_a_start_without_loss_and_without_cuts(measure):
    """Nothing is violated there, so that there may be no cuts: weights of zero bound nothing, and divide nothing."""
    X, _ = larger(1, 30, 6)
    y = np.where(X[:, 0] > 0.3, 1.0, -1.0)
    X[:, 0] += y
    problem, start = posed(measure, y, 1e4), np.array([1e3, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert problem.at(X @ start).loss == 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = bundle.solve(block_of(X), problem, KSupport(2), Start(start, X @ start), tol=0.0)
    cold = bundle.solve(block_of(X), problem, KSupport(2), tol=0.0)
    assert found.objective == pytest.approx(cold.objective, rel=3e-5)
    assert found.bound <= cold.objective * (1.0 + 1e-9)


@pytest.mark.parametrize("start", [None, "tiny"])
def test_where_no_model_is_better_than_none_the_weights_still_order(start):
    """Noise and a rare class: zero weights are optimal, but all features get some, at hardly any cost."""
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((200, 8)), np.where(rng.random(200) < 0.05, 1.0, -1.0)
    problem = posed(F1(), y, 10.0)
    if start is not None:  # what an earlier solve on one of the columns left
        w = 1e-9 * np.eye(8)[0]
        start = Start(w, X @ w)
    found = bundle.solve(block_of(X), problem, KSupport(8), start, tol=1e-3)
    assert found.bound > 0.99 * problem.without_features
    assert found.w.all()
    assert found.objective <= problem.without_features * (1.0 + 2.0 * bundle.FINEST_GAP)
    np.testing.assert_allclose(found.objective, 0.5 * found.w @ found.w + problem.at(X @ found.w).loss)
    assert np.corrcoef(found.w, found.scores)[0, 1] > 0.99  # the direction that the bound leads to


def test_when_time_is_over_the_model_of_the_start_stays_where_none_is_better_than_none():
    """Its order is that of a search that ended; the bounds of a first iteration lead nowhere."""
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((200, 8)), np.where(rng.random(200) < 0.05, 1.0, -1.0)
    problem, block = posed(F1(), y, 10.0), block_of(X)
    first = bundle.solve(block, problem, KSupport(8), tol=1e-3)
    late = bundle.solve(block, problem, KSupport(2), Start(first.w, first.z, first.b), tol=1e-9, deadline=0.0)
    np.testing.assert_allclose(late.w / np.abs(late.w).max(), first.w / np.abs(first.w).max(), rtol=1e-12)


@pytest.mark.parametrize("size", [0.01, 1.0, 100.0])
def test_when_time_is_over_a_bad_start_is_no_worse_than_no_model(size):
    """Errors on a rare class: many starts are below C n and far above no model."""
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((200, 8)), np.where(rng.random(200) < 0.05, 1.0, -1.0)
    problem, w = posed(ErrorRate(), y, 1e3), size * rng.standard_normal(8)
    late = bundle.solve(block_of(X), problem, KSupport(8), Start(w, X @ w), tol=1e-9, deadline=0.0)
    assert late.w.any()
    assert late.objective <= problem.without_features * (1.0 + 2.0 * bundle.FINEST_GAP)


@pytest.mark.parametrize("measure", [PRBEP(), AveragePrecision()], ids=repr)
def test_a_bound_that_rises_late(measure):
    """Classes that overlap on many columns: dozens of iterations change nothing before the gap falls."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 30))
    pull = X[:, :3].sum(axis=1) + 2.0 * rng.standard_normal(300)
    problem = posed(measure, np.where(pull > np.quantile(pull, 0.8), 1.0, -1.0), 1e8)
    tol, longest = 1e-3 * problem.without_features, 0
    found = bundle.BundleSearch(block_of(X), problem, KSupport(30), Start(np.zeros(30), np.zeros(300)))
    while not found.is_settled(tol):
        before = found.smaller[0]
        found.iterate(tol)
        longest = max(longest, found.smaller[0] - before)
    assert longest > 40
    assert found.has_converged(tol)


# units of X


@by_kind
@pytest.mark.parametrize("k", [2, 6])
@pytest.mark.parametrize("units", [1e3, 1e6, "mixed"])
def test_units_of_the_columns_with_a_large_C(measure, k, units):
    """The penalty then counts for nothing, whatever the units are: the same risk, a gap that is reached, in time."""
    X, y = larger(2, 60, 6, share=0.3)
    X[:, 0] -= 0.3 * y  # classes overlap
    factors = np.array([1.0, 1e6, 2.0, 1e3, 1e6, 10.0]) if units == "mixed" else np.full(6, units)
    problem = posed(measure, y, 1e6)
    aim, deadline = 1e-3 * problem.without_features, time.perf_counter() + 60.0  # a fraction of a second each
    given = bundle.searched(block_of(X), problem, KSupport(k), tol=aim, deadline=deadline)
    large = bundle.searched(block_of(X * factors), problem, KSupport(k), tol=aim, deadline=deadline)
    assert not given.cut_short
    assert not large.cut_short
    assert large.gap <= max(large.aim(aim), 1e-5 * problem.without_features)
    assert large.best.objective == pytest.approx(given.best.objective, abs=2.0 * aim)
    assert large.bound <= given.best.objective


@by_kind
def test_gaps_that_cannot_be_closed_end_the_search(measure):
    """1e12 times as large: the weights are the last digits of sums. It ends by itself, with a model not much worse."""
    X, y = larger(2, 60, 6, share=0.3)
    X[:, 0] -= 0.3 * y
    problem = posed(measure, y, 1e6)
    given = bundle.searched(block_of(X), problem, KSupport(2), tol=1e3)
    large = bundle.searched(block_of(1e12 * X), problem, KSupport(2), tol=0.0)
    assert large.iterations < 200
    assert large.best.objective <= given.best.objective + 2e-2 * problem.without_features
    assert large.bound <= given.best.objective


@pytest.mark.parametrize("size", [1.0, 1e4, 1e6, 1e8])
def test_separable_data_in_any_units_gives_weight_to_every_column(size):
    """The objective is then next to nothing beside C n, and less than its rounding errors."""
    X, y = larger(3, 60, 6, share=0.3)
    X[:, :2] += 3.0 * y[:, None]
    problem = posed(PrecisionAtK(5), y, 1e6)
    found = bundle.solve(block_of(size * X), problem, KSupport(6), tol=1e3)
    assert found.w.all()
    assert problem.at(found.z).loss <= 1e-3
