"""A bundle method for losses that are a maximum over cuts: labellings and rankings of the samples.

Each iteration gives weights to the cuts found so far (``cut_program``), looks for the cuts that are most violated
at the model that follows, and again between that model and the best one so far: a step that is too long is common, and
cuts found there are needed. It costs one product with the columns each way, and some sorts. A cut is a labelling,
not a gradient: it holds on any columns, so the cuts of one solve are those that the next one begins with.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from thresher.data.blocks.base import Block
from thresher.optim.penalties.layout import Layout
from thresher.optim.penalties.norms import Budgeted
from thresher.optim.problems.cuts import BestShift, CutProblem, Mixture
from thresher.optim.solvers.cut_memory import Bundle, ColumnProducts, CutMemory
from thresher.optim.solvers.cut_program import CutTable, CutWeights, scaled_weights
from thresher.optim.solvers.solution import Solution, Start, out_of_time

FINEST_GAP = 1e-5  # of the objective: smaller gaps would take cuts without end
COARSEST_GAP = 0.1  # of the objective: larger gaps do not bound the weights, where the risk is small
PROGRAM_GAP = 0.5  # of the gap: accuracy of the small program
SHIFT_GAP = 0.05  # of the gap: accuracy of the best shift
TRIAL_SHARES = 0.2, 0.04  # where a step that does not decrease the objective is looked at
BOUND_PROGRESS = 0.01  # of the gap: what the bound must rise by in an iteration with progress
MOST_BARREN = 10  # iterations in a row without a cut that was not seen before: only rounding errors are left
MOST_IDLE, GAP_PROGRESS = 30, 0.1  # iterations, and five for each column, in which the gap falls by less than a tenth
OBJECTIVE_ROUNDING = 16.0 * np.finfo(float).eps  # of C n: smaller gaps may be rounding errors
LEAST_SHARE = np.finfo(float).tiny
LARGEST_SQUARE = 1e12  # of C n x^2, where x is the product of a cut with a column: see ``BundleSearch.factors``


@dataclass(frozen=True)
class BundlePoint:
    """A model and what its evaluation found: shifts and cuts of each class."""

    w: np.ndarray
    z: np.ndarray
    objective: float
    loss: float
    found: list[BestShift]

    @property
    def shifts(self) -> np.ndarray:
        """The best shift of each class."""
        return np.array([each.shift for each in self.found])


def solve(
    block: Block,
    problem: CutProblem,
    penalty: Budgeted,
    start: Start | None = None,
    *,
    tol: float,
    deadline: float | None = None,
) -> Solution:
    """Minimise until objective - bound is at most tol, within the limits of ``BundleSearch.aim``.

    At least one iteration is made, however late it is, so that the first solve of a fit has a model.
    """
    return searched(block, problem, penalty, start, tol=tol, deadline=deadline).solution()


def searched(
    block: ColumnProducts,
    problem: CutProblem,
    penalty: Budgeted,
    start: Start | None = None,
    *,
    tol: float,
    deadline: float | None = None,
) -> "BundleSearch":
    """As ``solve``: the search when it has ended."""
    state = BundleSearch(block, problem, penalty, start or Start.zero(block))
    while not state.is_settled(tol):
        if state.iterations and out_of_time(deadline):
            state.cut_short = True
            break
        state.iterate(tol)
    return state


class BundleSearch:
    """The best point so far, the best bound with the weights of cuts that give it, and the cuts."""

    def __init__(self, block, problem, penalty, start):
        self.block, self.problem, self.penalty = block, problem, penalty
        self.columns, self.classes = block.of_a_class(), range(problem.classes)
        if start.memory is None:
            self.bundles = [Bundle.empty(problem, c, self.columns) for c in self.classes]
        else:
            self.bundles = list(start.memory.on(self.columns))
        self.bound, self.mixed, self.iterations, self.warm = 0.0, None, 0, start.memory is not None
        self.leading: BundlePoint | None = None  # the model of the weights that give the best bound
        points = [self.at(start.w, start.z, np.broadcast_to(start.b, problem.classes), 0.0)]
        most = problem.totals.sum()  # no measure is below 0: no model at all has no larger objective
        if points[0].objective > most:  # then a small share of the start is better than the start, and has its signs
            share = FINEST_GAP * most / points[0].objective
            points.append(self.at(share * start.w, share * start.z, points[0].shifts, 0.0))
        self.best = min(points, key=lambda point: point.objective)
        self.begun, self.cut_short = self.best, False
        self.smaller = 0, self.gap  # the iteration when the gap last fell by GAP_PROGRESS, and that gap
        self.seen = {(c, hash(cut)) for c in self.classes for cut in self.bundles[c].cuts}
        self.barren = 0  # iterations without a cut that was not seen before
        self.add(points)

    @property
    def gap(self):
        """Objective of the best point less the bound."""
        return self.best.objective - self.bound

    @property
    def n_cuts(self):
        """Number of cuts of all classes."""
        return CutMemory(self.bundles).n_cuts

    def aim(self, tol):
        """The gap to be reached: ``tol``, but not below FINEST_GAP nor above COARSEST_GAP of the objective."""
        return max(min(tol, COARSEST_GAP * self.best.objective), FINEST_GAP * self.best.objective)

    @property
    def rounding(self):
        """Smaller differences of objectives may be rounding errors."""
        return OBJECTIVE_ROUNDING * float(self.problem.totals.sum())

    def has_converged(self, tol):
        """Whether the gap is at most the tolerance."""
        return self.gap <= self.aim(tol) or (self.iterations > 0 and self.gap <= self.rounding)

    def is_settled(self, tol):
        """Whether the gap is at most the tolerance, or cannot be reduced."""
        most = MOST_IDLE + 5 * min(self.columns.shape)
        return self.has_converged(tol) or self.barren >= MOST_BARREN or self.iterations - self.smaller[0] >= most

    def at(self, w, z, shifts, gap):
        """The BundlePoint at w; its shifts are as accurate as the ``gap`` deserves."""
        slack = SHIFT_GAP * gap / self.problem.totals.sum()
        parts = zip(self.classes, self.problem.by_class(z), shifts, strict=True)
        found = [self.problem.best_shift(c, scores, float(b), slack) for c, scores, b in parts]
        loss = float(sum(total * each.risk for total, each in zip(self.problem.totals, found, strict=True)))
        return BundlePoint(w, z, self.penalty.value(w) + loss, loss, found)

    def add(self, points):
        """The cuts that were found at ``points``."""
        found = set()
        for c in self.classes:
            cuts = [cut for point in points for cut in point.found[c].cuts]
            self.bundles[c] = self.bundles[c].joined(cuts, self.columns)
            found |= {(c, hash(cut)) for cut in cuts}
        self.barren = 0 if found - self.seen else self.barren + 1
        self.seen |= found

    def iterate(self, tol):
        """Weights of the cuts, the model that follows, its cuts, and those between it and the best one.

        Cuts of an earlier solve may be all that is needed for a gap of ``tol``: the first iteration finds out.
        """
        bound, self.iterations = self.bound, self.iterations + 1
        weighted = self.weigh(self.aim(tol) if self.warm and self.iterations == 1 else self.gap)
        trial = self.at(weighted.w, self.block.combine(weighted.w), weighted.shifts, self.gap)
        if self.leading is None or self.bound > bound:
            self.leading = trial
        points = [trial, *self.between(self.best, trial)]
        self.best = min((self.best, *points), key=lambda point: point.objective)
        self.add(points)
        if self.gap < (1.0 - GAP_PROGRESS) * self.smaller[1]:
            self.smaller = self.iterations, self.gap

    def weigh(self, gap: float) -> CutWeights:
        """The solution of the small program; the bound that it gives, and cuts that are not in use left out.

        ``gap`` is what the accuracy is a share of.
        """
        problem, penalty = self.problem, self.penalty
        factors = self.factors()
        if factors is None and penalty.layout.count(self.columns.shape[1]) - penalty.forced <= penalty.k:  # plain
            self.bundles = [bundle.gram() for bundle in self.bundles]
        parts = [
            CutTable(bundle.G, bundle.losses, bundle.sums, total, bundle.Q)
            for bundle, total in zip(self.bundles, problem.totals, strict=True)
        ]
        layout = Layout(penalty.layout.sizes)
        options = {"shifted": problem.shifted, "tol": PROGRAM_GAP * gap}
        if factors is None:
            weighted = scaled_weights(parts, layout, penalty.forced, penalty.k, **options)
        else:
            smaller = [part._replace(G=part.G * factors, Q=None) for part in parts]
            weighted = scaled_weights(smaller, layout, penalty.forced, penalty.k, **options)
            weighted = weighted._replace(w=weighted.w * np.tile(factors, len(parts)))
        a = [feasible_weights(weights, part, problem.shifted) for weights, part in zip(weighted.a, parts, strict=True)]
        gain = float(sum(part.losses @ weights for part, weights in zip(parts, a, strict=True)))
        scores = np.concatenate([part.G.T @ weights for part, weights in zip(parts, a, strict=True)])
        shares = [weights.sum() / part.total for part, weights in zip(parts, a, strict=True)]
        room = 1.0 / max(*shares, LEAST_SHARE)
        bound = Mixture(scores, gain, room).bound(2.0 * penalty.conjugate(scores))
        progress = bound > self.bound + BOUND_PROGRESS * self.gap
        if bound > self.bound or self.mixed is None:
            self.bound = max(bound, self.bound)
            self.mixed = [bundle.cuts for bundle in self.bundles], a, scores
        always = 2 if problem.shifted else 0
        self.bundles = [bundle.used(w, always, progress) for bundle, w in zip(self.bundles, a, strict=True)]
        return weighted

    def factors(self) -> np.ndarray | None:
        """What the products of each column are multiplied by in the small program; None if all are left as they are.

        Where C n x^2 is beyond LARGEST_SQUARE, a weight comes out of terms that cancel to their last digits, and its
        share in the penalty is far too small to matter: it may as well be a larger one.
        """
        pairs = zip(self.bundles, self.problem.totals, strict=True)
        squares = np.max([total * bundle.largest**2 for bundle, total in pairs], axis=0)
        if squares.max(initial=0.0) <= LARGEST_SQUARE:
            return None
        return np.sqrt(LARGEST_SQUARE / np.maximum(squares, LARGEST_SQUARE))

    def between(self, best: BundlePoint, trial: BundlePoint) -> Iterator[BundlePoint]:
        """Points on the way from the best one to a trial that is no better, until one is better."""
        if trial.objective < best.objective:
            return
        for share in TRIAL_SHARES:
            w, z = best.w + share * (trial.w - best.w), best.z + share * (trial.z - best.z)
            point = self.at(w, z, best.shifts + share * (trial.shifts - best.shifts), self.gap)
            yield point
            if point.objective < best.objective:
                return

    def useful(self) -> BundlePoint:
        """The best point, or the one that the bound leads to where their objectives differ by rounding errors only.

        Where no model is better than none, a small share of that one: its objective is that of no model up to
        FINEST_GAP, and it orders samples and features, which zero weights do not. The bounds of the first iterations
        are inaccurate: at the deadline it is a share of the model of the start.
        """
        best, trial, nothing = self.best, self.leading, self.problem.without_features
        if trial is None or not trial.w.any():
            return best
        if trial.objective - best.objective <= self.rounding:
            return trial
        if best.objective < (1.0 - FINEST_GAP) * nothing:
            return best
        if self.cut_short and self.begun.w.any():
            trial = self.begun
        allowed, excess = FINEST_GAP * nothing, trial.objective - nothing
        share = 1.0 if excess <= allowed else allowed / excess
        return self.at(share * trial.w, share * trial.z, best.shifts + share * (trial.shifts - best.shifts), 0.0)

    def solution(self) -> Solution:
        """The best point, with the dual point that gives the best bound."""
        problem, best = self.problem, self.useful()
        if self.mixed is None:
            shares = [total * np.array(f.shares) for total, f in zip(problem.totals, best.found, strict=True)]
            dual = problem.joined_mixture([each.cuts for each in best.found], shares)
            scores = self.block.correlate(dual.vector)
            self.bound = max(self.bound, dual.bound(2.0 * self.penalty.conjugate(scores)))
        else:
            cuts, weights, scores = self.mixed
            dual = problem.joined_mixture(cuts, weights)
        b = problem.thresholds(best.z, best.shifts)
        return Solution(
            best.w, best.z, b, dual, scores, best.loss, best.objective, self.bound, self.iterations,
             2 * self.iterations, CutMemory(self.bundles),
        )  # fmt: skip


def feasible_weights(a: np.ndarray, cuts: CutTable, shifted: bool) -> np.ndarray:
    """Weights that obey the constraints: what is left of sums'a = 0 goes to the first two cuts, all of one label."""
    a = np.maximum(a, 0.0)
    if shifted:
        rest = float(cuts.sums @ a)
        a[0 if rest > 0.0 else 1] += abs(rest / cuts.sums[0 if rest > 0.0 else 1])
    total = a.sum()
    return a * min(1.0, cuts.total / total) if total > 0.0 else a
