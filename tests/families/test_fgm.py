"""The feature generating machine against the conic solver, against enumeration, and against the paper's figures."""

import itertools
import time

import numpy as np
import pytest

from tests.families.growing import fgm
from tests.oracles import convex, subsets
from tests.problems import problem
from thresher.data.input.validation import as_design
from thresher.datasets import make_wide
from thresher.families.fgm.spec import features_per_turn
from thresher.optim.problems.losses import LOSSES
from thresher.optim.problems.margins import MarginProblem
from thresher.results import StopReason, Trace, reached_text


def run(X, y, cost, loss="squared_hinge", *, shift=True, **options):
    posed = MarginProblem(y, cost, LOSSES[loss], shift)
    selection = fgm(as_design(np.asarray(X)), [posed], Trace(), **{"wanted": None, **options})
    selection.check()
    return selection


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shift", [True, False])
@pytest.mark.parametrize("shape", [(60, 30), (20, 60)])
def test_growth_reaches_the_optimum_over_all_columns(loss, shift, shape):
    X, y, cost = problem(*shape, weighted=True)
    optimum, w, b, _ = convex.adaptive_scaling(X, y, cost, 3, loss, shift=shift)
    found = run(X, y, cost, loss, shift=shift, per_turn=3, tol=1e-9)
    at_zero = found.certificate.at_zero
    assert found.certificate.objective == pytest.approx(optimum, abs=1e-6 * at_zero)
    assert found.certificate.lower_bound <= optimum + 1e-6 * at_zero
    dense = np.zeros(shape[1])
    dense[found.features] = found.weights
    np.testing.assert_allclose(dense, w, atol=1e-3)
    assert found.intercept == pytest.approx(b, abs=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_forced_columns_reach_the_optimum_of_the_problem_with_d_fixed(loss):
    X, y, cost = problem(60, 30)
    optimum = convex.adaptive_scaling(X, y, cost, 3, loss, forced=(28, 29))[0]
    found = run(X, y, cost, loss, per_turn=3, tol=1e-9, forced=(29, 28))
    assert found.certificate.objective == pytest.approx(optimum, abs=1e-6 * found.certificate.at_zero)
    assert {28, 29} <= set(found.features.tolist())


@pytest.mark.parametrize("loss", LOSSES)
def test_bounds_hold_at_every_turn(loss):
    """lower_bound never above the optimum, gap never negative and falling to zero: the best bound is kept."""
    for seed in range(8):
        X, y, cost = problem(30, 40, seed, C=[0.1, 10.0][seed % 2])
        optimum = convex.adaptive_scaling(X, y, cost, 2, loss)[0]
        found = run(X, y, cost, loss, per_turn=2, tol=1e-6, inner_tol=[1e-2, 1e-6][seed // 4])
        turns = found.trace.turns
        assert all(turn.lower_bound <= optimum * (1 + 1e-7) for turn in turns)
        assert all(turn.objective >= optimum * (1 - 1e-7) for turn in turns)
        assert all(a.lower_bound <= b.lower_bound for a, b in itertools.pairwise(turns))
        assert turns[-1].gap < 1e-2


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("shift", [True, False])
def test_pick_bound_lies_below_every_subset(loss, k, shift):
    for seed in range(4):
        X, y, cost = problem(25, 8, seed, C=[0.3, 5.0][seed % 2])
        best = subsets.best_subset(X, y, cost, k, loss, shift=shift)[0]
        for debias in (False, True):
            found = run(X, y, cost, loss, shift=shift, wanted=k, debias=debias)
            assert found.features.size == k
            assert found.certificate.pick_bound <= best * (1 + 1e-8)
            assert found.certificate.pick_objective >= best * (1 - 1e-8)
            if debias:
                own = subsets.ridge(X[:, found.features], y, cost, loss, shift=shift)[0]
                assert found.certificate.pick_objective == pytest.approx(own, rel=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("idle", [False, True])
def test_pick_bound_with_forced_columns(loss, idle):
    """Also when a forced column holds nothing: it takes a place, has weight zero and is returned."""
    for seed in range(4):
        X, y, cost = problem(25, 8, seed)
        if idle:
            X[:, 7] = 0.0
        best = subsets.best_subset(X, y, cost, 3, loss, forced=(7,))[0]
        found = run(X, y, cost, loss, wanted=3, forced=(7,), debias=True)
        assert found.features.size == 3
        assert 7 in found.features
        assert found.certificate.pick_bound <= best * (1 + 1e-8)
        assert best <= found.certificate.pick_objective * (1 + 1e-8)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shift", [True, False])
def test_bounds_hold_with_everything_at_once(loss, shift):
    """Weights, forced columns, an earlier fit to start from, a raised budget, a deadline, loose inner solves."""
    for seed in range(6):
        X, y, cost = problem(30, 20, seed, weighted=True, C=[0.05, 20.0][seed % 2])
        start = [(np.array([3, 5, 11]), np.array([[0.5], [-1.0], [3.0]]))]
        options = {
            "starts": (lambda most, start=start: start) if seed % 3 == 0 else None,
            "forced": (19, 2) if seed < 4 else (),
            "wanted": [None, 12][seed % 2],
            "inner_tol": [None, 0.3][seed // 3],
            "deadline": time.perf_counter() if seed == 4 else None,
        }
        found = run(X, y, cost, loss, shift=shift, **options)
        optimum = convex.adaptive_scaling(X, y, cost, found.budget, loss, shift=shift, forced=options["forced"])[0]
        slack = 1e-7 * found.certificate.at_zero
        assert found.certificate.lower_bound <= optimum + slack
        assert found.certificate.objective >= optimum - slack
        if options["wanted"] is None:  # one budget all along
            assert all(turn.lower_bound <= optimum + slack for turn in found.trace.turns)
        everything = subsets.ridge(X, y, cost, loss, shift=shift)[0]
        assert found.certificate.pick_objective >= everything - slack


def test_new_groups_stall_where_the_k_support_norm_converges():
    """The paper's sub-problem (30) on new features only does not reach the optimum; ours does (issue: 60 x 80)."""
    X, y, cost = problem(60, 80, 3, noise=2.0)
    ours = run(X, y, cost, per_turn=4, tol=1e-7)
    paper = run(X, y, cost, per_turn=4, tol=1e-7, literal=True, max_turns=19)
    assert ours.certificate.gap <= 1e-7
    assert paper.certificate.gap > 1e-3
    assert paper.certificate.objective >= ours.certificate.objective


@pytest.mark.parametrize("k", [1, 7, 40, 80])
@pytest.mark.parametrize("loss", LOSSES)
def test_exactly_k_features_come_back(k, loss):
    X, y, cost = problem(60, 80, 4)
    found = run(X, y, cost, loss, wanted=k)
    assert found.features.size == k
    assert found.stop_reason == reached_text(k)


def test_a_fixed_budget_that_is_too_small_says_so():
    X, y, cost = problem(60, 80, 4, C=0.01)
    found = run(X, y, cost, wanted=60, per_turn=1)
    assert found.features.size < 60
    assert found.stop_reason.startswith("converged: duality gap")
    assert found.stop_reason.endswith(" <= tol=0.001")
    assert found.budget == 1


def test_every_reason_to_stop():
    X, y, cost = problem(60, 80, 4)
    assert run(X, y, cost, wanted=5, per_turn=2, max_turns=1).stop_reason == "stopped early: max_iter=1 reached"
    assert run(X, y, cost, deadline=time.perf_counter()).stop_reason == "stopped early: max_time reached"
    assert run(X, y, cost, tol=0.01).stop_reason.endswith(" <= tol=0.01")
    nothing = run(np.zeros_like(X), y, cost)
    assert nothing.stop is StopReason.CONVERGED
    assert nothing.stop_reason.endswith(" <= tol=0.001; no other feature has a non-zero score")
    assert "decreased by less than" in run(X, y, cost, literal=True, tol=1e-2).stop_reason
    assert run(X[:, :3], y, cost, tol=0.0, per_turn=1).features.size == 3


def test_passes_are_one_a_turn_and_one_more():
    X, y, cost = problem(400, 80, 4)
    found = run(X, y, cost, wanted=20, per_turn=5)
    scans = [step for step in found.trace.steps if step.kind == "scan"]
    assert len(scans) == len(found.trace.turns) == 5
    assert found.trace.passes == pytest.approx(5 + 20 / 80)


def test_features_per_turn_rule():
    assert [features_per_turn(k) for k in (None, 1, 10, 11, 300, 1000, 5000)] == [10, 1, 1, 2, 30, 100, 100]


@pytest.mark.parametrize("budget", [10, 30])
def test_figure_1_inexact_growth_equals_exact_growth(budget):
    """Inner accuracy 1e-3 gives the objective of 1e-6 after each turn, to a per cent of the start."""
    data = make_wide(512, 1024, n_relevant=60, random_state=1)
    y, cost = data.y.astype(float), np.full(512, 10.0)
    exact, inexact = (run(data.X, y, cost, per_turn=budget, wanted=150, inner_tol=tol) for tol in (1e-6, 1e-3))
    pairs = zip(exact.trace.turns, inexact.trace.turns, strict=False)
    assert all(abs(a.objective - b.objective) <= 0.01 * exact.certificate.at_zero for a, b in pairs)


def test_figure_5_a_shift_lowers_the_objective():
    """Labels sign(Xw - 4): with the shift the objective is far lower at the same number of features."""
    data = make_wide(512, 1024, n_relevant=60, shift=4.0, random_state=2)
    y, cost = data.y.astype(float), np.full(512, 10.0)
    with_shift = run(data.X, y, cost, wanted=60)
    without = run(data.X, y, cost, wanted=60, shift=False)
    assert with_shift.certificate.objective < 0.9 * without.certificate.objective
    assert with_shift.intercept < -0.5


def test_one_feature_is_not_several():
    assert reached_text(1) == "1 feature selected, as requested"
    assert reached_text(2) == "2 features selected, as requested"
