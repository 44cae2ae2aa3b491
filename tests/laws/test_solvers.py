"""Laws of every solver: the oracle's optimum, a gap that never lies, and a start at the answer that costs nothing."""

import numpy as np
import pytest

from tests.oracles import convex
from tests.problems import many_classes, problem
from thresher.data.blocks.repeated import RepeatedBlock
from thresher.data.input.validation import as_design
from thresher.optim.penalties.layout import Layout
from thresher.optim.penalties.norms import GroupSum, KSupport
from thresher.optim.problems.losses import LOSSES
from thresher.optim.problems.margins import MarginProblem
from thresher.optim.solvers import apg, interior, newton
from thresher.optim.solvers.solution import Start


def dual(block, problem, penalty, start=None, **options):
    return interior.solve(block, problem, penalty, Start.zero(block) if start is None else start, **options)


SOLVERS = {"newton": newton.solve, "apg": apg.solve, "interior": dual}
CASES = [(name, loss) for name in SOLVERS for loss in LOSSES if (name, loss) != ("interior", "logistic")]
SHAPES = {"tall": (60, 12), "wide": (20, 40), "separable": (15, 30)}


def pose(shape, loss, *, shift=True, seed=0, **options):
    n, p = SHAPES[shape]
    X, y, cost = problem(n, p, seed, noise=0.0 if shape == "separable" else 1.0, **options)
    block = as_design(np.asfortranarray(X)).take(np.arange(p))
    return X, y, cost, block, MarginProblem(y, cost, LOSSES[loss], shift)


@pytest.mark.parametrize(("solver", "loss"), CASES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("shift", [True, False])
@pytest.mark.parametrize("budget", [1, 4])
def test_optimum_of_the_adaptive_scaling_problem(solver, loss, shape, shift, budget):
    X, y, cost, block, posed = pose(shape, loss, shift=shift, weighted=True)
    optimum = convex.adaptive_scaling(X, y, cost, budget, loss, shift=shift)[0]
    found = SOLVERS[solver](block, posed, KSupport(budget), tol=1e-8 * posed.at_zero())
    assert found.gap <= 1e-8 * posed.at_zero()
    assert found.objective == pytest.approx(optimum, abs=1e-6 * posed.at_zero())
    assert found.bound <= optimum + 1e-6 * posed.at_zero()


@pytest.mark.parametrize(("solver", "loss"), CASES)
def test_forced_columns_are_outside_the_budget(solver, loss):
    X, y, cost, block, posed = pose("tall", loss)
    optimum = convex.adaptive_scaling(X, y, cost, 2, loss, forced=(0, 1, 2))[0]
    found = SOLVERS[solver](block, posed, KSupport(2, forced=3), tol=1e-8 * posed.at_zero())
    assert found.objective == pytest.approx(optimum, abs=1e-6 * posed.at_zero())


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shift", [True, False])
@pytest.mark.parametrize("shape", [(60, 12), (18, 25)])
@pytest.mark.parametrize("way", ["by factors", "by conjugate gradients"])
def test_several_classes_share_one_scaling(loss, shift, shape, way, monkeypatch):
    X, _, Y, cost = many_classes(*shape, seed=2)
    if way == "by conjugate gradients":
        monkeypatch.setattr(newton, "DENSE_ENTRIES", 0)
    block = as_design(np.asfortranarray(X)).take(np.arange(shape[1]))
    posed = MarginProblem(Y.T.ravel(), np.tile(cost, 3), LOSSES[loss], shift, classes=3)
    optimum, W, b, _ = convex.shared_scaling(X, Y, cost, 3, loss, shift=shift, forced=(0,))
    found = newton.solve(RepeatedBlock(block, 3), posed, KSupport(3, 1, Layout(classes=3)), tol=1e-9 * posed.at_zero())
    assert found.gap <= 1e-9 * posed.at_zero()
    assert found.objective == pytest.approx(optimum, abs=1e-6 * posed.at_zero())
    np.testing.assert_allclose(found.w.reshape(3, -1).T, W, atol=2e-3)
    np.testing.assert_allclose(np.broadcast_to(found.b, 3), b, atol=2e-3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shift", [True, False])
def test_sub_problem_30_and_theorem_3(loss, shift):
    """The oracle's optimum of (30); alpha = C xi attains the dual; omega_h = mu_h c_h, lengths sum to max ||c_h||."""
    X, y, cost, block, posed = pose("tall", loss, shift=shift)
    groups = [list(range(a, a + 2)) for a in range(0, 12, 2)]
    optimum = convex.group_sum(X, y, cost, groups, loss, shift=shift)[0]
    found = apg.solve(block, posed, GroupSum((2,) * 6), tol=1e-9 * posed.at_zero())
    assert found.objective == pytest.approx(optimum, abs=1e-6 * posed.at_zero())
    if loss == "squared_hinge":
        assert convex.kernel_dual(X, y, cost, groups, shift=shift)[0] == pytest.approx(optimum, abs=1e-5)
    lengths = np.array([np.linalg.norm(found.w[g]) for g in groups])
    pulls = np.array([np.linalg.norm(found.scores[g]) for g in groups])
    assert lengths.sum() == pytest.approx(pulls.max(), rel=1e-4)
    for g, length in zip(groups, lengths, strict=True):
        np.testing.assert_allclose(found.w[g], length / lengths.sum() * found.scores[g], atol=1e-3)


@pytest.mark.parametrize(("solver", "loss"), CASES)
def test_gap_is_never_too_small(solver, loss):
    """At every accuracy: bound <= optimum <= objective."""
    for seed in range(5):
        X, y, cost, block, posed = pose("wide", loss, seed=seed)
        optimum = convex.adaptive_scaling(X, y, cost, 3, loss)[0]
        for tol in (1e-1, 1e-2, 1e-4):
            found = SOLVERS[solver](block, posed, KSupport(3), tol=tol * posed.at_zero())
            assert found.bound <= optimum + 1e-7 * posed.at_zero()
            assert found.objective >= optimum - 1e-7 * posed.at_zero()
            assert 0.0 <= found.gap <= tol * posed.at_zero()


@pytest.mark.parametrize(("solver", "loss"), [case for case in CASES if case[0] != "interior"])
def test_start_at_the_answer_costs_at_most_one_iteration(solver, loss):
    """An interior point method begins inside, wherever it starts."""
    _, _, _, block, posed = pose("tall", loss)
    tol = 1e-7 * posed.at_zero()
    found = SOLVERS[solver](block, posed, KSupport(3), tol=tol)
    again = SOLVERS[solver](block, posed, KSupport(3), Start(found.w, found.z, found.b), tol=tol)
    assert again.iterations <= 1


@pytest.mark.parametrize("loss", LOSSES)
def test_newton_by_factors_and_by_conjugate_gradients_agree(loss, monkeypatch):
    _, _, _, block, posed = pose("tall", loss)
    tol = 1e-10 * posed.at_zero()
    direct = newton.solve(block, posed, KSupport(3), tol=tol)
    monkeypatch.setattr(newton, "DENSE_ENTRIES", 0)
    monkeypatch.setattr(newton, "STEPS_BEFORE_INTERIOR", -1)
    iterative = newton.solve(block, posed, KSupport(3), tol=tol)
    np.testing.assert_allclose(direct.w, iterative.w, atol=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_deadline_in_the_past_leaves_one_step(solver):
    """So that the first solve of a fit has a model; a helper of another solver returns at once."""
    _, _, _, block, posed = pose("wide", "squared_hinge")
    found = SOLVERS[solver](block, posed, KSupport(3), tol=0.0, deadline=0.0)
    assert found.iterations == (0 if solver == "interior" else 1)
    assert found.gap > 0
    assert solver == "interior" or (found.w.any() and found.objective < posed.at_zero())


def test_conjugate_gradients_hear_the_deadline(monkeypatch):
    """One product of a direction, however many steps were left; the point is better than the start all the same."""
    _, _, _, block, posed = pose("tall", "logistic")
    monkeypatch.setattr(newton.NewtonModel, "direct_is_cheaper", lambda self, products: False)
    monkeypatch.setattr(newton, "MOST_STEPS", 1)
    late = newton.solve(block, posed, KSupport(3), tol=0.0, deadline=0.0)
    in_time = newton.solve(block, posed, KSupport(3), tol=0.0)
    assert late.products < in_time.products
    assert late.objective < posed.at_zero()


def test_inner_products_are_extended_not_recomputed():
    X, _, _, block, _ = pose("wide", "squared_hinge")
    half, _ = apg.inner_products(block.take(np.arange(17)), None)
    whole, _ = apg.inner_products(block, (half, 1.0))
    np.testing.assert_allclose(whole, X.T @ X, atol=1e-12)
