"""Steps of the interior point method that weighs cuts, whatever the penalty: see ``cut_program``."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dgesv

from thresher.optim.solvers.barrier import longest

MOST_STEPS = 60
NEAR = 0.995  # share of the way to the boundary that a step goes at most
HALVED = 0.5 ** np.arange(12)  # what is tried of a step that is too long
CAREFUL = 0.3  # of the mean product: what all are to be after a step without second-order terms
SHORTEST = 1e-8  # shorter steps do not lead anywhere
IDLE = 3  # steps without progress after which only rounding errors are left


class Move(NamedTuple):
    """A direction: of the weights, the multipliers of the sums, and those of a >= 0; with scalings the rest."""

    a: np.ndarray
    border: np.ndarray
    push: np.ndarray
    d: Any = 0.0
    c: Any = 0.0
    w: Any = 0.0
    low: Any = 0.0
    high: Any = 0.0


class Inside(ABC):
    """A point with a > 0, multipliers ``push`` of that and ``border`` of the sums, and the steps from it.

    Rows are the cuts of all classes, and after those of each class one of loss zero, which takes what is left of the
    total. ``E a = sums`` are the constraints; the first rows of E are those of the totals.
    """

    def __init__(self, parts, totals, shifted):
        counts = [losses.size + 1 for losses, _ in parts]
        ends = np.cumsum(counts)
        self.rows = [slice(end - count, end) for end, count in zip(ends, counts, strict=True)]
        self.losses, self.shifted, classes = np.zeros(ends[-1]), shifted, len(parts)
        self.E, self.a = np.zeros((classes * (2 if shifted else 1), ends[-1])), np.zeros(ends[-1])
        self.sums = np.concatenate([totals, np.zeros(classes if shifted else 0)])
        for c, ((losses, sums), rows) in enumerate(zip(parts, self.rows, strict=True)):
            self.losses[rows][:-1], self.E[c, rows], self.a[rows] = losses, 1.0, totals[c] / counts[c]
            if shifted:
                self.E[classes + c, rows][:-1] = sums
        self.border = np.zeros(len(self.E))

    def begin(self, mu):
        """Multipliers for the start, with products of ``mu`` at least, and no residual."""
        slack = self.losses - self.curve() + mu / self.a
        self.border[: len(self.rows)] = [max(0.0, slack[rows].max()) for rows in self.rows]
        self.push = self.residual(0.0)

    @property
    def of_cuts(self):
        """The weights of the cuts of each class."""
        return [self.a[rows][:-1] for rows in self.rows]

    @property
    def shifts(self):
        """The shift of each class."""
        classes = len(self.rows)
        return self.border[classes:] if self.shifted else np.zeros(classes)

    @property
    def constraints(self):
        """(values that must be positive, their multipliers)."""
        return [(self.a, self.push)]

    def changes(self, move):
        """Changes of ``constraints`` along a direction."""
        return [(move.a, move.push)]

    @abstractmethod
    def curve(self):
        """The derivative of the quadratic term: G w."""

    def residual(self, push):
        """What is left of the derivative by a, with multipliers ``push`` of a >= 0."""
        return self.curve() - self.losses + self.E.T @ self.border - push

    def solve(self, tol):
        """Steps until what is left of all conditions is at most ``tol``, or rounding errors forbid more.

        Where digits are lost, later points are worse than earlier ones: the best one counts.
        """
        best, least, idle = self.__dict__.copy(), np.inf, 0
        for _ in range(MOST_STEPS):
            rest = self.gap()
            left = max(np.abs(self.residual(self.push)).max(), np.abs(self.sums - self.E @ self.a).max())
            idle = 0 if max(rest, left) < least else idle + 1
            if idle == 0:
                best, least = self.__dict__.copy(), max(rest, left)
            if least <= tol or idle == IDLE or not self.step(rest):
                break
        self.__dict__.update(best)

    @property
    def products(self):
        """The sum of the products of constraints and multipliers."""
        return sum(float(value @ multiplier) for value, multiplier in self.constraints)

    def gap(self):
        """Objective less dual value, once all equations hold."""
        return self.products

    def step(self, gap):
        """Mehrotra's predictor and corrector, with one factorisation; False if rounding errors forbid it.

        Where that leads too far, since some equations are not linear, a step without second-order terms is shortened.
        """
        if not self.factored():
            return False
        pairs, before = self.constraints, self.products
        count = sum(value.size for value, _ in pairs)
        predictor = self.direction(0.0)
        length = longest(pairs, self.changes(predictor), 1.0)
        after = sum(
            float((value + length * change) @ (multiplier + length * other))
            for (value, multiplier), (change, other) in zip(pairs, self.changes(predictor), strict=True)
        )
        aim = before / count * (after / before) ** 3
        if self.moved(self.direction(aim, predictor), gap, HALVED[:1]):
            return True
        return self.moved(self.direction(max(aim, CAREFUL * before / count)), gap, HALVED)

    def moved(self, move, gap, shares):
        """Go along a direction, by the first of ``shares`` of the way to the boundary that is not too far, if any."""
        here, length = self.__dict__.copy(), NEAR * longest(self.constraints, self.changes(move), 1.0 / NEAR)
        for share in shares:
            if not share * length > SHORTEST:
                return False
            self.go(move, share * length)
            if self.is_near(gap):
                return True
            self.__dict__.update(here)
        return False

    def is_near(self, gap):
        """Whether a step has not led too far; ``gap`` is that before it. Where all is linear, none does."""
        return True

    @abstractmethod
    def direction(self, mu, predictor=None):
        """The step to where all products of constraints and multipliers are ``mu``, up to second-order terms.

        Those of ``predictor`` are subtracted in advance.
        """

    def go(self, move, length):
        """Move ``length`` along a direction."""
        self.a, self.border = self.a + length * move.a, self.border + length * move.border[: len(self.border)]
        self.push = self.push + length * move.push

    @abstractmethod
    def factored(self):
        """Factor the system of Newton's method; False if rounding errors forbid it."""

    def bordered(self, times, borders, corner):
        """Keep the system with these borders, in columns, and ``corner`` in its last place."""
        self.times, self.borders = times, borders
        self.along = times(borders)
        self.corner = borders.T @ self.along
        self.corner[-1, -1] -= corner
        return bool(np.isfinite(self.corner).all())

    def solved(self, right, wanted):
        """(a, border) with  S a + borders border = right,  borders'a - corner = wanted."""
        plain = self.times(right)
        border, singular = dgesv(self.corner, self.borders.T @ plain - wanted)[2:]
        if singular:
            border = np.full(len(wanted), np.nan)  # then the step has no length
        return plain - self.along @ border, border

    def pushed(self, push, a):
        """The change of the multipliers ``push`` for a change of a."""
        return push / self.a - self.push - self.push / self.a * a
