"""The skeleton of the interior point methods: a point inside all bounds, and Mehrotra's steps from it.

Each value that must stay positive has a multiplier; a step aims at a point where their products are smaller and equal.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

BOUNDARY_SHARE = 0.995  # share of the way to the boundary that a step goes at most
SHORTEST_STEP = 1e-8  # shorter steps do not lead anywhere
CAREFUL_SHARE = 0.3  # of the mean product: what all are to be after a step without second-order terms
HALVED = tuple(0.5**k for k in range(12))  # what is tried of such a step

Pairs = Sequence[tuple[np.ndarray, np.ndarray]]


class SmallerSide:
    """The inverse of  B B' + D  for B (n, m) and a positive diagonal D: over rows, or over columns if these are fewer.

    Over the columns it is that of  1 + B'D^-1 B.  Up to ``few`` rows it is always over rows. ``failed``: rounding
    errors forbid it.
    """

    def __init__(self, B: np.ndarray, D: np.ndarray, few: int = 0):
        self.B, self.D, self.by_rows = B, D, B.shape[0] <= max(B.shape[1], few)
        half = B if self.by_rows else (B / np.sqrt(D)[:, None]).T
        M = half @ half.T
        M[np.diag_indices_from(M)] += D if self.by_rows else 1.0
        self._factor, failed = dpotrf(M.T, lower=1, overwrite_a=1)  # symmetric, and in the order that is not copied
        self.failed = bool(failed) or not np.isfinite(np.diagonal(self._factor)).all()

    def times(self, right: np.ndarray) -> np.ndarray:
        """The inverse times a vector or columns; over the columns refined twice, since digits cancel there."""
        if self.by_rows:
            return dpotrs(self._factor, right, lower=1)[0]
        D = self.D if right.ndim == 1 else self.D[:, None]
        x, rest = np.zeros_like(right), right
        for _ in range(3):
            scaled = rest / D
            x = x + scaled - self.B @ dpotrs(self._factor, self.B.T @ scaled, lower=1)[0] / D
            rest = right - self.B @ (self.B.T @ x) - D * x
        return x


class Move(NamedTuple):
    """A direction: changes of the parts of a point, by name, and of each (value, multiplier)."""

    parts: dict[str, Any]
    changes: Pairs


class InteriorPoint(ABC):
    """A point whose ``values`` and ``multipliers`` are positive, and the steps from it.

    Attributes
    ----------
    constrained : tuple of str
        The parts of the point that must stay positive: their ``values``.
    multipliers : list of ndarray
        Those of ``values``, one for each.
    idle : int
        Steps without progress since the last one with some: set by ``look``.
    steps : int
        Steps taken.
    """

    constrained: tuple[str, ...]
    predictor_share = 1.0  # share of the way to the boundary on which the predictor is looked at
    has_careful_steps = False  # whether steps without second-order terms are tried where a step leads too far
    multipliers: list[np.ndarray]
    idle = 0
    steps = 0

    @abstractmethod
    def factored(self) -> bool:
        """Factor the system of Newton's method; False if rounding errors forbid it."""

    @abstractmethod
    def newton(self, goals: list[np.ndarray], predictor: dict[str, Any] | None) -> dict[str, Any]:
        """The changes of the parts that lead to where each product of value and multiplier is its goal.

        Second-order terms of ``predictor`` in other equations are subtracted in advance.
        """

    @abstractmethod
    def look(self) -> None:
        """Look at the point that a step led to: keep the best one, and count ``idle``."""

    @abstractmethod
    def refresh(self) -> None:
        """Compute what follows from the parts of a new point."""

    def is_near(self) -> bool:
        """Whether a step has not led too far. Where all is linear, none does."""
        return True

    def pairs(self) -> Pairs:
        """(value, multiplier) of each constraint."""
        values = [getattr(self, name) for name in self.constrained]
        return list(zip(values, self.multipliers, strict=True))

    def measured(self, pairs: Pairs) -> float:
        """A measure of the products of values and multipliers: here their sum."""
        return sum(float(value @ multiplier) for value, multiplier in pairs)

    def means(self, pairs: Pairs, share: float = 1.0) -> list[float]:
        """``share`` of the mean product of each constraint: here of all together."""
        return [share * self.measured(pairs) / sum(value.size for value, _ in pairs)] * len(pairs)

    @property
    def products(self) -> float:
        """The measure of all products, which falls to zero."""
        return self.measured(self.pairs())

    def run(self, most_steps: int, patience: int, is_done: Callable[[], bool]) -> None:
        """Steps until ``is_done``, ``patience`` of them in a row without progress, or rounding errors forbid more."""
        for _ in range(most_steps):
            if is_done() or self.idle >= patience or not self.step():
                return
            self.look()

    def step(self) -> bool:
        """Mehrotra's predictor and corrector, with one factorisation; False if rounding errors forbid it."""
        self.steps += 1
        if not self.factored():
            return False
        pairs = self.pairs()
        predictor = self.direction(pairs, [0.0] * len(pairs))
        length = longest(pairs, predictor.changes, self.predictor_share)
        steps = zip(pairs, predictor.changes, strict=True)
        after = self.measured([(value + length * s, other + length * t) for (value, other), (s, t) in steps])
        centring = (after / self.measured(pairs)) ** 3
        aims = [mean * centring for mean in self.means(pairs)]
        if self.moved(pairs, self.direction(pairs, aims, predictor), HALVED[:1]):
            return True
        if not self.has_careful_steps:
            return False
        aims = [max(aim, least) for aim, least in zip(aims, self.means(pairs, CAREFUL_SHARE), strict=True)]
        return self.moved(pairs, self.direction(pairs, aims), HALVED)

    def direction(self, pairs: Pairs, aims: list[float], predictor: Move | None = None) -> Move:
        """The step to where the products of each constraint are its aim, up to second-order terms of ``predictor``."""
        goals: list[Any] = aims
        if predictor is not None:
            goals = [aim - s * t for aim, (s, t) in zip(aims, predictor.changes, strict=True)]
        parts = self.newton(goals, None if predictor is None else predictor.parts)
        steps = zip(goals, pairs, [parts[name] for name in self.constrained], strict=True)
        changes = [(s, goal / value - multiplier - multiplier / value * s) for goal, (value, multiplier), s in steps]
        return Move(parts, changes)

    def moved(self, pairs: Pairs, move: Move, shares: Sequence[float]) -> bool:
        """Go along a move, by the first of ``shares`` of the way to the boundary that is not too far, if any."""
        length, before = longest(pairs, move.changes, BOUNDARY_SHARE), vars(self).copy()
        for share in shares:
            step = share * length
            if not step > SHORTEST_STEP:
                return False
            vars(self).update({name: before[name] + step * change for name, change in move.parts.items()})
            self.multipliers = [other + step * t for (_, other), (_, t) in zip(pairs, move.changes, strict=True)]
            self.refresh()
            if self.is_near():
                return True
            vars(self).update(before)
        return False


def longest(pairs: Pairs, changes: Pairs, share: float) -> float:
    """``share`` of the way to where a value or a multiplier is zero, but at most 1; nan if a change is not finite."""
    values = np.concatenate([part for pair in pairs for part in pair])
    change = np.concatenate([part for pair in changes for part in pair])
    if not np.isfinite(change).all():
        return np.nan
    falling = change < 0.0
    return share * min(float((values[falling] / -change[falling]).min(initial=np.inf)), 1.0 / share)
