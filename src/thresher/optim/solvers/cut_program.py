"""The small program of a bundle method: which weights to give to the cuts found so far.

    minimise over a:   max over d of  1/2 sum_u d_u ||c_u||^2 - losses'a,      c = G'a,  a >= 0

with sum a = total and, with a shift, sums'a = 0, both for each class. G has the products of the cuts with the
columns; d, 0 <= d <= 1 and sum d = k, are the scalings of the units behind the k-support norm (those of forced units
are 1). Where there are no more units than k, all scalings are 1: then GG' is all that is needed, and classes are apart.

An interior point method (``barrier``): about ten steps, whatever the number of cuts that change. Solutions that
are not quite optimal are better centred, and need fewer cuts in the end.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dgesv, dpotrf, dpotrs

from thresher.optim.penalties.layout import Layout
from thresher.optim.solvers.barrier import InteriorPoint, SmallerSide

START_PRODUCTS = 0.1  # products of constraints and multipliers at the start, as a share of the objective
FEW_CUTS = 128  # cuts whose own system is solved faster than the smaller one of the columns
LEAST_TOL = 1e-13  # tolerance, of the total: less is lost in rounding errors
PROGRAM_STEPS = 59
PROGRAM_IDLE = 3  # steps without progress after which only rounding errors are left


class CutTable(NamedTuple):
    """The cuts of one class as numbers: products (cuts, columns), losses, sums of their vectors, and the total.

    ``Q`` is GG', which the plain penalty needs instead of G.
    """

    G: np.ndarray
    losses: np.ndarray
    sums: np.ndarray
    total: float
    Q: np.ndarray | None = None


class CutWeights(NamedTuple):
    """The result: weights of the cuts of each class, weights of the columns (class after class), shifts."""

    a: list[np.ndarray]
    w: np.ndarray
    shifts: np.ndarray


def plain_weights(cuts: CutTable, *, shifted: bool, tol: float) -> tuple[np.ndarray, float]:
    """(weights of the cuts, shift) under the plain penalty, for one class."""
    scale = cuts.total
    Q = cuts.G @ cuts.G.T if cuts.Q is None else cuts.Q
    found = _Plain(scale * Q, cuts.losses, cuts.sums, shifted).solved(tol / scale)
    return scale * found.a[0], found.shifts[0]


def scaled_weights(
    classes: Sequence[CutTable], layout: Layout, forced: int, k: int, *, shifted: bool, tol: float
) -> CutWeights:
    """The solution under the k-support norm of units; ``layout`` is that of the columns."""
    if layout.count(classes[0].G.shape[1]) - forced <= k:
        found = [plain_weights(each, shifted=shifted, tol=tol / len(classes)) for each in classes]
        a = [weights for weights, _ in found]
        w = np.concatenate([each.G.T @ weights for each, weights in zip(classes, a, strict=True)])
        return CutWeights(a, w, np.array([shift for _, shift in found]))
    scale = max(each.total for each in classes)
    best = _Scaled(classes, scale, layout, forced, k, shifted).solved(tol / scale)
    return CutWeights([scale * a for a in best.a], np.sqrt(scale) * best.w, best.shifts)


class _CutPoint(InteriorPoint):
    """A point with a > 0, the multipliers ``border`` of the sums, and those of a > 0, the first ones.

    Rows are the cuts of all classes, and after those of each class one of loss zero, which takes what is left of the
    total. ``E a = sums`` are the constraints; the first rows of E are those of the totals. ``curved`` is G w, the
    derivative of the quadratic term.
    """

    has_careful_steps = True
    curved: np.ndarray
    rest = np.inf  # the gap before the next step

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
        """Multipliers of a > 0 for the start, with products of ``mu`` at least, and no residual."""
        slack = self.losses - self.curved + mu / self.a
        self.border[: len(self.rows)] = [max(0.0, slack[rows].max()) for rows in self.rows]
        return self.residual(0.0)

    def solved(self, tol):
        """The weights where what is left of all conditions is at most ``tol``, or rounding errors forbid more.

        Where digits are lost, later points are worse than earlier ones: the best one counts.
        """
        tol = max(tol, LEAST_TOL)
        self.best, self.least = self.weights(), np.inf
        self.is_near()
        self.look()
        self.run(PROGRAM_STEPS, PROGRAM_IDLE, lambda: self.least <= tol)
        return self.best

    def look(self):
        """See InteriorPoint."""
        self.rest = self.gap
        off = max(np.abs(self.residual(self.multipliers[0])).max(), np.abs(self.sums - self.E @ self.a).max())
        left, self.idle = max(self.rest, off), self.idle + 1
        if left < self.least:
            self.best, self.least, self.idle = self.weights(), left, 0

    def weights(self):
        """The weights of the cuts of each class, and the shifts."""
        classes = len(self.rows)
        shifts = self.border[classes:] if self.shifted else np.zeros(classes)
        return CutWeights([self.a[rows][:-1] for rows in self.rows], self.w, shifts)

    @property
    def w(self):
        """The weights of the columns, where they are part of the point."""
        return np.zeros(0)

    def residual(self, push):
        """What is left of the derivative by a, with multipliers ``push`` of a > 0."""
        return self.curved - self.losses + self.E.T @ self.border - push

    def is_near(self):
        """See InteriorPoint; the gap is objective less dual value, once all equations hold."""
        self.gap = self.products
        return True

    def bordered(self, times, borders, corner):
        """Keep the system with these borders, in columns, and ``corner`` in its last place."""
        self.times, self.borders = times, borders
        self.along = times(borders)
        self.corner = borders.T @ self.along
        self.corner[-1, -1] -= corner
        return bool(np.isfinite(self.corner).all())

    def bordered_solution(self, right, wanted):
        """(a, border) with  S a + borders border = right,  borders'a - corner = wanted."""
        plain = self.times(right)
        border, singular = dgesv(self.corner, self.borders.T @ plain - wanted)[2:]
        if singular:
            border = np.full(len(wanted), np.nan)  # then the step has no length
        return plain - self.along @ border, border


class _Plain(_CutPoint):
    """All scalings are 1: one class, with Q = GG'."""

    constrained = ("a",)

    def __init__(self, Q, losses, sums, shifted):
        super().__init__([(losses, sums)], np.ones(1), shifted)
        self.Q = np.zeros((self.a.size, self.a.size))
        self.Q[:-1, :-1] = Q
        self.refresh()
        mu = START_PRODUCTS * (self.losses @ self.a + self.a @ self.curved) / self.a.size + 1e-12
        self.multipliers = [self.begin(mu)]

    def refresh(self):
        """See InteriorPoint."""
        self.curved = self.Q @ self.a

    def factored(self):
        factor, failed = dpotrf((self.Q + np.diag(self.multipliers[0] / self.a)).T, lower=1, overwrite_a=1)
        return not failed and self.bordered(lambda right: dpotrs(factor, right, lower=1)[0], self.E.T, 0.0)

    def newton(self, goals, predictor):
        """See InteriorPoint."""
        (push,) = self.multipliers
        right = goals[0] / self.a - push - self.residual(push)
        a, border = self.bordered_solution(right, self.sums - self.E @ self.a)
        return {"a": a, "border": border}


class _Scaled(_CutPoint):
    """Scalings 0 < d < 1 of the units that are not forced, with the multiplier ``tau`` of their sum.

    ``up`` is 1 - d, kept apart so that it does not round to zero. The weights w are variables of their own, equal to
    d c in the end only: so that the constraints of the cuts, which are many and steep, are linear, and what is not
    linear is in w - d c, whose square is part of the gap, and in the multipliers of d > 0 and up > 0, which take it up.
    """

    constrained = "a", "d", "up"

    def __init__(self, classes, scale, layout, forced, k, shifted):
        super().__init__(
            [(each.losses, each.sums) for each in classes],
            np.array([each.total / scale for each in classes]),
            shifted,
        )
        root, width = np.sqrt(scale), classes[0].G.shape[1]
        self.G = [np.vstack([root * each.G, np.zeros((1, width))]) for each in classes]
        self.layout, self.forced, self.k, self.single = layout, forced, k, layout.sizes is None
        units = layout.count(width) - forced
        self.d, self.up, self.c = np.full(units, k / units), np.full(units, 1.0 - k / units), self.pulled(self.a)
        self.by_class = self.on_columns(self.d, 1.0) * self.c
        self.derive()
        gain = self.gain
        self.tau = float(np.sort(gain)[-k])
        mu = START_PRODUCTS * (float(self.losses @ self.a) + float(gain @ self.d)) / (self.a.size + 2 * units) + 1e-12
        least = mu * units / min(k, units - k)  # mu / d and mu / up are no more
        low, high = np.maximum(self.tau - gain, 0.0) + least, np.maximum(gain - self.tau, 0.0) + least
        self.multipliers = [self.begin(mu), low, high]

    def pulled(self, a):
        """G'a of each class."""
        return np.array([G.T @ a[rows] for G, rows in zip(self.G, self.rows, strict=True)])

    def combined(self, c):
        """G c over all rows."""
        return np.concatenate([G @ values for G, values in zip(self.G, c, strict=True)])

    def derive(self):
        """Keep what is asked for several times in a step: the scaling of each column, G w, and 1/2 ||c_u||^2."""
        self.spread, self.curved = self.on_columns(self.d, 1.0), self.combined(self.by_class)
        self.gain = 0.5 * self.over_units((self.c**2).sum(axis=0))

    @property
    def w(self):
        return self.by_class.ravel()

    def is_near(self):
        """See InteriorPoint."""
        apart = self.by_class - self.spread * self.c
        self.gap = self.products + 0.5 * float((apart**2 / self.spread).sum())
        return self.gap <= self.rest

    def over_units(self, values):
        """Sums over the columns of each unit that is not forced; ``values`` (..., columns)."""
        if not self.single:
            values = np.add.reduceat(values, self.layout.starts, axis=-1)
        return values[..., self.forced :]

    def refresh(self):
        """See InteriorPoint."""
        self.c = self.pulled(self.a)
        self.derive()
        push, low, high = self.multipliers
        rest = self.gain - self.tau + low - high
        self.multipliers = [push, low + np.maximum(-rest, 0.0), high + np.maximum(rest, 0.0)]

    def factored(self):
        _, low, high = self.multipliers
        self.q = low / self.d + high / self.up
        self.T = np.concatenate([self.over_units(G * c) for G, c in zip(self.G, self.c, strict=True)])
        times = self.system_of_one() if len(self.G) == 1 else self.system_of_classes()
        if times is None:
            return False
        borders = np.column_stack([self.E.T, -(self.T / self.q).sum(axis=1)])
        return self.bordered(times, borders, (1.0 / self.q).sum())

    def system_of_one(self):
        """The inverse of  G d G' + T q^-1 T' + D,  as a function; None if rounding errors forbid it."""
        if self.single:  # T is G c: the columns of both terms are multiples of each other
            curved = np.concatenate([np.zeros(self.forced), self.c[0, self.forced :] ** 2 / self.q])
            B = self.G[0] * np.sqrt(self.spread + curved)
        else:
            B = np.hstack([self.G[0] * np.sqrt(self.spread), self.T / np.sqrt(self.q)])
        system = SmallerSide(B, self.multipliers[0] / self.a, FEW_CUTS)
        return None if system.failed else system.times

    def system_of_classes(self):
        """The same where only T couples the classes: their own systems, and one of the size of the units."""
        factors, D, inner = [], self.multipliers[0] / self.a, np.diag(self.q)
        for G, rows in zip(self.G, self.rows, strict=True):
            factor, failed = dpotrf(((G * self.spread) @ G.T + np.diag(D[rows])).T, lower=1, overwrite_a=1)
            if failed:
                return None
            factors.append(factor)

        def apart(right):
            each = zip(factors, self.rows, strict=True)
            return np.concatenate([dpotrs(factor, right[rows], lower=1)[0] for factor, rows in each])

        behind = apart(self.T)
        core, failed = dpotrf((inner + self.T.T @ behind).T, lower=1, overwrite_a=1)

        def times(right):
            first = apart(right)
            return first - behind @ dpotrs(core, self.T.T @ first, lower=1)[0]

        return None if failed else times

    def newton(self, goals, predictor):
        """See InteriorPoint."""
        d, up, q, gain = self.d, self.up, self.q, self.gain
        bent = self.spread * self.c - self.by_class  # what w changes by apart from the first-order terms
        push, low, high = goals
        if predictor is not None:
            gain = gain + 0.5 * self.over_units((predictor["c"] ** 2).sum(axis=0))
            bent = bent + self.on_columns(predictor["d"]) * predictor["c"]
        in_d = gain - self.tau + low / d - high / up
        along = push / self.a - self.multipliers[0] - self.residual(self.multipliers[0])
        right = along - self.combined(bent) - self.T @ (in_d / q)
        wanted = np.append(self.sums - self.E @ self.a, (in_d / q).sum() + d.sum() - self.k)
        a, border = self.bordered_solution(right, wanted)
        move, c = (self.T.T @ a - border[-1] + in_d) / q, self.pulled(a)
        by_class = self.spread * c + self.on_columns(move) * self.c + bent
        return {"a": a, "border": border[:-1], "tau": border[-1], "d": move, "up": -move, "c": c, "by_class": by_class}

    def on_columns(self, d, of_forced=0.0):
        """One value per unit that is not forced as one per column; forced ones have ``of_forced``."""
        if self.forced:
            d = np.concatenate([np.full(self.forced, of_forced), d])
        return d if self.single else np.repeat(d, self.layout.sizes)
