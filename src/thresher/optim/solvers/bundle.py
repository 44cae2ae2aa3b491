"""A bundle method for losses that are a maximum over planes: labellings and rankings of the samples.

Each iteration gives weights to the planes found so far (``plane_program``), looks for the planes that are most violated
at the model that follows, and again between that model and the best one so far: a step that is too long is common, and
planes found there are needed. It costs one product with the columns each way, and some sorts. A plane is a labelling,
not a gradient: it holds on any columns, so the planes of one solve are those that the next one begins with.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from thresher.data.blocks.base import Block
from thresher.optim.penalties.layout import Layout
from thresher.optim.penalties.norms import Budgeted
from thresher.optim.problems.cuts import Found, Mixture, PlaneProblem
from thresher.optim.solvers.cut_memory import TINY, Bundle, Columns, Memory
from thresher.optim.solvers.cut_program import Planes, Weighted, scaled_weights
from thresher.optim.solvers.solution import Solution, Start, out_of_time

FINEST = 1e-5  # of the objective: smaller gaps would take planes without end
ROUGHEST = 0.1  # of the objective: larger gaps say nothing of the weights, where the risk is small
CENTRED = 0.5  # of the gap: accuracy of the small program
SHIFT = 0.05  # of the gap: accuracy of the best shift
BETWEEN = 0.2, 0.04  # where a step that does not decrease the objective is looked at
PROGRESS = 0.01  # of the gap: what the bound must rise by in an iteration with progress
BARREN = 10  # iterations in a row without a plane that was not seen before: only rounding errors are left
IDLE, LITTLE = 30, 0.1  # iterations, and five for each column, in which the gap falls by less than a tenth
ROUNDING = 16.0 * np.finfo(float).eps  # of C n: gaps that are not told from rounding errors
LARGEST = 1e12  # of C n x^2, where x is the product of a plane with a column: see ``Search.factors``


@dataclass(frozen=True)
class Point:
    """A model and what its evaluation found: shifts and planes of each class."""

    w: np.ndarray
    z: np.ndarray
    objective: float
    loss: float
    found: list[Found]

    @property
    def shifts(self) -> np.ndarray:
        """The best shift of each class."""
        return np.array([each.shift for each in self.found])


def solve(
    block: Block,
    problem: PlaneProblem,
    penalty: Budgeted,
    start: Start | None = None,
    *,
    tol: float,
    deadline: float | None = None,
) -> Solution:
    """Minimise until objective - bound is at most tol, within FINEST and ROUGHEST of the objective: see ``Search.aim``.

    At least one iteration is made, however late it is, so that the first solve of a fit has a model.
    """
    return search(block, problem, penalty, start, tol=tol, deadline=deadline).solution()


def search(
    block: Columns,
    problem: PlaneProblem,
    penalty: Budgeted,
    start: Start | None = None,
    *,
    tol: float,
    deadline: float | None = None,
) -> "Search":
    """As ``solve``: the search when it has ended."""
    if start is None:
        start = Start(np.zeros(block.shape[1]), np.zeros(block.shape[0]))
    state = Search(block, problem, penalty, start)
    while not state.is_settled(tol):
        if state.iterations and out_of_time(deadline):
            state.cut_short = True
            break
        state.iterate(tol)
    return state


class Search:
    """The best point so far, the best bound with the weights of planes that give it, and the planes."""

    def __init__(self, block, problem, penalty, start):
        self.block, self.problem, self.penalty = block, problem, penalty
        self.columns, self.classes = block.of_a_class(), range(problem.classes)
        self.always = 2 if problem.shifted else 0
        memory = start.memory
        self.bundles = [
            Bundle.empty(problem, c, self.columns) if memory is None else memory[c].on(self.columns)
            for c in self.classes
        ]
        self.bound, self.mixed, self.iterations, self.warm = 0.0, None, 0, memory is not None
        self.leading: Point | None = None  # the model of the weights that give the best bound
        points = [self.at(start.w, start.z, np.broadcast_to(start.b, problem.classes), 0.0)]
        most = problem.totals.sum()  # no measure is below 0: no model at all has no larger objective
        if points[0].objective > most:  # then a small share of the start is better than the start, and has its signs
            share = FINEST * most / points[0].objective
            points.append(self.at(share * start.w, share * start.z, points[0].shifts, 0.0))
        self.best = min(points, key=lambda point: point.objective)
        self.begun, self.cut_short = self.best, False
        self.smaller = 0, self.gap  # the iteration when the gap last was smaller by more than a LITTLE, and that gap
        self.seen = {(c, hash(plane)) for c in self.classes for plane in self.bundles[c].planes}
        self.barren = 0  # iterations without a plane that was not seen before
        self.add(points)

    @property
    def gap(self):
        """Objective of the best point less the bound."""
        return self.best.objective - self.bound

    @property
    def n_planes(self):
        """Number of planes of all classes."""
        return Memory(self.bundles).n_planes

    def aim(self, tol):
        """The gap to be reached: ``tol``, but not below FINEST nor above ROUGHEST of the objective."""
        return max(min(tol, ROUGHEST * self.best.objective), FINEST * self.best.objective)

    @property
    def rounding(self):
        """Differences of objectives that are not told from rounding errors."""
        return ROUNDING * float(self.problem.totals.sum())

    def has_converged(self, tol):
        """Whether the gap is as small as it is to be."""
        return self.gap <= self.aim(tol) or (self.iterations > 0 and self.gap <= self.rounding)

    def is_settled(self, tol):
        """Whether the gap is as small as it is to be, or cannot be made smaller."""
        most = IDLE + 5 * min(self.columns.shape)
        return self.has_converged(tol) or self.barren >= BARREN or self.iterations - self.smaller[0] >= most

    def at(self, w, z, shifts, gap):
        """The Point at w; its shifts are as accurate as the ``gap`` deserves."""
        slack = SHIFT * gap / self.problem.totals.sum()
        parts = zip(self.classes, self.problem.by_class(z), shifts, strict=True)
        found = [self.problem.found(c, scores, float(b), slack) for c, scores, b in parts]
        loss = float(sum(total * each.risk for total, each in zip(self.problem.totals, found, strict=True)))
        return Point(w, z, self.penalty.value(w) + loss, loss, found)

    def add(self, points):
        """The planes that were found at ``points``."""
        found = set()
        for c in self.classes:
            planes = [plane for point in points for plane in point.found[c].planes]
            self.bundles[c] = self.bundles[c].joined(planes, self.columns)
            found |= {(c, hash(plane)) for plane in planes}
        self.barren = 0 if found - self.seen else self.barren + 1
        self.seen |= found

    def iterate(self, tol):
        """Weights of the planes, the model that follows, its planes, and those between it and the best one.

        Planes of an earlier solve may be all that is needed for a gap of ``tol``: the first iteration finds out.
        """
        bound, self.iterations = self.bound, self.iterations + 1
        weighted = self.weigh(self.aim(tol) if self.warm and self.iterations == 1 else self.gap)
        z = self.block.combine(weighted.w)
        trial = self.at(weighted.w, z, weighted.shifts, self.gap)
        if self.leading is None or self.bound > bound:
            self.leading = trial
        points = [trial, *self.between(self.best, trial)]
        self.best = min((self.best, *points), key=lambda point: point.objective)
        self.add(points)
        if self.gap < (1.0 - LITTLE) * self.smaller[1]:
            self.smaller = self.iterations, self.gap

    def weigh(self, gap: float) -> Weighted:
        """The solution of the small program; the bound that it gives, and planes that are not in use left out.

        ``gap`` is what the accuracy is a share of.
        """
        problem, penalty = self.problem, self.penalty
        factors = self.factors()
        if factors is None and penalty.layout.count(self.columns.shape[1]) - penalty.forced <= penalty.k:  # plain
            self.bundles = [bundle.gram() for bundle in self.bundles]
        parts = [
            Planes(bundle.G, bundle.losses, bundle.sums, total, bundle.Q)
            for bundle, total in zip(self.bundles, problem.totals, strict=True)
        ]
        layout = Layout(penalty.layout.sizes)
        options = {"shifted": problem.shifted, "tol": CENTRED * gap}
        if factors is None:
            weighted = scaled_weights(parts, layout, penalty.forced, penalty.k, **options)
        else:
            smaller = [part._replace(G=part.G * factors, Q=None) for part in parts]
            weighted = scaled_weights(smaller, layout, penalty.forced, penalty.k, **options)
            weighted = weighted._replace(w=weighted.w * np.tile(factors, len(parts)))
        a = [feasible(weights, part, problem.shifted) for weights, part in zip(weighted.a, parts, strict=True)]
        gain = float(sum(part.losses @ weights for part, weights in zip(parts, a, strict=True)))
        scores = np.concatenate([part.G.T @ weights for part, weights in zip(parts, a, strict=True)])
        shares = [weights.sum() / part.total for part, weights in zip(parts, a, strict=True)]
        room = 1.0 / max(*shares, TINY)
        bound = Mixture(scores, gain, room).bound(2.0 * penalty.conjugate(scores))
        progress = bound > self.bound + PROGRESS * self.gap
        if bound > self.bound or self.mixed is None:
            self.bound = max(bound, self.bound)
            self.mixed = [(bundle.planes, weights) for bundle, weights in zip(self.bundles, a, strict=True)], scores
        self.bundles = [bundle.used(w, self.always, progress) for bundle, w in zip(self.bundles, a, strict=True)]
        return weighted

    def factors(self) -> np.ndarray | None:
        """What the products of each column are multiplied by in the small program; None if all are left as they are.

        Where C n x^2 is beyond LARGEST, a weight comes out of terms that cancel to their last digits, and its share in
        the penalty is far too small to matter: it may as well be a larger one.
        """
        pairs = zip(self.bundles, self.problem.totals, strict=True)
        squares = np.max([total * bundle.largest**2 for bundle, total in pairs], axis=0)
        return np.sqrt(LARGEST / np.maximum(squares, LARGEST)) if (squares > LARGEST).any() else None

    def between(self, best: Point, trial: Point) -> Iterator[Point]:
        """Points on the way from the best one to a trial that is no better, until one is better."""
        if trial.objective < best.objective:
            return
        for share in BETWEEN:
            w, z = best.w + share * (trial.w - best.w), best.z + share * (trial.z - best.z)
            point = self.at(w, z, best.shifts + share * (trial.shifts - best.shifts), self.gap)
            yield point
            if point.objective < best.objective:
                return

    def useful(self) -> Point:
        """The best point, or the one that the bound leads to where rounding errors do not tell their objectives apart.

        Where no model is better than none, a small share of that one: its objective is that of no model up to FINEST,
        and it orders samples and features, which zero weights do not. The bounds of the first iterations lead nowhere:
        when time is over, it is a share of the model of the start.
        """
        best, trial, nothing = self.best, self.leading, self.problem.without_features
        if trial is None or not trial.w.any():
            return best
        if trial.objective - best.objective <= self.rounding:
            return trial
        if best.objective < (1.0 - FINEST) * nothing:
            return best
        if self.cut_short and self.begun.w.any():
            trial = self.begun
        allowed, excess = FINEST * nothing, trial.objective - nothing
        share = 1.0 if excess <= allowed else allowed / excess
        return self.at(share * trial.w, share * trial.z, best.shifts + share * (trial.shifts - best.shifts), 0.0)

    def solution(self) -> Solution:
        """The best point, with the dual point that gives the best bound."""
        problem, best = self.problem, self.useful()
        if self.mixed is None:
            shares = [total * np.array(f.shares) for total, f in zip(problem.totals, best.found, strict=True)]
            duals = [problem.mixture(c, best.found[c].planes, shares[c]) for c in self.classes]
            dual = duals[0].joined(duals[1:]) if len(duals) > 1 else duals[0]
            scores = self.block.correlate(dual.vector)
            self.bound = max(self.bound, dual.bound(2.0 * self.penalty.conjugate(scores)))
        else:
            mixed, scores = self.mixed
            duals = [problem.mixture(c, *mixed[c]) for c in self.classes]
            dual = duals[0].joined(duals[1:]) if len(duals) > 1 else duals[0]
        parts = zip(self.classes, problem.by_class(best.z), best.shifts, strict=True)
        shifts = np.array([problem.threshold(c, z, float(b)) for c, z, b in parts])
        b = shifts if problem.classes > 1 else float(shifts[0])
        return Solution(
            best.w, best.z, b, dual, scores, best.loss, best.objective, self.bound,
            self.iterations, 2 * self.iterations, Memory(self.bundles),
        )  # fmt: skip


def feasible(a: np.ndarray, planes: Planes, shifted: bool) -> np.ndarray:
    """Weights that obey the constraints: what is left of sums'a = 0 goes to the first two planes, all of one label."""
    a = np.maximum(a, 0.0)
    if shifted:
        rest = float(planes.sums @ a)
        a[0 if rest > 0.0 else 1] += abs(rest / planes.sums[0 if rest > 0.0 else 1])
    total = a.sum()
    return a * min(1.0, planes.total / total) if total > 0.0 else a
