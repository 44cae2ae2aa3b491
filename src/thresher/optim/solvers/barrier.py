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
HALVED = 0.5 ** np.arange(12)  # what is tried of such a step

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

    def pairs(self, move: Move | None = None, length: float = 0.0) -> Pairs:
        """(value, multiplier) of each constraint, perhaps after a move."""
        values = [getattr(self, name) for name in self.constrained]
        pairs = list(zip(values, self.multipliers, strict=True))
        if move is None:
            return pairs
        steps = zip(pairs, move.changes, strict=True)
        return [(value + length * s, multiplier + length * t) for (value, multiplier), (s, t) in steps]

    def means(self, pairs: Pairs, share: float = 1.0) -> tuple[float, np.ndarray]:
        """(a measure of all products, ``share`` of the mean product of each constraint): here of all together."""
        total = sum(float(value @ multiplier) for value, multiplier in pairs)
        return total, np.full(len(pairs), share * total / sum(value.size for value, _ in pairs))

    @property
    def products(self) -> float:
        """The measure of all products, which falls to zero."""
        return self.means(self.pairs())[0]

    def run(self, most_steps: int, patience: int, is_done: Callable[[], bool]) -> None:
        """Steps until ``is_done``, ``patience`` of them in a row without progress, or rounding errors forbid more."""
        for _ in range(most_steps):
            if is_done() or self.idle >= patience or not self.step():
                return
            self.look()

    def step(self) -> bool:
        """Mehrotra's predictor and corrector, with one factorisation; False if rounding errors forbid it."""
        self.steps += 1
        with np.errstate(all="ignore"):  # a point that is on a bound, up to rounding, has no step
            if not self.factored():
                return False
            pairs = self.pairs()
            before, means = self.means(pairs)
            predictor = self.direction(np.zeros(len(pairs)))
            after, _ = self.means(self.pairs(predictor, self.longest(predictor, self.predictor_share)))
            aims = means * (after / before) ** 3
            if self.moved(self.direction(aims, predictor), HALVED[:1]):
                return True
            if not self.has_careful_steps:
                return False
            aims = np.maximum(aims, self.means(pairs, CAREFUL_SHARE)[1])
            return self.moved(self.direction(aims), HALVED)

    def direction(self, goals: np.ndarray, predictor: Move | None = None) -> Move:
        """The step to where the products of each constraint are its goal, up to second-order terms of ``predictor``."""
        aims: list[np.ndarray] = list(goals)
        if predictor is not None:
            aims = [goal - change * other for goal, (change, other) in zip(goals, predictor.changes, strict=True)]
        parts = self.newton(aims, None if predictor is None else predictor.parts)
        steps = zip(aims, self.pairs(), [parts[name] for name in self.constrained], strict=True)
        changes = [(s, aim / value - multiplier - multiplier / value * s) for aim, (value, multiplier), s in steps]
        return Move(parts, changes)

    def longest(self, move: Move, share: float) -> float:
        """``share`` of the way to the boundary, but at most 1; nan if the move is not finite."""
        values = np.concatenate([part for pair in self.pairs() for part in pair])
        change = np.concatenate([part for pair in move.changes for part in pair])
        if not np.isfinite(change).all():
            return np.nan
        falling = change < 0.0
        return share * min(float((values[falling] / -change[falling]).min(initial=np.inf)), 1.0 / share)

    def moved(self, move: Move, shares: np.ndarray) -> bool:
        """Go along a move, by the first of ``shares`` of the way to the boundary that is not too far, if any."""
        here, length = vars(self).copy(), self.longest(move, BOUNDARY_SHARE)
        for share in shares:
            if not share * length > SHORTEST_STEP:
                return False
            for name, change in move.parts.items():
                setattr(self, name, here[name] + share * length * change)
            steps = zip(here["multipliers"], move.changes, strict=True)
            self.multipliers = [multiplier + share * length * change for multiplier, (_, change) in steps]
            self.refresh()
            if self.is_near():
                return True
            vars(self).update(here)
        return False
