"""Laws of every loss: derivatives, Fenchel and Young, the dual bound and the exact shift."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from thresher.optim.problems.losses import LOSSES, SmoothedHinge

rng = np.random.default_rng(3)
N = 40
y = np.where(rng.random(N) < 0.3, 1.0, -1.0)
z = rng.standard_normal(N) * 2
cost = rng.uniform(0.0, 3.0, N)
cost[:2] = 0.0


@pytest.fixture(params=[*LOSSES.values(), SmoothedHinge(0.5), SmoothedHinge(0.05)], ids=lambda loss: loss.name)
def loss(request):
    return request.param


def test_gradient_equals_differences(loss):
    for i in range(N):
        step = np.zeros(N)
        step[i] = 1e-6
        slope = (loss.value(y, z + step, cost) - loss.value(y, z - step, cost)) / 2e-6
        assert loss.gradient(y, z, cost)[i] == pytest.approx(slope, abs=1e-7)


def test_curvature_equals_differences_of_the_gradient_and_stays_below_its_bound(loss):
    away = np.abs(y * z - 1.0) > 1e-3
    slope = (loss.gradient(y, z + 1e-6, cost) - loss.gradient(y, z - 1e-6, cost)) / 2e-6
    np.testing.assert_allclose(loss.curvature(y, z, cost)[away], slope[away], atol=1e-7)
    assert np.all(loss.curvature(y, z, cost) <= loss.curvature_bound(cost) + 1e-15)


def test_fenchel_young_holds_with_equality_at_the_dual_point(loss):
    alpha = loss.dual_point(y, z, cost)
    assert loss.value(y, z, cost) == pytest.approx(loss.dual(alpha, cost) - alpha @ (y * z), rel=1e-12)
    for _ in range(50):
        other = cost * rng.uniform(0, 1, N)
        assert loss.value(y, z, cost) >= loss.dual(other, cost) - other @ (y * z) - 1e-12


def test_dual_is_minus_infinity_outside_its_domain(loss):
    assert loss.dual(np.where(np.arange(N) == 5, -1e-3, 0.0), cost) == -np.inf
    assert loss.dual(np.where(np.arange(N) == 0, 1e-3, 0.0), cost) == -np.inf, "a sample without cost has alpha = 0"


@pytest.mark.parametrize("square", [0.0, 1e-3, 50.0, 1e6])
def test_scaled_dual_is_the_best_multiple(loss, square):
    alpha = loss.dual_point(y, z, cost)
    end = 50.0 if loss.name == "squared_hinge" else float((cost[alpha > 0] / alpha[alpha > 0]).min())

    def at(s):
        return (
            loss.dual(np.minimum(s * alpha, cost) if loss.name == "logistic" else s * alpha, cost)
            - 0.5 * s * s * square
        )

    best = max(
        -minimize_scalar(lambda s: -at(s), bounds=(0, end), method="bounded", options={"xatol": 1e-12}).fun, at(0)
    )
    found = loss.scaled_dual(alpha, cost, square)
    assert found >= best - 1e-9 * max(1.0, abs(best))
    grid = max(at(s) for s in np.linspace(0, end, 20001))
    assert found >= grid - 1e-9 * max(1.0, abs(grid))
    assert found <= best + 1e-6 * max(1.0, abs(best))


@pytest.mark.parametrize("start", [0.0, 30.0, -1e4])
def test_best_shift_minimises(loss, start):
    b = loss.best_shift(y, z, cost, start)
    slopes = loss.gradient(y, z + b, cost)
    assert abs(slopes.sum()) <= 1e-12 * np.abs(slopes).sum()
    for other in (b - 1e-3, b + 1e-3):
        assert loss.value(y, z + b, cost) <= loss.value(y, z + other, cost)


def test_start_without_features_is_the_known_one(loss):
    """alpha at w = 0 with the best shift: C (1 - y ybar); C n_-/n on positives and C n_+/n on negatives; or, smoothed,
    C on the smaller class and C n_+/n_- on the larger one.
    """
    C, share = 7.0, (y > 0).mean()
    alpha = loss.dual_point(y, np.zeros(N) + loss.best_shift(y, np.zeros(N), np.full(N, C)), np.full(N, C))
    theta, gamma = share / (1 - share), getattr(loss, "gamma", 0.0)
    expected = {
        "squared_hinge": C * (1 - y * y.mean()),
        "logistic": C * np.where(y > 0, 1 - share, share),
        "smoothed": C * np.where(y > 0, 1.0, theta),
    }
    kind = loss.name.partition("_hinge_")[0]
    np.testing.assert_allclose(alpha, expected[kind], rtol=1e-10)
    value = {
        "smoothed": C * (y > 0).sum() * (2.0 - 0.5 * gamma * (1.0 + theta)),
        "squared_hinge": N * C * (1 - y.mean() ** 2) / 2,
        "logistic": C * (N * np.log(N) - (y > 0).sum() * np.log((y > 0).sum()) - (y < 0).sum() * np.log((y < 0).sum())),
    }
    b = loss.best_shift(y, np.zeros(N), np.full(N, C))
    assert loss.value(y, np.zeros(N) + b, np.full(N, C)) == pytest.approx(value[kind], rel=1e-12)


def test_feasible_removes_the_residual(loss):
    alpha = loss.dual_point(y, z, cost)
    made = loss.feasible(alpha, y)
    assert made @ y == pytest.approx(0.0, abs=1e-13)
    assert np.all(made <= alpha + 1e-15)
    assert np.all(made >= 0.0)


def test_extreme_scores_stay_finite(loss):
    far = np.where(np.arange(N) % 2, 1e4, -1e4)
    assert np.isfinite(loss.value(y, far, cost))
    assert np.all(np.isfinite(loss.gradient(y, far, cost)))
    assert np.all(np.isfinite(loss.curvature(y, far, cost)))
