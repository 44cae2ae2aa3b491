"""The elastic-net SVM on some rows and columns: Newton steps that keep signs, with the duality gap after each step.

See ``objective`` for the problem. From w follow theta_i = l'(1 - z_i), which is feasible in the dual problem, and v.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thresher.data.blocks.sides import Sides
from thresher.optim.elastic.directions import NewtonSystem, minimiser_by_active_set, minimiser_by_holding
from thresher.optim.elastic.objective import ElasticObjective, active_columns
from thresher.optim.penalties.prox import soft_threshold

CG_ACCURACY = (1e-6, 0.1)  # range of the relative residuals at which conjugate gradients stop
STALLED_STEPS = 10  # steps without a smaller gap after which only rounding errors may be left:
SLOPE_ROUNDING = 1e-14  # a slope of the objective that is rounding
SHORT_STEP = 0.5  # share of a move below which the model was too simple
KINK_RANGE = 4.0  # after a short step, samples up to this multiple of it are searched for kinks
SEARCH_STEPS = 60
SEARCH_ACCURACY = 1e-6  # relative, of the length of a step


@dataclass(frozen=True)
class Iterate:
    """w and b, and what follows from them.

    Parameters
    ----------
    w : ndarray of shape (n_columns,)
        Weights.
    b : float
        Intercept.
    scores, z : ndarray of shape (n_rows,)
        X w, and the margins y (X w + b).
    theta : ndarray of shape (n_rows,)
        A feasible point of the dual problem.
    v : ndarray of shape (n_columns,)
        known + X'(c y theta).
    gap : float
        The duality gap of w, b and theta.
    active : ndarray of int
        Columns with a weight or with |v| > beta, sorted.
    """

    w: np.ndarray
    b: float
    scores: np.ndarray
    z: np.ndarray
    theta: np.ndarray
    v: np.ndarray
    gap: float
    active: np.ndarray


class ElasticMove(NamedTuple):
    """A change of w on ``columns``, of b, and of the margins."""

    columns: np.ndarray
    w: np.ndarray
    b: float
    scores: np.ndarray | None = None
    margins: np.ndarray | None = None


def iterate_at(sides: Sides, objective: ElasticObjective, w, scores, *, b, theta, v) -> Iterate:
    """The Iterate at w, whose scores X w are known: from any theta with its v, and a b, the quicker the nearer."""
    b = objective.best_shift(scores, b)
    z = objective.y * (scores + b)
    before, theta = theta, objective.dual_point(z)
    v = v + sides.correlate(objective.signed * (theta - before))
    active = active_columns(w, v, objective.beta)
    gap = objective.column_gap(w[active], v[active])
    if objective.shift:
        gap += objective.sample_gap(z, theta)
    return Iterate(w, b, scores, z, theta, v, gap, active)


class ElasticNewton:
    """A solve in progress.

    Parameters
    ----------
    sides : Sides
        X by rows and by columns.
    objective : ElasticObjective
        The problem on the rows of X.
    start : Iterate
        Where to begin.
    idle : ndarray of bool of shape (n_columns,), default=None
        Columns that are known to have weight zero.
    tol : float, default=0.0
        Gap that is wanted: what directions are accurate enough for.

    Attributes
    ----------
    now : Iterate
        The current iterate.
    steps : int
        Steps taken.
    stuck : bool
        Whether further steps would not help.
    """

    def __init__(
        self, sides: Sides, objective: ElasticObjective, start: Iterate, *, idle: np.ndarray | None = None,
        tol: float = 0.0,
    ):  # fmt: skip
        self.sides, self.objective = sides, objective
        self.idle, self.tol = idle, tol
        self.now = start
        self.steps, self.stuck = 0, False
        self._crossing: np.ndarray | None = None  # samples beyond a kink of the loss that join the next model
        self._careful = False  # whether the model is minimised by the active-set method
        self._smallest_gap, self._stalled = np.inf, 0  # and steps since it was reached

    def step(self) -> None:
        """One Newton step; sets ``stuck`` if there is no descent direction, or only rounding errors are left."""
        self.steps += 1
        move = self._descent()
        if move is None:
            self.stuck = True
            return
        self._note_progress(move)
        share = self._best_share(move)
        self._note_crossing(share, move)
        self._go(share, move)

    def _descent(self) -> ElasticMove | None:
        """The first move, of the bold, the careful and the safe one, along which the objective decreases."""
        columns = self.now.active
        if self.idle is not None:
            columns = columns[~self.idle[columns] | (self.now.w[columns] != 0.0)]
        if columns.size == 0:  # b alone is the best already
            return None
        for move in self._moves(columns):
            if self._slope(move) < 0.0:
                scores = self.sides.combine(columns, move.w)
                return move._replace(scores=scores, margins=self.objective.y * (scores + move.b))
        return None

    def _moves(self, columns):
        """Moves on these columns, each computed when the one before was refused."""
        if not self._careful:
            yield self._newton_move(columns)
            self._careful = True
        yield self._newton_move(columns)
        yield self._gradient_move(columns)

    def _newton_move(self, columns):
        """To the approximate minimiser of the second-order model of the loss, with ||w||_1 kept exact."""
        objective, now = self.objective, self.now
        inside = (now.z < 1.0) & (now.z > 1.0 - objective.gamma)
        if self._crossing is not None:
            inside |= self._crossing
        rows = np.flatnonzero(inside & (objective.cost > 0.0))
        w, v = now.w[columns], now.v[columns]
        signs = np.where(w != 0.0, np.sign(w), np.sign(v))
        part = self.sides.part(rows, columns)
        system = NewtonSystem(part, objective.cost[rows] / objective.gamma, objective.alpha, objective.shift)
        if self._careful and system.can_be_listed:
            x = minimiser_by_active_set(system, w, v, signs, objective.beta)
        else:
            accuracy = 0.3 * np.sqrt(self.tol / now.gap) if now.gap > 0.0 else 1.0
            x = minimiser_by_holding(system, w, v, signs, objective.beta, float(np.clip(accuracy, *CG_ACCURACY)))
        return ElasticMove(columns, x[: columns.size], float(x[-1]) if objective.shift else 0.0)

    def _gradient_move(self, columns):
        """A proximal gradient step: short, but always a descent direction."""
        objective = self.objective
        steep = objective.alpha + float(self.sides.column_squares(objective.cost).sum()) / objective.gamma
        w = self.now.w[columns]
        ahead = w + (self.now.v[columns] - objective.alpha * w) / steep
        return ElasticMove(columns, soft_threshold(ahead, objective.beta / steep) - w, 0.0)

    def _slope(self, move):
        """Derivative of the objective along a move; that in b is zero, since b is optimal."""
        w = self.now.w[move.columns]
        rise = np.where(w != 0.0, np.sign(w) * move.w, np.abs(move.w)).sum()
        smooth = (self.objective.alpha * w - self.now.v[move.columns]) @ move.w
        return float(smooth + self.objective.beta * rise)

    def _note_progress(self, move):
        """Stop if the gap has not decreased for STALLED_STEPS steps and the objective changes only by rounding."""
        self._stalled += 1
        if self.now.gap < self._smallest_gap:
            self._smallest_gap, self._stalled = self.now.gap, 0
        if self._stalled >= STALLED_STEPS and self._slope(move) > -SLOPE_ROUNDING:
            self.stuck = True

    def _best_share(self, move):
        """Exact line search: the s in [0, 1] that minimises the objective, a root of its increasing derivative."""
        objective = self.objective
        w, step = self.now.w[move.columns], move.w
        square = objective.alpha * float(step @ step)
        known = 0.0 if objective.known is None else objective.known[move.columns] @ step
        linear = float(objective.alpha * (w @ step) - known)
        moving = np.flatnonzero((move.margins != 0.0) & (objective.cost > 0.0))
        slack, cost = 1.0 - self.now.z[moving], objective.cost[moving]
        margins = move.margins[moving]
        low, high = 0.0, 1.0
        share = 1.0
        for _ in range(SEARCH_STEPS):
            theta = np.clip((slack - share * margins) / objective.gamma, 0.0, 1.0)
            inside = (theta > 0.0) & (theta < 1.0)
            weights = w + share * step
            # a weight that ends at zero has the sign that it came from
            signs = np.where(weights == 0.0, -np.sign(step), np.sign(weights))
            slope = linear + share * square + objective.beta * float(signs @ step) - float((cost * theta) @ margins)
            bend = square + float(cost[inside] @ margins[inside] ** 2) / objective.gamma
            if share == 1.0 and slope <= 0.0:
                return 1.0
            low, high = (share, high) if slope < 0.0 else (low, share)
            guess = share - slope / bend if bend > 0.0 else 0.5 * (low + high)
            if not low < guess < high:
                guess = 0.5 * (low + high)
            if abs(guess - share) <= SEARCH_ACCURACY * share:
                return guess
            share = guess
        return share

    def _note_crossing(self, share, move):
        """Add samples that cross a kink of the loss on a short step to the next model."""
        if share >= SHORT_STEP:
            self._crossing = None
            return
        self._careful = self._crossing is not None  # the second time in a row
        after = self.now.z + min(1.0, KINK_RANGE * share) * move.margins
        crossing = (np.maximum(self.now.z, after) > 1.0 - self.objective.gamma) & (np.minimum(self.now.z, after) < 1.0)
        self._crossing = crossing if self._crossing is None else self._crossing | crossing

    def _go(self, share, move):
        """Take that share of a move; weights that end at zero, up to rounding, are zero."""
        columns = move.columns
        w = self.now.w.copy()
        w[columns] += share * move.w
        w[columns[np.abs(w[columns]) <= 1e-15 * np.abs(move.w)]] = 0.0
        scores, b = self.now.scores + share * move.scores, self.now.b + share * move.b
        self.now = iterate_at(self.sides, self.objective, w, scores, b=b, theta=self.now.theta, v=self.now.v)
