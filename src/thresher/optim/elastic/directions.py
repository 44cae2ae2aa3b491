"""The direction of a Newton step of the elastic-net SVM: the minimiser of a model with the exact ||w||_1."""

from typing import Any

import numpy as np
from scipy import linalg

from thresher.data.blocks.base import Block

CG_STEPS = (30, 300)  # range of the steps of conjugate gradients before a small system is factored, which should
FACTOR_SPEED = 20.0  # take as long: an operation of a factorisation is so many times faster than a sparse one
CG_MOST_STEPS = 300  # where the system is too large to be factored
FACTORED_SIDE = 1500  # rows or columns, whichever are fewer, of a system that is factored,
FACTORED_ENTRIES = 1 << 24  # and its entries, at most
HOLDING_SOLVES = 40  # solves until no column changes sign
ACTIVE_SET_MOVES = 1000
ACTIVE_SET_COLUMNS = 400  # columns up to which the active-set method can be used
SHIFT_RIDGE = 1e-10  # share of the costs that is added to the curvature of the intercept before it is factored


class NewtonSystem:
    """(ridge I + A'CA) x = right with A = [X, 1], the last column, without ridge, only if there is an intercept.

    Parameters
    ----------
    part : Block
        X: the rows on the margin, and the active columns.
    costs : ndarray of shape (n_rows,)
        C, the curvature of the loss at each row.
    ridge : float
        Weight of the squared penalty.
    shift : bool
        Whether there is an intercept.
    """

    def __init__(self, part: Block, costs: np.ndarray, ridge: float, shift: bool):
        self.part, self.costs = part, costs
        self.ridge, self.shift = ridge, shift
        self.squares = part.column_squares(costs)

    @property
    def can_be_listed(self) -> bool:
        """Whether the active-set method, which needs the whole matrix, can be used."""
        rows, columns = self.part.shape
        return columns <= ACTIVE_SET_COLUMNS and rows * columns <= FACTORED_ENTRIES

    def solve(self, right, held, walls, accuracy, guess=None):
        """The x with x = ``walls`` on the columns ``held``; the right side of the intercept is zero."""
        if self.shift:
            right, walls = np.append(right, 0.0), np.append(walls, 0.0)
            held = np.append(held, False)
        if held.any():
            right = np.where(held, 0.0, right - self._curvature_times(walls))
        guess = np.zeros(right.size) if guess is None else np.where(held, 0.0, guess)
        x, accurate = self._conjugate_gradients(right, held, guess, accuracy, self._patience())
        if not accurate:
            factored = self._factored(right, held)
            if factored is None:
                factored, _ = self._conjugate_gradients(right, held, x, accuracy, CG_MOST_STEPS)
            x = factored
        return np.where(held, walls, x)

    def dense(self) -> np.ndarray:
        """The whole matrix."""
        B = self._weighted_rows()
        M = B.T @ B
        columns = np.arange(self.part.shape[1])
        M[columns, columns] += self.ridge
        return M

    def _patience(self):
        """Number of steps of conjugate gradients that take about as long as a factorisation."""
        least, most = sorted(self.part.shape)
        return int(np.clip(least * least * most / (FACTOR_SPEED * max(1, self.part.entries)), *CG_STEPS))

    def _curvature_times(self, x):
        """A'CA x."""
        if not self.shift:
            return self.part.correlate(self.costs * self.part.combine(x))
        t = self.costs * (self.part.combine(x[:-1]) + x[-1])
        return np.append(self.part.correlate(t), t.sum())

    def _diagonal(self):
        diagonal = self.ridge + self.squares
        return np.append(diagonal, self.costs.sum() or 1.0) if self.shift else diagonal

    def _conjugate_gradients(self, right, held, x, accuracy, most):
        """(x, whether it is accurate) after at most ``most`` steps from x, preconditioned with the diagonal."""
        inverse = np.where(held, 0.0, 1.0 / self._diagonal())
        ridge = np.full(right.size, self.ridge)
        if self.shift:
            ridge[-1] = 0.0
        r = right - ridge * x - self._curvature_times(x) if x.any() else right
        p = s = inverse * r
        rho = float(r @ s)
        bar = accuracy**2 * float(right @ (inverse * right))
        if rho <= bar:
            return x, True
        for _ in range(most):
            Mp = ridge * p + self._curvature_times(p)
            bend = float(p @ Mp)
            if bend <= 0.0:
                return x, False
            step = rho / bend
            x, r = x + step * p, r - step * Mp
            s = inverse * r
            before, rho = rho, float(r @ s)
            if rho <= bar:
                return x, True
            p = s + (rho / before) * p
        return x, False

    def _weighted_rows(self):
        """C^(1/2) A."""
        B = self.part.toarray()
        if self.shift:
            B = np.column_stack([B, np.ones(B.shape[0])])
        B *= np.sqrt(self.costs)[:, None]
        return B

    def _factored(self, right, held):
        """The solution by Cholesky factorisation over rows or columns, whichever are fewer; None if both are many."""
        rows, columns = self.part.shape
        if min(rows, columns) > FACTORED_SIDE or rows * columns > FACTORED_ENTRIES:
            return None
        free = np.flatnonzero(~held)
        B = self._weighted_rows()[:, free]
        ridge = np.full(free.size, self.ridge)
        if self.shift:
            ridge[-1] = SHIFT_RIDGE * (self.costs.sum() or 1.0)
        x = np.zeros(right.size)
        if free.size <= rows:
            M = B.T @ B
            M[np.diag_indices_from(M)] += ridge
            x[free] = positive_solve(M, right[free])
        else:  # (R + B'B)^-1 = R^-1 - R^-1 B'(I + B R^-1 B')^-1 B R^-1
            scaled = B / ridge
            M = scaled @ B.T
            M[np.diag_indices_from(M)] += 1.0
            x[free] = right[free] / ridge - scaled.T @ positive_solve(M, scaled @ right[free])
        return x


def minimiser_by_holding(system, w, v, signs, beta, accuracy):
    """The minimiser of the model with the given signs: all columns that would change sign are held at zero."""
    right = v - system.ridge * w - beta * signs
    held = np.zeros(w.size, dtype=bool)
    x: Any = None  # no initial guess for the first solve
    for _ in range(HOLDING_SOLVES):
        x = system.solve(right, held, np.where(held, -w, 0.0), accuracy, x)
        flips = ~held & ((w + x[: w.size]) * signs < 0.0)
        if not flips.any():
            break
        held = held | flips
    x[: w.size] = np.where((w + x[: w.size]) * signs < 0.0, -w, x[: w.size])
    return x


def minimiser_by_active_set(system, w, v, signs, beta):
    """The minimiser of the model, by moves that stop at the first change of sign; the model never increases.

    At the minimiser for the current signs and zeros, the zero column with the largest gradient is released.
    """
    M = system.dense()
    curvature = M[: w.size].copy()
    curvature[np.arange(w.size), np.arange(w.size)] -= system.ridge
    signs, held = signs.copy(), w == 0.0
    x, right = np.zeros(M.shape[0]), np.zeros(M.shape[0])
    for _ in range(ACTIVE_SET_MOVES):
        right[: w.size] = v - system.ridge * w - beta * signs
        free = np.flatnonzero(np.append(~held, [True] * system.shift))
        goal = x.copy()
        goal[: w.size][held] = -w[held]
        rest = right[free] - M[np.ix_(free, np.flatnonzero(held))] @ goal[: w.size][held]
        goal[free] = positive_solve(M[np.ix_(free, free)], rest)
        weights, step = w + x[: w.size], (goal - x)[: w.size]
        leaving = ~held & ((weights + step) * signs < 0.0)
        if leaving.any():
            share = np.where(leaving, weights / np.where(leaving, -step, 1.0), np.inf)
            first = int(np.argmin(share))
            x = x + max(0.0, share[first]) * (goal - x)
            x[first], held[first] = -w[first], True
            continue
        x = goal
        pull = np.where(held, v - curvature @ x, 0.0)
        hardest = int(np.argmax(np.abs(pull)))
        if abs(pull[hardest]) <= beta * (1.0 + 1e-9):
            break
        held[hardest], signs[hardest] = False, np.sign(pull[hardest])
    x[: w.size] = np.where(held, -w, x[: w.size])
    return x


def positive_solve(M, right):
    """M^-1 right for a positive definite matrix; a ridge is added if it is not, due to rounding."""
    ridge = 0.0
    for _ in range(20):
        if not np.isfinite(M).all():
            break
        try:
            return linalg.cho_solve(linalg.cho_factor(M + ridge * np.eye(right.size)), right)
        except linalg.LinAlgError:
            ridge = max(10.0 * ridge, 1e-15 * float(np.abs(np.diagonal(M)).max()))
    return np.zeros_like(right)
