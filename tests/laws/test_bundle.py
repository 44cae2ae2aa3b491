"""Laws of the bundle method: the optimum over all labellings or rankings, and a gap that never lies."""

import itertools
import time

import cvxpy as cp
import numpy as np
import pytest
from sklearn.svm import SVC

from tests.laws.measures import FREE, RANKINGS, WEIGHTED, by_kind, parameters
from tests.oracles import convex
from tests.oracles import cuts as oracle
from thresher.data.blocks.dense import DenseBlock
from thresher.data.blocks.repeated import for_classes
from thresher.optim.dispatch import solver_for
from thresher.optim.measures.values import F1, PRBEP, ErrorRate, RecallAtK, RocArea
from thresher.optim.penalties.layout import Layout
from thresher.optim.penalties.norms import GroupSum, KSupport
from thresher.optim.problems.cuts import CutProblem
from thresher.optim.solvers import bundle
from thresher.optim.solvers.solution import Start

TIGHT = 2.0 * bundle.FINEST_GAP  # of the objective: what a solution and the conic solver may differ by


def block_of(X, classes=1):
    return for_classes(DenseBlock(np.asfortranarray(X)), classes)


def rows_of(measure, seed, columns=6, *, share=0.4, noise=1.0):
    """(X, y) of few samples, so that all labellings or rankings can be tried."""
    rng, n = np.random.default_rng(seed), 6 if measure in RANKINGS else 9
    X = rng.standard_normal((n, columns))
    y = np.where(X[:, 0] - X[:, 1] + noise * rng.standard_normal(n) > np.quantile(X[:, 0], 1.0 - share), 1.0, -1.0)
    y[:3] = 1.0, -1.0, -1.0
    return X, y


def every_cut(measure, X, y, total, weights=None):
    losses, V = oracle.every_cut(measure.name, y, weights, **parameters(measure))
    return V @ X, losses, V.sum(axis=1), total


def posed(measure, y, total, *, shift=True):
    return CutProblem(y, np.full(y.size, total / y.size), measure, shift)


def larger(seed, n=60, p=20, *, share=0.5):
    """(X, y): more samples than could be enumerated; three columns say something."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    pull = X[:, :3].sum(axis=1) + rng.standard_normal(n)
    return X, np.where(pull > np.quantile(pull, 1.0 - share), 1.0, -1.0)


# the optimum


@by_kind
@pytest.mark.parametrize("shift", [True, False])
@pytest.mark.parametrize(("k", "forced"), [(1, 0), (2, 1), (6, 0)])
def test_optimum_over_every_labelling_or_ranking(measure, shift, k, forced):
    """The conic solver is given all cuts there are; with a shift where the number of positives is free."""
    for total in (3.0, 300.0):
        X, y = rows_of(measure, k)
        optimum = oracle.optimum(
            [every_cut(measure, X, y, total)], k, forced=forced, shifted=shift and measure in FREE
        )[0]
        found = bundle.solve(block_of(X), posed(measure, y, total, shift=shift), KSupport(k, forced), tol=0.0)
        assert found.objective == pytest.approx(optimum, rel=TIGHT)
        assert found.bound <= optimum * (1.0 + 1e-6)
        assert found.gap <= bundle.FINEST_GAP * found.objective


@by_kind
@pytest.mark.parametrize("grouped", [True, False])
def test_three_classes_share_one_scaling(measure, grouped):
    """Classes with totals of their own, units of several columns, one of them forced."""
    X, _ = rows_of(measure, 3, 8)
    sizes, rng = (np.array([1, 3, 2, 2]) if grouped else None), np.random.default_rng(4)
    Y = np.where(rng.random((3, len(X))) < 0.4, 1.0, -1.0)
    Y[:, :2] = 1.0, -1.0
    totals = np.array([20.0, 50.0, 100.0])
    parts = [every_cut(measure, X, y, total) for y, total in zip(Y, totals, strict=True)]
    optimum = oracle.optimum(parts, 2, sizes=sizes, forced=1, shifted=measure in FREE)[0]
    problem = CutProblem(Y.ravel(), np.repeat(totals / len(X), len(X)), measure, classes=3)
    found = bundle.solve(block_of(X, 3), problem, KSupport(2, 1, Layout(sizes, 3)), tol=0.0)
    assert found.objective == pytest.approx(optimum, rel=TIGHT)
    assert found.bound <= optimum * (1.0 + 1e-6)
    assert found.gap <= bundle.FINEST_GAP * found.objective


@by_kind
def test_budget_1_is_the_squared_l1_problem(measure):
    """B = 1: (20) of the paper, over all labellings."""
    X, y = rows_of(measure, 1)
    optimum = oracle.squared_l1(every_cut(measure, X, y, 50.0), shifted=measure in FREE)
    found = bundle.solve(block_of(X), posed(measure, y, 50.0), KSupport(1), tol=0.0)
    assert found.objective == pytest.approx(optimum, rel=TIGHT)


@by_kind
def test_group_sum_is_the_papers_sub_problem(measure):
    """(15), which is kept for comparison: groups of the columns of one turn."""
    X, y = rows_of(measure, 2)
    optimum = oracle.group_sum(every_cut(measure, X, y, 50.0), [[0, 1, 2], [3, 4], [5]], shifted=measure in FREE)
    penalty = GroupSum((3, 2, 1))
    assert solver_for(posed(measure, y, 50.0), penalty).name == "bundle method"
    found = bundle.solve(block_of(X), posed(measure, y, 50.0), penalty, tol=0.0)
    assert found.objective == pytest.approx(optimum, rel=TIGHT)


@pytest.mark.parametrize("k", [3, 20])
@pytest.mark.parametrize("shift", [True, False])
def test_error_is_the_hinge_loss(k, shift):
    """C sum max(0, 1 - y (x'w + b)) with the same C, weights and all."""
    X, y = larger(0)
    cost = np.random.default_rng(1).integers(0, 4, y.size) * 0.3
    w, d, b = cp.Variable(20), cp.Variable(20), cp.Variable()
    size = sum(cp.quad_over_lin(w[j], d[j]) for j in range(20))
    loss = cost @ cp.pos(1 - cp.multiply(y, X @ w + (b if shift else 0.0)))
    optimum = convex.solved(cp.Problem(cp.Minimize(0.5 * size + loss), [d >= 0, d <= 1, cp.sum(d) <= k]))
    found = bundle.solve(block_of(X), CutProblem(y, cost, ErrorRate(), shift), KSupport(k), tol=0.0)
    assert found.objective == pytest.approx(optimum, rel=TIGHT)
    np.testing.assert_allclose(found.w, w.value, atol=5e-3)


def test_error_under_the_plain_penalty_is_a_support_vector_machine():
    """scikit-learn's SVC with a linear kernel: the same weights and shift."""
    X, y = larger(2, 80, 5)
    peer = SVC(kernel="linear", C=0.7, tol=1e-8).fit(X, y)
    found = bundle.solve(block_of(X), posed(ErrorRate(), y, 0.7 * y.size), KSupport(5), tol=0.0)
    np.testing.assert_allclose(found.w, peer.coef_[0], atol=5e-3)
    assert found.b == pytest.approx(peer.intercept_[0], abs=1e-2)
    slack = np.maximum(0.0, 1.0 - y * peer.decision_function(X))
    assert found.objective == pytest.approx(0.5 * float((peer.coef_**2).sum()) + 0.7 * slack.sum(), rel=TIGHT)


def test_roc_area_is_the_mean_hinge_over_pairs():
    """By the conic solver over all pairs, with weights: a pair weighs as much as the product of its two."""
    X, y = larger(3, 30, 6)
    cost = 0.5 * np.random.default_rng(1).integers(0, 4, y.size)
    pairs = [(i, j) for i in np.flatnonzero(y > 0) for j in np.flatnonzero(y < 0)]
    weight = np.array([cost[i] * cost[j] for i, j in pairs])
    w = cp.Variable(6)
    margins = np.array([X[i] - X[j] for i, j in pairs]) @ w
    risk = (weight / weight.sum()) @ cp.pos(1 - margins)
    optimum = convex.solved(cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + cost.sum() * risk)))
    found = bundle.solve(block_of(X), CutProblem(y, cost, RocArea()), KSupport(6), tol=0.0)
    assert found.objective == pytest.approx(optimum, rel=TIGHT)


# a gap that never lies


@by_kind
def test_bound_and_objective_at_every_accuracy(measure):
    """bound <= optimum <= objective, however early the search ends; the gap is what was asked for."""
    for seed in range(3):
        X, y = rows_of(measure, seed)
        total = 10.0 ** (seed + 1)
        problem, block = posed(measure, y, total), block_of(X)
        optimum = oracle.optimum([every_cut(measure, X, y, total)], 2, shifted=measure in FREE)[0]
        for tol, deadline in ((0.5, None), (0.1, None), (1e-2, None), (1e-3, None), (0.0, 0.0)):
            found = bundle.solve(block, problem, KSupport(2), tol=tol * total, deadline=deadline)
            assert found.bound <= optimum * (1.0 + 1e-6)
            assert found.objective >= optimum * (1.0 - 1e-6)
            if deadline is None:
                assert found.gap <= max(tol * total, bundle.FINEST_GAP * found.objective)
            else:
                assert found.iterations <= 1


@by_kind
def test_bounds_rise_and_objectives_fall(measure):
    """From one iteration to the next, and never beyond the optimum."""
    X, y = rows_of(measure, 5)
    optimum = oracle.optimum([every_cut(measure, X, y, 200.0)], 2, shifted=measure in FREE)[0]
    block = block_of(X)
    search = bundle.BundleSearch(block, posed(measure, y, 200.0), KSupport(2), Start.zero(block))
    history = [(search.best.objective, search.bound)]
    while not search.is_settled(0.0):
        search.iterate(0.0)
        history.append((search.best.objective, search.bound))
    for (objective, bound), (later, higher) in itertools.pairwise(history):
        assert later <= objective
        assert higher >= bound
    assert history[-1][1] <= optimum * (1.0 + 1e-6)
    assert history[-1][0] >= optimum * (1.0 - 1e-6) - 1e-9
    assert len(history) > 2 or optimum < 1e-9  # more samples are counted than there are: nothing can be wrong


@by_kind
@pytest.mark.parametrize("total", [10.0, 1e4, 1e6])
@pytest.mark.parametrize("k", [2, 20])
def test_gap_is_reached_whatever_C_is(measure, total, k):
    """At the default C n = 10^6, on samples that can be separated, and where all weights fit into the budget."""
    X, y = larger(1, 40, share=0.3)
    problem = posed(measure, y, total)
    found = bundle.solve(block_of(X), problem, KSupport(k), tol=1e-3 * total)
    assert found.gap <= max(1e-3 * total, bundle.FINEST_GAP * found.objective)
    again = bundle.solve(block_of(X), problem, KSupport(k), tol=1e-4 * found.objective)
    assert again.gap <= max(1e-4 * found.objective, bundle.FINEST_GAP * again.objective)
    assert again.bound <= found.objective * (1.0 + 1e-9)
    assert found.bound <= again.objective * (1.0 + 1e-9)


@by_kind
def test_what_a_solution_says_of_itself(measure):
    """Scores, loss, objective, dual point and bound belong together; the loss is the risk times C n."""
    X, y = larger(4, 30, 8, share=0.3)
    problem, penalty = posed(measure, y, 100.0), KSupport(3)
    for tol in (30.0, 0.01):
        found = bundle.solve(block_of(X), problem, penalty, tol=tol)
        np.testing.assert_allclose(found.z, X @ found.w, atol=1e-10)
        least = problem.at(found.z).loss  # with the best shift, which is known up to a share of the gap
        assert least * (1.0 - 1e-9) <= found.loss <= least + found.gap
        assert found.objective == pytest.approx(penalty.value(found.w) + found.loss, rel=1e-12)
        np.testing.assert_allclose(found.scores, X.T @ found.dual.vector, atol=1e-9)
        assert found.dual.bound(2.0 * penalty.conjugate(found.scores)) == pytest.approx(found.bound, rel=1e-9)
        assert measure not in FREE or abs(found.dual.vector.sum()) <= 1e-9 * np.abs(found.dual.vector).sum()


@by_kind
def test_start_at_the_answer_costs_at_most_one_iteration(measure):
    X, y = larger(5, 30, 8, share=0.3)
    problem = posed(measure, y, 300.0)
    found = bundle.solve(block_of(X), problem, KSupport(3), tol=0.03)
    start = Start(found.w, found.z, found.b, found.memory)
    assert bundle.solve(block_of(X), problem, KSupport(3), start, tol=0.03).iterations <= 1


@by_kind
def test_iterations_are_within_theorem_1(measure):
    """At most log2(Delta / (4 R^2 C)) + 16 R^2 C / eps, for eps <= 4 R^2 C; R the length of the longest cut."""
    X, y = rows_of(measure, 6)
    for total, tol in ((0.1, 0.01), (1.0, 0.5), (1.0, 0.1), (10.0, 10.0)):
        G, losses, _, _ = every_cut(measure, X, y, total)
        steep = total * float((G**2).sum(axis=1).max())  # their C is total, the gap eps that of the risk: tol / total
        most = max(0.0, np.ceil(np.log2(losses.max() / (4.0 * steep)))) + np.ceil(16.0 * steep / (tol / total))
        found = bundle.solve(block_of(X), posed(measure, y, total, shift=False), KSupport(6), tol=tol)
        assert found.gap <= max(tol, bundle.FINEST_GAP * found.objective)
        assert found.iterations <= most


# what the cuts are good for


@by_kind
def test_constant_scores_treat_the_rows_of_a_class_alike(measure):
    """At w = 0 which rows are flipped is arbitrary: the first scan must not depend on it."""
    _, y = larger(7, 31, share=0.3)
    cost = np.full(y.size, 2.0)
    cost[[4, 9, 20]] = 0.0
    for z in (np.zeros(y.size), np.full(y.size, 0.37)):
        for shift in (True, False):
            dual = CutProblem(y, cost, measure, shift).at(z).dual
            for sign in (1.0, -1.0):
                assert np.ptp(dual.vector[(y == sign) & (cost > 0.0)]) == 0.0
            assert not dual.vector[cost == 0.0].any()
            assert dual.vector.any()


@by_kind
def test_the_dual_point_of_every_score_is_feasible(measure):
    """Whatever the scores: its bound is below the optimum over all labellings."""
    for seed in range(5):
        X, y = rows_of(measure, seed)
        optimum = oracle.optimum([every_cut(measure, X, y, 40.0)], 6, shifted=measure in FREE)[0]
        problem, rng = posed(measure, y, 40.0), np.random.default_rng(seed)
        for scale in (0.0, 1e-3, 0.3, 3.0, 100.0):
            shift, loss, dual = problem.at(X @ (scale * rng.standard_normal(6)))
            assert dual.bound(float(np.sum((X.T @ dual.vector) ** 2))) <= optimum * (1.0 + 1e-6)
            assert loss >= 0.0
            assert np.isfinite(shift)


@pytest.mark.parametrize("measure", FREE, ids=repr)
def test_best_shift_is_the_least_risk(measure):
    """No shift of a fine grid has a smaller risk, and the mixture found there attains it."""
    for seed in range(5):
        X, y = rows_of(measure, seed)
        problem, z = posed(measure, y, 1.0), 0.7 * X[:, 0]
        shift, loss, _ = problem.at(z)
        risks = [measure.prepare(y).risk(z + b) for b in np.linspace(-4.0, 4.0, 81)]
        assert not isinstance(measure, ErrorRate) or measure.prepare(y).risk(z + shift) == pytest.approx(loss, rel=1e-9)
        assert loss <= min(risks) + 1e-9


@by_kind
def test_samples_without_cost_are_not_there(measure):
    """The same cuts, weights and bound as without these rows, bit for bit."""
    X, y = larger(8, 40, 8, share=0.3)
    cost = np.full(y.size, 3.0)
    cost[::7] = 0.0
    there = cost > 0.0
    found = bundle.solve(block_of(X), CutProblem(y, cost, measure), KSupport(3), tol=0.01)
    fewer = bundle.solve(block_of(X[there]), CutProblem(y[there], cost[there], measure), KSupport(3), tol=0.01)
    assert found.objective == pytest.approx(fewer.objective, rel=1e-4)
    assert found.bound <= fewer.objective
    assert fewer.bound <= found.objective
    assert not found.dual.vector[~there].any()
    np.testing.assert_allclose(found.w, fewer.w, atol=0.02 * np.abs(fewer.w).max())


@pytest.mark.parametrize("measure", WEIGHTED, ids=repr)
def test_integer_weights_equal_repeated_rows(measure):
    X, y = larger(9, 40, 8, share=0.3)
    weights = np.random.default_rng(0).integers(0, 4, y.size)
    weighed = bundle.solve(block_of(X), CutProblem(y, 2.0 * weights, measure), KSupport(3), tol=0.0)
    many, labels = np.repeat(X, weights, axis=0), np.repeat(y, weights)
    repeated = bundle.solve(block_of(many), posed(measure, labels, 2.0 * labels.size), KSupport(3), tol=0.0)
    assert weighed.objective == pytest.approx(repeated.objective, rel=TIGHT)
    np.testing.assert_allclose(weighed.w, repeated.w, atol=1e-2 * np.abs(repeated.w).max())


@pytest.mark.parametrize("measure", [F1(), PRBEP(), RecallAtK(2.0), RocArea()], ids=repr)
def test_cuts_hold_on_more_and_on_fewer_columns(measure):
    """Products are those of the cuts' vectors with the columns, and Q is GG', wherever the bundle has been."""
    X, y = larger(10, 30, 12, share=0.3)
    problem = posed(measure, y, 300.0)
    (first,) = bundle.solve(block_of(X[:, :8]), problem, KSupport(8), tol=0.1).memory
    wider = first.on(block_of(X))
    for state, columns in (
        (first, range(8)),
        (wider.gram(), range(12)),
        (wider.gram().fewer_columns(np.arange(11)), range(11)),
        (wider.gram().fewer_columns(np.arange(2)), range(2)),
        (wider.gram().used(np.linspace(1.0, 0.0, len(first.cuts)), 2, progress=True), range(12)),
        (wider.gram().joined([problem.oracles[0].cut(X[:, 0])], block_of(X)), range(12)),
    ):
        G = np.array([cut.vector() for cut in state.cuts]) @ X[:, list(columns)]
        np.testing.assert_allclose(state.G, G, atol=1e-12)
        if state.Q is not None:
            np.testing.assert_allclose(state.Q, G @ G.T, atol=1e-12)
        assert len(state.cuts) == len({cut.key for cut in state.cuts}) == state.age.size


def test_the_cuts_of_one_label_are_always_kept():
    """They take up what is left of sums'a = 0, so that the bound is feasible."""
    X, y = larger(11, 30, 6)
    (first,) = bundle.solve(block_of(X), posed(F1(), y, 1e4), KSupport(2), tol=0.0).memory
    for cut, flipped in zip(first.cuts[:2], (y < 0, y > 0), strict=True):
        np.testing.assert_array_equal(cut.flips(), flipped)


def test_a_deadline_in_the_past_leaves_one_iteration():
    """So that the first solve of a fit has a model; and a search that goes on hears it between iterations."""
    X, y = larger(12, 200, 30)
    problem = posed(F1(), y, 1e5)
    found = bundle.solve(block_of(X), problem, KSupport(3), tol=0.0, deadline=0.0)
    assert found.iterations == 1
    assert found.w.any()
    assert found.objective < problem.at_zero()
    begun = time.perf_counter()
    bundle.solve(block_of(X), problem, KSupport(3), tol=0.0, deadline=begun + 0.1)
    assert time.perf_counter() - begun < 2.0
