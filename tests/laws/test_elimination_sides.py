"""Elimination by rows and by columns: the same stations, and those of a plain solve from nothing."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.data.blocks.dense import DenseBlock
from thresher.optim.elimination import by_curvature as elimination
from thresher.optim.elimination.rules import Rules
from thresher.optim.penalties.layout import Layout
from thresher.optim.penalties.norms import KSupport
from thresher.optim.problems.losses import LOSSES
from thresher.optim.problems.margins import MarginProblem
from thresher.optim.solvers import newton
from thresher.optim.solvers.dual_active_set import dual_solution
from thresher.optim.solvers.solution import Start

TOL = 1e-13  # of the objective without columns
EXACT = 1e-9


@st.composite
def posed(draw):
    """(X, problems, layout, forced): few rows or columns, with ties, duplicates, weights, classes, forced and units."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, m = draw(st.integers(4, 25)), draw(st.integers(2, 30))
    X = rng.standard_normal((n, m))
    if draw(st.booleans()):
        X = np.round(X)  # ties between entries
    if draw(st.booleans()):
        X[:, rng.integers(0, m, m // 2)] = X[:, rng.integers(0, m, m // 2)]  # duplicate columns
    if draw(st.booleans()):
        X[rng.integers(0, n, n // 2)] = X[rng.integers(0, n, n // 2)]  # and rows
    cost = draw(st.sampled_from([0.1, 1.0, 30.0])) * np.ones(n)
    if draw(st.booleans()):
        cost *= rng.integers(0, 4, n)  # weights, some of them zero
        cost[:2] = 1.0
    loss, shift = LOSSES[draw(st.sampled_from(sorted(LOSSES)))], draw(st.booleans())
    labels = rng.choice([-1.0, 1.0], (draw(st.sampled_from([1, 1, 3])), n))
    labels[:, :2] = [1.0, -1.0]
    sizes = None
    if draw(st.booleans()):
        cuts = np.unique(rng.integers(1, m, 4)) if m > 1 else []
        sizes = np.diff(np.concatenate([[0], cuts, [m]]))
    units = m if sizes is None else sizes.size
    forced = draw(st.integers(0, min(2, units - 1)))
    return X, [MarginProblem(y, cost, loss, shift) for y in labels], Layout(sizes), units, forced


def stations(X, problems, layout, units, forced, *, rows):
    """Every number of units, with the inverse on one side throughout."""
    block = DenseBlock(np.asfortranarray(X))
    scale = sum(one.at_zero() for one in problems)
    counts, starts = range(units, max(forced, 1) - 1, -1), [Start.zero(block) for _ in problems]
    with patch.object(elimination, "rows_are_fewer", lambda *_: rows):
        rules = Rules(TOL * scale, layout=layout, forced=forced)
        return list(elimination.eliminate(block, problems, starts, counts, rules))


@settings(max_examples=100, deadline=None)
@given(posed())
def test_rows_and_columns_give_the_same_stations(given_problem):
    X, problems, layout, units, forced = given_problem
    by_rows = stations(X, problems, layout, units, forced, rows=True)
    by_columns = stations(X, problems, layout, units, forced, rows=False)
    assert len(by_rows) == len(by_columns) == units - max(forced, 1) + 1
    scale = sum(one.at_zero() for one in problems)
    near = 2.0 * np.sqrt(2.0 * TOL * scale)
    for one, other in zip(by_rows, by_columns, strict=True):
        assert one.objective == pytest.approx(other.objective, abs=EXACT * scale)
        if not np.array_equal(one.units, other.units):
            return  # of units whose loss is equal up to rounding either may leave: then the objectives are equal, too
        np.testing.assert_array_equal(one.kept, other.kept)
        for mine, theirs in zip(one.solutions, other.solutions, strict=True):
            assert np.linalg.norm(mine.w - theirs.w) <= near  # the objective is strongly convex


@settings(max_examples=40, deadline=None)
@given(posed(), st.booleans())
def test_each_station_is_a_plain_solve_from_nothing(given_problem, rows):
    X, problems, layout, units, forced = given_problem
    for station in stations(X, problems, layout, units, forced, rows=rows):
        block = DenseBlock(np.asfortranarray(X[:, station.kept]))
        for one, found in zip(problems, station.solutions, strict=True):
            plain = newton.solve(block, one, KSupport(block.shape[1]), tol=TOL * one.at_zero())
            assert found.objective == pytest.approx(plain.objective, abs=EXACT * one.at_zero())


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 40), st.integers(1, 60), st.sampled_from([1e-2, 1.0, 1e3]), st.booleans())
def test_pivoting_ends_where_the_optimality_conditions_hold(seed, n, m, C, shifted):
    """From any feasible start: signs, the sum, margins of 1 less the slack inside and of at least 1 outside."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, m)), rng.choice([-1.0, 1.0], n)
    y[:2] = [1.0, -1.0]
    cost = C * rng.integers(0, 3, n)
    cost[:2] = C
    start = np.zeros(n)
    start[:2] = y[:2] * rng.random()
    K = X @ X.T
    v = dual_solution(K, y, cost, start, shifted=shifted)
    alpha, inside = v * y, v != 0.0
    assert (alpha >= 0.0).all()
    assert not v[cost == 0.0].any()
    slack = 1.0 - y * (K @ v)
    b = 0.0
    if shifted:
        assert v.sum() == pytest.approx(0.0, abs=1e-9 * np.abs(v).sum())
        b = float(np.mean((y * (slack - alpha / np.maximum(cost, 1e-300)))[inside]))
    slack = slack - y * b
    np.testing.assert_allclose(slack[inside], (alpha / np.maximum(cost, 1e-300))[inside], atol=1e-7)
    assert (slack[~inside & (cost > 0.0)] <= 1e-7).all()
