"""fgm() with the loss of a measure: certificates against all labellings, all columns and all subsets."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from tests.families.growing import fgm
from tests.laws.measures import FREE, RANKINGS, by_kind, parameters
from tests.oracles import cuts as oracle
from thresher.data.input.validation import as_design
from thresher.optim.measures.values import F1, PRBEP, ErrorRate, RecallAtK, RocArea
from thresher.optim.problems.cuts import CutProblem
from thresher.results import StopReason, Trace

few = pytest.mark.parametrize("measure", [ErrorRate(), F1(), PRBEP(), RecallAtK(2.0), RocArea()], ids=repr)


def pose(measure, seed=0, p=7, total=30.0, classes=1):
    """(X, cuts of each class, problem) of so few samples that every labelling or ranking is known."""
    rng, n = np.random.default_rng(seed), 6 if measure in RANKINGS else 8
    X = rng.standard_normal((n, p))
    pull = X[:, :classes].T + 0.7 * rng.standard_normal((classes, n))
    Y = np.where(pull >= np.sort(pull, axis=1)[:, [-2 if n == 6 else -3]], 1.0, -1.0)
    problem = CutProblem(Y.ravel(), np.full(Y.size, total / n), measure, classes=classes)
    known = []
    for y in Y:
        losses, V = oracle.every_cut(measure.name, y, **parameters(measure))
        known.append((V @ X, losses, V.sum(axis=1), total))
    return X, known, problem


def on(known, columns):
    """The cuts on some of the columns."""
    return [(G[:, list(columns)], *rest) for G, *rest in known]


def best_subset(known, k, p, *, shifted, forced=()):
    """The least optimum under the plain penalty over all sets of k columns."""
    rest = [j for j in range(p) if j not in forced]
    tries = [(*forced, *more) for more in combinations(rest, k - len(forced))]
    return min(oracle.optimum(on(known, each), k, shifted=shifted)[0] for each in tries)


@by_kind
def test_growth_arrives_at_the_optimum_over_all_columns(measure):
    """No number is asked for: the gap is closed, between a bound and an objective on either side of the optimum."""
    X, known, problem = pose(measure)
    found = fgm(as_design(X), [problem], Trace(), wanted=None, per_turn=2, tol=1e-4)
    optimum = oracle.optimum(known, 2, shifted=measure in FREE)[0]
    certificate = found.certificate
    assert certificate.lower_bound <= optimum * (1.0 + 1e-6)
    assert certificate.objective >= optimum * (1.0 - 1e-6)
    assert certificate.objective == pytest.approx(optimum, abs=2e-4 * certificate.at_zero)
    assert certificate.gap <= 1e-4
    assert found.stop is StopReason.CONVERGED


@by_kind
@pytest.mark.parametrize("forced", [(), (5,)])
def test_bounds_of_picks_hold_for_every_subset(measure, forced):
    """That of the pick and those of the path; the objective of a pick is that of its own columns."""
    X, known, problem = pose(measure, 1)
    found = fgm(as_design(X), [problem], Trace(), wanted=2, candidate_factor=2.0, forced=forced)
    shifted = measure in FREE
    best = best_subset(known, 2, 7, shifted=shifted, forced=forced)
    own = oracle.optimum(on(known, found.features), 2, shifted=shifted)[0]
    assert found.features.size == 2
    assert set(forced) <= set(found.features.tolist())
    assert found.certificate.pick_bound <= best * (1.0 + 1e-6)
    assert found.certificate.pick_objective == pytest.approx(own, rel=3e-5)
    order = [*forced, *np.setdiff1d(np.arange(7), forced)]
    optimum = oracle.optimum(on(known, order), found.budget, forced=len(forced), shifted=shifted)[0]
    assert found.certificate.lower_bound <= optimum * (1.0 + 1e-6)
    for station in found.path:
        if station.number == 1 + len(forced):
            least = best_subset(known, station.number, 7, shifted=shifted, forced=forced)
            assert station.bound <= least * (1.0 + 1e-6)
            assert station.objective >= least * (1.0 - 1e-6)


@few
def test_three_classes_share_their_columns(measure):
    """One budget for all classes, and a bound that holds for every set of columns they could share."""
    X, known, problem = pose(measure, 2, p=5, classes=3)
    shifted = measure in FREE
    found = fgm(as_design(X), [problem], Trace(), wanted=2, candidate_factor=2.0)
    best = best_subset(known, 2, 5, shifted=shifted)
    own = oracle.optimum(on(known, found.features), 2, shifted=shifted)[0]
    assert found.certificate.pick_bound <= best * (1.0 + 1e-6)
    assert found.certificate.pick_objective == pytest.approx(own, rel=3e-5)
    grown = fgm(as_design(X), [problem], Trace(), wanted=None, per_turn=2, tol=1e-4)
    optimum = oracle.optimum(known, 2, shifted=shifted)[0]
    assert grown.certificate.lower_bound <= optimum * (1.0 + 1e-6)
    assert grown.certificate.objective == pytest.approx(optimum, abs=2e-4 * grown.certificate.at_zero)


@few
def test_each_class_with_columns_of_its_own(measure):
    """As if each were alone."""
    X, _, problem = pose(measure, 3, classes=3)
    together = fgm(as_design(X), problem.per_class(), Trace(), wanted=2, candidate_factor=2.0)
    alone = [fgm(as_design(X), [each], Trace(), wanted=2, candidate_factor=2.0) for each in problem.per_class()]
    assert together.certificate.pick_bound == pytest.approx(
        sum(each.certificate.pick_bound for each in alone), rel=1e-9
    )
    for c, each in enumerate(alone):
        weights = together.weights[:, c]
        np.testing.assert_array_equal(together.features[weights != 0.0], each.features)
        np.testing.assert_allclose(weights[weights != 0.0], each.weights, rtol=1e-9)


@few
def test_bounds_of_turns_rise(measure):
    """The lower bound told after each turn never falls, nor does the objective rise."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 60))
    y = np.where(X[:, :4].sum(axis=1) + 3.0 * rng.standard_normal(40) > 3.0, 1.0, -1.0)
    trace, problem = Trace(), CutProblem(y, np.full(40, 2.0), measure)
    found = fgm(as_design(X), [problem], trace, wanted=None, per_turn=3)
    turns = trace.turns
    assert len(turns) > 2
    assert all(later.lower_bound >= turn.lower_bound for turn, later in pairwise(turns))
    slack = 1e-3 * found.certificate.at_zero  # what each turn is solved up to
    assert all(later.objective <= turn.objective + slack for turn, later in pairwise(turns))
    assert found.certificate.lower_bound == turns[-1].lower_bound


@few
def test_the_papers_sub_problem_is_there_for_comparison(measure):
    """(15)/(16): groups of turns. It may stall above the optimum; its bound holds all the same."""
    X, known, problem = pose(measure, 4)
    found = fgm(as_design(X), [problem], Trace(), wanted=None, per_turn=2, tol=1e-4, literal=True)
    optimum = oracle.optimum(known, 2, shifted=measure in FREE)[0]
    assert found.certificate.lower_bound <= optimum * (1.0 + 1e-6)
    assert found.certificate.objective >= optimum * (1.0 - 1e-6)


@few
def test_the_first_scan_ranks_by_use_not_by_frequency(measure):
    """At w = 0 the direction tells the classes apart: a column that is on in most samples says nothing."""
    rng = np.random.default_rng(6)
    y = np.where(np.arange(60) < 15, 1.0, -1.0)
    X = (rng.random((60, 12)) < 0.3).astype(float)
    X[:, 3] = 1.0  # always there
    X[:, 4] = rng.random(60) < 0.9
    X[:, 7] = y > 0
    X[0, 7] = 0.0
    found = fgm(
        as_design(X), [CutProblem(y, np.full(60, 1.0), measure)], Trace(), wanted=1, candidate_factor=None, per_turn=1
    )
    assert found.features.tolist() == [7]
