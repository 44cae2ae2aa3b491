"""The SVM on a kernel matrix against libsvm: decision values, certificate, costs, and what ends early."""

import numpy as np
import pytest
from sklearn.svm import SVC

from thresher.optim.solvers.kernel_svm import solve_kernel_svm


def problem(n, seed, n_columns=6):
    """(A sum of Gaussian kernels, labels): exact in float32, which is what libsvm keeps of it."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, n_columns))
    y = np.where(X[:, 0] ** 2 + X[:, 1] + 0.5 * rng.standard_normal(n) > 1.0, 1.0, -1.0)
    K = np.exp(-0.5 * (X[:, None] - X) ** 2).mean(axis=2)
    return np.round(K * 2.0**20) / 2.0**20, y


def objective(K, y, cost, solution):
    scores = K @ solution.dual + solution.intercept
    return 0.5 * solution.dual @ K @ solution.dual + cost @ np.maximum(0.0, 1.0 - y * scores)


@pytest.mark.parametrize("n", [40, 150, 600])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_decision_values_are_those_of_libsvm(n, C):
    K, y = problem(n, seed=n)
    solution = solve_kernel_svm(K, y, np.full(n, C), 1e-9)
    peer = SVC(kernel="precomputed", C=C, tol=1e-9).fit(K, y)
    scores = K @ solution.dual + solution.intercept
    between = (np.abs(solution.dual) > 0) & (np.abs(solution.dual) < C)
    if between.any():  # otherwise an interval of intercepts is optimal
        np.testing.assert_allclose(scores, peer.decision_function(K), atol=1e-6)
    else:
        difference = scores - peer.decision_function(K)
        np.testing.assert_allclose(difference, difference[0], atol=1e-6)


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
def test_the_gap_is_that_of_the_objectives(tol):
    """Objective and dual objective, computed as they are written; the dual point is feasible."""
    K, y = problem(200, seed=1)
    cost = np.random.default_rng(2).uniform(0.1, 3.0, 200)
    solution = solve_kernel_svm(K, y, cost, tol)
    dual_objective = y @ solution.dual - 0.5 * solution.dual @ K @ solution.dual
    np.testing.assert_allclose(solution.gap, objective(K, y, cost, solution) - dual_objective, atol=1e-9)
    assert 0.0 <= solution.gap <= tol * cost.sum()
    alpha = y * solution.dual
    assert alpha.min() >= 0.0
    assert np.all(alpha <= cost)
    assert abs(solution.dual.sum()) < 1e-9
    best = solve_kernel_svm(K, y, cost, 1e-10)
    assert objective(K, y, cost, solution) - objective(K, y, cost, best) <= solution.gap + 1e-8


def test_integer_costs_are_repeated_samples():
    K, y = problem(60, seed=3)
    times = np.random.default_rng(4).integers(1, 4, 60)
    rows = np.repeat(np.arange(60), times)
    weighed = solve_kernel_svm(K, y, 2.0 * times, 1e-10)
    repeated = solve_kernel_svm(np.ascontiguousarray(K[np.ix_(rows, rows)]), y[rows], np.full(rows.size, 2.0), 1e-10)
    summed = np.bincount(rows, repeated.dual)
    np.testing.assert_allclose(K @ weighed.dual + weighed.intercept, K @ summed + repeated.intercept, atol=1e-6)


@pytest.mark.parametrize("kind", ["zero", "constant", "huge", "tiny"])
def test_matrices_without_a_shape_of_their_own_are_solved(kind):
    """Kernels that say nothing, and values far from one: every solve ends, with a certificate."""
    K, y = problem(50, seed=5)
    K = {"zero": 0.0 * K, "constant": np.ones_like(K), "huge": 1e12 * K, "tiny": 1e-12 * K}[kind]
    solution = solve_kernel_svm(K, y, np.ones(50), 1e-6)
    assert not solution.ended
    assert np.isfinite(solution.dual).all()
    assert 0.0 <= solution.gap <= 1e-6 * 50


def test_a_solve_ends_at_its_deadline():
    """Thousands of steps are needed; the caller is asked early, and what is there has a certificate."""
    K, y = problem(600, seed=6)
    y = np.random.default_rng(7).permutation(y)
    asked = []

    def ended():
        asked.append(True)
        return len(asked) == 3

    solution = solve_kernel_svm(K, y, np.full(600, 1e6), 1e-9, ended)
    assert solution.ended
    assert len(asked) == 3
    assert np.isfinite(solution.gap)
    assert solution.gap > 0.0
    assert not solve_kernel_svm(K, y, np.full(600, 1.0), 1e-3, lambda: False).ended


def test_a_matrix_that_stops_all_steps_does_not_make_an_endless_loop():
    """No step is possible, and no deadline is given."""
    y = np.tile([1.0, -1.0], 10)
    solution = solve_kernel_svm(np.full((20, 20), np.nan), y, np.ones(20), 1e-6)
    assert not solution.ended
    assert not solution.dual.any()


def test_the_deadline_is_looked_at_when_every_part_is_solved_at_once():
    """Few samples: fewer steps than between two looks; what is solved in the meantime is not given up."""
    K, y = problem(30, seed=8)
    asked = []
    solution = solve_kernel_svm(K, y, np.ones(30), 1e-6, lambda: bool(asked.append(True)) or True)
    assert asked
    assert not solution.ended
    assert solution.gap <= 1e-6 * 30


@pytest.mark.parametrize("C", [1e6, 1e12])
def test_contradicting_labels_and_huge_costs_end(C):
    """Each row occurs with both labels, so that dual variables grow to their bounds; rounding errors, too."""
    K = problem(80, seed=9)[0]
    rows = np.repeat(np.arange(40), 2)
    solution = solve_kernel_svm(
        np.ascontiguousarray(K[np.ix_(rows, rows)]), np.tile([1.0, -1.0], 40), np.full(80, C), 1e-6
    )
    assert not solution.ended
    assert solution.gap <= 1e-6 * 80 * C
