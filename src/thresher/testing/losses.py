"""The laws of losses of margins."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from thresher.losses import Loss
from thresher.optim.problems.margins import feasible
from thresher.testing.values import check_value, require, require_close, require_everywhere

N_SAMPLES = 40
DIFFERENCE_STEP = 1e-6  # of differences
FAR_MARGINS = np.array([-1e8, -1e4, 1e4, 1e8])  # margins at which nothing may overflow
MOST_SHARES = 10.0  # times the largest slope: up to where dual functions without an end are looked at


def check_loss(loss: Loss, *, random_state: int = 0) -> None:
    """Check the laws of a loss; raise an AssertionError that names the first one that does not hold.

    It is a frozen dataclass that pickles. ``slope`` and ``curvature`` are the derivatives of ``value``; nothing
    overflows; the loss is convex, does not increase, is at least 0, and is 0 from ``zero_from`` on; ``steepest`` and
    ``largest_curvature`` are bounds. ``dual`` obeys Fenchel and Young's inequality, with equality at the slope. Sums
    over samples are what the functions of margins say, dual points are feasible, and bounds are the best ones.

    Parameters
    ----------
    loss : Loss
        A value of a subclass of ``thresher.losses.Loss``.
    random_state : int, default=0
        Seed of the margins, costs and shares that are tried.

    Examples
    --------
    >>> from thresher.losses import SmoothedHinge
    >>> from thresher.testing import check_loss
    >>> check_loss(SmoothedHinge(0.5))
    """
    check_value(loss, Loss, "losses")
    samples = LossSamples.draw(np.random.default_rng(random_state))
    for law in LAWS:
        law(loss, samples)


class LossSamples(NamedTuple):
    """Labels, scores and costs, some of them zero; margins on which functions are looked at."""

    y: np.ndarray
    z: np.ndarray
    cost: np.ndarray
    margins: np.ndarray

    @classmethod
    def draw(cls, rng: np.random.Generator) -> "LossSamples":
        """LossSamples of both classes."""
        y = np.where(rng.random(N_SAMPLES) < 0.3, 1.0, -1.0)
        y[:2] = 1.0, -1.0
        cost = rng.uniform(0.0, 3.0, N_SAMPLES)
        cost[2:4] = 0.0
        margins = np.sort(np.concatenate([np.linspace(-6.0, 6.0, 121), 2.0 * rng.standard_normal(100)]))
        return cls(y, 2.0 * rng.standard_normal(N_SAMPLES), cost, margins)

    @property
    def own_margins(self) -> np.ndarray:
        """Of the samples."""
        return self.y * self.z


def _functions_of_margins(loss: Loss, samples: LossSamples) -> None:
    before = np.linspace(0.0, min(1.0, loss.steepest), 6).reshape(2, 3)
    for name in ("value", "slope", "curvature", "dual"):
        given = before.copy()
        found = getattr(loss, name)(given)
        shaped = isinstance(found, np.ndarray) and found.shape == (2, 3) and found.dtype == np.float64
        require(shaped, loss, f"{name} of 2 x 3 numbers must be a float64 array of that shape", f"got {found!r}")
        require_close(given, before, loss, f"{name} must not change its argument")
        rows = np.stack([getattr(loss, name)(row) for row in given])
        require_close(rows, found, loss, f"{name} must be a function of each number by itself")


def _nothing_overflows(loss: Loss, samples: LossSamples) -> None:
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        for name in ("value", "slope", "curvature"):
            try:
                found = getattr(loss, name)(FAR_MARGINS)
            except FloatingPointError as error:
                raise AssertionError(
                    f"{loss!r}: {name} must not overflow at the margins {FAR_MARGINS}: {error}"
                ) from error
            require_everywhere(np.isfinite(found), loss, f"{name} must be finite", FAR_MARGINS, found)


def _slopes_around(loss: Loss, m: np.ndarray) -> list[np.ndarray]:
    """The slope a step before each margin, there, and a step after."""
    return [loss.slope(m + step) for step in (-DIFFERENCE_STEP, 0.0, DIFFERENCE_STEP)]


def _slope_is_the_derivative(loss: Loss, samples: LossSamples) -> None:
    m = samples.margins
    before, here, after = _slopes_around(loss, m)
    differences = (loss.value(m + DIFFERENCE_STEP) - loss.value(m - DIFFERENCE_STEP)) / (2.0 * DIFFERENCE_STEP)
    allowed = 1e-8 * (1.0 + loss.value(m)) + 0.5 * np.abs(after - 2.0 * here + before)  # more at kinks of the slope
    near = np.abs(here - differences) <= allowed
    require_everywhere(near, loss, "slope must be the derivative of value", m, np.c_[here, differences])


def _curvature_is_the_derivative_of_the_slope(loss: Loss, samples: LossSamples) -> None:
    """At a kink it lies between the differences on both sides."""
    m, found = samples.margins, loss.curvature(samples.margins)
    before, here, after = _slopes_around(loss, m)
    left, right = (here - before) / DIFFERENCE_STEP, (after - here) / DIFFERENCE_STEP
    smooth = np.abs(right - left) <= 1e-4 * (1.0 + np.abs(left))
    between = np.clip(found, np.minimum(left, right), np.maximum(left, right))
    expected = np.where(smooth, 0.5 * (left + right), between)
    near = np.abs(found - expected) <= 1e-7 * (1.0 + np.abs(expected))
    require_everywhere(near, loss, "curvature must be the derivative of slope", m, np.c_[found, expected])


def _slopes_and_curvatures_are_bounded(loss: Loss, samples: LossSamples) -> None:
    m = np.concatenate([FAR_MARGINS[:2], samples.margins, FAR_MARGINS[2:]])
    bound, end = loss.largest_curvature, loss.steepest
    require(0.0 < bound < np.inf, loss, "largest_curvature must be a finite number above 0", f"got {bound}")
    require(end > 0.0, loss, "steepest must be above 0", f"got {end}")
    slope, curvature = loss.slope(m), loss.curvature(m)
    steps = np.diff(slope) / np.diff(m)
    inside = (curvature >= 0.0) & (curvature <= bound * (1.0 + 1e-12))
    slow = steps <= bound * (1.0 + 1e-6) + 1e-9
    require_everywhere(slope <= 0.0, loss, "the loss must not increase", m, slope)
    require_everywhere(-slope <= end * (1.0 + 1e-12), loss, f"-slope must not exceed steepest = {end}", m, slope)
    require_everywhere(inside, loss, f"curvature must be from 0 to largest_curvature = {bound}", m, curvature)
    require_everywhere(steps >= -1e-9, loss, "the loss must be convex: slope must not fall", m, steps)
    require_everywhere(slow, loss, f"slope must not change faster than largest_curvature = {bound}", m, steps)


def _is_zero_in_the_end(loss: Loss, samples: LossSamples) -> None:
    value, far = loss.value(samples.margins), loss.value(FAR_MARGINS)[-1]
    require_everywhere(value >= 0.0, loss, "the loss must not be below 0", samples.margins, value)
    require_close(far, 0.0, loss, "the loss must fall to 0", 1e-6 * (1.0 + value.max()), f"at {FAR_MARGINS[-1]} ")
    if np.isfinite(loss.zero_from):
        beyond = loss.zero_from + np.array([0.0, 1e-3, 1.0, 1e4])
        found = loss.value(beyond)
        require_everywhere(found == 0.0, loss, f"value must be 0 from zero_from = {loss.zero_from} on", beyond, found)


def _fenchel_young(loss: Loss, samples: LossSamples) -> None:
    m = samples.margins
    value, own = loss.value(m), -loss.slope(m)
    end = loss.steepest if np.isfinite(loss.steepest) else MOST_SHARES * own.max()
    shares = np.linspace(0.0, end, 201)
    require_close(loss.dual(np.zeros(1))[0], 0.0, loss, "dual(0) must be 0, the infimum of the loss", 1e-12)
    least = loss.dual(own) - own * m
    equal = np.abs(value - least) <= 1e-12 * (1.0 + value + own * np.abs(m))
    law = "Fenchel and Young: value(m) must be dual(t) - t m at t = -slope(m)"
    require_everywhere(equal, loss, law, m, np.c_[value, least])
    above = loss.dual(shares) - shares * m[:, None] - value[:, None]
    below = above <= 1e-12 * (1.0 + value + end * np.abs(m))[:, None]
    law = "Fenchel and Young: value(m) must be at least dual(t) - t m"
    require_everywhere(below.all(axis=1), loss, f"{law} for t up to {end}, the difference", m, above.max(axis=1))


def _sums_are_those_of_the_functions(loss: Loss, samples: LossSamples) -> None:
    y, z, cost, m = samples.y, samples.z, samples.cost, samples.own_margins
    alpha, used, shifted = -cost * loss.slope(m), cost > 0.0, y * (z + 0.3)
    slopes = cost * loss.slope(shifted)
    expected: dict[str, tuple[Any, Any]] = {
        "total": (loss.total(m, cost), cost @ loss.value(m)),
        "dual_point": (loss.dual_point(m, cost), alpha),
        "curvatures": (loss.curvatures(m, cost), cost * loss.curvature(m)),
        "dual_total": (loss.dual_total(alpha, cost), cost[used] @ loss.dual(alpha[used] / cost[used])),
        "slope_of_shift": (
            loss.slope_of_shift(y, z, cost, 0.3),
            np.array([y @ slopes, np.abs(slopes).sum(), cost @ loss.curvature(shifted)]),
        ),
    }
    weights = loss.dual_weights(cost)
    if weights is not None:
        quadratic = alpha.sum() - 0.5 * (alpha[used] ** 2 / weights[used]).sum()
        expected["dual_weights"] = loss.dual_total(alpha, cost), quadratic
    for name, (found, wanted) in expected.items():
        law = f"{name} must agree with value, slope, curvature and dual"
        require_close(found, wanted, loss, law, 1e-11 + 1e-9 * np.abs(wanted))


def _dual_points_are_feasible(loss: Loss, samples: LossSamples) -> None:
    y, cost = samples.y, samples.cost
    alpha = feasible(loss.dual_point(samples.own_margins, cost), y)
    inside = alpha.min() >= 0.0 and np.isfinite(loss.dual_total(alpha, cost))
    require(inside, loss, "dual_total must be finite at a dual point", f"it is {loss.dual_total(alpha, cost)}")
    outside = {
        "negative": np.where(np.arange(y.size) == 5, -1e-3, 0.0),
        "of a sample without cost": 1.0 * (cost == 0.0),
    }
    if np.isfinite(loss.steepest):
        outside["above steepest times its cost"] = 1.01 * loss.steepest * cost
    for what, point in outside.items():
        found = loss.dual_total(point, cost)
        require(found == -np.inf, loss, f"dual_total must be -inf where an entry is {what}", f"it is {found}")


def _bounds_are_the_best_ones(loss: Loss, samples: LossSamples) -> None:
    alpha = feasible(loss.dual_point(samples.own_margins, samples.cost), samples.y)
    for square in (0.0, 1e-3, 50.0, 1e6):
        found = loss.best_bound(alpha, samples.cost, square)
        best = _best_multiple(loss, alpha, samples.cost, square)
        law = f"best_bound must be the largest dual value of all multiples, less s^2 square / 2, square = {square}"
        near = best - 1e-9 * max(1.0, abs(best)) <= found <= best + 1e-6 * max(1.0, abs(best))
        require(near, loss, law, f"got {found}, a search finds {best}")


def _best_multiple(loss: Loss, alpha: np.ndarray, cost: np.ndarray, square: float) -> float:
    """The largest dual value of multiples of alpha, by a grid and a search around its best point."""
    used = alpha > 0.0
    shares = alpha[used] / cost[used]
    end = min(loss.steepest / float(shares.max()), 1e3)

    def lost(s: float) -> float:
        return 0.5 * s * s * square - float(cost[used] @ loss.dual(np.minimum(s * shares, loss.steepest)))

    grid = np.sort(np.concatenate([np.linspace(0.0, end, 1001), np.geomspace(1e-9, 1.0, 200) * end]))
    best = int(np.argmin([lost(s) for s in grid]))
    between = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]
    found = minimize_scalar(lost, bounds=between, method="bounded", options={"xatol": 1e-12}).fun
    return -min(lost(grid[best]), found)


def _best_shift_minimises(loss: Loss, samples: LossSamples) -> None:
    y, z, cost = samples.y, samples.z, samples.cost
    for start in (0.0, 30.0, -1e4):
        b = loss.best_shift(y, z, cost, start)
        slopes = cost * y * loss.slope(y * (z + b))
        law = f"best_shift must be where the slopes add up to 0, from {start}"
        require_close(slopes.sum(), 0.0, loss, law, 1e-12 * np.abs(slopes).sum(), f"at {b} ")


LAWS: tuple[Callable[[Loss, LossSamples], None], ...] = (
    _functions_of_margins,
    _nothing_overflows,
    _slopes_and_curvatures_are_bounded,
    _slope_is_the_derivative,
    _curvature_is_the_derivative_of_the_slope,
    _is_zero_in_the_end,
    _fenchel_young,
    _sums_are_those_of_the_functions,
    _dual_points_are_feasible,
    _bounds_are_the_best_ones,
    _best_shift_minimises,
)
