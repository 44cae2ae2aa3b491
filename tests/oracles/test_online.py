"""The literal online rounds against what they are said to minimise."""

from copy import deepcopy
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit

from tests.oracles.online import READS, Literal, loss_and_slope

LOSSES = ("squared_hinge", "hinge", "logistic")
SETTINGS = {"step_size": 0.3, "l2": 0.2, "l1": 0.05, "delta": 0.5, "gamma": 2.0}


def stream(seed, d, rounds=12):
    """(x, y, weight): about half of every x is zero, and y follows the first two features."""
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        x = rng.normal(size=d) * (rng.random(d) < 0.6)
        yield x, (1.0 if x[0] - x[1] + 0.3 * rng.normal() > 0 else -1.0), rng.choice([0.5, 1.0, 2.0])


def gradient(loss, x, y, weight, v):
    """Of weight * loss in w, by its formula."""
    m = y * v
    slope = {"squared_hinge": 2 * max(0.0, 1 - m), "hinge": float(m < 1), "logistic": expit(-m)}[loss]
    return -weight * slope * y * x


def lowest(value, near):
    """The minimiser of a convex function of one number, to about 1e-8."""
    reach = abs(near) + 1.0
    return minimize_scalar(value, bounds=(-reach, reach), method="bounded", options={"xatol": 1e-11}).x


def agree(w, value):
    """w[i] minimises value(i, .) for every i: as far along as the numerical optimum, and no higher."""
    for i, given in enumerate(w):
        best = lowest(lambda u, i=i: value(i, u), given)
        assert given == pytest.approx(best, abs=1e-6)
        assert value(i, given) <= value(i, best) + 1e-14


@pytest.mark.parametrize("loss", LOSSES)
def test_loss_and_slope(loss):
    for m in (-3.0, -0.5, 0.0, 0.4, 0.999, 1.001, 2.0):
        value, slope = loss_and_slope(loss, m)
        hinge = max(0.0, 1 - m)
        assert value == pytest.approx({"squared_hinge": hinge**2, "hinge": hinge}.get(loss, np.logaddexp(0, -m)))
        ahead, behind = (loss_and_slope(loss, m + h)[0] for h in (1e-6, -1e-6))
        assert slope == pytest.approx((behind - ahead) / 2e-6, abs=1e-8)
    assert loss_and_slope("hinge", 1.0) == loss_and_slope("squared_hinge", 1.0) == (0.0, 0.0)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("method", ["b-arda", "l1-arda"])
def test_dual_averaging_minimises_1(method, loss):
    model, eta, seen, zeros = Literal(method, 5, budget=5, loss=loss, **SETTINGS), SETTINGS["step_size"], [], 0
    for t, (x, y, weight) in enumerate(stream(0, 5), 1):
        seen.append(gradient(loss, x, y, weight, x @ model.w))
        model.round(x, y, weight)
        mean, H = np.mean(seen, axis=0), SETTINGS["delta"] + np.linalg.norm(seen, axis=0)

        def value(i, u, t=t, mean=mean, H=H):
            phi = SETTINGS["l2"] / 2 * u * u if method == "b-arda" else SETTINGS["l1"] * abs(u)
            return eta * mean[i] * u + eta * phi + H[i] * u * u / 2 / t

        agree(model.w, value)
        zeros += (model.w == 0).sum()
    assert method == "b-arda" or zeros > 3


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("method", ["b-amd", "ada-fobos"])
def test_descent_minimises_3_and_the_prox(method, loss):
    model, eta, seen, zeros = Literal(method, 5, budget=5, loss=loss, **SETTINGS), SETTINGS["step_size"], [], 0
    for x, y, weight in stream(1, 5, 20):
        before = model.w
        g = gradient(loss, x, y, weight, x @ before) + (SETTINGS["l2"] * before if method == "b-amd" else 0.0)
        seen.append(g)
        model.round(x, y, weight)
        H, l1 = SETTINGS["delta"] + np.linalg.norm(seen, axis=0), SETTINGS["l1"] if method == "ada-fobos" else 0.0
        agree(model.w, lambda i, u: eta * g[i] * u + eta * l1 * abs(u) + H[i] * (u - before[i]) ** 2 / 2)  # noqa: B023
        zeros += ((model.w == 0) & (before != 0)).sum()
    assert method == "b-amd" or zeros > 0


@pytest.mark.parametrize("d", [3, 8])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("method", sorted(set(READS) - {"sofs"}))
def test_truncation_is_the_best_support(method, fit_intercept, d):
    model, cuts = Literal(method, d, budget=2, fit_intercept=fit_intercept, **SETTINGS), 0
    for x, y, weight in stream(2, d):
        free = deepcopy(model)
        free.budget = d
        free.round(x, y, weight)
        model.round(x, y, weight)
        z, H = free.w, free.H
        lost = {  # of one feature, if dropped
            "b-arda": H * z**2,
            "l1-arda": H * z**2,
            "b-amd": H * abs(z),
            "ada-fobos": H * abs(z),
            "ofs": z**2,
        }[method]
        cost = min(lost.sum() - lost[list(kept)].sum() for kept in combinations(range(d), 2))
        kept = model.w != 0
        assert kept.sum() <= 2
        assert np.array_equal(model.w[kept], z[kept])
        assert lost[~kept].sum() == pytest.approx(cost, abs=1e-13)
        assert model.xi == pytest.approx(cost if method in ("b-amd", "ada-fobos") else np.sqrt(max(cost, 0)), abs=1e-6)
        assert (model.b, free.xi) == (free.b, 0.0)
        assert (model.b != 0) == fit_intercept
        cuts += (z != 0).sum() > 2
    assert cuts > 3


@pytest.mark.parametrize("method", sorted(READS))
def test_of_equals_the_lower_index_is_dropped(method):
    for x, kept in (([1.0, 1.0, 1.0, 1.0, 1.0], [3, 4]), ([1.0, 2.0, 1.0, 1.0, 0.5], [1, 3])):
        model = Literal(method, 5, budget=2, loss="squared_hinge")
        model.round(np.array(x), 1.0)
        assert np.flatnonzero(model.w).tolist() == kept


def test_sofs_minimises_the_diagonal_arow_objective():
    # KL(N(mu, S) || N(mu_t, S_t)) + (hinge(mu)^2 + x'Sx) / (2 r), S diagonal; the intercept is one more feature
    model = Literal("sofs", 4, budget=4, fit_intercept=True, **SETTINGS)
    idle = 0
    for x, y, weight in stream(3, 4, 20):
        mu, sigma, z = np.append(model.w, model.b), np.append(model.sigma, model.sigma_b), np.append(x, 1.0)
        r = SETTINGS["gamma"] / weight

        def distance(u, mu=mu, sigma=sigma, z=z, y=y, r=r):
            slack = max(0.0, 1 - y * (u @ z))
            return (u - mu) ** 2 @ (1 / sigma) / 2 + slack**2 / (2 * r), (u - mu) / sigma - slack / r * y * z

        model.round(x, y, weight)
        best = minimize(distance, mu, jac=True, method="BFGS", options={"gtol": 1e-10}).x
        assert np.append(model.w, model.b) == pytest.approx(best, abs=1e-7)
        if y * (mu @ z) >= 1:  # AROW learns nothing there, not even confidence
            idle += 1
            assert np.array_equal(np.append(model.sigma, model.sigma_b), sigma)
            continue
        for i, given in enumerate(np.append(model.sigma, model.sigma_b)):
            entropy = lambda u, i=i: (u / sigma[i] - np.log(u) + z[i] ** 2 * u / r) / 2  # noqa: B023, E731
            assert given == pytest.approx(minimize_scalar(entropy, bounds=(1e-6, 2.0), method="bounded").x, abs=1e-4)
    assert 0 < idle < 15


def test_sofs_by_hand():
    whole, cut = (Literal("sofs", 2, budget=budget) for budget in (2, 1))
    for model in (whole, cut):
        model.round(np.array([1.0, 2.0]), 1.0)
    assert whole.w == pytest.approx([1 / 6, 1 / 3], rel=1e-15)
    assert cut.w == pytest.approx([0, 1 / 3], rel=1e-15)
    assert cut.xi == pytest.approx(1 / 6, rel=1e-15)
    assert cut.sigma == pytest.approx([1 / 2, 1 / 5], rel=1e-15)  # of the dropped feature too
    assert whole.round(np.array([1.0, -1.0]), -1.0) == pytest.approx(-1 / 6, rel=1e-14)
    assert whole.w == pytest.approx([-4 / 51, 22 / 51], rel=1e-14)
    assert whole.sigma == pytest.approx([1 / 3, 1 / 6], rel=1e-15)
    cut.round(np.array([4.0, 0.0]), 1.0)  # sigma 1/18 < 1/5: the first feature takes the place, 0 + 1/9 * 2
    assert cut.w == pytest.approx([2 / 9, 0], rel=1e-14)
    assert cut.xi == pytest.approx(1 / 3, rel=1e-15)
    cut.round(np.array([9.0, 0.0]), 1.0)  # margin 2: nothing is learnt, nothing dropped
    assert (cut.xi, cut.t) == (0.0, 3)


def test_ofs_shrinks_steps_and_projects():
    l2, eta = 0.5, 0.4
    model, inside, outside, idle = Literal("ofs", 4, budget=4, l2=l2, step_size=eta, loss="hinge"), 0, 0, 0
    for x, y, weight in stream(4, 4, 25):
        before, g = model.w, gradient("hinge", x, y, weight, x @ model.w)
        u = before - eta * (l2 * before + g)
        model.round(x, y, weight)
        length = np.linalg.norm(u) * np.sqrt(l2)
        assert model.w == pytest.approx(u / max(1.0, length), abs=1e-14)
        inside, outside, idle = inside + (length < 1), outside + (length > 1), idle + (not g.any())
    assert min(inside, outside, idle) > 0


@pytest.mark.parametrize("method", sorted(READS))
def test_an_intercept_is_a_feature_of_ones(method):
    settings = SETTINGS | {"l1": 0.0, "l2": 0.0}
    given, added = (
        Literal(method, 4, budget=4, fit_intercept=True, **settings),
        Literal(method, 5, budget=5, **settings),
    )
    for x, y, weight in stream(5, 4):
        assert given.round(x, y, weight) == added.round(np.append(x, 1.0), y, weight)
        assert np.array_equal(np.append(given.w, given.b), added.w)
    assert given.b != 0


@pytest.mark.parametrize("method", sorted(READS))
def test_an_intercept_is_not_regularised(method):
    models = [Literal(method, 1, budget=1, fit_intercept=True, **SETTINGS | {"l1": v, "l2": v}) for v in (0.0, 0.5)]
    for _, y, weight in stream(6, 2):
        for model in models:
            model.round(np.zeros(1), y, weight)
        assert models[0].b == models[1].b != 0


@pytest.mark.parametrize("method", sorted(READS))
def test_books(method):
    model, losses, mistakes = Literal(method, 6, budget=2, **SETTINGS), 0.0, 0
    for t, (x, y, weight) in enumerate(stream(7, 6), 1):
        v = x @ model.w
        losses, mistakes = losses + weight * max(0.0, 1 - y * v) ** 2, mistakes + ((1 if v > 0 else -1) != y)
        before = deepcopy(vars(model))
        assert model.round(x, y, 0.0) == pytest.approx(v, abs=1e-15)
        assert all(np.array_equal(before[name], value) for name, value in vars(model).items())
        assert model.round(x, y, weight) == pytest.approx(v, abs=1e-15)
        assert (model.t, model.mistakes) == (t, mistakes)
        assert model.loss_sum == pytest.approx(losses, rel=1e-14)
        assert np.count_nonzero(model.w) <= 2
    assert 0 < mistakes < 12


@pytest.mark.parametrize("method", ["l1-arda", "ada-fobos"])
def test_no_budget_keeps_all(method):
    free, wide = (Literal(method, 6, budget=budget, **SETTINGS) for budget in (None, 6))
    for example in stream(8, 6):
        assert free.round(*example) == wide.round(*example)
    assert np.array_equal(free.w, wide.w)
    assert free.w.any()
