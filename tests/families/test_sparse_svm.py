"""The elastic-net SVM and its rules: against the conic solver, and against an oracle that is exact to rounding."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.oracles import sparse_svm as oracle
from thresher.data.input.validation import as_design
from thresher.families.sparse_svm import GridWalk, SvmTraining, first_alpha, fit_point, grid_of, problems, walk
from thresher.families.sparse_svm.newton import Effort, newton_point
from thresher.families.sparse_svm.rules import NO_TESTS, SCREENING_RULES, Screened, StaticTests, gap_safe_tests
from thresher.families.sparse_svm.solver import solve_point
from thresher.families.sparse_svm.svm import (
    Svm,
    SvmPoint,
    closed_form,
    gap_at,
    largest_alpha,
    largest_beta,
    zero_point,
)
from thresher.optim.elastic import screening
from thresher.results import Trace

STORED = {
    "dense": np.asfortranarray,
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "float32": lambda X: np.ascontiguousarray(X, dtype=np.float32),
}
GAPS = (1e-2, 1e-4, 1e-6, 1e-8)
STEPS = (0.5, 0.9, 0.99, 0.999, 1.0, 1.1, 1.5)
TIGHT = {False: 1e-18, True: 2e-15}  # gaps that can be reached; with an intercept rounding is not squared
SIGN = 1e-9  # weights and thetas below this share are not told from zero


def posed(X, y, cost, gamma, *, shift=False, stored="dense"):
    """An Svm from arrays."""
    return Svm(as_design(STORED[stored](X)).sides(), y, cost, gamma, shift=shift)


def begun(svm, beta):
    """The point from which a row begins: closed form, or with an intercept w = 0."""
    top = 0.0 if svm.shift else largest_alpha(svm, beta)
    return zero_point(svm, first_alpha(svm, beta) or 1.0, beta) if top <= 0.0 else closed_form(svm, top, beta)


def point_of(svm, X, w, b, theta, alpha, beta):
    """The consistent point of any w, b and feasible theta, as inexact as it is."""
    ids = np.flatnonzero(w)
    v = X.T @ (svm.cost * svm.y * theta)
    bare = SvmPoint(alpha, beta, ids, w[ids], b, svm.y * (X @ w + b), theta, v, np.inf, Screened.nothing(svm))
    return replace(bare, gap=gap_at(svm, bare, alpha, beta))


WAYS = ("w", "theta", "w alone", "theta alone", "both", "loose")


def inexact(svm, drawn, optimum, alpha, gap, way, rng):
    """A point at alpha whose gap is about ``gap``: the optimum moved in a random or a mean direction, or a loose solve.

    "w" takes theta from the moved w and "theta" w from the moved theta, as solvers do; "alone" leaves the other exact,
    so that all of the gap is on one side.
    """
    X, y, cost, gamma, beta = drawn[:5]
    if way == "loose":
        return solve_point(svm, begun(svm, beta), alpha, beta, gap)
    towards_w, towards_theta = _directions(X, y, optimum, rng)
    used = cost > 0

    def moved(size):
        w, b, theta = optimum.w, optimum.b, optimum.theta
        if way != "theta" and way != "theta alone":
            w = w + size * towards_w
        if way != "w" and way != "w alone":
            theta = np.clip(theta + size * towards_theta, 0.0, 1.0)
            theta = oracle.feasible(theta, cost * y) if svm.shift else theta
        if way == "w":
            b = oracle.best_shift(y[used], (X @ w)[used], cost[used], gamma, b) if svm.shift else 0.0
            theta = np.clip((1.0 - y * (X @ w + b)) / gamma, 0.0, 1.0)
            theta = oracle.feasible(theta, cost * y) if svm.shift else theta
        v = X.T @ (cost * y * theta)
        if way == "theta":
            w = np.sign(v) * np.maximum(np.abs(v) - beta, 0.0) / alpha
        here = oracle.terms(w, v, theta, 1.0 - y * (X @ w + b), cost, gamma, alpha, beta)
        return here, w, b, theta

    low, high = 1e-12, 1e3
    for _ in range(14):
        middle = np.sqrt(low * high)
        low, high = (low, middle) if moved(middle)[0] > gap else (middle, high)
    _, w, b, theta = moved(low)
    return point_of(svm, X, w, b, theta, alpha, beta)


def _directions(X, y, optimum, rng):
    """Of w and of theta: noise, more of the same, or straight at a sample's margin and at a column's score."""
    scale = max(np.abs(optimum.w).max(), 1e-300)
    norms = np.sqrt((X**2).sum(axis=0)) + 1e-3 * np.abs(X).max()
    kind = rng.integers(4)
    if kind == 0:
        return rng.standard_normal(X.shape[1]) * scale, rng.standard_normal(y.size)
    if kind == 1:
        return optimum.w * rng.choice([-1.0, 1.0]), (optimum.theta - 1.0) * rng.choice([-1.0, 1.0])
    if kind == 2:
        return rng.standard_normal(X.shape[1]) / norms, (rng.random(y.size) < 0.2) * rng.standard_normal(y.size)
    row, column = X[rng.integers(y.size)], y * X[:, rng.integers(X.shape[1])]
    sign = rng.choice([-1.0, 1.0])
    return sign * row / (np.linalg.norm(row) or 1.0), sign * column / (np.linalg.norm(column) or 1.0)


def lost(svm, found, optimum):
    """(columns, samples) that were screened although the optimum has them."""
    w, theta = np.abs(optimum.w), optimum.theta
    columns = found.idle & (w > SIGN * w.max() + optimum.w_off)
    zeros = svm.rows & found.zero & (theta > SIGN + optimum.theta_off)
    ones = svm.rows & found.one & (theta < 1.0 - SIGN - optimum.theta_off)
    return int(columns.sum()), int((zeros | ones).sum())


def verdicts(svm, point, alpha):
    """{name: Screened at alpha} of every way to use the rules from a point at the same beta."""
    names = ("iss first", "ifs first", "around", "around, then static")
    found = {name: Screened.nothing(svm) for name in names}
    orders = (("ifs",), ("ifs",)) if svm.shift else (("iss", "ifs"), ("ifs", "iss"))
    StaticTests(svm, point, alpha, found["iss first"]).run(orders[0])
    StaticTests(svm, point, alpha, found["ifs first"]).run(orders[1])
    gap = gap_at(svm, point, alpha, point.beta)
    for name in ("around", "around, then static"):
        gap_safe_tests(found[name], svm, point, gap, alpha, point.beta)
    StaticTests(svm, point, alpha, found["around, then static"]).run(orders[0])
    return found


def gaussian(n=60, p=40, seed=0, *, weighted=False):
    """(X, y, costs with sum 1), some of them zero on demand."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = np.where(X[:, :5].sum(axis=1) + rng.standard_normal(n) > 0.3, 1.0, -1.0)
    cost = rng.integers(0, 4, n).astype(np.float64) if weighted else np.ones(n)
    return X, y, cost / cost.sum()


def check_point(svm, X, point, optimum):
    """What every point promises: its parts fit together, theta is feasible, and the gap is the true one or more."""
    theta, y, cost, b = point.theta, svm.y, svm.cost, point.b
    w = point.dense
    size = np.sqrt(svm.row_squares) * np.linalg.norm(w) + abs(b) + 1.0
    assert (np.abs(point.z - y * (X @ w + b)) <= 1e-12 * size).all()
    assert (np.abs(point.v - X.T @ (cost * y * theta)) <= 1e-12 * svm.column_norms).all()
    assert ((theta >= 0.0) & (theta <= 1.0)).all()
    if svm.shift:
        assert abs(cost @ (y * theta)) <= 1e-13
    objective = oracle.objective(X, y, cost, svm.gamma, point.alpha, point.beta, w, b)
    lower = oracle.dual(X, y, cost, svm.gamma, point.alpha, point.beta, theta)
    assert objective - point.gap <= optimum.objective + 1e-12 * svm.at_zero
    assert point.gap >= objective - lower - 1e-12 * (svm.at_zero + point.gap)


@pytest.mark.parametrize("shift", [False, True])
@pytest.mark.parametrize("kind", oracle.KINDS)
def test_the_two_oracles_agree(kind, shift):
    for seed in range(2):
        drawn = oracle.drawn(kind, seed)
        alpha = drawn.top * [0.3, 1e-2][seed]
        optimum = oracle.exact(*drawn[:4], alpha, drawn.beta, shift=shift)
        value, w, _ = oracle.conic(*drawn[:4], alpha, drawn.beta, shift=shift)
        assert optimum.gap <= 1e-13
        assert optimum.objective == pytest.approx(value, rel=1e-7)
        np.testing.assert_allclose(optimum.w, w, atol=1e-4 * np.abs(w).max() + 1e-6 * np.sqrt(2.0 / alpha))


@pytest.mark.parametrize("shift", [False, True])
@pytest.mark.parametrize("gamma", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("stored", STORED)
def test_solution_is_that_of_the_conic_solver(stored, gamma, shift):
    X, y, cost = gaussian(30, 20, weighted=True)
    X = X.astype(np.float32).astype(np.float64)
    X[np.abs(X) < 0.3] = 0.0
    svm = posed(X, y, cost, gamma, shift=shift, stored=stored)
    beta = 0.2 * largest_beta(svm)
    start = begun(svm, beta)
    for ratio in (1.0, 0.5, 1e-2, 1e-4, 1e-6):
        alpha = ratio * start.alpha
        point = solve_point(svm, start, alpha, beta, TIGHT[shift])
        value, w, _ = oracle.conic(X, y, cost, gamma, alpha, beta, shift=shift)
        optimum = oracle.exact(X, y, cost, gamma, alpha, beta, shift=shift)
        found = oracle.objective(X, y, cost, gamma, alpha, beta, point.dense, point.b)
        assert found == pytest.approx(value, rel=1e-6)
        assert found <= value + 1e-9
        np.testing.assert_allclose(point.dense, w, atol=1e-5 * np.abs(w).max())
        np.testing.assert_allclose(point.dense, optimum.w, atol=1e-6 * np.abs(w).max())
        check_point(svm, X, point, optimum)


@pytest.mark.parametrize("shift", [False, True])
@pytest.mark.parametrize("kind", oracle.KINDS)
def test_solves_end_within_their_tolerance(kind, shift):
    """Also in one go, without strides, from the beginning of a row."""
    for seed in range(3):
        drawn = oracle.drawn(kind, seed)
        svm = posed(*drawn[:4], shift=shift)
        start = begun(svm, drawn.beta)
        for ratio in (0.9, 0.1, 1e-2, 1e-4):
            point = solve_point(
                svm, start, ratio * drawn.top, drawn.beta, 1e-9 * svm.at_zero, SCREENING_RULES["sifs+gap"]
            )
            assert point.gap <= 1e-9 * svm.at_zero, (seed, ratio, point.steps)
            optimum = oracle.exact(*drawn[:4], point.alpha, drawn.beta, shift=shift)
            check_point(svm, drawn.X, point, optimum)
            assert lost(svm, point.screened, optimum) == (0, 0)
            off = np.sqrt(2e-9 * svm.at_zero / point.alpha) + optimum.w_off
            assert np.linalg.norm(point.dense - optimum.w) <= off


@pytest.mark.parametrize("shift", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_w_is_zero_from_the_largest_beta_on_and_not_below(weighted, shift):
    for seed in range(6):
        X, y, cost = gaussian(20 + seed, 15, seed, weighted=weighted)
        svm = posed(X, y, cost, 0.5, shift=shift)
        most = largest_beta(svm)
        for alpha in (1e-3, 1.0, 1e3):
            for beta in (most, 1.5 * most):
                point = zero_point(svm, alpha, beta)
                assert point.gap <= 1e-15
                assert not oracle.exact(X, y, cost, 0.5, alpha, beta, shift=shift).w.any()
                assert point.ids.size == 0
                assert point.screened.idle.all()
            point = zero_point(svm, alpha, 0.999 * most)
            assert point.gap > 0.0
            optimum = oracle.exact(X, y, cost, 0.5, alpha, 0.999 * most, shift=shift)
            assert np.count_nonzero(optimum.w) >= 1
            assert newton_point(svm, point, alpha, 0.999 * most, Effort(1e-15)).ids.size >= 1


@pytest.mark.parametrize("gamma", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("kind", ["square", "weighted", "ill-scaled rows", "ties"])
def test_closed_form_ends_at_the_largest_alpha(kind, gamma):
    for seed in range(4):
        drawn = oracle.drawn(kind, seed)._replace(gamma=gamma)
        svm = posed(*drawn[:4])
        top = largest_alpha(svm, drawn.beta)
        for alpha in (top, 3.0 * top):
            point = closed_form(svm, alpha, drawn.beta)
            optimum = oracle.exact(*drawn[:4], alpha, drawn.beta)
            assert point.gap <= 1e-14
            assert (optimum.theta[svm.rows] >= 1.0 - 1e-9 - optimum.theta_off[svm.rows]).all()
            np.testing.assert_allclose(
                point.dense, optimum.w, rtol=1e-9, atol=optimum.w_off + 1e-12 * np.abs(optimum.w).max()
            )
            check_point(svm, drawn.X, point, optimum)
        below = oracle.exact(*drawn[:4], 0.99 * top, drawn.beta)
        assert below.theta[svm.rows].min() < 1.0 - 1e-6
        assert closed_form(svm, 0.99 * top, drawn.beta).gap > 0.0


def test_with_an_intercept_parts_of_the_loss_change_right_below_the_first_alpha():
    for seed in range(4):
        X, y, cost = gaussian(25, 12, seed)
        svm = posed(X, y, cost, 0.5, shift=True)
        beta = 0.3 * largest_beta(svm)
        top = first_alpha(svm, beta)

        def parts(theta):
            return (theta > 1e-7).astype(int) + (theta > 1.0 - 1e-7)

        at_zero = parts(zero_point(svm, 1.0, beta).theta)
        above, below = (oracle.exact(X, y, cost, 0.5, r * top, beta, shift=True).theta for r in (1.1, 0.9))
        np.testing.assert_array_equal(parts(above), at_zero)
        assert (parts(below) != at_zero).any()


@pytest.mark.parametrize("shift", [False, True])
@pytest.mark.parametrize("kind", oracle.KINDS)
@pytest.mark.parametrize("problems", [6, pytest.param(70, marks=pytest.mark.slow)])
def test_rules_are_safe_from_inexact_references(kind, shift, problems):
    """No column or sample of the optimum is lost: 32 x 6 drawn problems with 6 references each; slow: 32 x 70."""

    @settings(derandomize=True, max_examples=problems, deadline=None, database=None)
    @given(
        seed=st.integers(0, 1 << 20),
        ratio=st.sampled_from([1.0, 0.5, 0.1, 1e-2, 1e-3]),
        stored=st.sampled_from(["dense", "csr", "csc"]),
        steps=st.lists(st.sampled_from(STEPS), min_size=3, max_size=3, unique=True),
        gaps=st.lists(st.sampled_from(GAPS), min_size=6, max_size=6),
        ways=st.lists(st.sampled_from(WAYS), min_size=6, max_size=6),
    )
    def safe(seed, ratio, stored, steps, gaps, ways):
        drawn, rng = oracle.drawn(kind, seed), np.random.default_rng(seed)
        svm = posed(*drawn[:4], shift=shift, stored=stored)
        old = ratio * drawn.top
        before = oracle.exact(*drawn[:4], old, drawn.beta, shift=shift)
        optima = [oracle.exact(*drawn[:4], step * old, drawn.beta, shift=shift) for step in steps]
        for i, (gap, way) in enumerate(zip(gaps, ways, strict=True)):
            point = inexact(svm, drawn, before, old, gap * svm.at_zero, way, rng)
            check_point(svm, drawn.X, point, before)
            for name, found in verdicts(svm, point, steps[i % 3] * old).items():
                assert lost(svm, found, optima[i % 3]) == (0, 0), (name, way, gap, steps[i % 3])

    safe()


def losses_of(svm, X, y, cost, gap, step):
    """(columns, samples) lost at ``step`` times half of the largest alpha from a reference with w scaled up."""
    beta = 0.2 * largest_beta(svm)
    old = 0.5 * largest_alpha(svm, beta)
    before, after = (oracle.exact(X, y, cost, svm.gamma, a, beta) for a in (old, step * old))
    drawn = oracle.Drawn(X, y, cost, svm.gamma, beta, 2.0 * old)
    columns = samples = 0
    for trial in range(6):
        point = inexact(svm, drawn, before, old, gap * svm.at_zero, "both", np.random.default_rng(trial))
        found = Screened.nothing(svm)
        StaticTests(svm, point, step * old, found).run(("iss", "ifs"))
        some = lost(svm, found, after)
        columns, samples = columns + some[0], samples + some[1]
    return columns, samples


def test_as_printed_the_rules_lose_samples_and_columns_of_an_inexact_reference(monkeypatch):
    """Without the gap in the radii: 60 x 40 Gaussian, a gap of 1e-2 and a step of 0.999. With it nothing is lost."""
    X, y, cost = gaussian(60, 40, 1)
    svm = posed(X, y, cost, 0.5)
    assert losses_of(svm, X, y, cost, 1e-2, 0.999) == (0, 0)
    widened = screening.from_reference

    def printed(old, new, length, distance, gap, gamma):
        return widened(old, new, length, distance, 0.0, gamma)

    monkeypatch.setattr(screening, "from_reference", printed)
    columns, samples = losses_of(svm, X, y, cost, 1e-2, 0.999)
    assert columns > 0
    assert samples > 0


def test_around_without_its_radius_loses_samples_and_columns(monkeypatch):
    """The gap-safe test can fail too."""
    X, y, cost = gaussian(60, 40, 1)
    svm = posed(X, y, cost, 0.5)
    beta = 0.2 * largest_beta(svm)
    alpha = 0.3 * largest_alpha(svm, beta)
    optimum = oracle.exact(X, y, cost, 0.5, alpha, beta)
    drawn = oracle.Drawn(X, y, cost, 0.5, beta, alpha)
    points = [inexact(svm, drawn, optimum, alpha, 1e-2, "theta", np.random.default_rng(i)) for i in range(6)]
    rightly = screening.from_gap

    def in_all():
        found = [Screened.nothing(svm) for _ in points]
        for some, point in zip(found, points, strict=True):
            gap_safe_tests(some, svm, point, point.gap, alpha, beta)
        return np.sum([lost(svm, some, optimum) for some in found], axis=0)

    assert (in_all() == 0).all()
    monkeypatch.setattr(screening, "from_gap", lambda gap, alpha, gamma: rightly(0.0, alpha, gamma))
    assert (in_all() > 0).all()


@pytest.mark.parametrize("shape", [(120, 30), (40, 100)])
def test_rules_find_most_of_what_is_idle_from_a_near_and_exact_reference(shape):
    """Or safety would be worth nothing."""
    X, y, cost = gaussian(*shape)
    svm = posed(X, y, cost, 0.5)
    beta = 0.3 * largest_beta(svm)
    old = 0.3 * largest_alpha(svm, beta)
    before, after = (oracle.exact(X, y, cost, 0.5, a, beta) for a in (old, 0.99 * old))
    point = point_of(svm, X, before.w, 0.0, before.theta, old, beta)
    idle, settled = after.w == 0.0, (after.theta == 0.0) | (after.theta == 1.0)
    for name, found in verdicts(svm, point, 0.99 * old).items():
        assert (found.idle & idle).sum() > 0.8 * idle.sum(), name
        assert (found.settled & settled).sum() > 0.8 * settled.sum(), name


@pytest.mark.parametrize("share", [0.1, 0.6, 0.95])
@pytest.mark.parametrize("stored", ["dense", "csr", "csc"])
def test_rules_test_what_is_left_of_rows_and_columns(stored, share):
    """Lemmas 4 and 5 with sets found before, also of columns whose weight in the reference is not zero."""
    for seed in range(4):
        X, y, cost = gaussian(30, 25, seed, weighted=True)
        X[np.abs(X) < 0.5] = 0.0
        svm, rng = posed(X, y, cost, 0.5, stored=stored), np.random.default_rng(seed)
        w, theta, beta = rng.standard_normal(25), rng.random(30), 0.3 * largest_beta(svm)
        point = point_of(svm, X, w, 0.0, theta, 1.0, beta)
        found = Screened.nothing(svm)
        found.idle |= rng.random(25) < share
        found.one |= svm.rows & (rng.random(30) < 0.5 * share)
        found.zero |= rng.random(30) < 0.5 * share
        found.zero &= ~found.one
        idle, one, rest = found.idle.copy(), found.one.copy(), svm.rows & ~found.settled
        static = StaticTests(svm, point, 0.9, found)
        m = static.balls.multiple
        static.run(("iss",))
        np.testing.assert_allclose(static.margins, m * y * (X[:, ~idle] @ w[~idle]), atol=1e-12)
        np.testing.assert_allclose(static.row_squares, (X[:, ~idle] ** 2).sum(axis=1), rtol=1e-10, atol=1e-10)
        found.one, found.zero = one, ~(one | rest)
        static.run(("ifs",))
        known = np.where(rest, m * theta + (1.0 - m) / 0.5, one)
        np.testing.assert_allclose(static.scores, X.T @ (cost * y * known), atol=1e-13)
        np.testing.assert_allclose(static.column_squares, cost[rest] @ X[rest] ** 2, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("exact", [True, False])
def test_the_order_of_the_rules_does_not_matter(exact):
    """Theorem 6, with and without an exact reference. Ties would need an allowance for rounding; here are none."""
    synergy = 0
    for seed in range(25):
        X, y, cost = gaussian(50, 40, seed, weighted=seed % 2 == 1)
        svm = posed(X, y, cost, [0.05, 0.5, 0.9][seed % 3])
        beta = [0.1, 0.3, 0.6][seed % 3] * largest_beta(svm)
        old = 0.3 * largest_alpha(svm, beta)
        optimum = oracle.exact(X, y, cost, svm.gamma, old, beta)
        drawn = oracle.Drawn(X, y, cost, svm.gamma, beta, old)
        point = (
            point_of(svm, X, optimum.w, 0.0, optimum.theta, old, beta)
            if exact
            else inexact(svm, drawn, optimum, old, 1e-4, "w", np.random.default_rng(seed))
        )
        for step in (0.99, 0.9, 0.7):
            one, other = Screened.nothing(svm), Screened.nothing(svm)
            StaticTests(svm, point, step * old, one).run(("iss", "ifs"))
            StaticTests(svm, point, step * old, other).run(("ifs", "iss"))
            np.testing.assert_array_equal(one.idle, other.idle)
            np.testing.assert_array_equal(one.zero, other.zero)
            np.testing.assert_array_equal(one.one, other.one)
            found = [np.sum([run[1:] for run in screened.log], axis=0).tolist() for screened in (one, other)]
            assert found[0] == found[1]
            assert abs(len(one.log) - len(other.log)) <= 1
            assert not any(one.log[-1][1:]), "run to the end"
            synergy += len(one.log) > 3
    assert synergy >= 5, "more than one turn each, or there is no order"


@pytest.mark.parametrize("shift", [False, True])
@pytest.mark.parametrize("kind", ["tall", "wide", "weighted", "ties", "ill-scaled columns", "flipped columns"])
def test_reported_gap_is_never_below_the_true_gap(kind, shift):
    for seed in range(4):
        drawn = oracle.drawn(kind, seed)
        svm = posed(*drawn[:4], shift=shift)
        optimum = oracle.exact(*drawn[:4], 0.05 * drawn.top, drawn.beta, shift=shift)
        for tol in (1.0, 1e-1, 1e-2, 1e-3, 1e-5, 1e-8):
            point = solve_point(svm, begun(svm, drawn.beta), 0.05 * drawn.top, drawn.beta, tol)
            check_point(svm, drawn.X, point, optimum)
            assert gap_at(svm, point, point.alpha, drawn.beta) == pytest.approx(point.gap, rel=1e-6, abs=1e-13)
            for alpha in (0.5 * point.alpha, 2.0 * point.alpha):
                elsewhere = replace(point, alpha=alpha, gap=gap_at(svm, point, alpha, drawn.beta))
                there = oracle.exact(*drawn[:4], alpha, drawn.beta, shift=shift)
                check_point(svm, drawn.X, elsewhere, there)


@pytest.mark.parametrize("shift", [False, True])
@pytest.mark.parametrize("rules", SCREENING_RULES)
def test_every_set_of_rules_gives_the_same_solution(rules, shift):
    """Lemma 1; what a solve has found to be settled is so."""
    for seed, stored in enumerate(["dense", "csr", "csc"]):
        X, y, cost = gaussian([60, 30, 40][seed], [20, 60, 40][seed], seed, weighted=seed == 2)
        svm = posed(X, y, cost, 0.5, shift=shift, stored=stored)
        beta = 0.3 * largest_beta(svm)
        last = begun(svm, beta)
        for alpha in last.alpha * np.array([0.9, 0.85, 0.3, 0.02, 0.05]):
            last = solve_point(svm, last, alpha, beta, TIGHT[shift], SCREENING_RULES[rules])
            optimum = oracle.exact(X, y, cost, 0.5, alpha, beta, shift=shift)
            assert last.gap <= TIGHT[shift]
            np.testing.assert_allclose(last.dense, optimum.w, atol=1e-6 * np.abs(optimum.w).max())
            assert lost(svm, last.screened, optimum) == (0, 0)


@pytest.mark.parametrize("kind", ["tall", "wide", "sparse", "twin rows"])
def test_the_problem_without_what_was_found_has_the_same_solution(kind):
    """Lemma 1 by the oracle: columns that are idle and samples with theta = 0 left out."""
    smaller = 0
    for seed in range(4):
        drawn = oracle.drawn(kind, seed)
        X, y, cost, gamma, beta, top = drawn
        svm = posed(*drawn[:4])
        point = solve_point(svm, begun(svm, beta), 0.2 * top, beta, 1e-8)
        found = verdicts(svm, point, 0.19 * top)["around, then static"]
        whole = oracle.exact(*drawn[:4], 0.19 * top, beta)
        part = oracle.exact(X[:, ~found.idle], y, np.where(found.zero, 0.0, cost), gamma, 0.19 * top, beta)
        w = np.zeros(X.shape[1])
        w[~found.idle] = part.w
        np.testing.assert_allclose(w, whole.w, atol=1e-9 * np.abs(whole.w).max() + whole.w_off + part.w_off)
        ones = whole.theta[found.one] + whole.theta_off[found.one]
        assert (ones >= 1.0 - SIGN).all()
        smaller += found.idle.any() and found.settled[svm.rows].any()
    assert smaller > 0


@pytest.mark.parametrize("shift", [False, True])
@pytest.mark.parametrize("rules", ["auto", "sifs", None])
def test_to_start_from_the_answer_costs_no_step(rules, shift):
    X, y, cost = gaussian(50, 30, 2, weighted=True)
    svm = posed(X, y, cost, 0.5, shift=shift)
    beta = 0.2 * largest_beta(svm)
    start = begun(svm, beta)
    answer = solve_point(svm, start, 0.1 * start.alpha, beta, 1e-10, SCREENING_RULES[rules])
    assert answer.steps > 0
    before = svm.sides.passes
    again = newton_point(svm, answer, answer.alpha, beta, Effort(1e-10), SCREENING_RULES[rules])
    assert again.steps == 0
    if rules != "sifs":  # rules run to their end look at X
        assert svm.sides.passes == before
    np.testing.assert_allclose(again.dense, answer.dense, atol=1e-9 * np.abs(answer.weights).max())
    assert again.gap <= 1e-10


@pytest.mark.parametrize("shift", [False, True])
def test_a_grid_is_right_everywhere(shift):
    X, _, cost = gaussian(40, 25, 5, weighted=True)
    labels = X[:, :3].argmax(axis=1)
    signs = [np.where(labels == k, 1.0, -1.0) for k in range(3)]
    svms = problems(as_design(X).sides(), signs, cost, 0.5, shift)
    penalties = grid_of(svms, 4, 5, 0.05, 0.01)
    betas, alphas = penalties.betas, penalties.alphas
    assert betas[0] == max(largest_beta(svm) for svm in svms)
    assert alphas.shape == (4, 5)
    seen = []
    for i, j, points in walk(svms, betas, alphas, 1e-12, SCREENING_RULES["sifs+gap"]):
        seen.append((i, j))
        for svm, point in zip(svms, points, strict=True):
            assert (point.alpha, point.beta) == (alphas[i, j], betas[i])
            optimum = oracle.exact(X, svm.y, cost, 0.5, point.alpha, point.beta, shift=shift)
            assert point.gap <= 1e-12
            check_point(svm, X, point, optimum)
            assert lost(svm, point.screened, optimum) == (0, 0)
            np.testing.assert_allclose(point.dense, optimum.w, atol=1e-4 * (np.abs(optimum.w).max() + 1e-9))
    assert seen == [(i, j) for i in range(4) for j in range(5)]


class Counter:
    """Counts the points of a walk."""

    def __init__(self, total):
        self.total, self.seen = total, []

    def __call__(self, beta, alpha, features, gap, done, trace):
        self.seen.append((beta, alpha, done))


@pytest.mark.parametrize("shift", [False, True])
def test_the_family_returns_results_without_an_estimator(shift):
    """A Selection at one point; a Grid, the Selection of its last point and the scores of folds over all of them."""
    X, y, _ = gaussian()
    design, trace = as_design(X), Trace()
    training = SvmTraining(
        design, design.sides(), y[None], np.ones(y.size), gamma=0.5, shift=shift, n_features_in=40, scale=None
    )
    penalties = grid_of(training.svms, 3, 4, 0.05, 0.01)
    betas, alphas = penalties.betas, penalties.alphas
    told = []

    def score(decisions, test):
        told.append(test)
        return float(np.mean(np.sign(decisions[test]) == y[test]))

    test, progress = np.arange(0, 60, 3), Counter(0)
    grid_walk = GridWalk(
        training, [test], score, tol=1e-9, rules=NO_TESTS, trace=trace, deadline=np.inf, progress=progress
    )
    grid_walk.solve(penalties)
    grid, last = grid_walk.grid(penalties), grid_walk.selection()
    point = grid.at(*grid.last)
    last.check()
    assert grid.solved.all()
    assert np.nanmax(grid.gap) <= 1e-9
    assert (point.alpha, point.beta) == (alphas[-1, -1], betas[-1])
    np.testing.assert_array_equal(last.weights, point.weights)
    assert last.certificate.objective == point.objective
    alone = fit_point(training, point.alpha, point.beta, tol=1e-9, rules=NO_TESTS, trace=trace)
    np.testing.assert_array_equal(alone.selection.features, point.features)
    distance = np.linalg.norm(alone.selection.weights - point.weights)
    assert distance <= np.sqrt(2.0 * 1e-9 / point.alpha)  # the objective is alpha-strongly convex
    assert alone.steps > 0
    found = grid_walk.fold_scores(penalties)
    assert found.scores.shape == (1, 3, 4)
    assert len(told) == 12
    rest = np.setdiff1d(np.arange(60), test)
    design = as_design(X[rest])
    training = SvmTraining(
        design, design.sides(), y[rest][None], np.ones(rest.size), gamma=0.5, shift=shift, n_features_in=40, scale=None
    )
    left_out = fit_point(training, alphas[1, 2], betas[1], tol=1e-9, rules=NO_TESTS, trace=Trace()).selection
    decisions = X[test][:, left_out.features] @ left_out.weights + left_out.intercept
    assert found.scores[0, 1, 2] == np.mean(np.sign(decisions) == y[test])
    begins, ids = found.supports[0]
    np.testing.assert_array_equal(ids[begins[6] : begins[7]], left_out.features)  # point 1 * 4 + 2
    assert [done for *_, done in progress.seen] == list(range(1, 1 + progress.total)) == list(range(1, 25))
    assert not grid_walk.ended
