"""The smoothed-hinge elastic-net SVM by a conic solver and by an interior point of its dual. Imports no thresher.

    min over w, b of   sum_i c_i l(1 - y_i (x_i'w + b)) + alpha/2 ||w||^2 + beta ||w||_1,      sum_i c_i = 1

l(s) is 0 for s < 0, s^2 / (2 gamma) up to gamma and s - gamma / 2 above. The dual has theta in [0, 1]^n, and with an
intercept sum_i c_i y_i theta_i = 0. ``exact`` solves it as a quadratic program in two boxes,

    min over 0 <= theta <= 1, |t| <= beta of   ||X'(c y theta) - t||^2 / (2 alpha) + sum c (gamma/2 theta^2 - theta),

by a primal-dual interior point method, and then guesses which rows and columns lie inside their boxes and solves the
linear equations that are left, to rounding. Every answer brings a gap whose terms are sums of numbers that are not
negative; it bounds how far w and theta are off (``Optimum.w_off``, ``Optimum.theta_off``).
"""

import contextlib
from typing import NamedTuple

import cvxpy as cp
import numpy as np

ACCURACIES = (1e-12, 1e-10, 1e-9, 1e-8, 1e-7)  # the next where the solver cannot reach the one before


class Optimum(NamedTuple):
    """w, b, theta (of samples with cost 0: what their margin says), objective, and the gap of w and theta."""

    w: np.ndarray
    b: float
    theta: np.ndarray
    objective: float
    gap: float
    w_off: float
    theta_off: np.ndarray


def loss(slack, gamma):
    """l(slack)."""
    return np.where(slack <= 0.0, 0.0, np.where(slack <= gamma, slack**2 / (2.0 * gamma), slack - gamma / 2.0))


def objective(X, y, cost, gamma, alpha, beta, w, b=0.0):
    """The primal objective."""
    return float(cost @ loss(1.0 - y * (X @ w + b), gamma) + alpha / 2.0 * (w @ w) + beta * np.abs(w).sum())


def dual(X, y, cost, gamma, alpha, beta, theta):
    """The dual objective, to be maximised; never above the primal for a feasible theta."""
    reach = np.maximum(np.abs(X.T @ (cost * y * theta)) - beta, 0.0)
    return float(cost @ (theta - gamma / 2.0 * theta**2) - (reach @ reach) / (2.0 * alpha))


def conic(X, y, cost, gamma, alpha, beta, *, shift=False):
    """(objective, w, b) by cvxpy and CLARABEL; the loss is min a^2 / (2 gamma) + r over a + r >= 1 - z and r >= 0."""
    used = cost > 0
    unit = np.abs(X).max() or 1.0  # solved for unit * w, or data of odd size would mislead the solver
    given, (alpha, beta) = (X, alpha, beta), (alpha / unit**2, beta / unit)
    X, y, cost = X[used] / unit, y[used], cost[used]
    w, b, r, a = cp.Variable(X.shape[1]), cp.Variable(), cp.Variable(y.size, nonneg=True), cp.Variable(y.size)
    scores = X @ w + (b if shift else 0.0)
    losses = cp.sum_squares(cp.multiply(np.sqrt(cost / (2.0 * gamma)), a)) + cost @ r
    size = alpha / 2.0 * cp.sum_squares(w) + beta * cp.norm1(w)
    problem = cp.Problem(cp.Minimize(losses + size), [a + r >= 1.0 - cp.multiply(y, scores)])
    for tol in ACCURACIES:
        with contextlib.suppress(cp.SolverError):
            problem.solve(solver=cp.CLARABEL, tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol)
            if problem.status == "optimal":
                break
    assert problem.status in ("optimal", "optimal_inaccurate"), problem.status
    w, b = w.value / unit, float(b.value) if shift else 0.0
    return objective(given[0][used], y, cost, gamma, *given[1:], w, b), w, b


def exact(X, y, cost, gamma, alpha, beta, *, shift=False):
    """The Optimum, as near as rounding allows."""
    used = cost > 0
    point = _Point(np.asarray(X, dtype=np.float64)[used], y[used], cost[used], gamma, alpha, beta, shift)
    with np.errstate(all="ignore"):  # at its end an interior point is outside by rounding; the gap judges
        point.follow()
    w, b, theta, gap = point.best
    whole = np.clip((1.0 - y * (X @ w + b)) / gamma, 0.0, 1.0)
    whole[used] = theta
    off = np.zeros(y.size)
    off[used] = np.sqrt(2.0 * gap / (gamma * cost[used]))
    return Optimum(w, b, whole, objective(X, y, cost, gamma, alpha, beta, w, b), gap, np.sqrt(2.0 * gap / alpha), off)


def terms(w, v, theta, slack, cost, gamma, alpha, beta):
    """The gap of w and a feasible theta with v = X'(c y theta), as a sum without cancellation."""
    best = np.clip(slack / gamma, 0.0, 1.0)
    inside = np.clip(v, -beta, beta)
    samples = gamma / 2.0 * (best - theta) ** 2 + (best - theta) * (slack - gamma * best)
    columns = alpha / 2.0 * (w - (v - inside) / alpha) ** 2 + np.maximum(0.0, beta * np.abs(w) - w * inside)
    return float(cost @ np.maximum(samples, 0.0) + columns.sum())


class _Point:
    """An interior point: w, theta in (0, 1), t in (-beta, beta), and the multipliers of both boxes."""

    def __init__(self, X, y, cost, gamma, alpha, beta, shift):
        self.X, self.y, self.cost, self.gamma, self.alpha, self.beta, self.shift = X, y, cost, gamma, alpha, beta, shift
        self.A, self.signed = (cost * y)[:, None] * X, cost * y
        n, p = X.shape
        self.w, self.b = np.zeros(p), 0.0
        self.x = np.concatenate([np.full(n, 0.5), np.zeros(p)])  # theta and t
        self.low, self.high = np.concatenate([np.zeros(n), np.full(p, -beta)]), np.append(np.ones(n), np.full(p, beta))
        start = np.concatenate([cost, np.full(p, max(np.sqrt(1.0 / alpha) / p, 1e-300))])
        self.at_low, self.at_high = start.copy(), start.copy()
        self.best = (self.w, 0.0, np.zeros(n), np.inf)
        self.n = n
        self.look(self.w, 0.0)

    def look(self, w, b, theta=None):
        """Keep w, b and the theta that follows from them, or ``theta``, where their gap is the smallest so far."""
        scores = self.X @ w
        if self.shift:
            b = best_shift(self.y, scores, self.cost, self.gamma, b)
        slack = 1.0 - self.y * (scores + b)
        theta = np.clip(slack / self.gamma if theta is None else theta, 0.0, 1.0)
        if self.shift:
            theta = feasible(theta, self.signed)
        gap = terms(w, self.A.T @ theta, theta, slack, self.cost, self.gamma, self.alpha, self.beta)
        if gap < self.best[3]:
            self.best = (w, b, theta, gap)

    def follow(self):
        """Steps of the interior point method until they gain nothing more, with a guess of the optimum after each."""
        goal, last = 1e-26 * (1.0 - self.gamma / 2.0), 0
        for turn in range(120):
            before = self.best[3]
            with contextlib.suppress(np.linalg.LinAlgError):
                self.step()
                self.look(self.w, self.b)
                self.look(self.w, self.b, self.x[: self.n])
                if turn > 4:
                    self.guess(*self.best[:3])
                    self.guess(self.w, self.b, self.x[: self.n])
            if self.best[3] < 0.5 * before:
                last = turn
            stalled = turn - last > (12 if self.best[3] < 1e-13 else 40)
            if self.best[3] <= goal or stalled or not np.isfinite(self.x).all():
                break

    def step(self):
        """One predictor and corrector."""
        n, A, alpha = self.n, self.A, self.alpha
        to_low, to_high = self.x - self.low, self.high - self.x
        rest_w = alpha * self.w - A.T @ self.x[:n] + self.x[n:]
        slope = np.concatenate([A @ self.w + self.cost * (self.gamma * self.x[:n] - 1.0), -self.w])
        if self.shift:
            slope[:n] += self.signed * self.b
        rest_x = slope - self.at_low + self.at_high
        rest_b = float(self.signed @ self.x[:n])
        D = self.at_low / to_low + self.at_high / to_high
        weight = 1.0 / (alpha + 1.0 / D[n:])
        M = (A * weight) @ A.T
        M[np.diag_indices(n)] += self.gamma * self.cost + D[:n]
        scale = 1.0 / np.sqrt(np.diag(M))
        factor = np.linalg.cholesky(M * scale[:, None] * scale)

        def solved(r):
            return scale * np.linalg.solve(factor.T, np.linalg.solve(factor, scale * r))

        def direction(low, high):
            """Towards complementarity at_low * to_low = low and at_high * to_high = high."""
            r = rest_x - low / to_low + self.at_low + high / to_high - self.at_high
            pull = -rest_w + r[n:] / D[n:]
            right = -r[:n] - A @ (weight * pull)
            move, db = solved(right), 0.0
            if self.shift:
                along = solved(self.signed)
                db = (self.signed @ move + rest_b) / (self.signed @ along)
                move = move - db * along
            dw = weight * (A.T @ move + pull)
            dx = np.concatenate([move, (dw - r[n:]) / D[n:]])
            d_low = (low - self.at_low * dx) / to_low - self.at_low
            d_high = (high + self.at_high * dx) / to_high - self.at_high
            return dw, dx, db, d_low, d_high

        def longest(dx, d_low, d_high):
            x = min(_room(to_low, dx), _room(to_high, -dx))
            return x, min(_room(self.at_low, d_low), _room(self.at_high, d_high))

        size = self.x.size
        mu = (self.at_low @ to_low + self.at_high @ to_high) / (2 * size)
        zero = np.zeros(size)
        _, dx, _, d_low, d_high = direction(zero, zero)
        share = min(longest(dx, d_low, d_high))
        after = (self.at_low + share * d_low) @ (to_low + share * dx)
        after += (self.at_high + share * d_high) @ (to_high - share * dx)
        centre = (after / (2 * size) / mu) ** 3 * mu
        bend = share**2
        dw, dx, db, d_low, d_high = direction(centre - bend * d_low * dx, centre + bend * d_high * dx)
        if min(longest(dx, d_low, d_high)) < 0.3:  # a plain step towards the middle instead
            dw, dx, db, d_low, d_high = direction(zero + 0.3 * mu, zero + 0.3 * mu)
        share = min(1.0, 0.995 * min(longest(dx, d_low, d_high)))
        self.w, self.x, self.b = self.w + share * dw, self.x + share * dx, self.b + share * db
        self.at_low, self.at_high = self.at_low + share * d_low, self.at_high + share * d_high

    def guess(self, w, b, theta):
        """Up to four times: which rows and columns are inside their boxes, and the linear equations that are left."""
        for _ in range(4):
            slack, v = 1.0 - self.y * (self.X @ w + b), self.A.T @ theta
            mixed = theta + (slack - self.gamma * theta)  # past 0 or past 1 where theta belongs there
            rows, ones = (mixed > 0.0) & (mixed < 1.0), mixed >= 1.0
            pull = v + np.where(np.abs(v) > self.beta, 0.0, self.alpha * w)
            used = np.abs(pull) > self.beta
            signs, before = np.sign(pull[used]), self.best[3]
            w, b, theta = self._solved(rows, ones, used, signs)
            self.look(w, b)
            self.look(w, b, theta)
            if not self.best[3] < before:
                return

    def _solved(self, rows, ones, used, signs):
        """alpha w = A'theta - beta signs on ``used`` and gamma theta = 1 - y (X w + b) on ``rows``."""
        B, costs = self.X[np.ix_(rows, used)] * self.y[rows, None], self.cost[rows]
        scale = 1.0 / np.sqrt(costs @ B**2 + self.alpha)
        B = B * scale
        fixed = scale * (self.A[np.ix_(ones, used)].sum(axis=0) - self.beta * signs)
        q, m = used.sum() + self.shift, rows.sum()
        K, right = np.zeros((q + m, q + m)), np.zeros(q + m)
        k = used.sum()
        C = np.sqrt(costs)
        K[:k, :k] = self.alpha * np.diag(scale**2)
        K[:k, q:], K[q:, :k] = -(B * C[:, None]).T, B * C[:, None]
        right[:k], right[q:] = fixed, C
        if self.shift:
            K[k, q:], K[q:, k] = -C * self.y[rows], C * self.y[rows]
            right[k] = self.signed[ones].sum()
        K[q:, q:] = self.gamma * np.eye(m)
        found = np.linalg.solve(K, right)
        for _ in range(2):
            found = found + np.linalg.solve(K, right - K @ found)
        w, theta = np.zeros(used.size), ones.astype(np.float64)
        w[used], theta[rows] = scale * found[:k], found[q:] / C
        return w, (float(found[k]) if self.shift else 0.0), theta


def _room(room, move):
    """The longest share of a move that leaves something of the room, at most 1 / 0.995."""
    falling = move < 0.0
    return min(1.0 / 0.995, float((room[falling] / -move[falling]).min(initial=np.inf)))


def best_shift(y, scores, cost, gamma, near):
    """The b nearest to ``near`` that minimises sum c_i l(1 - y_i (scores_i + b)): its slope is piecewise linear."""
    kinks = np.unique(np.concatenate([y - scores, y * (1.0 - gamma) - scores]))

    def slope(b):
        b = np.atleast_1d(b)
        return -(cost * y) @ np.clip((1.0 - y[:, None] * (scores[:, None] + b)) / gamma, 0.0, 1.0)

    flat = 1e-15 * cost.sum()
    slopes = slope(kinks)
    below, above = np.flatnonzero(slopes < -flat), np.flatnonzero(slopes > flat)
    left = -np.inf if below.size == 0 else _root(kinks, slopes, below[-1])
    right = np.inf if above.size == 0 else _root(kinks, slopes, above[0] - 1)
    return float(np.clip(near, min(left, right), max(left, right)))


def _root(kinks, slopes, i):
    """Where the line between kinks i and i + 1 is zero."""
    if i < 0 or i + 1 >= kinks.size:
        return kinks[np.clip(i, 0, kinks.size - 1)]
    rise = slopes[i + 1] - slopes[i]
    return kinks[i] - slopes[i] * (kinks[i + 1] - kinks[i]) / rise if rise > 0.0 else kinks[i]


def feasible(theta, signed):
    """Theta with sum c_i y_i theta_i = 0: the heavier class is made smaller; rounding goes to samples inside (0, 1)."""
    inside = (theta > 1e-6) & (theta < 1.0 - 1e-6)
    rest, size = float(signed @ theta), float(np.abs(signed) @ theta)
    if abs(rest) <= 1e-13 * size and inside.any():
        return theta - np.where(inside, rest / (signed[inside] @ signed[inside]) * signed, 0.0)
    up, down = float(theta @ np.maximum(signed, 0.0)), float(theta @ np.maximum(-signed, 0.0))
    if min(up, down) <= 0.0:
        return np.zeros_like(theta)
    return np.where(signed > 0, theta * min(1.0, down / up), theta * min(1.0, up / down))


KINDS = (
    "tall", "wide", "square", "ill-scaled columns", "ill-scaled rows", "ties", "binary", "twin rows", "twin columns",
    "flipped columns", "flipped rows", "sparse", "tiny", "huge", "weighted", "few samples",
)  # fmt: skip


class Drawn(NamedTuple):
    """A small problem: X, labels of +-1, costs with sum 1, gamma, beta, and the alpha from which theta is 1."""

    X: np.ndarray
    y: np.ndarray
    cost: np.ndarray
    gamma: float
    beta: float
    top: float


def drawn(kind, seed):
    """A problem of one of the KINDS that are hard on rules: beta and gamma are drawn too; w is not zero at its top."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    n, p = {"tall": (40, 8), "wide": (10, 50), "few samples": (4, 12)}.get(kind, (24, 20))
    n, p = n + int(rng.integers(0, 9)), p + int(rng.integers(0, 9))
    X, noise = rng.standard_normal((n, p)), rng.standard_normal(n)
    if kind in ("sparse", "weighted"):
        X[rng.random((n, p)) < 0.75] = 0.0
        X[:, 0] = 0.0
    if kind == "ties":
        X = rng.integers(-2, 3, (n, p)).astype(np.float64)
    if kind == "binary":
        X = (rng.random((n, p)) < 0.3).astype(np.float64)
    y = np.where(X[:, 1:4].sum(axis=1) - np.median(X[:, 1:4].sum(axis=1)) + 0.5 * noise > 0.0, 1.0, -1.0)
    y[:2] = [1.0, -1.0]
    if kind in ("twin rows", "flipped rows"):
        half = n // 2
        signs = 1.0 if kind == "twin rows" else rng.choice([1.0, -1.0], half)
        X[half : 2 * half], y[half : 2 * half] = np.multiply(signs, X[:half].T).T, y[:half] * signs
    if kind in ("twin columns", "flipped columns"):
        half = p // 2
        X[:, half : 2 * half] = X[:, :half] * (1.0 if kind == "twin columns" else rng.choice([1.0, -1.0], half))
    if kind == "ill-scaled columns":
        X *= 10.0 ** rng.uniform(-3.0, 3.0, p)
    if kind == "ill-scaled rows":
        X *= 10.0 ** rng.uniform(-3.0, 3.0, n)[:, None]
    X *= {"tiny": 1e-6, "huge": 1e6}.get(kind, 1.0)
    cost = rng.integers(0, 4, n) * rng.random(n) if kind == "weighted" else np.ones(n)
    cost[:2] = 1.0
    cost /= cost.sum()
    gamma = float(rng.choice([0.05, 0.2, 0.5, 0.9]))
    pull = X.T @ (cost * y)
    beta = float(np.abs(pull).max() * rng.choice([0.02, 0.1, 0.3, 0.6, 0.9]))
    w = np.sign(pull) * np.maximum(np.abs(pull) - beta, 0.0)
    return Drawn(X, y, cost, gamma, beta, float((y * (X @ w)).max()) / (1.0 - gamma))
