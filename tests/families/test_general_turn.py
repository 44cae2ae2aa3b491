"""The turn is general: a cutting-plane loss and a grouped penalty, both toys of the tests, go through grow() as it is.

The loss is a maximum over labellings and has no curvature; its solver is a bundle method around a conic solver. The
groups overlap and have weights. Neither is known to src/.
"""

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest

from tests.families.growing import fgm
from tests.oracles import convex
from tests.problems import many_classes, problem
from thresher.data.designs.units import EachColumn, Members, Units
from thresher.data.input.validation import as_design
from thresher.engine.growth import grow
from thresher.engine.plans import GrowthPlan, k_support
from thresher.optim import dispatch as solvers
from thresher.optim.dispatch import Solver, eliminator_for, solver_for
from thresher.optim.penalties.norms import KSupport, Penalty
from thresher.optim.problems.losses import LOSSES
from thresher.optim.problems.margins import DualPoint, Evaluation, MarginProblem, Problem
from thresher.optim.solvers.solution import Solution
from thresher.results import StopReason, Trace

# a loss by cutting planes


@dataclass(frozen=True)
class Mixture(DualPoint):
    """Labellings y^k, rows of ``labellings``, with weights a_k: the vector is sum_k a_k (y - y^k) / (2n)."""

    y: np.ndarray
    labellings: np.ndarray
    weights: np.ndarray
    most: float  # the weights add up to at most this

    @property
    def vector(self):
        return self.weights @ (self.y - self.labellings) / (2 * self.y.size)

    @property
    def gain(self):
        return float(self.weights @ np.mean(self.y != self.labellings, axis=1))

    def value(self, square):
        return self.gain - 0.5 * square

    def bound(self, square):
        total, gain = self.weights.sum(), self.gain
        if total == 0.0 or gain == 0.0:
            return 0.0
        s = min(self.most / total, gain / square if square > 0 else np.inf)
        return s * gain - 0.5 * s * s * square

    def joined(self, others):
        raise AssertionError("this toy has two classes")


@dataclass(frozen=True)
class ErrorRate(Problem):
    """C n max over labellings y' of [share of differences - sum (y - y') z / (2n)]: the hinge loss, by cuts."""

    y: np.ndarray
    C: float
    fit_intercept: bool = False
    classes: int = 1

    @property
    def size(self):
        return self.y.size

    @property
    def most(self):
        return self.C * self.y.size

    def per_class(self):
        return [self]

    def most_violated(self, z):
        return np.where(self.y * z < 1.0, -self.y, self.y)

    def loss(self, labelling, z):
        return float(np.mean(self.y != labelling) - (self.y - labelling) @ z / (2 * self.y.size))

    def at(self, z, start=0.0):
        labelling = self.most_violated(z)
        dual = Mixture(self.y, labelling[None], np.array([self.most]), self.most)
        return Evaluation(0.0, self.most * self.loss(labelling, z), dual)


def bundle(block, problem, penalty, start=None, *, tol, deadline=None):
    """Cuts are added until none is violated by more than ``tol``; the small program is the conic solver's."""
    X, n = block.toarray(), problem.size
    cuts = [] if start is None or start.memory is None else list(start.memory)
    w, bound, best = np.zeros(X.shape[1]) if start is None else start.w, 0.0, None
    while best is None or best.objective - bound > tol:
        z = X @ w
        labelling = problem.most_violated(z)
        objective = penalty.value(w) + problem.most * problem.loss(labelling, z)
        cuts.append(labelling)
        w_new, weights = small_program(X, problem, penalty, np.array(cuts))
        dual = Mixture(problem.y, np.array(cuts), weights, problem.most)
        scores = X.T @ dual.vector
        bound = max(bound, dual.bound(2.0 * penalty.conjugate(scores)))
        if best is None or objective < best.objective:
            best = Solution(w, z, 0.0, dual, scores, objective - penalty.value(w), objective, bound)
        best = Solution(best.w, best.z, 0.0, dual, scores, best.loss, best.objective, bound, memory=tuple(cuts))
        w = w_new
        assert len(cuts) < 40 * n, "no progress"
    return best


def small_program(X, problem, penalty, cuts):
    """(w, weights of the cuts): min penalty + C n xi over the cuts so far."""
    m, n = X.shape[1], problem.size
    w, d, xi = cp.Variable(m), cp.Variable(m), cp.Variable(nonneg=True)
    rules = [d >= 0, d <= 1, cp.sum(d) <= penalty.k]
    gains = np.mean(problem.y != cuts, axis=1)
    constraint = gains - ((problem.y - cuts) / (2 * n)) @ X @ w <= xi
    size = sum(cp.quad_over_lin(w[j], d[j]) for j in range(m))
    convex.solved(cp.Problem(cp.Minimize(0.5 * size + problem.most * xi), [*rules, constraint]))
    return w.value, np.maximum(constraint.dual_value, 0.0)


def hinge_optimum(X, y, C, k):
    """min 1/2 ||w||_k^2 + C sum max(0, 1 - y x'w) over all columns, by the conic solver."""
    w, d = cp.Variable(X.shape[1]), cp.Variable(X.shape[1])
    size = sum(cp.quad_over_lin(w[j], d[j]) for j in range(X.shape[1]))
    loss = C * cp.sum(cp.pos(1 - cp.multiply(y, X @ w)))
    return convex.solved(cp.Problem(cp.Minimize(0.5 * size + loss), [d >= 0, d <= 1, cp.sum(d) <= k]))


def test_a_cutting_plane_loss_goes_through_grow(monkeypatch):
    """One entry in the registry; growth, certificate and bounds of picks are as for any other loss."""
    toy = Solver("bundle", bundle, ErrorRate, Penalty)
    X, y, _ = problem(18, 24, 3)
    posed, trace = ErrorRate(y, C=0.5), Trace()
    message = "no solver supports ErrorRate with KSupport: newton requires Curved and Piecewise"
    with pytest.raises(TypeError, match=message):
        solver_for(posed, KSupport(3))
    with pytest.raises(TypeError, match="features of ErrorRate cannot be eliminated"):
        eliminator_for(posed)
    with pytest.raises(TypeError, match="cannot be eliminated"):  # before any scan, not after growth
        fgm(as_design(X), [posed], trace, wanted=3, candidate_factor=2.0)
    assert not trace.steps
    monkeypatch.setattr(solvers, "SOLVERS", (*solvers.SOLVERS, toy))
    plan = GrowthPlan(units=EachColumn(24), wanted=None, budget=3, tol=1e-4, inner_tol=1e-6)
    (grown,) = grow(as_design(X), [posed], plan, trace)
    optimum = hinge_optimum(X, y, 0.5, 3)
    assert grown.stop.reason is StopReason.CONVERGED
    assert grown.at_zero == pytest.approx(0.5 * 18)
    assert grown.lower_bound <= optimum + 1e-6
    assert grown.taken.solution.objective >= optimum - 1e-6
    assert grown.taken.solution.objective - grown.lower_bound <= 1e-4 * grown.at_zero
    assert grown.taken.units.size < 24, "it did not need all columns"
    assert 0.0 < grown.pick_bound(2) <= hinge_optimum(X[:, grown.taken.columns[:2]], y, 0.5, 2) + 1e-6
    assert len(trace.turns) == len(grown.turns) - 1


# groups that overlap and have weights


class GroupReducer:
    """Keeps all squared scores, and gives the best groups: for few columns only."""

    def __init__(self, units, size, exclude, squares=None):
        self.units, self.size, self.exclude, self.squares = units, size, exclude, squares

    @property
    def bar(self):
        return np.array([-np.inf])

    def gates(self, vectors):
        return np.array([vectors])

    def started(self, ids, scores):
        squares = np.zeros(self.units.n_columns)
        squares[ids if np.ndim(ids) else slice(ids, ids + scores.shape[1])] = (scores**2).sum(axis=0)
        return GroupReducer(self.units, self.size, self.exclude, squares)

    def merged(self, other):
        return GroupReducer(self.units, self.size, self.exclude, self.squares + other.squares)

    def result(self):
        score = np.array([self.squares[group].sum() for group in self.units.groups]) / self.units.omega
        score[self.exclude] = 0.0
        best = np.lexsort((np.arange(score.size), -score))[: self.size]
        best = best[score[best] > 0.0]
        return [(best, score[best])]


class Groups(Units):
    """Lists of columns, each with a weight omega."""

    def __init__(self, groups, omega, n_columns):
        self.groups, self.omega = [np.asarray(group) for group in groups], np.asarray(omega, dtype=float)
        self.count, self.n_columns = len(groups), n_columns

    def reducer(self, size, exclude):
        return GroupReducer(self, size, exclude)

    def members(self, units):
        chosen = [self.groups[g] for g in units]
        columns = np.concatenate(chosen) if chosen else np.zeros(0, dtype=np.int64)
        return Members(columns, np.array([group.size for group in chosen], dtype=np.int64))

    def roots(self, units):
        return np.sqrt(self.omega[units])


def toy_groups(p=24, seed=0):
    """Groups of three to five columns, neighbours overlap by one; weights between 1/2 and 3."""
    rng, groups, first = np.random.default_rng(seed), [], 0
    while first < p - 2:
        size = int(rng.integers(3, 6))
        groups.append(np.arange(first, min(p, first + size)))
        first += size - 1
    return Groups(groups, rng.uniform(0.5, 3.0, len(groups)), p)


def posed_groups(classes):
    if classes == 1:
        X, y, cost = problem(40, 24, 5)
        Y = y[:, None]
    else:
        X, _, Y, cost = many_classes(40, 24, classes, seed=5)
    return X, Y, cost, MarginProblem(Y.T.ravel(), np.tile(cost, classes), LOSSES["squared_hinge"], True, classes)


@pytest.mark.parametrize("classes", [1, 3])
def test_overlapping_weighted_groups_go_through_grow(classes):
    """The optimum over all groups, with its bound; several classes are one unit with the group."""
    X, Y, cost, posed = posed_groups(classes)
    units = toy_groups()
    plan = GrowthPlan(units=units, wanted=None, budget=2, tol=1e-8, penalty=k_support)
    (grown,) = grow(as_design(X), [posed], plan, Trace())
    optimum = convex.group_optimum(X, Y, cost, units.groups, units.omega, 2)
    assert grown.taken.solution.objective == pytest.approx(optimum, abs=1e-5 * grown.at_zero)
    assert grown.lower_bound <= optimum + 1e-6 * grown.at_zero
    assert grown.taken.columns.size > np.unique(grown.taken.columns).size, "some overlap"


@pytest.mark.parametrize("classes", [1, 3])
@pytest.mark.parametrize("forced", [(), (4,)])
def test_exactly_as_many_groups_as_asked_come_out_of_thresh(classes, forced):
    """Columns of a group leave together, each station is solved, and weights on a shared column are added up."""
    X, Y, cost, posed = posed_groups(classes)
    units = toy_groups()
    found = fgm(as_design(X), [posed], Trace(), wanted=3, candidate_factor=2.0, units=units, forced=forced)
    found.check()
    assert found.units.size == 3
    assert found.at(2).units.size == 2
    thresh = {station.number: station for station in found.path if station.phase == "thresh"}
    assert set(range(max(1, len(forced)), 7)) <= set(thresh)
    for number, station in thresh.items():
        chosen = [g for g in range(units.count) if units.groups[g][1] in station.features]  # that one it has alone
        assert len(chosen) == number
        assert np.array_equal(np.unique(np.concatenate([units.groups[g] for g in chosen])), station.features)
        assert set(forced) <= set(chosen)
        optimum = convex.group_optimum(X, Y, cost, units.groups, units.omega, number, chosen=chosen)
        assert station.objective == pytest.approx(optimum, rel=1e-6)
        assert station.bound <= optimum * (1.0 + 1e-9)
    scores = X[:, found.features] @ found.weights.reshape(found.features.size, -1) + found.intercept
    slack = np.maximum(0.0, 1.0 - Y * scores)
    loss = 0.5 * float((cost[:, None] * slack**2).sum())
    assert loss < found.certificate.pick_objective, "the penalty of the latent weights is the rest"


def test_groups_of_one_column_and_weight_one_are_columns():
    """The same numbers, bit for bit, as without units: many small units are a case of the same code."""
    X, _, _, posed = posed_groups(1)
    single = Groups([[j] for j in range(24)], np.ones(24), 24)
    plain = fgm(as_design(X), [posed], Trace(), wanted=4, candidate_factor=2.0)
    grouped = fgm(as_design(X), [posed], Trace(), wanted=4, candidate_factor=2.0, units=single)
    np.testing.assert_array_equal(plain.features, grouped.features)
    np.testing.assert_allclose(plain.weights, grouped.weights, rtol=1e-9)
    assert plain.certificate.pick_bound == pytest.approx(grouped.certificate.pick_bound, rel=1e-9)


def test_sub_problem_30_is_for_single_columns_only():
    X, _, _, posed = posed_groups(1)
    with pytest.raises(ValueError, match=r"sub-problem \(30\) is for single columns"):
        fgm(as_design(X), [posed], Trace(), wanted=None, units=toy_groups(), literal=True)


def test_excluded_units_are_never_taken_and_the_bound_is_that_of_the_others():
    """``Plan.exclude``: instances of held-out bags, columns that a user rules out."""
    X, _, _, posed = posed_groups(1)
    first = fgm(as_design(X), [posed], Trace(), wanted=3, candidate_factor=2.0)
    left = np.setdiff1d(np.arange(24), first.features)
    again = fgm(as_design(X), [posed], Trace(), wanted=3, candidate_factor=2.0, exclude=tuple(first.features))
    alone = fgm(as_design(X[:, left]), [posed], Trace(), wanted=3, candidate_factor=2.0)
    np.testing.assert_array_equal(again.features, left[alone.features])
    np.testing.assert_allclose(again.weights, alone.weights, rtol=1e-9)
    assert again.certificate.pick_bound == pytest.approx(alone.certificate.pick_bound, rel=1e-9)
