"""Generalised lp-KTA (Jawanpuria, Varma and Nath, 2014): weights of kernels, for every p from 2 down to 1.

minimise over eta >= 0:  lambda1 sum B_F(eta_i) + lambda2 sum eta_i^p - sum eta_i a_i,   a_i = y'K_i y / n      (1)

Kernels do not depend on each other, so each weight is the root of one increasing function of ln eta (5). A weight below
eps < 1/e only falls as p does (theorem 2): its kernel is left out from there on. docs/theory/alignment.md has the rest.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from thresher.results.alignment_path import AlignmentPath

LARGEST_EPS = float(np.exp(-1.0))
TINY = 1e-300  # weights below are zero
STEPS, ACCURACY = 100, 1e-13  # of the corrector, in ln eta
LEFT = 10  # kernels that lambda2="auto" leaves at p = 1, of a hundred or more
NODES, SHARES = np.polynomial.legendre.leggauss(64)


class Divergence(ABC):
    """A Bregman divergence of numbers, by F' and F''; ``start`` is eta_0, ``ratio`` lambda1 / lambda2 by default."""

    start: float = 0.0
    ratio: float = 1.0

    @abstractmethod
    def slope(self, eta: np.ndarray) -> np.ndarray:
        """F'."""

    @abstractmethod
    def curvature(self, eta: np.ndarray) -> np.ndarray:
        """F''."""

    def change(self, eta: np.ndarray) -> np.ndarray:
        """F''', for the predictor of second order; by differences."""
        h = 1e-5 * eta
        return (self.curvature(eta + h) - self.curvature(eta - h)) / (2.0 * h)

    def value(self, eta: np.ndarray) -> np.ndarray:
        """B_F(eta): the integral of (eta - t) F''(t) from eta_0 to eta, by Gauss's rule."""
        half = 0.5 * (np.asarray(eta) - self.start)
        return sum(w * half * (half - half * x) * self.curvature(self.start + half * (1.0 + x))
                   for x, w in zip(NODES, SHARES, strict=True))  # fmt: skip

    def loss(self, eps: float) -> float:
        """By how much B_F(0) - F'-linear terms exceed those at eps: the integral of t F''(t) from 0 to eps."""
        t = 0.5 * eps * (1.0 + NODES)
        return float(0.5 * eps * (SHARES @ (t * self.curvature(t))))

    def largest(self, slope: np.ndarray) -> np.ndarray | None:
        """The eta with F'(eta) = slope, if that is known."""
        return None


class SquaredEuclidean(Divergence):
    """F = x^2: B_F = (eta - eta_0)^2, with eta_0 = 0 unless told."""

    def __init__(self, start: float = 0.0):
        self.start = start

    def slope(self, eta: np.ndarray) -> np.ndarray:
        """See Divergence."""
        return 2.0 * eta

    def curvature(self, eta: np.ndarray) -> np.ndarray:
        """See Divergence."""
        return np.full_like(eta, 2.0)

    def change(self, eta: np.ndarray) -> np.ndarray:
        """See Divergence."""
        return np.zeros_like(eta)

    def value(self, eta: np.ndarray) -> np.ndarray:
        """See Divergence."""
        return (eta - self.start) ** 2

    def loss(self, eps: float) -> float:
        """See Divergence."""
        return eps * eps

    def largest(self, slope: np.ndarray) -> np.ndarray:
        """See Divergence."""
        return np.maximum(0.5 * slope, 0.0)


class GeneralisedKL(Divergence):
    """F = x ln x - x: B_F = eta ln(eta / eta_0) - eta + eta_0, with eta_0 > 0."""

    ratio = 0.1  # with 1, weights would differ by a factor of e at most

    def __init__(self, start: float = 0.01):
        self.start = start

    def slope(self, eta: np.ndarray) -> np.ndarray:
        """See Divergence."""
        return np.log(eta)

    def curvature(self, eta: np.ndarray) -> np.ndarray:
        """See Divergence."""
        return 1.0 / eta

    def change(self, eta: np.ndarray) -> np.ndarray:
        """See Divergence."""
        return -1.0 / eta**2

    def value(self, eta: np.ndarray) -> np.ndarray:
        """See Divergence."""
        safe = np.maximum(eta, TINY)
        return eta * np.log(safe / self.start) - eta + self.start

    def loss(self, eps: float) -> float:
        """See Divergence."""
        return eps

    def largest(self, slope: np.ndarray) -> np.ndarray:
        """See Divergence."""
        return np.exp(np.minimum(slope, 700.0))


class OtherDivergence(Divergence):
    """A divergence given by an object with ``slope(eta)`` = F', ``curvature(eta)`` = F'' and ``start`` = eta_0."""

    def __init__(self, given: Any):
        self.given, self.start = given, float(given.start)

    def slope(self, eta: np.ndarray) -> np.ndarray:
        """See Divergence."""
        return np.asarray(self.given.slope(eta), dtype=np.float64)

    def curvature(self, eta: np.ndarray) -> np.ndarray:
        """See Divergence."""
        return np.asarray(self.given.curvature(eta), dtype=np.float64)


DIVERGENCES: dict[str, Callable[[], Divergence]] = {"euclidean": SquaredEuclidean, "kl": GeneralisedKL}


@dataclass(frozen=True)
class Formulation:
    """(1) and how its path is followed; ``exact``: no kernel is left out on the way."""

    lambda1: float
    lambda2: float
    divergence: Divergence
    eps: float = 1e-4
    p_start: float = 2.0
    p_end: float = 1.0
    step: float = 0.01
    predictor: int = 1
    exact: bool = False

    @property
    def norms(self) -> np.ndarray:
        """The values of p: from p_start down by step, and p_end."""
        count = int(np.floor((self.p_start - self.p_end) / self.step + 1e-9))
        p = np.round(self.p_start - self.step * np.arange(count + 1), 12)
        return p if np.isclose(p[-1], self.p_end, rtol=0.0, atol=1e-9) else np.append(p, self.p_end)

    def slope(self, eta: np.ndarray, p: float, a: np.ndarray) -> np.ndarray:
        """G of (5): the derivative of (1) by eta, which is zero at the optimum."""
        return self._pull(eta) + self.lambda2 * p * eta ** (p - 1.0) - a

    def _pull(self, eta: np.ndarray) -> np.ndarray:
        return np.zeros_like(eta) if self.lambda1 == 0.0 else self.lambda1 * (self.divergence.slope(eta) - self._rest)

    @property
    def _rest(self) -> float:
        """F'(eta_0)."""
        return float(self.divergence.slope(np.array([self.divergence.start]))[0])

    def balanced(self, force: np.ndarray) -> np.ndarray | None:
        """The weights at which the divergence alone balances ``force``; None if lambda1 = 0 or it cannot be told."""
        return None if self.lambda1 == 0.0 else self.divergence.largest(self._rest + force / self.lambda1)

    def curvature(self, eta: np.ndarray, p: float) -> np.ndarray:
        """dG/deta."""
        bend = self.lambda2 * p * (p - 1.0) * eta ** (p - 2.0)
        return bend if self.lambda1 == 0.0 else bend + self.lambda1 * self.divergence.curvature(eta)

    def objective(self, eta: np.ndarray, p: float, a: np.ndarray) -> float:
        """The value of (1)."""
        divergence = self.lambda1 * self.divergence.value(eta).sum() if self.lambda1 else 0.0
        return float(divergence + self.lambda2 * np.sum(eta**p) - eta @ a)

    def deviation_bound(self, p: float, left_out: int) -> float:
        """How far the objective can be above its minimum when so many weights below eps are set to zero: lemma 1."""
        return left_out * (self.lambda1 * self.divergence.loss(self.eps) + self.lambda2 * (p - 1.0) * self.eps**p)


def auto_lambda2(a: np.ndarray) -> float:
    """The tenth largest alignment, so that about as many kernels are left at p = 1; of fewer than 100 the top tenth."""
    positive = np.sort(a[a > 0.0])[::-1]
    if not positive.size:
        return 1.0
    return float(positive[min(LEFT, -(-positive.size // LEFT)) - 1])


def lambda2_to_begin_with(
    count: int, a: np.ndarray, lambda1: float | None, divergence: Divergence, eps: float, p: float
) -> float | None:
    """The lambda2 at which ``count`` kernels, fewer if alignments are equal, have weights above eps at ``p``.

    The path that begins there has no others.
    ``lambda1`` None: the divergence's share of lambda2. None if there is none: weights then stay near eta_0 > eps.
    """
    positive = np.sort(a[a > 0.0])[::-1]
    if not positive.size:
        return 1.0
    kept = positive.size <= count  # whether all are; else the next one is left out, and those equal to it
    force = float(positive[min(count, positive.size - 1)]) * (1.0 - 1e-9 if kept else 1.0 + 1e-9)
    ends = divergence.slope(np.array([eps, max(divergence.start, TINY)]))
    pull, norm = float(ends[0] - ends[1]), p * eps ** (p - 1.0)
    if lambda1 is None:
        share = divergence.ratio * pull + norm
        return force / share if share > 0.0 else None
    return (force - lambda1 * pull) / norm if force > lambda1 * pull else None


def weights_at(
    formulation: Formulation, a: np.ndarray, p: float, guess: np.ndarray | None = None, least: float = TINY
) -> np.ndarray:
    """The optimal weights of (1) for alignments ``a``; those that are not above ``least`` are zero."""
    f, out = formulation, np.zeros(a.shape)
    if f.lambda1 == 0.0:
        with np.errstate(divide="ignore", over="ignore"):
            out = np.exp(np.log(a / (f.lambda2 * p)) / (p - 1.0))
        if np.isinf(out).any():
            raise ValueError(
                f"lambda1=0 lets weights grow beyond all numbers at p={p:g}: use lambda1 > 0, a larger lambda2 or p_end"
            )
    elif (p == 1.0 or f.lambda2 == 0.0) and (closed := f.balanced(a - f.lambda2)) is not None:
        out = closed
    else:
        some = np.flatnonzero(f.slope(np.full(a.shape, least), p, a) < 0.0)
        first = None if guess is None else guess[some]
        out[some] = np.exp(_roots(f, a[some], p, first, float(np.log(least))))
    out[out <= least] = 0.0
    return out


def _roots(f: Formulation, a: np.ndarray, p: float, guess: np.ndarray | None, least: float) -> np.ndarray:
    """The ln eta with G = 0, above ``least``: Newton steps in a bracket, which cannot leave the domain."""
    low, high = np.full(a.shape, least), _above(f, a, p, least)
    s = high.copy() if guess is None else np.log(np.maximum(guess, TINY))
    s = np.where((s > low) & (s <= high), s, high)
    todo = np.arange(a.size)
    for _ in range(STEPS):
        if not todo.size:
            break
        at = s[todo]
        eta = np.exp(at)
        slope = f.slope(eta, p, a[todo])
        high[todo] = np.where(slope >= 0.0, at, high[todo])
        low[todo] = np.where(slope <= 0.0, at, low[todo])
        new = at - slope / (f.curvature(eta, p) * eta)
        inside = (new >= low[todo]) & (new <= high[todo])
        new = np.where(inside, new, 0.5 * (low[todo] + high[todo]))
        s[todo] = new
        todo = todo[np.abs(new - at) > ACCURACY * np.maximum(1.0, np.abs(at))]
    return s


def _above(f: Formulation, a: np.ndarray, p: float, least: float) -> np.ndarray:
    """A bound of ln eta from above: where one of the two penalties alone balances the alignment, or by doubling."""
    high, start = np.full(a.shape, np.inf), max(f.divergence.start, TINY)
    if f.lambda2 > 0.0 and p > 1.0:
        high = np.maximum(np.log(start), np.log(np.maximum(a, TINY) / (f.lambda2 * p)) / (p - 1.0))
    most = f.balanced(a)
    beyond = np.full(a.shape, max(0.0, np.log(start))) if most is None else np.log(np.maximum(most, TINY))
    high, step = np.maximum(np.minimum(high, beyond), least + 1e-9), 1.0
    while (short := f.slope(np.exp(high), p, a) < -1e-12 * a).any():
        high, step = np.where(short, high + step, high), 2.0 * step
    return high


def predicted(f: Formulation, eta: np.ndarray, p: float, to: float) -> np.ndarray:
    """Where the weights will be at ``to``: as they are, or by the first or second derivative (6)."""
    if f.predictor == 0 or f.lambda2 == 0.0:
        return eta
    log, power = np.log(eta), eta ** (p - 1.0)
    by_eta = f.curvature(eta, p)
    first = -f.lambda2 * power * (1.0 + p * log) / by_eta
    out = eta + (to - p) * first
    if f.predictor == 2:
        by_p_twice = f.lambda2 * power * log * (2.0 + p * log)
        mixed = f.lambda2 * power / eta * ((p - 1.0) * (1.0 + p * log) + p)
        by_eta_twice = f.lambda2 * p * (p - 1.0) * (p - 2.0) * power / eta**2
        if f.lambda1 > 0.0:
            by_eta_twice = by_eta_twice + f.lambda1 * f.divergence.change(eta)
        second = -(by_p_twice + 2.0 * mixed * first + by_eta_twice * first**2) / by_eta
        out = out + 0.5 * (to - p) ** 2 * second
    return out


def follow(
    f: Formulation, a: np.ndarray, ended: Callable[[], bool] = lambda: False, exists: np.ndarray | None = None
) -> AlignmentPath:
    """The path of (1) for alignments ``a`` (algorithm 1); it ends early, after the first point, if ``ended()``.

    ``exists``: which kernels are not constant. A constant one, of which nothing is left once it is centred, has no
    weight, even if eta_0 > 0 would give it one.
    """
    exists = np.ones(a.shape, dtype=bool) if exists is None else exists
    active, least = np.flatnonzero(exists), TINY if f.exact else f.eps
    eta, before = np.zeros(0), np.nan
    matters = exists & (a > 0.0) if f.divergence.start == 0.0 else exists  # the others are zero exactly
    p_done: list[float] = []
    ids, values, objectives, bounds = [], [], [], []
    for p in f.norms.tolist():
        if p_done and ended():
            break
        guess = None if not p_done else predicted(f, eta, before, p)
        eta = weights_at(f, a[active], p, guess, least)
        kept = eta > 0.0
        shown = eta > f.eps
        whole = np.zeros(a.size)
        whole[active] = eta
        objectives.append(f.objective(whole, p, a))
        left_out = 0 if f.exact else int(np.count_nonzero(matters)) - int(np.count_nonzero(matters[active[kept]]))
        bounds.append(f.deviation_bound(p, left_out))
        ids.append(active[shown])
        values.append(eta[shown])
        p_done.append(p)
        active, eta, before = active[kept], eta[kept], p
    return AlignmentPath(
        p=np.array(p_done),
        begins=np.concatenate([[0], np.cumsum([each.size for each in ids])]).astype(np.int64),
        ids=np.concatenate(ids),
        values=np.concatenate(values),
        objective=np.array(objectives),
        deviation_bound=np.array(bounds),
        alignments=a,
        lambda1=f.lambda1,
        lambda2=f.lambda2,
        eps=f.eps,
        zero_objective=f.objective(np.zeros(a.size), 2.0, a),
    )
