"""Newton's method on the smooth pieces of the squared k-support norm.

Around almost every point the penalty is a quadratic: some coordinates are charged 1/2 w_j^2, others share
(sum |w_j|)^2, the rest are zero. A proximal gradient step finds the piece, conjugate gradients minimise the penalty
plus a damped second-order model of the loss on it, and a line search ensures that the objective decreases. Scores are
linear along the step, so the line search needs no product with the block.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lstsq

from thresher.data.blocks.base import Block
from thresher.optim.penalties.norms import PenaltyPiece, Piecewise
from thresher.optim.problems.margins import Evaluation
from thresher.optim.solvers import interior
from thresher.optim.solvers.solution import Deadline, Solution, Start, evaluated, out_of_time

STEP_LENGTHS = (1.0, 0.5, 0.25, 0.1, 0.03, 0.01)
DIRECT_WORK = 2e7  # multiplications up to which a Newton step always uses a factorisation, not conjugate gradients
DENSE_ENTRIES = 1 << 22  # entries up to which the block may be copied into a plain array for that
# ... of groups, whose columns are often nearly dependent: conjugate gradients are slow there
DENSE_GROUP_ENTRIES = 1 << 24
WIDE_ROWS = 3.0  # rows per column up to which ``interior`` begins, if it suits
STEPS_BEFORE_INTERIOR = 60  # steps after which it takes over
INTERIOR_TOL = 0.01  # it is asked for this share of the tolerance: two steps more, about what the last step here gives
NEWTON_ROUNDING = 1e-14  # relative differences of objectives below this are rounding errors
NEWTON_IDLE = 3  # steps without progress after which only rounding errors are left
LEAST_CURVATURE = np.finfo(float).tiny
MOST_STEPS = 200  # Newton steps
MAX_CG_STEPS = 250  # conjugate gradient steps for one Newton step


class NewtonMemory(NamedTuple):
    """What one solve passes to the next: curvature along proximal steps, damping of Newton steps, products per step."""

    steepness: float
    damping: float
    products: int = 0


class ProximalPoint(NamedTuple):
    """The point after a proximal step, the problem there, and the piece of the penalty on which it lies."""

    w: np.ndarray
    z: np.ndarray
    at: Evaluation
    piece: PenaltyPiece


def solve(
    block: Block,
    problem: Any,
    penalty: Piecewise,
    start: Start | None = None,
    *,
    tol: float,
    deadline: Deadline = None,
) -> Solution:
    """Minimise until objective - bound <= tol; the gap of the Solution is what was reached.

    At least one step is taken, however late it is, so that the first solve of a fit has a model.
    """
    start = start or Start.zero(block)
    point = evaluated(block, problem, penalty, start.w, start.z, start.b)
    learned = start.memory or first_guess(block, problem, point)
    best, bound, iteration, products, X, idle = point, point.bound, 0, 2, None, 0
    patience = 0 if block.shape[0] <= WIDE_ROWS * block.shape[1] else STEPS_BEFORE_INTERIOR
    while best.objective - bound > tol and iteration < MOST_STEPS and not (iteration and out_of_time(deadline)):
        if iteration == patience and interior.is_suitable(block, problem, penalty):
            enough = max(INTERIOR_TOL * tol, 1e-9 * best.objective)
            best = interior.solve(block, problem, penalty, best, tol=enough, deadline=deadline)
            bound, products = max(bound, best.bound), products + best.products
            if best.objective - bound <= tol:
                break
            best = point = evaluated(block, problem, penalty, best.w, best.z, best.b)
            learned = learned._replace(damping=1e-9 * learned.steepness)  # the piece is known: no damping needed
        iteration += 1
        near, steepness, cost = proximal_step(block, problem, penalty, point, learned.steepness)
        model = NewtonModel(block, problem, penalty.layout, near, learned.damping)
        if model.direct_is_cheaper(learned.products):
            X = block.of_a_class().toarray() if X is None else X
            step, Xstep, more = model.minimised_directly(X)
        else:
            step, Xstep, more = model.minimised_iteratively(deadline)
            learned = learned._replace(products=more)
        w, z, b, length, searched = line_search(block, problem, penalty, near, step, Xstep)
        damping = learned.damping * (0.25 if length == 1.0 else 4.0 if length < 0.2 else 1.0)
        learned = NewtonMemory(steepness, max(damping, 1e-10), learned.products)
        point = evaluated(block, problem, penalty, w, z, b)
        products += cost + more + searched + 1
        rounding = NEWTON_ROUNDING * abs(best.objective)
        idle = 0 if point.objective < best.objective - rounding or point.bound > bound + rounding else idle + 1
        bound = max(bound, point.bound)
        best = point if point.objective < best.objective + rounding else best
        if idle == NEWTON_IDLE:
            break
    return replace(best, bound=bound, iterations=iteration, products=products, memory=learned)


def first_guess(block, problem, point):
    """Curvature of the loss along the first step."""
    along = block.combine(point.scores)
    length = float(point.scores @ point.scores)
    steepness = float((problem.curvature_bound() * along) @ along) / length if length > 0 else 1.0
    return NewtonMemory(max(steepness, 1e-10), 1e-3 * max(steepness, 1e-10))


def proximal_step(block, problem, penalty, point, steepness):
    """One proximal gradient step with sufficient decrease: (ProximalPoint, steepness that passed, products)."""
    steepness = max(0.5 * steepness, 1e-10)
    for tries in range(1, 200):  # noqa: B007 (the number of products made)
        u = point.w + point.scores / steepness
        w = penalty.prox(u, 1.0 / steepness)
        move = w - point.w
        z = point.z + block.combine(move)
        evaluation = problem.at(z, point.b)
        allowed = point.loss - point.scores @ move + 0.5 * steepness * (move @ move)
        if evaluation.loss <= allowed + 1e-13 * abs(point.loss):
            break
        steepness *= 2.0
    return ProximalPoint(w, z, evaluation, penalty.piece(u, 1.0 / steepness)), steepness, tries


class NewtonModel:
    """The damped second-order model of the objective at ``near``, on the piece of the penalty where it lies.

    Its matrix is  X'D X - X'd d'X / sum d + [1 on full] + slope slope' / share + damping,  d the loss's curvature;
    the second term is what eliminating the best shift leaves.
    """

    def __init__(self, block, problem, layout, near, damping):
        self.block, self.problem, self.layout, self.damping, self.w = block, problem, layout, damping, near.w
        self.D = problem.curvature(near.z, near.at.shift)
        self.shifted = problem.fit_intercept and self.D.any()
        self.full, level, share = near.piece
        self.active, self.share = self.full | level, max(share, 1)
        self.slope, self.bend = self.on_the_level(level)
        pull = block.correlate(near.at.dual.vector)
        charge = np.where(self.full, near.w, 0.0) + self.slope * ((self.slope @ near.w) / self.share)
        self.residual = np.where(self.active, pull - charge, 0.0)

    def on_the_level(self, level):
        """(slope, bend): first and second derivatives of the lengths that share one square.

        The length of a single weight is straight, so ``bend`` is None where each coordinate is a unit; else it is, for
        each coordinate of unit g, the factor of  |v_g|^2 - (slope_g'v_g)^2.
        """
        if self.layout.is_plain:
            return np.where(level, np.sign(self.w), 0.0), None
        length = self.layout.lengths(self.w)
        level = self.layout.first(level) & (length > 0.0)
        inverse = np.divide(1.0, length, out=np.zeros_like(length), where=level)
        bend = inverse * (length[level].sum() / self.share)
        return self.w * self.layout.spread(inverse), self.layout.spread(bend)

    def bent_matrix(self, active):
        """The second derivative of the shared square on ``active`` coordinates, but for the part along ``slope``."""
        unit = self.layout.spread(np.arange(self.layout.count(self.w.size // self.layout.classes)))[active]
        slope = self.slope[active]
        inside = np.where(unit[:, None] == unit, np.multiply.outer(slope, slope), 0.0)
        return self.bend[active, None] * (np.eye(active.size) - inside)

    def direct_is_cheaper(self, products):
        """Whether forming the matrix costs less than as many products with the block as the last step took.

        A multiplication inside BLAS takes about half the time of one in a product that streams the block.
        """
        classes = self.problem.classes
        entries = self.block.shape[0] * self.block.shape[1] // classes**2
        rows, columns = (np.count_nonzero(part.reshape(classes, -1), axis=1) for part in (self.D, self.active))
        work, all_columns = int(rows @ columns**2), int(columns.sum())
        if classes > 1:  # one factorisation for all, besides the products of each
            work += all_columns**3 // 3
        most = DENSE_ENTRIES if self.layout.sizes is None else DENSE_GROUP_ENTRIES
        return entries <= most and work <= max(DIRECT_WORK, 2 * products * classes * entries)

    def weighed(self, v):
        """The second derivative of the loss in z, times v, with the best shift eliminated."""
        v = self.D * v
        if not self.shifted:
            return v
        v, D = self.problem.by_class(v), self.problem.by_class(self.D)
        return (v - D * (v.sum(axis=1) / np.maximum(D.sum(axis=1), LEAST_CURVATURE))[:, None]).ravel()

    def minimised_directly(self, X):
        """The minimiser by Cholesky factorisation; X has the columns of a class as an array. For small blocks."""
        active, classes = np.flatnonzero(self.active), self.problem.classes
        H, first = np.zeros((active.size, active.size)), 0
        for on, weight in zip(self.active.reshape(classes, -1), self.D.reshape(classes, -1), strict=True):
            rows, columns = np.flatnonzero(weight), np.flatnonzero(on)
            A, D, last = X[np.ix_(rows, columns)], weight[rows], first + columns.size
            H[first:last, first:last] = (A * D[:, None]).T @ A
            if self.shifted and rows.size:
                mean = D @ A
                H[first:last, first:last] -= np.multiply.outer(mean, mean / D.sum())
            first = last
        slope = self.slope[active]
        H += np.multiply.outer(slope, slope / self.share)
        if self.bend is not None:
            H += self.bent_matrix(active)
        H[np.diag_indices_from(H)] += self.full[active] + self.damping
        step = np.zeros_like(self.w)
        try:
            step[active] = cho_solve(cho_factor(H, check_finite=False), self.residual[active], check_finite=False)
        except LinAlgError:  # singular up to rounding, which the damping should prevent
            step[active] = lstsq(H, self.residual[active], check_finite=False)[0]
        return step, (X @ step.reshape(classes, -1).T).T.ravel(), 1

    def minimised_iteratively(self, deadline):
        """The approximate minimiser by conjugate gradients: two products with the block per step.

        It is a direction of descent after any number of steps: at the deadline it is used as it is.
        """
        residual = self.residual.copy()
        step, Xstep = np.zeros_like(self.w), np.zeros_like(self.D)
        direction, products = residual.copy(), 1
        norm = first = residual @ residual
        for _ in range(min(MAX_CG_STEPS, int(self.active.sum()) + 5)):
            if norm <= 1e-4 * first or (products > 1 and out_of_time(deadline)):
                break
            Xd = self.block.combine(direction)
            Hd = np.where(self.active, self.block.correlate(self.weighed(Xd)), 0.0) + np.where(
                self.full, direction, 0.0
            )
            Hd += self.slope * ((self.slope @ direction) / self.share) + self.damping * direction
            if self.bend is not None:
                Hd += self.bend * (direction - self.slope * self.layout.spread(self.layout.dots(self.slope, direction)))
            products += 2
            pace = norm / (direction @ Hd)
            step += pace * direction
            Xstep += pace * Xd
            residual -= pace * Hd
            norm, last = residual @ residual, norm
            direction = residual + (norm / last) * direction
        return step, Xstep, products


def line_search(block, problem, penalty, near, step, Xstep):
    """Line search from ``near`` along ``step``: (w, z, b, step length, products).

    Units on the shared level of the penalty whose weights would change sign stop at zero, where its kink is.
    """
    layout = penalty.layout
    value, products = penalty.value(near.w) + near.at.loss, 0
    best = near.w, near.z, near.at.shift, 0.0
    for t in STEP_LENGTHS:
        w, z = near.w + t * step, near.z + t * Xstep
        flipped = near.piece.level & layout.spread(layout.dots(w, near.w) < 0.0)
        if flipped.any():
            z = z - block.combine(np.where(flipped, w, 0.0))
            w[flipped] = 0.0
            products += 1
        b, loss, _ = problem.at(z, near.at.shift)
        new = penalty.value(w) + loss
        if new < value or (t == 1.0 and new < value + NEWTON_ROUNDING * abs(value)):
            value, best = new, (w, z, b, t)
        elif best[3] > 0.0:
            break
    return *best, products
