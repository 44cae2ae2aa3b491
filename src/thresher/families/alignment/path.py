"""The path of generalised lp-KTA for p from 2 down to 1: predictor and corrector (algorithm 1).

A weight below eps < 1/e only falls as p does (theorem 2): its kernel is left out from there on.
docs/theory/alignment.md has the rest.
"""

from collections.abc import Callable

import numpy as np

from thresher.families.alignment.divergences import SMALLEST_WEIGHT
from thresher.families.alignment.formulation import Formulation
from thresher.results import AlignmentPath, AlignmentPoint

PATH_NEWTON_STEPS = 100
NEWTON_TOLERANCE = 1e-13  # in ln eta


def weights_at(
    formulation: Formulation,
    a: np.ndarray,
    p: float,
    guess: np.ndarray | None = None,
    least: float = SMALLEST_WEIGHT,
) -> np.ndarray:
    """The optimal weights of (1) for alignments ``a``; those that are not above ``least`` are zero."""
    weights = None
    if formulation.lambda1 == 0.0:
        weights = _weights_without_divergence(formulation, a, p)
    elif p == 1.0 or formulation.lambda2 == 0.0:
        weights = formulation.weights_without_norm(a - formulation.lambda2)
    if weights is None:
        weights = _weights_by_newton(formulation, a, p, guess, least)
    weights[weights <= least] = 0.0
    return weights


def _weights_without_divergence(formulation: Formulation, a: np.ndarray, p: float) -> np.ndarray:
    with np.errstate(divide="ignore", over="ignore"):
        weights = np.exp(np.log(a / (formulation.lambda2 * p)) / (p - 1.0))
    if np.isinf(weights).any():
        raise ValueError(
            f"lambda1=0 gives infinite weights at p={p:g}: use lambda1 > 0, a larger lambda2 or a larger p_end"
        )
    return weights


def _weights_by_newton(
    formulation: Formulation, a: np.ndarray, p: float, guess: np.ndarray | None, least: float
) -> np.ndarray:
    """The weights above ``least``; zero for the others, whose slope is not negative there."""
    weights = np.zeros(a.shape)
    above = np.flatnonzero(formulation.slope(np.full(a.shape, least), p, a) < 0.0)
    start = None if guess is None else guess[above]
    weights[above] = np.exp(_roots(formulation, a[above], p, start, float(np.log(least))))
    return weights


def _roots(formulation: Formulation, a: np.ndarray, p: float, guess: np.ndarray | None, least: float) -> np.ndarray:
    """The ln eta with G = 0, above ``least``: Newton steps in a bracket, which cannot leave the domain."""
    low, high = np.full(a.shape, least), _upper_bounds(formulation, a, p, least)
    logs = high.copy() if guess is None else np.log(np.maximum(guess, SMALLEST_WEIGHT))
    logs = np.where((logs > low) & (logs <= high), logs, high)
    unsolved = np.arange(a.size)
    for _ in range(PATH_NEWTON_STEPS):
        if not unsolved.size:
            break
        before = logs[unsolved]
        eta = np.exp(before)
        slope = formulation.slope(eta, p, a[unsolved])
        high[unsolved] = np.where(slope >= 0.0, before, high[unsolved])
        low[unsolved] = np.where(slope <= 0.0, before, low[unsolved])
        new = before - slope / (formulation.curvature(eta, p) * eta)
        inside = (new >= low[unsolved]) & (new <= high[unsolved])
        new = np.where(inside, new, 0.5 * (low[unsolved] + high[unsolved]))
        logs[unsolved] = new
        unsolved = unsolved[np.abs(new - before) > NEWTON_TOLERANCE * np.maximum(1.0, np.abs(before))]
    return logs


def _upper_bounds(formulation: Formulation, a: np.ndarray, p: float, least: float) -> np.ndarray:
    """Upper bounds of ln eta: where one of the two penalties alone balances the alignment, or by doubling."""
    start = np.log(max(formulation.divergence.start, SMALLEST_WEIGHT))
    by_norm = np.full(a.shape, np.inf)
    if formulation.lambda2 > 0.0 and p > 1.0:
        balanced = np.log(np.maximum(a, SMALLEST_WEIGHT) / (formulation.lambda2 * p)) / (p - 1.0)
        by_norm = np.maximum(start, balanced)
    without_norm = formulation.weights_without_norm(a)
    if without_norm is None:
        by_divergence = np.full(a.shape, max(0.0, start))
    else:
        by_divergence = np.log(np.maximum(without_norm, SMALLEST_WEIGHT))
    high = np.maximum(np.minimum(by_norm, by_divergence), least + 1e-9)
    step = 1.0
    while (too_low := formulation.slope(np.exp(high), p, a) < -1e-12 * a).any():
        high = np.where(too_low, high + step, high)
        step *= 2.0
    return high


def predicted(formulation: Formulation, eta: np.ndarray, p: float, to: float) -> np.ndarray:
    """The weights expected at ``to``: as they are, or by the first or second derivative (6)."""
    lambda1, lambda2 = formulation.lambda1, formulation.lambda2
    if formulation.predictor == 0 or lambda2 == 0.0:
        return eta
    log, power = np.log(eta), eta ** (p - 1.0)
    by_eta = formulation.curvature(eta, p)
    first = -lambda2 * power * (1.0 + p * log) / by_eta
    weights = eta + (to - p) * first
    if formulation.predictor == 1:
        return weights
    by_p_twice = lambda2 * power * log * (2.0 + p * log)
    by_eta_and_p = lambda2 * power / eta * ((p - 1.0) * (1.0 + p * log) + p)
    by_eta_twice = lambda2 * p * (p - 1.0) * (p - 2.0) * power / eta**2
    if lambda1 > 0.0:
        by_eta_twice = by_eta_twice + lambda1 * formulation.divergence.third_derivative(eta)
    second = -(by_p_twice + 2.0 * by_eta_and_p * first + by_eta_twice * first**2) / by_eta
    return weights + 0.5 * (to - p) ** 2 * second


def follow(
    formulation: Formulation,
    a: np.ndarray,
    ended: Callable[[], bool] = lambda: False,
    exists: np.ndarray | None = None,
) -> AlignmentPath:
    """The path of (1) for alignments ``a``; it ends early, after the first point, if ``ended()``.

    ``exists``: which kernels are not constant. A constant one, of which nothing is left once it is centred, has no
    weight, even if eta_0 > 0 would give it one.
    """
    exists = np.ones(a.shape, dtype=bool) if exists is None else exists
    counted = exists & (a > 0.0) if formulation.divergence.start == 0.0 else exists  # the others are zero exactly
    least = SMALLEST_WEIGHT if formulation.exact else formulation.eps
    active, weights = np.flatnonzero(exists), np.zeros(0)
    points: list[AlignmentPoint] = []
    for p in formulation.norms.tolist():
        if points and ended():
            break
        guess = predicted(formulation, weights, points[-1].p, p) if points else None
        weights = weights_at(formulation, a[active], p, guess, least)
        all_weights = np.zeros(a.size)
        all_weights[active] = weights
        shown = weights > formulation.eps
        point_features, point_weights = active[shown], weights[shown]
        active, weights = active[weights > 0.0], weights[weights > 0.0]
        left_out = 0 if formulation.exact else int(counted.sum()) - int(counted[active].sum())
        points.append(
            AlignmentPoint(
                p=p,
                features=point_features,
                weights=point_weights,
                objective=formulation.objective(all_weights, p, a),
                deviation_bound=formulation.deviation_bound(p, left_out),
            )
        )
    return _joined(points, formulation, a)


def _joined(points: list[AlignmentPoint], formulation: Formulation, a: np.ndarray) -> AlignmentPath:
    return AlignmentPath(
        p=np.array([point.p for point in points]),
        begins=np.cumsum([0, *(point.features.size for point in points)]),
        ids=np.concatenate([point.features for point in points]),
        values=np.concatenate([point.weights for point in points]),
        objective=np.array([point.objective for point in points]),
        deviation_bound=np.array([point.deviation_bound for point in points]),
        alignments=a,
        lambda1=formulation.lambda1,
        lambda2=formulation.lambda2,
        eps=formulation.eps,
        zero_objective=formulation.objective(np.zeros(a.size), 2.0, a),
    )
