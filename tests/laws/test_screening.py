"""Laws of the pieces under the elastic-net SVM: terms of the gap, balls, tests, Newton's systems, and Sides of X."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.laws.storages import BLOCKS, STORED, matrix
from tests.oracles import sparse_svm as oracle
from thresher.data.blocks.sides import Sides
from thresher.data.input.validation import as_design
from thresher.optim.elastic import screening
from thresher.optim.elastic.directions import NewtonSystem
from thresher.optim.elastic.newton import ElasticNewton, iterate_at
from thresher.optim.elastic.objective import ElasticObjective, balanced, column_terms, sample_terms

numbers = st.floats(-50.0, 50.0)
gammas = st.floats(0.01, 0.99)
positive = st.floats(1e-6, 1e3)
law = settings(derandomize=True, max_examples=300, deadline=None, database=None)


@law
@given(slack=numbers, theta=st.floats(0.0, 1.0), gamma=gammas)
def test_sample_terms_are_what_young_says(slack, theta, gamma):
    found = float(sample_terms(slack, theta, gamma))
    defined = float(oracle.loss(slack, gamma) - theta * slack + gamma / 2.0 * theta**2)
    assert found == pytest.approx(defined, abs=1e-13 * (1.0 + abs(slack)))
    assert found >= -1e-30 * (1.0 + abs(slack))
    best = np.clip(slack / gamma, 0.0, 1.0)
    assert sample_terms(slack, best, gamma) == 0.0
    assert found >= 0.499 * gamma * (best - theta) ** 2 - 1e-14


@law
@given(w=numbers, v=numbers, alpha=positive, beta=positive)
def test_column_terms_are_what_young_says(w, v, alpha, beta):
    found = float(column_terms(w, v, alpha, beta))
    reach = max(abs(v) - beta, 0.0)
    defined = alpha / 2.0 * w**2 + beta * abs(w) + reach**2 / (2.0 * alpha) - w * v
    size = alpha * w**2 + beta * abs(w) + v**2 / alpha + abs(w * v)
    assert found == pytest.approx(defined, abs=1e-13 * size)
    assert found >= 0.0
    assert column_terms(np.sign(v) * reach / alpha, v, alpha, beta) <= 1e-28 * size
    assert found >= 0.499 * alpha * (w - np.sign(v) * reach / alpha) ** 2 - 1e-14 * size


def test_terms_vanish_at_the_optimum_and_add_up_to_the_gap_elsewhere():
    for kind in oracle.KINDS:
        X, y, cost, gamma, beta, top = drawn = oracle.drawn(kind, 0)
        best = oracle.exact(*drawn[:4], 0.1 * top, beta)
        rng = np.random.default_rng(0)
        for size in (0.0, 1e-3, 1.0):
            w = best.w + size * np.abs(best.w).max() * rng.standard_normal(best.w.size)
            theta = np.clip(best.theta + size * rng.standard_normal(y.size), 0.0, 1.0)
            samples = cost * sample_terms(1.0 - y * (X @ w), theta, gamma)
            columns = column_terms(w, X.T @ (cost * y * theta), 0.1 * top, beta)
            gap = samples.sum() + columns.sum()
            assert samples.min() >= -1e-30
            assert columns.min() >= 0.0
            primal = oracle.objective(*drawn[:4], 0.1 * top, beta, w)
            defined = primal - oracle.dual(*drawn[:4], 0.1 * top, beta, theta)
            assert gap == pytest.approx(defined, abs=1e-12 * primal)
            assert size > 0.0 or gap <= best.gap + 1e-15


def reference(drawn, old, new):
    """(optimum at old, optimum at new, Balls from the exact one at old)."""
    X, y, cost, gamma, beta, _ = drawn
    before, after = (oracle.exact(X, y, cost, gamma, alpha, beta) for alpha in (old, new))
    distance = np.sqrt(cost @ (before.theta - 1.0 / gamma) ** 2)
    return before, after, screening.from_reference(old, new, np.linalg.norm(before.w), distance, before.gap, gamma)


@pytest.mark.parametrize("kind", oracle.KINDS)
def test_balls_hold_the_optimum(kind):
    """Lemmas 2 and 3 from the exact optimum, to both sides; and the balls that the gap alone gives, from anywhere."""
    for seed in range(3):
        drawn = oracle.drawn(kind, seed)
        X, y, cost, gamma, beta, top = drawn
        for step in (0.3, 0.9, 0.999, 1.0, 1.2, 3.0):
            before, after, balls = reference(drawn, 0.2 * top, 0.2 * step * top)
            m = balls.multiple
            off_w = np.linalg.norm(after.w - m * before.w)
            off_theta = np.sqrt(cost @ (after.theta - m * before.theta - (1.0 - m) / gamma) ** 2)
            assert off_w <= balls.primal + after.w_off
            assert off_theta <= balls.dual + np.sqrt(2.0 * after.gap / gamma)
            alpha, v, slack = 0.2 * step * top, X.T @ (cost * y * before.theta), 1.0 - y * (X @ before.w)
            gap = oracle.terms(before.w, v, before.theta, slack, cost, gamma, alpha, beta)
            plain = screening.from_gap(gap, alpha, gamma)
            assert plain.multiple == 1.0
            assert np.linalg.norm(after.w - before.w) <= plain.primal + after.w_off
            theta_moved = np.sqrt(cost @ (after.theta - before.theta) ** 2)
            assert theta_moved <= plain.dual + np.sqrt(2.0 * after.gap / gamma)


def test_balls_of_an_exact_reference_are_those_of_lemmas_2_and_3():
    n, old, new, gamma = 30, 0.7, 0.4, 0.3
    rng = np.random.default_rng(0)
    w, theta = rng.standard_normal(9), rng.random(n)
    distance = np.sqrt(np.mean((theta - 1.0 / gamma) ** 2))
    balls = screening.from_reference(old, new, np.linalg.norm(w), distance, 0.0, gamma)
    assert balls.multiple == pytest.approx((old + new) / (2.0 * new))
    assert balls.primal == pytest.approx((old - new) / (2.0 * new) * np.linalg.norm(w), rel=1e-8)
    printed = (old - new) / (2.0 * new) * np.linalg.norm(theta - 1.0 / gamma) / np.sqrt(n)  # 1/n is in the costs here
    assert balls.dual == pytest.approx(printed, rel=1e-8)
    m = balls.multiple
    np.testing.assert_allclose(m * theta + (1.0 - m) / gamma, (new - old) / (2 * gamma * new) + m * theta, rtol=1e-12)


@pytest.mark.parametrize(("old", "new"), [(1.0, 0.5), (1.0, 0.999), (1.0, 1.0), (1.0, 1.5)])
def test_the_gap_widens_balls_by_what_the_reference_may_be_off(old, new):
    """Wherever the true optimum at ``old`` is, its own ball lies in the ball around the reference."""
    rng = np.random.default_rng(1)
    gap, gamma = 1e-2, 0.5
    for _ in range(200):
        w, direction = rng.standard_normal((2, 5))
        true = w + np.sqrt(2.0 * gap / old) * direction / np.linalg.norm(direction)
        balls = screening.from_reference(old, new, np.linalg.norm(w), np.linalg.norm(w), gap, gamma)
        own = screening.from_reference(old, new, np.linalg.norm(true), np.linalg.norm(true), 0.0, gamma)
        assert balls.multiple * np.linalg.norm(true - w) + own.primal <= balls.primal * (1.0 + 1e-9)
    aligned = w * (1.0 + np.sqrt(2.0 * gap / old) / np.linalg.norm(w))  # the worst case is attained
    own = screening.from_reference(old, new, np.linalg.norm(aligned), 1.0, 0.0, gamma)
    assert balls.multiple * np.linalg.norm(aligned - w) + own.primal == pytest.approx(balls.primal, rel=1e-6)
    no_gap = screening.from_reference(old, new, 1.0, 1.0, 0.0, gamma)
    widened = screening.from_reference(old, new, 1.0, 1.0, gap, gamma)
    assert widened.dual - no_gap.dual == pytest.approx(max(old, new) / new * np.sqrt(2.0 * gap / gamma), rel=1e-6)


def test_no_rounding_makes_a_radius_not_a_number():
    """Young's terms can be negative by rounding: these gave -6e-33, and a radius that is the root of it."""
    gap = float(sample_terms(0.4736842105263157, 0.5263157894736842, 0.9))
    for balls in (screening.from_gap(gap, 0.1, 0.9), screening.from_reference(1.0, 0.9, 1.0, 1.0, gap, 0.9)):
        assert balls.primal >= 0.0
        assert balls.dual >= 0.0
    assert screening.smaller(1.0, 1.0, 1e-9) == 0.0


@law
@given(radius=st.floats(0.0, 1e3), squares=st.lists(st.floats(0.0, 1e6), max_size=3))
def test_smaller_is_pythagoras_and_never_too_small(radius, squares):
    found, rest = screening.smaller(radius, *squares), radius**2 - sum(squares)
    assert np.sqrt(max(0.0, rest)) <= found * (1.0 + 1e-15)
    assert found <= radius * (1.0 + 1e-12)
    assert found**2 <= max(0.0, rest) + 2e-12 * radius**2


def test_a_part_of_a_point_that_is_known_leaves_the_rest_in_the_smaller_ball():
    rng = np.random.default_rng(2)
    for _ in range(100):
        centre, move = rng.standard_normal((2, 8))
        radius = 1.5
        point = centre + radius * rng.random() ** 0.1 * move / np.linalg.norm(move)
        rest = screening.smaller(radius, float((point[:3] - centre[:3]) @ (point[:3] - centre[:3])))
        assert np.linalg.norm(point[3:] - centre[3:]) <= rest


def test_idle_columns_are_those_whose_worst_score_stays_below_beta():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((30, 50)), rng.choice([-1.0, 1.0], 30)
    cost, centre = rng.random(30), rng.random(30)
    cost[:5] = 0.0
    scores, norms = X.T @ (cost * y * centre), np.sqrt(cost @ X**2)
    for radius in (0.0, 0.1, 0.5):
        moves = radius * y[:, None] * X / norms * np.sign(scores)  # each of length radius, straight at its column
        assert np.sqrt(cost @ moves**2) == pytest.approx(radius)
        worst = np.abs((X * (cost * y)[:, None] * (centre[:, None] + moves)).sum(axis=0))
        for beta in (0.5, 2.0, 4.0):
            found = screening.idle_columns(scores, norms, radius, beta)
            np.testing.assert_array_equal(found, worst <= beta)
    assert not screening.idle_columns(np.array([2.0, -2.0]), np.zeros(2), 1.0, 2.0).any(), "ties stay"


def test_settled_samples_are_those_whose_worst_margin_stays_on_its_side():
    rng = np.random.default_rng(4)
    X, y, w, gamma = rng.standard_normal((200, 6)), rng.choice([-1.0, 1.0], 200), rng.standard_normal(6), 0.3
    margins, norms = y * (X @ w), np.linalg.norm(X, axis=1)
    for radius in (0.0, 0.05, 0.3):
        towards = radius * y[:, None] * X / norms[:, None]
        least, most = (y * (X * (w + sign * towards)).sum(axis=1) for sign in (-1.0, 1.0))
        zero, one = screening.settled_samples(margins, norms, radius, gamma)
        np.testing.assert_array_equal(zero, least > 1.0)
        np.testing.assert_array_equal(one, most < 1.0 - gamma)
        assert not (zero & one).any()
        assert zero.any()
        assert one.any()
    zero, one = screening.settled_samples(np.array([1.0, 1.0 - gamma]), np.ones(2), 0.0, gamma)
    assert not (zero | one).any(), "ties stay"


@law
@given(
    theta=st.lists(st.floats(0.0, 1.0), min_size=2, max_size=9),
    seed=st.integers(0, 1000),
)
def test_balanced_theta_is_feasible(theta, seed):
    theta, rng = np.array(theta), np.random.default_rng(seed)
    y, cost = rng.choice([-1.0, 1.0], theta.size), rng.integers(0, 3, theta.size) * rng.random(theta.size)
    found = balanced(theta, cost, y)
    assert abs(cost @ (y * found)) <= 1e-15 * (1.0 + cost.sum())
    assert ((found >= 0.0) & (found <= 1.0)).all()
    np.testing.assert_allclose(balanced(found, cost, y), found, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("shift", [False, True])
@pytest.mark.parametrize("shape", [(40, 8), (8, 40), (20, 20)])
@pytest.mark.parametrize("patience", [0, 30])
def test_systems_are_solved_with_columns_held(shape, shift, patience, monkeypatch):
    """By conjugate gradients, and factored over rows or columns; with an intercept over rows to six digits only."""
    monkeypatch.setattr("thresher.optim.elastic.directions.CG_STEPS", (patience, patience))
    rng = np.random.default_rng(5)
    X, costs, right = rng.standard_normal(shape), rng.random(shape[0]), rng.standard_normal(shape[1])
    held = rng.random(shape[1]) < 0.3
    walls = np.where(held, rng.standard_normal(shape[1]), 0.0)
    part = as_design(X).sides().part(np.arange(shape[0]), np.arange(shape[1]))
    x = NewtonSystem(part, costs, 0.7, shift).solve(right, held, walls, 1e-10)
    A = np.column_stack([X, np.ones(shape[0])]) if shift else X
    M = A.T @ (costs[:, None] * A) + 0.7 * np.diag(np.arange(A.shape[1]) < shape[1])
    rest = np.append(right, 0.0)[: A.shape[1]] - M @ x
    np.testing.assert_array_equal(x[: shape[1]][held], walls[held])
    np.testing.assert_allclose(rest[np.append(~held, True)[: A.shape[1]]], 0.0, atol=1e-5)


def solver_of(drawn, alpha, *, shift=False, **options):
    """An ElasticNewton on all of a drawn problem, at w = 0."""
    X, y, cost, gamma, beta, _ = drawn
    objective = ElasticObjective(y, cost, gamma, shift, alpha, beta)
    return from_zero(as_design(X).sides(), objective, np.zeros(X.shape[1]), **options)


def from_zero(sides, objective, v, **options):
    """An ElasticNewton at w = 0; ``v`` is that of theta = 0."""
    n, p = sides.shape
    start = iterate_at(sides, objective, np.zeros(p), np.zeros(n), b=0.0, theta=np.zeros(n), v=v)
    return ElasticNewton(sides, objective, start, **options)


@pytest.mark.parametrize("shift", [False, True])
@pytest.mark.parametrize("kind", oracle.KINDS)
def test_newton_steps_go_down_to_the_optimum_and_the_gap_is_right_at_each(kind, shift):
    for seed, ratio in ((0, 0.5), (1, 0.05), (2, 1e-2)):
        drawn = oracle.drawn(kind, seed)
        alpha, beta = ratio * drawn.top, drawn.beta
        best = oracle.exact(*drawn[:4], alpha, beta, shift=shift)
        solver = solver_of(drawn, alpha, shift=shift, tol=1e-11)
        last = oracle.objective(*drawn[:4], alpha, beta, solver.now.w, solver.now.b)
        while solver.now.gap > 1e-11 and not solver.stuck and solver.steps < 200:
            solver.step()
            value = oracle.objective(*drawn[:4], alpha, beta, solver.now.w, solver.now.b)
            assert value <= last + 1e-12
            assert value - solver.now.gap <= best.objective + 1e-12
            last = value
        assert solver.now.gap <= 1e-11, (seed, solver.steps)
        assert last == pytest.approx(best.objective, abs=2e-11)


def test_columns_marked_idle_keep_weight_zero():
    drawn = oracle.drawn("square", 1)
    X, y, cost, gamma, beta, top = drawn
    idle = np.arange(X.shape[1]) % 2 == 0
    solver = solver_of(drawn, 0.1 * top, idle=idle)
    for _ in range(30):
        solver.step()
    part = oracle.exact(X[:, ~idle], y, cost, gamma, 0.1 * top, beta)
    assert not solver.now.w[idle].any()
    np.testing.assert_allclose(solver.now.w[~idle], part.w, atol=1e-6 * np.abs(part.w).max())


@pytest.mark.parametrize("kind", ["tall", "square", "weighted", "twin rows"])
def test_rows_with_linear_loss_can_be_taken_for_known(kind):
    """Lemma 1: the rest of the problem, with their part of X'(c y theta) in ``known``, has the same w and gap."""
    drawn = oracle.drawn(kind, 3)
    X, y, cost, gamma, beta, top = drawn
    alpha = 0.3 * top
    best = oracle.exact(*drawn[:4], alpha, beta)
    ones, zeros = best.theta == 1.0, best.theta == 0.0
    kept = ~(ones | zeros)
    assert ones.sum() >= 3
    assert kept.sum() >= 1
    known = X[ones].T @ (cost * y)[ones]
    objective = ElasticObjective(y, cost, gamma, False, alpha, beta).of_rows(kept, known)
    part = from_zero(as_design(X[kept]).sides(), objective, known, tol=1e-20)
    while part.now.gap > 1e-20 and part.steps < 100:
        part.step()
    assert part.now.gap <= 1e-20
    np.testing.assert_allclose(part.now.w, best.w, atol=1e-7 * np.abs(best.w).max())


X = matrix()
rng = np.random.default_rng(1)


def sides_of(name):
    """Sides of a storage: two different blocks where there are rows and columns to choose from."""
    block = BLOCKS[name](X)
    other = block.reordered()
    return Sides(block, other) if "csr" in name else Sides(other, block)


@pytest.mark.parametrize("name", BLOCKS)
def test_products_of_sides_equal_the_dense_answer(name):
    sides, n, p = sides_of(name), *X.shape
    v = np.where(rng.random(n) < 0.5, rng.standard_normal(n), 0.0)
    close = {"rtol": 1e-12, "atol": 1e-11}
    np.testing.assert_allclose(sides.correlate(v), X.T @ v, **close)
    np.testing.assert_allclose(sides.correlate(np.zeros(n)), np.zeros(p), **close)
    np.testing.assert_allclose(sides.column_squares(np.abs(v)), np.abs(v) @ X**2, **close)
    np.testing.assert_allclose(sides.row_squares(), (X**2).sum(axis=1), **close)
    for ids in ([], [4], [0, 3, 5, 22], list(range(p))):
        w, mask = rng.standard_normal(len(ids)), np.isin(np.arange(p), ids)
        ids = np.array(ids, dtype=np.int64)
        np.testing.assert_allclose(sides.combine(ids, w), X[:, ids] @ w, **close)
        np.testing.assert_allclose(sides.row_squares(mask), (X[:, mask] ** 2).sum(axis=1), **close)


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("rows", [[], [36], [0, 3, 4, 20], list(range(37))])
@pytest.mark.parametrize("columns", [[], [3], [0, 4, 5, 22], list(range(23))])
def test_parts_of_sides_are_parts_of_X(name, rows, columns):
    sides = sides_of(name)
    rows, columns = np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)
    true = X[np.ix_(rows, columns)]
    np.testing.assert_allclose(sides.part(rows, columns).toarray(), true, rtol=1e-13, atol=1e-12)
    shrunk = sides.shrunk(rows, columns)
    assert shrunk.shape == true.shape
    v, w = rng.standard_normal(rows.size), rng.standard_normal(columns.size)
    np.testing.assert_allclose(shrunk.correlate(v), true.T @ v, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(shrunk.combine(np.arange(columns.size), w), true @ w, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(shrunk.column_squares(np.abs(v)), np.abs(v) @ true**2, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(shrunk.row_squares(), (true**2).sum(axis=1), rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("store", [sparse.csr_array, sparse.csc_array])
def test_passes_of_sparse_sides_count_the_numbers_in_the_rows_and_columns_used(store):
    sides, stored = as_design(store(X)).sides(), np.count_nonzero(X)
    rows, columns = np.array([1, 7, 30]), np.array([4, 9])
    in_rows, in_columns = np.count_nonzero(X[rows]), np.count_nonzero(X[:, columns])
    assert sides.entries_of(rows=rows) == in_rows
    assert sides.entries_of(columns=columns) == in_columns

    def counted(work, *arguments):
        before = sides.passes
        found = work(*arguments)
        return found, round((sides.passes - before) * stored, 6)

    v = np.isin(np.arange(X.shape[0]), rows).astype(np.float64)
    assert counted(sides.correlate, v)[1] == in_rows
    assert counted(sides.column_squares, v)[1] == in_rows
    assert counted(sides.combine, columns, np.ones(2))[1] == in_columns
    assert counted(sides.row_squares, np.isin(np.arange(X.shape[1]), columns))[1] == in_columns
    assert counted(sides.row_squares)[1] == stored
    assert counted(sides.part, rows, columns)[1] == min(in_rows, in_columns)
    shrunk, work = counted(sides.shrunk, rows, columns)
    assert work == min(in_rows, in_columns)
    assert counted(shrunk.correlate, np.ones(3))[1] == pytest.approx(np.count_nonzero(X[np.ix_(rows, columns)]), abs=1)


@pytest.mark.parametrize("name", STORED)
def test_a_full_product_is_one_pass_and_nothing_is_none(name):
    sides = sides_of(name)
    sides.correlate(np.ones(X.shape[0]))
    assert sides.passes == pytest.approx(1.0)
    sides.combine(np.arange(X.shape[1]), np.ones(X.shape[1]))
    assert sides.passes == pytest.approx(2.0)
    sides.correlate(np.zeros(X.shape[0]))
    sides.combine(np.arange(0), np.zeros(0))
    assert sides.passes == pytest.approx(2.0)


@pytest.mark.parametrize("store", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array])
def test_designs_give_sides_of_the_same_numbers(store):
    sides = as_design(store(X)).sides()
    everything = np.arange(X.shape[0]), np.arange(X.shape[1])
    np.testing.assert_array_equal(sides.rows.part(*everything).toarray(), X)
    np.testing.assert_array_equal(sides.columns.part(*everything).toarray(), X)
    assert sides.shape == X.shape
