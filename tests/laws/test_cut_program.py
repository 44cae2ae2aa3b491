"""Laws of the small program of the bundle method: the optimum of the conic solver, a feasible dual point, two norms."""

import numpy as np
import pytest

from tests.oracles import cuts as oracle
from thresher.optim.penalties.layout import Layout
from thresher.optim.penalties.norms import GroupSum, KSupport
from thresher.optim.solvers import cut_program
from thresher.optim.solvers.barrier import InteriorPoint
from thresher.optim.solvers.cut_program import CutTable, plain_weights, scaled_weights


def drawn(rng, columns, classes=1, most=20, *, likeness=0.0):
    """Cuts of each class; two of them lean to opposite sides, so that there is a least value with a shift."""
    parts = []
    for _ in range(classes):
        count = int(rng.integers(3, most))
        G = 0.1 * rng.standard_normal((count, columns)) + likeness * rng.standard_normal(columns)
        sums = rng.standard_normal(count)
        sums[:2] = 1.0, -1.0
        parts.append(CutTable(G, rng.uniform(0.1, 1.0, count), sums, 10.0 ** rng.uniform(0, 4)))
    return parts


def numbers(parts):
    return [(part.G, part.losses, part.sums, part.total) for part in parts]


def primal_and_dual(parts, penalty, found):
    """Objective at the weights of the columns, and dual value at those of the cuts."""
    W, gain, loss = found.w.reshape(len(parts), -1), 0.0, 0.0
    for part, a, w, b in zip(parts, found.a, W, found.shifts, strict=True):
        loss += part.total * max(0.0, float((part.losses - part.G @ w - part.sums * b).max()))
        gain += float(part.losses @ a)
    scores = np.concatenate([part.G.T @ a for part, a in zip(parts, found.a, strict=True)])
    return penalty.value(found.w) + loss, gain - penalty.conjugate(scores)


def check(parts, penalty, layout, optimum, *, shifted, tol=1e-9, rel=1e-5):
    """Objective and dual value are the optimum, and the weights of the cuts obey their constraints."""
    scale = max(part.total for part in parts)
    found = scaled_weights(parts, layout, penalty.forced, penalty.k, shifted=shifted, tol=tol * scale)
    primal, dual = primal_and_dual(parts, penalty, found)
    assert primal == pytest.approx(optimum, rel=rel)
    assert dual == pytest.approx(optimum, rel=rel)
    for part, a in zip(parts, found.a, strict=True):
        assert a.min() >= 0.0
        assert a.sum() <= part.total * (1.0 + 1e-9)
        assert not shifted or abs(part.sums @ a) <= 1e-7 * part.total
    assert shifted or not found.shifts.any()
    return found


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("shifted", [True, False])
@pytest.mark.parametrize("grouped", [True, False])
def test_optimum_of_the_conic_solver(seed, shifted, grouped):
    """Budgets, forced units, groups and several classes: primal and dual value are the oracle's."""
    rng = np.random.default_rng([seed, shifted, grouped])
    classes, units = int(rng.integers(1, 4)), int(rng.integers(4, 9))
    sizes = rng.integers(1, 4, units) if grouped else None
    width, forced, k = (
        int(units if sizes is None else sizes.sum()),
        int(rng.integers(0, 3)),
        int(rng.integers(1, units)),
    )
    parts = drawn(rng, width, classes, likeness=rng.choice([0.0, 0.1]))
    optimum = oracle.optimum(numbers(parts), k, sizes=sizes, forced=forced, shifted=shifted)[0]
    check(parts, KSupport(k, forced, Layout(sizes, classes)), Layout(sizes), optimum, shifted=shifted)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("shifted", [True, False])
def test_plain_penalty(seed, shifted):
    """With GG' given and without; it is what a budget of all units amounts to."""
    rng = np.random.default_rng(seed)
    (part,) = drawn(rng, 6, most=30)
    optimum, w, b = oracle.optimum(numbers([part]), 6, shifted=shifted)
    check([part], KSupport(6), Layout(), optimum, shifted=shifted)
    a, shift = plain_weights(part, shifted=shifted, tol=1e-10 * part.total)
    again, _ = plain_weights(part._replace(Q=part.G @ part.G.T), shifted=shifted, tol=1e-10 * part.total)
    np.testing.assert_array_equal(a, again)
    np.testing.assert_allclose(part.G.T @ a, w[:, 0], atol=1e-4 * np.abs(w).max())
    assert shift == pytest.approx(b[0], abs=1e-4 * max(1.0, np.abs(w).max()))


@pytest.mark.parametrize("shifted", [True, False])
def test_budget_1_is_the_squared_l1_problem(shifted):
    """B = 1: (20) of the paper."""
    for seed in range(5):
        (part,) = drawn(np.random.default_rng(seed), 8)
        optimum = oracle.squared_l1(numbers([part])[0], shifted=shifted)
        check([part], KSupport(1), Layout(), optimum, shifted=shifted)


@pytest.mark.parametrize("shifted", [True, False])
@pytest.mark.parametrize("forced", [0, 2])
def test_group_sum_is_the_papers_program(shifted, forced):
    """(15) by its own norm, and (16), its dual, whose weights of the cuts are those of ours."""
    for seed in range(4):
        (part,) = drawn(np.random.default_rng(seed), 8 + forced)
        penalty, ends = GroupSum((3, 3, 2), forced), np.cumsum([3, 3, 2]) + forced
        groups = [list(range(end - size, end)) for end, size in zip(ends, penalty.sizes, strict=True)]
        optimum = oracle.group_sum(numbers([part])[0], groups, forced=forced, shifted=shifted)
        check([part], penalty, penalty.layout, optimum, shifted=shifted)
        if not forced:
            dual = oracle.group_sum_dual(numbers([part])[0], groups, shifted=shifted)
            assert dual == pytest.approx(optimum, rel=1e-6)


@pytest.mark.parametrize("total", [1e-6, 1.0, 1e4, 1e6])
@pytest.mark.parametrize("k", [2, 6])
def test_scale_of_the_total_does_not_matter(total, k):
    """From C n near zero, where all cuts have their full weight, to where the risk is all that counts."""
    (part,) = drawn(np.random.default_rng(3), 6, most=12)
    part = part._replace(total=total)
    rescaled = CutTable(part.G * np.sqrt(total), part.losses, part.sums, 1.0)
    optimum = oracle.optimum(numbers([rescaled]), k, shifted=True)[0]
    check([part], KSupport(k), Layout(), total * optimum, shifted=True, tol=1e-7 * optimum)


@pytest.mark.parametrize("seed", range(20))
def test_steep_cuts(seed):
    """C n so large that the constraints of the cuts decide: a separable problem, and one where most are violated."""
    rng = np.random.default_rng([18, seed])
    columns, classes, shifted = int(rng.integers(3, 25)), 1 if seed % 4 else 3, bool(seed % 3)
    parts = drawn(rng, columns, classes, 40, likeness=rng.choice([0.0, 0.1, 0.3]))
    total, k = 10.0 ** rng.uniform(4, 8), int(rng.integers(1, columns))
    parts = [part._replace(total=total) for part in parts]
    optimum = oracle.optimum(numbers(parts), k, shifted=shifted)[0]
    found = scaled_weights(parts, Layout(), 0, k, shifted=shifted, tol=1e-5 * optimum)
    _, dual = primal_and_dual(parts, KSupport(k, 0, Layout(None, classes)), found)
    assert dual == pytest.approx(optimum, rel=1e-4)


def test_cuts_that_are_copies_or_say_nothing():
    """Equal cuts, cuts of loss zero and columns of zeros: the system is singular but for its diagonal."""
    (part,) = drawn(np.random.default_rng(5), 6, most=8)
    G = np.vstack([part.G, part.G, np.zeros((1, 6))])
    G[:, 4:] = 0.0
    doubled = CutTable(G, np.append(np.tile(part.losses, 2), 0.0), np.append(np.tile(part.sums, 2), 0.0), part.total)
    for k in (2, 6):
        optimum = oracle.optimum(numbers([doubled]), k, shifted=True)[0]
        check([doubled], KSupport(k), Layout(), optimum, shifted=True)


def test_no_cuts_and_one_cut():
    """Nothing is known: no weight; a single cut has the weight that its own parabola asks for."""
    nothing = CutTable(np.zeros((0, 3)), np.zeros(0), np.zeros(0), 5.0)
    found = scaled_weights([nothing], Layout(), 0, 3, shifted=False, tol=1e-9)
    assert found.a[0].size == 0
    assert not found.w.any()
    g, total = np.array([[1.0, 2.0, 2.0]]), 5.0
    for loss in (0.5, 900.0):
        one = CutTable(g, np.array([loss]), np.zeros(1), total)
        found = scaled_weights([one], Layout(), 0, 3, shifted=False, tol=1e-12)
        assert found.a[0][0] == pytest.approx(min(total, loss / 9.0), rel=1e-6)  # max of loss a - 9 a^2 / 2


@pytest.mark.parametrize("k", [2, 9])
def test_coarse_solutions_are_feasible_and_within_their_tolerance(k):
    """A looser tolerance leaves a gap of that size at most, of the total, with everything feasible."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        (part,) = drawn(rng, 9)
        steps = []
        for tol in (1e-1, 1e-3, 1e-6):
            found = scaled_weights([part], Layout(), 0, k, shifted=True, tol=tol * part.total)
            primal, dual = primal_and_dual([part], KSupport(k), found)
            assert found.a[0].min() >= 0.0
            assert found.a[0].sum() <= part.total * (1.0 + 1e-6 + tol)
            steps.append(primal - dual)
            assert abs(primal - dual) <= 4.0 * tol * part.total + 1e-9 * part.total
        assert steps[-1] <= steps[0]


def test_rounding_errors_end_the_search_with_the_best_point(monkeypatch):
    """A tolerance that cannot be reached: fewer steps than allowed, and still the optimum."""
    (part,) = drawn(np.random.default_rng(7), 6)
    steps = []
    step = InteriorPoint.step
    monkeypatch.setattr(InteriorPoint, "step", lambda self: steps.append(1) or step(self))
    monkeypatch.setattr(cut_program, "LEAST_TOL", 0.0)
    optimum = oracle.optimum(numbers([part]), 2, shifted=True)[0]
    check([part], KSupport(2), Layout(), optimum, shifted=True, tol=0.0)
    assert len(steps) < cut_program.PROGRAM_STEPS
