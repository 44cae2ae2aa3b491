"""The elastic-net SVM on some rows and columns: Newton steps that keep signs, with the duality gap after each step.

    min over w, b of   sum_i c_i l(1 - z_i) - known'w + alpha/2 ||w||^2 + beta ||w||_1,      z = y (X w + b)

l is the smoothed hinge and ``known`` the part of rows that are not here because their loss is known to be linear.
From w follow theta_i = l'(1 - z_i) in [0, 1], feasible in the dual problem, and v = known + X'(c y theta); at the
optimum w is S(v) / alpha, where S is soft-thresholding by beta. The gap is a sum of Fenchel and Young's terms of the
columns, none negative: rounding cannot hide any of it.
"""

from typing import Any

import numpy as np
from scipy import linalg

from thresher.optim.penalties.prox import soft_threshold
from thresher.optim.problems.losses import SmoothedHinge

ACCURACY = 1e-6, 0.1  # range of the relative residuals at which conjugate gradients stop
PATIENCE, FACTOR_SPEED = (30, 300), 20.0  # range of the steps of conjugate gradients before a small system
# is factored, which should take as long; an operation of a factorisation is FACTOR_SPEED times faster than a sparse one
MOST_ROUNDS = 300
SMALL_SIDE, SMALL_SYSTEM = 1500, 1 << 24
MOST_SOLVES, MOST_MOVES = 40, 1000  # solves for a direction: fast method, and careful method
CAREFUL_COLUMNS = 400  # columns up to which the careful method can be used
MOST_IDLE, ROUNDING = 10, 1e-14  # steps without a smaller gap; a decrease of the objective that is rounding
FARTHER = 4.0  # after a short step, samples up to this multiple of it are searched for kinks
SHORT = 0.5  # step length below which the model was too simple


def sample_terms(slack, theta, gamma):
    """l(slack) - theta slack + gamma/2 theta^2 >= 0 for the smoothed hinge l and 0 <= theta <= 1."""
    best = np.clip(slack / gamma, 0.0, 1.0)
    return np.maximum(0.0, (best - theta) * (slack - 0.5 * gamma * (best + theta)))


def column_terms(w, v, alpha, beta):
    """alpha/2 w^2 + beta |w| + S(v)^2 / (2 alpha) - w v >= 0, zero at w = S(v) / alpha."""
    inside = np.clip(v, -beta, beta)
    return 0.5 * alpha * (w - (v - inside) / alpha) ** 2 + (beta * np.abs(w) - w * inside)


def active_columns(w, v, beta):
    """Columns with a weight or with |v| > beta, sorted; the terms of all others are zero."""
    return np.flatnonzero((np.abs(v) > beta) | (w != 0.0))


class ElasticNewton:
    """A solve in progress. ``sides`` is X; y and cost belong to its rows, w, v and idle to its columns.

    ``scores`` is X w. ``v`` is that of ``theta``; if ``gap`` is given, both are those of w. Columns marked in ``idle``
    are known to have weight zero.
    """

    def __init__(
        self, sides, y, cost, w, scores, v, theta, b, *, alpha, beta, gamma, shift=False, idle=None, known=0.0,
        tol=0.0, gap=None,
    ):  # fmt: skip
        self.sides, self.y, self.cost, self.signed, self.idle, self.known = sides, y, cost, cost * y, idle, known
        self.loss, self.shift = SmoothedHinge(gamma), shift
        self.alpha, self.beta, self.gamma, self.tol = alpha, beta, gamma, tol
        self.w, self.scores, self.v, self.theta, self.b = w, scores, v, theta, b
        self.steps, self.stuck, self.crossing, self.careful = 0, False, None, False
        self.best, self.idle_steps = np.inf, 0
        if gap is None:
            self._look()
        else:
            self.z, self.gap, self.active = y * (scores + b), gap, active_columns(w, v, beta)

    def _look(self):
        """Update theta, v and the gap for the current w and b."""
        if self.shift:
            self.b = self.loss.best_shift(self.y, self.scores, self.cost, self.b)
        self.z = self.y * (self.scores + self.b)
        theta = np.clip((1.0 - self.z) / self.gamma, 0.0, 1.0)
        if self.shift:
            theta = balanced(theta, self.cost, self.y)
        self.v = self.v + self.sides.correlate(self.signed * (theta - self.theta))
        self.theta = theta
        self.active = active = active_columns(self.w, self.v, self.beta)
        self.gap = float(column_terms(self.w[active], self.v[active], self.alpha, self.beta).sum())
        if self.shift:
            self.gap += float(self.cost @ sample_terms(1.0 - self.z, theta, self.gamma))

    def step(self):
        """One Newton step; sets ``stuck`` if there is no descent direction."""
        self.steps += 1
        inside = (self.z < 1.0) & (self.z > 1.0 - self.gamma)
        if self.crossing is not None:
            inside |= self.crossing
        rows = np.flatnonzero(inside & (self.cost > 0.0))
        columns = self.active
        if self.idle is not None:
            columns = columns[~self.idle[columns] | (self.w[columns] != 0.0)]
        signs = np.where(self.w[columns] != 0.0, np.sign(self.w[columns]), np.sign(self.v[columns]))
        move, b_move = self._direction(rows, columns, signs)
        if not self.careful and not self._slope(columns, move) < 0.0:
            self.careful = True
            move, b_move = self._direction(rows, columns, signs)
        if not self._slope(columns, move) < 0.0:
            move, b_move = self._safe_direction(columns), 0.0
            if not self._slope(columns, move) < 0.0:
                self.stuck = True
                return
        self._note_progress(columns, move)
        score_move = self.sides.combine(columns, move)
        share = self._best_share(columns, move, score_move + b_move)
        self._note_crossing(share, score_move + b_move)
        self.w = self.w.copy()
        self.w[columns] += share * move
        self.w[columns[np.abs(self.w[columns]) <= 1e-15 * np.abs(move)]] = 0.0
        self.scores, self.b = self.scores + share * score_move, self.b + share * b_move
        self._look()

    def _note_progress(self, columns, move):
        """Stop if the gap has not decreased for MOST_IDLE steps and the objective changes only by rounding."""
        self.best, self.idle_steps = (self.gap, 0) if self.gap < self.best else (self.best, self.idle_steps + 1)
        if self.idle_steps >= MOST_IDLE and self._slope(columns, move) > -ROUNDING:
            self.stuck = True

    def _note_crossing(self, share, score_move):
        """Add samples that cross a kink of the loss on a short step to the next model."""
        if share >= SHORT:
            self.crossing = None
            return
        self.careful = self.crossing is not None  # the second time in a row
        after = self.z + self.y * (min(1.0, FARTHER * share) * score_move)
        low, high = np.minimum(self.z, after), np.maximum(self.z, after)
        crossing = (high > 1.0 - self.gamma) & (low < 1.0)
        self.crossing = crossing if self.crossing is None else self.crossing | crossing

    def _slope(self, columns, move):
        """Derivative of the objective along a move; that in b is zero, since b is optimal."""
        w = self.w[columns]
        rise = np.where(w != 0.0, np.sign(w) * move, np.abs(move)).sum()
        return float((self.alpha * w - self.v[columns]) @ move + self.beta * rise)

    def _safe_direction(self, columns):
        """A proximal gradient step: short, but always a descent direction."""
        steep = self.alpha + float(self.sides.column_squares(self.cost).sum()) / self.gamma
        w = self.w[columns]
        return soft_threshold(w + (self.v[columns] - self.alpha * w) / steep, self.beta / steep) - w

    def _direction(self, rows, columns, signs):
        """(dw, db) to the approximate minimiser of the second-order model of the loss, with ||w||_1 kept exact."""
        w, v = self.w[columns], self.v[columns]
        system = System(self.sides.part(rows, columns), self.cost[rows] / self.gamma, self.alpha, self.shift)
        if self.careful and columns.size <= CAREFUL_COLUMNS and rows.size * columns.size <= SMALL_SYSTEM:
            x = _by_active_set(system, w, v, signs, self.beta)
        else:
            accuracy = 0.3 * np.sqrt(self.tol / self.gap) if self.gap > 0.0 else 1.0
            x = _by_holding(system, w, v, signs, self.beta, float(np.clip(accuracy, *ACCURACY)))
        return x[: columns.size], float(x[-1]) if self.shift else 0.0

    def _best_share(self, columns, move, score_move):
        """Exact line search: the s in [0, 1] that minimises the objective, a root of its increasing derivative."""
        w, square, margin_move = self.w[columns], self.alpha * float(move @ move), self.y * score_move
        known = self.known[columns] @ move if np.ndim(self.known) else 0.0
        linear = float(self.alpha * (w @ move) - known)
        moving = np.flatnonzero((margin_move != 0.0) & (self.cost > 0.0))
        slack, margin_move, cost = 1.0 - self.z[moving], margin_move[moving], self.cost[moving]
        low, high, s = 0.0, 1.0, 1.0
        for _ in range(60):
            theta = np.clip((slack - s * margin_move) / self.gamma, 0.0, 1.0)
            inside = (theta > 0.0) & (theta < 1.0)
            weights = w + s * move
            # a weight that ends at zero has the sign that it came from
            signs = np.where(weights == 0.0, -np.sign(move), np.sign(weights))
            slope = linear + s * square + self.beta * float(signs @ move) - float((cost * theta) @ margin_move)
            bend = square + float(cost[inside] @ margin_move[inside] ** 2) / self.gamma
            if s == 1.0 and slope <= 0.0:
                return 1.0
            low, high = (s, high) if slope < 0.0 else (low, s)
            guess = s - slope / bend if bend > 0.0 else 0.5 * (low + high)
            if not low < guess < high:
                guess = 0.5 * (low + high)
            if abs(guess - s) <= 1e-6 * s:
                return guess
            s = guess
        return s


def _by_holding(system, w, v, signs, beta, accuracy):
    """The minimiser of the model with the given signs: all columns that would change sign are held at zero."""
    held = np.zeros(w.size, dtype=bool)
    x: Any = None  # no initial guess for the first solve
    for _ in range(MOST_SOLVES):
        x = system.solve(v - system.ridge * w - beta * signs, held, np.where(held, -w, 0.0), accuracy, x)
        flips = ~held & ((w + x[: w.size]) * signs < 0.0)
        if not flips.any():
            break
        held = held | flips
    x[: w.size] = np.where((w + x[: w.size]) * signs < 0.0, -w, x[: w.size])
    return x


def _by_active_set(system, w, v, signs, beta):
    """The minimiser of the model, by moves that stop at the first change of sign; the model never increases.

    At the minimiser for the current signs and zeros, the zero column with the largest gradient is released.
    """
    M, signs, held = system.dense(), signs.copy(), w == 0.0
    x, right = np.zeros(M.shape[0]), np.zeros(M.shape[0])
    curve = M.copy()
    curve[np.arange(w.size), np.arange(w.size)] -= system.ridge
    for _ in range(MOST_MOVES):
        right[: w.size] = v - system.ridge * w - beta * signs
        free = np.flatnonzero(np.append(~held, [True] * system.shift))
        goal = x.copy()
        goal[: w.size][held] = -w[held]
        rest = right[free] - M[np.ix_(free, np.flatnonzero(held))] @ goal[: w.size][held]
        goal[free] = _positive_solve(M[np.ix_(free, free)], rest)
        weights, step = w + x[: w.size], (goal - x)[: w.size]
        leaving = ~held & ((weights + step) * signs < 0.0)
        if leaving.any():
            share = np.where(leaving, weights / np.where(leaving, -step, 1.0), np.inf)
            first = int(np.argmin(share))
            x = x + max(0.0, share[first]) * (goal - x)
            x[first], held[first] = -w[first], True
            continue
        x = goal
        pull = np.where(held, v - curve[: w.size] @ x, 0.0)
        hardest = int(np.argmax(np.abs(pull)))
        if abs(pull[hardest]) <= beta * (1.0 + 1e-9):
            break
        held[hardest], signs[hardest] = False, np.sign(pull[hardest])
    x[: w.size] = np.where(held, -w, x[: w.size])
    return x


def _positive_solve(M, right):
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


class System:
    """(ridge I + A'CA) x = right with A = [X, 1], the last column, without ridge, only if there is a shift."""

    def __init__(self, part, costs, ridge, shift):
        self.part, self.costs, self.ridge, self.shift = part, costs, ridge, shift
        self.squares = part.column_squares(costs)

    def solve(self, right, held, walls, accuracy, guess=None):
        """The x with x = ``walls`` on the columns ``held``; the right side of the shift is zero."""
        if self.shift:
            right, held, walls = np.append(right, 0.0), np.append(held, False), np.append(walls, 0.0)
        if held.any():
            right = np.where(held, 0.0, right - self.curve(walls))
        guess = np.zeros(right.size) if guess is None else np.where(held, 0.0, guess)
        x, accurate = self._iterate(right, held, guess, accuracy, self._patience())
        if not accurate:
            factored = self._factored(right, held)
            x = self._iterate(right, held, x, accuracy, MOST_ROUNDS)[0] if factored is None else factored
        return np.where(held, walls, x)

    def _patience(self):
        """Number of steps of conjugate gradients that take about as long as a factorisation."""
        least, most = sorted(self.part.shape)
        return int(np.clip(least * least * most / (FACTOR_SPEED * max(1, self.part.entries)), *PATIENCE))

    def curve(self, x):
        """The curvature of the samples times x."""
        t = self.costs * (self.part.combine(x[:-1]) + x[-1] if self.shift else self.part.combine(x))
        product = self.part.correlate(t)
        return np.append(product, t.sum()) if self.shift else product

    def _diagonal(self):
        diagonal = self.ridge + self.squares
        return np.append(diagonal, self.costs.sum() or 1.0) if self.shift else diagonal

    def _iterate(self, right, held, x, accuracy, most):
        """(x, whether it is accurate) by conjugate gradients from x, preconditioned with the diagonal."""
        inverse = np.where(held, 0.0, 1.0 / self._diagonal())
        ridge = np.full(right.size, self.ridge)
        if self.shift:
            ridge[-1] = 0.0
        r = right - ridge * x - self.curve(x) if x.any() else right
        p = s = inverse * r
        rho, bar = float(r @ s), accuracy**2 * float(right @ (inverse * right))
        if rho <= bar:
            return x, True
        for _ in range(most):
            Mp = ridge * p + self.curve(p)
            bend = float(p @ Mp)
            if bend <= 0.0:
                return x, False
            step = rho / bend
            x, r = x + step * p, r - step * Mp
            s = inverse * r
            rho, old = float(r @ s), rho
            if rho <= bar:
                return x, True
            p = s + (rho / old) * p
        return x, False

    def dense(self):
        """The whole matrix."""
        B = self.part.toarray()
        if self.shift:
            B = np.column_stack([B, np.ones(B.shape[0])])
        B *= np.sqrt(self.costs)[:, None]
        M = B.T @ B
        columns = np.arange(self.part.shape[1])
        M[columns, columns] += self.ridge
        return M

    def _factored(self, right, held):
        """The solution by Cholesky factorisation over rows or columns, whichever are fewer; None if both are many."""
        rows, columns = self.part.shape
        if min(rows, columns) > SMALL_SIDE or rows * columns > SMALL_SYSTEM:
            return None
        B = self.part.toarray()
        if self.shift:
            B = np.column_stack([B, np.ones(rows)])
        B *= np.sqrt(self.costs)[:, None]
        free = np.flatnonzero(~held)
        B = B[:, free]
        ridge = np.full(free.size, self.ridge)
        if self.shift:
            ridge[-1] = 1e-10 * (self.costs.sum() or 1.0)
        x = np.zeros(right.size)
        if free.size <= rows:
            M = B.T @ B
            M[np.diag_indices_from(M)] += ridge
            x[free] = _positive_solve(M, right[free])
        else:  # (R + B'B)^-1 = R^-1 - R^-1 B'(I + B R^-1 B')^-1 B R^-1
            scaled = B / ridge
            M = scaled @ B.T
            M[np.diag_indices_from(M)] += 1.0
            x[free] = right[free] / ridge - scaled.T @ _positive_solve(M, scaled @ right[free])
        return x


def balanced(theta, cost, y):
    """Theta with sum c_i y_i theta_i = 0: the error of an inexact shift is spread over the samples on the margin.

    There it matters least; if that violates 0 <= theta <= 1, the heavier class is shrunk instead.
    """
    rest = float((cost * y) @ theta)
    inside = (theta > 0.0) & (theta < 1.0)
    weight = float(cost[inside].sum())
    if rest == 0.0:
        return theta
    if weight > 0.0:
        moved = np.where(inside, theta - y * (rest / weight), theta)
        if moved.min() >= 0.0 and moved.max() <= 1.0:
            return moved
    positive = y > 0
    up, down = float(cost[positive] @ theta[positive]), float(cost[~positive] @ theta[~positive])
    if min(up, down) <= 0.0:
        return np.zeros_like(theta)
    return np.where(positive, theta * min(1.0, down / up), theta * min(1.0, up / down))
