"""Growth, then elimination: the numbers asked for, bounds against enumeration, and many models in the same scans."""

import itertools
import time

import numpy as np
import pytest

from tests.families.growing import fgm, growth_target
from tests.oracles import convex, subsets
from tests.problems import many_classes, problem
from thresher.data.input.validation import as_design
from thresher.engine import growing, threshing
from thresher.optim.penalties.norms import KSupport
from thresher.optim.problems.losses import LOSSES
from thresher.optim.problems.margins import MarginProblem
from thresher.optim.solvers import newton
from thresher.results import Trace, reached_text


def shared(Y, cost, loss="squared_hinge", *, shift=True):
    """One problem for all classes: they have their columns in common."""
    return [MarginProblem(Y.T.ravel(), np.tile(cost, Y.shape[1]), LOSSES[loss], shift, classes=Y.shape[1])]


def apart(Y, cost, loss="squared_hinge", *, shift=True):
    """A problem for each class."""
    return [MarginProblem(y, cost, LOSSES[loss], shift) for y in np.atleast_2d(Y.T)]


def run(X, problems, *, wanted=None, candidate_factor="auto", **options):
    selection = fgm(
        as_design(np.asarray(X)), problems, Trace(), wanted=wanted, candidate_factor=candidate_factor, **options
    )
    selection.check()
    return selection


def threshed(selection):
    """The stations of elimination, by number of features."""
    return {station.number: station for station in selection.path if station.phase == "thresh"}


def ridge(X, problems, features):
    """The optimum of all problems on these columns, and the weights (columns, classes)."""
    block = as_design(np.asfortranarray(X)).take(features)
    each = [one for posed in problems for one in posed.per_class()]
    found = [newton.solve(block, one, KSupport(features.size), tol=1e-13 * one.at_zero()) for one in each]
    return sum(s.objective for s in found), np.column_stack([s.w for s in found])


POSED = {
    "two": lambda loss: (problem(60, 40, 4)[0], apart(problem(60, 40, 4)[1][:, None], problem(60, 40, 4)[2], loss)),
    "shared": lambda loss: (many_classes(60, 40)[0], shared(*many_classes(60, 40)[2:], loss)),
    "per_class": lambda loss: (many_classes(60, 40)[0], apart(*many_classes(60, 40)[2:], loss)),
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("posed", POSED)
@pytest.mark.parametrize("k", [1, 6, 25, 40])
@pytest.mark.parametrize("candidate_factor", ["auto", 1.0, 3.0])
def test_exactly_k_and_a_path_of_every_number_up_to_twice_k(loss, posed, k, candidate_factor):
    """Also where the pool is smaller than twice k, and where X has no more than that. No gap ends growth here."""
    X, problems = POSED[posed](loss)
    found = run(X, problems, wanted=k, candidate_factor=candidate_factor, tol=0.0)
    assert found.stop_reason == reached_text(k)
    stations = threshed(found)
    assert set(range(1, min(2 * k, 40) + 1)) <= set(stations)
    assert [s.number for s in found.path if s.phase == "thresh"] == sorted(stations, reverse=True)
    for number, station in stations.items():
        weighted = np.atleast_2d(station.weights.T) != 0.0
        assert np.array_equal(station.features, np.unique(station.features))
        if posed == "per_class":
            assert weighted.sum(axis=1).tolist() == [number] * 3
            assert np.array_equal(np.flatnonzero(weighted.any(axis=0)), np.arange(station.features.size))
        else:
            assert station.features.size == number
            assert weighted.any(axis=0).all()
    if posed != "per_class":
        assert found.features.size == k


@pytest.mark.parametrize("posed", POSED)
def test_stations_are_nested(posed):
    X, problems = POSED[posed]("squared_hinge")
    found = run(X, problems, wanted=8)
    steps = list(itertools.pairwise(s for s in found.path if s.phase == "thresh"))
    assert len(steps) >= 15
    for larger, smaller in steps:
        assert larger.number > smaller.number
        if posed != "per_class":
            assert set(smaller.features) < set(larger.features)
            continue
        for c in range(3):  # of each class by itself
            mine = [set(s.features[s.weights[:, c] != 0.0]) for s in (larger, smaller)]
            assert mine[1] < mine[0]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("posed", POSED)
def test_the_pick_is_the_station_of_elimination(loss, posed):
    """Same columns, weights, shift, objective and bound; solved to rounding under the plain penalty."""
    X, problems = POSED[posed](loss)
    found = run(X, problems, wanted=7)
    station = found.path.at(7)
    assert station.phase == "thresh"
    np.testing.assert_array_equal(found.features, station.features)
    np.testing.assert_array_equal(found.weights, station.weights)
    np.testing.assert_array_equal(found.intercept, station.intercept)
    assert found.certificate.pick_objective == pytest.approx(station.objective, rel=1e-12)
    assert found.certificate.pick_bound == station.bound
    if posed != "per_class":
        optimum, W = ridge(X, problems, found.features)
        assert found.certificate.pick_objective == pytest.approx(optimum, rel=1e-10)
        np.testing.assert_allclose(found.weights.reshape(W.shape), W, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("posed", ["two", "shared"])
def test_every_station_is_the_optimum_on_its_columns(loss, posed):
    X, problems = POSED[posed](loss)
    found = run(X, problems, wanted=8)
    for station in threshed(found).values():
        optimum, _ = ridge(X, problems, station.features)
        assert optimum * (1 - 1e-10) <= station.objective <= optimum + 2e-6 * found.certificate.at_zero


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shift", [True, False])
@pytest.mark.parametrize("candidate_factor", ["auto", 1.0, 2.0, None])
def test_bounds_lie_below_every_subset(loss, shift, candidate_factor):
    """The pick's bound, and that of every station for its own number of features, whatever the phase."""
    for seed in range(2):
        X, y, cost = problem(25, 7, seed, C=[0.3, 5.0][seed])
        best = {k: subsets.best_subset(X, y, cost, k, loss, shift=shift)[0] for k in range(1, 8)}
        for k in (1, 2, 4):
            found = run(X, apart(y[:, None], cost, loss, shift=shift), wanted=k, candidate_factor=candidate_factor)
            assert found.features.size == k
            assert found.certificate.pick_bound <= found.certificate.pick_objective
            assert found.certificate.pick_bound <= best[k] * (1 + 1e-8)
            assert found.certificate.pick_objective >= best[k] * (1 - 1e-8)
            for station in found.path:
                assert station.number == station.features.size
                assert station.bound <= best[station.number] * (1 + 1e-8)
                assert station.objective >= best[station.number] * (1 - 1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_bounds_with_forced_columns_lie_below_every_subset_that_has_them(loss):
    X, y, cost = problem(25, 7, 3)
    best = {k: subsets.best_subset(X, y, cost, k, loss, forced=(5, 6))[0] for k in range(2, 8)}
    found = run(X, apart(y[:, None], cost, loss), wanted=3, forced=(6, 5), tol=0.0)
    assert set(threshed(found)) == {2, 3, 4, 5, 6, 7}
    for station in found.path:
        assert {5, 6} <= set(station.features.tolist())
        assert station.bound <= best[station.number] * (1 + 1e-8)
        assert station.objective >= best[station.number] * (1 - 1e-8)


def test_bounds_of_a_shared_support_lie_below_every_subset():
    X, _, Y, cost = many_classes(30, 6, 3, seed=1)
    best = {
        k: min(
            sum(subsets.ridge(X[:, list(some)], y, cost, "squared_hinge")[0] for y in Y.T)
            for some in itertools.combinations(range(6), k)
        )
        for k in (1, 2, 3, 4)
    }
    found = run(X, shared(Y, cost), wanted=2)
    for station in found.path:
        if station.number in best:
            assert station.bound <= best[station.number] * (1 + 1e-8)
            assert station.objective >= best[station.number] * (1 - 1e-8)


@pytest.mark.parametrize("candidate_factor", ["auto", None])
def test_bounds_of_classes_apart_lie_below_every_subset(candidate_factor):
    X, _, Y, cost = many_classes(30, 6, 3, seed=1)
    best = {k: sum(subsets.best_subset(X, y, cost, k, "squared_hinge")[0] for y in Y.T) for k in range(1, 7)}
    found = run(X, apart(Y, cost), wanted=3, candidate_factor=candidate_factor)
    for station in found.path:
        assert station.bound <= best[station.number] * (1 + 1e-8), (station.phase, station.number)


def test_bounds_of_classes_that_have_grown_to_different_numbers_lie_below_every_subset():
    """A station with 5 columns of one class and 4 of the other has number 5: its bound must hold for 5 of each."""
    X, _, Y, cost = many_classes(30, 6, 3, seed=7, C=0.1)
    Y = np.column_stack([Y[:, 0], np.where(np.random.default_rng(7).random(30) > 0.5, 1.0, -1.0)])
    found = run(X, apart(Y, cost), wanted=5, candidate_factor=None)
    numbers = {tuple(np.count_nonzero(station.weights, axis=0)) for station in found.path}
    assert any(len(set(each)) > 1 for each in numbers)
    for station in found.path:
        best = sum(subsets.best_subset(X, y, cost, station.number, "squared_hinge")[0] for y in Y.T)
        assert station.bound <= best * (1 + 1e-8), station.number


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shift", [True, False])
@pytest.mark.parametrize("shape", [(40, 16), (18, 25)])
def test_shared_growth_reaches_the_optimum_over_all_columns(loss, shift, shape, monkeypatch):
    """One scaling for all classes, against the conic solver: objective, bound, weights and shifts."""
    monkeypatch.setattr(convex, "ACCURACIES", (1e-10, 1e-8, 1e-7, 1e-6))  # it often fails at the first two here
    X, _, Y, cost = many_classes(*shape, seed=2)
    optimum, W, b, _ = convex.shared_scaling(X, Y, cost, 3, loss, shift=shift)
    found = run(X, shared(Y, cost, loss, shift=shift), candidate_factor=None, per_turn=3, tol=1e-9, inner_tol=1e-12)
    slack = 1e-6 * found.certificate.at_zero
    assert found.certificate.objective == pytest.approx(optimum, abs=slack)
    assert found.certificate.lower_bound <= optimum + slack
    assert found.certificate.gap <= 1e-9
    dense = np.zeros(W.shape)
    dense[found.features] = found.weights
    np.testing.assert_allclose(dense, W, atol=2e-3)
    np.testing.assert_allclose(found.intercept, b, atol=2e-3)


def test_shared_growth_with_forced_columns_reaches_the_optimum():
    X, _, Y, cost = many_classes(40, 15, seed=3)
    optimum = convex.shared_scaling(X, Y, cost, 2, "logistic", forced=(13, 14))[0]
    found = run(X, shared(Y, cost, "logistic"), candidate_factor=None, per_turn=2, tol=1e-9, forced=(14, 13))
    assert found.certificate.objective == pytest.approx(optimum, abs=1e-6 * found.certificate.at_zero)
    assert {13, 14} <= set(found.features.tolist())


def same(one, other, *, classes=slice(None)):
    """Whether two selections agree; ``classes`` are the columns of weights of the first that the second has."""
    W = one.weights.reshape(one.features.size, -1)[:, classes]
    used = (W != 0.0).any(axis=1)
    np.testing.assert_array_equal(one.features[used], other.features)
    np.testing.assert_allclose(W[used], other.weights.reshape(other.features.size, -1), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(np.atleast_1d(one.intercept)[classes], np.atleast_1d(other.intercept), rtol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("candidate_factor", ["auto", 2.0, None])
@pytest.mark.parametrize("wanted", [5, None])
def test_models_grown_together_equal_those_grown_alone(loss, candidate_factor, wanted):
    """Same features and weights, for the pick and for each station; scans are shared, so they do not add up."""
    X, _, Y, cost = many_classes(50, 30, seed=6)
    costs = [cost, 0.05 * cost, 4.0 * cost]
    problems = [MarginProblem(y, c, LOSSES[loss]) for y, c in zip(Y.T, costs, strict=True)]
    together = run(X, problems, wanted=wanted, candidate_factor=candidate_factor)
    alone = [run(X, [one], wanted=wanted, candidate_factor=candidate_factor) for one in problems]
    scans = [sum(step.kind == "scan" for step in each.trace.steps) for each in (together, *alone)]
    assert scans[0] == max(scans[1:]) < sum(scans[1:])
    for c, single in enumerate(alone):
        same(together, single, classes=[c])
        for number in set(threshed(together)) & set(threshed(single)):
            same(threshed(together)[number], threshed(single)[number], classes=[c])
    if wanted is not None:  # without a number each model stands for its own
        assert set(threshed(together)) == set.intersection(*(set(threshed(single)) for single in alone))
    for name in ("objective", "lower_bound", "pick_objective", "pick_bound", "at_zero"):
        total = sum(getattr(single.certificate, name) for single in alone)
        if name == "pick_bound" and wanted is None:  # together it speaks of as many columns as the largest has, for all
            assert together.certificate.pick_bound <= total
        else:
            assert getattr(together.certificate, name) == pytest.approx(total, rel=1e-10)


def test_one_class_is_the_same_as_a_shared_support_of_one():
    X, y, cost = problem(60, 40, 4)
    same(run(X, apart(y[:, None], cost), wanted=6), run(X, shared(y[:, None], cost), wanted=6))


def test_the_order_of_classes_does_not_matter():
    X, _, Y, cost = many_classes(50, 16, seed=7)
    turn = [2, 0, 1]
    for posed in (shared, apart):
        one, other = run(X, posed(Y, cost), wanted=6), run(X, posed(Y[:, turn], cost), wanted=6)
        np.testing.assert_array_equal(one.features, other.features)
        np.testing.assert_allclose(one.weights[:, turn], other.weights, atol=1e-6)


@pytest.mark.parametrize("posed", POSED)
@pytest.mark.parametrize("candidate_factor", ["auto", 1.5, None])
def test_forced_columns_are_in_every_station(posed, candidate_factor):
    """Noise, far down in weight: it stays, also in the smallest models, and counts in the numbers."""
    X, problems = POSED[posed]("squared_hinge")
    X = np.concatenate([X, 1e-3 * np.random.default_rng(0).standard_normal((60, 2))], axis=1)
    found = run(X, problems, wanted=6, candidate_factor=candidate_factor, forced=(41, 40))
    assert len(found.path) > 1
    for station in found.path:
        assert {40, 41} <= set(station.features.tolist())
        assert station.number >= 2
    assert found.forced.tolist() == [40, 41]
    assert {40, 41} <= set(found.features.tolist())
    if candidate_factor is not None:
        assert set(threshed(found)) >= set(range(2, 13))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("posed", POSED)
def test_without_a_number_the_grown_model_is_the_pick_and_the_path_leads_down_from_it(loss, posed):
    X, problems = POSED[posed](loss)
    found, grown = run(X, problems, tol=1e-4), run(X, problems, tol=1e-4, candidate_factor=None)
    same(found, grown)
    assert found.certificate == grown.certificate
    assert found.certificate.gap <= 1e-4
    assert threshed(grown) == {}
    each = [int(np.count_nonzero(w)) for w in np.atleast_2d(found.weights.T)]
    each = each if posed == "per_class" else [found.features.size]
    number = min(each) - (min(each) == max(each))  # the grown model itself stands for its number
    assert list(threshed(found)) == list(range(number, 0, -1))
    assert set(threshed(found)[number].features) <= set(found.features)
    same(found.path.at(max(each)), found)


def test_growth_alone_has_stations_of_growth_alone():
    X, y, cost = problem(60, 40, 4)
    found = run(X, apart(y[:, None], cost), wanted=10, candidate_factor=None)
    assert {station.phase for station in found.path} == {"grow"}
    assert len(found.path) == len(found.trace.turns) - 1  # the first turn has no features
    np.testing.assert_array_equal(found.path[-1].features, found.features)


def test_elimination_looks_at_X_no_more():
    """Scans are those of growth to the same number of columns; thresh and debias read nothing."""
    X, y, cost = problem(60, 80, 4)
    found = run(X, apart(y[:, None], cost), wanted=10, candidate_factor=3.0)
    scans = [step for step in found.trace.steps if step.kind == "scan"]
    assert len(scans) == len(found.trace.turns)
    assert found.trace.turns[-1].taken == 30
    assert all(step.passes == 0.0 for step in found.trace.steps if step.kind not in ("scan", "take"))
    assert found.trace.passes == pytest.approx(len(scans) + 30 / 80)


def test_the_pick_comes_out_of_the_pool_and_not_of_the_spare_columns():
    """With a factor of 1 nothing is eliminated above k: the pick is what was grown, the path only adds to it."""
    X, y, cost = problem(60, 40, 4)
    found = run(X, apart(y[:, None], cost), wanted=8, candidate_factor=1.0)
    assert found.trace.turns[-1].taken == 8
    assert max(threshed(found)) == 16
    grown = set(found.features.tolist())
    assert all(grown <= set(s.features.tolist()) for n, s in threshed(found).items() if n >= 8)


@pytest.mark.parametrize(("C", "k", "loss"), [(1e-5, 30, "squared_hinge"), (2.0, 25, "logistic")])
def test_where_the_gap_ends_growth_early_the_path_still_reaches_twice_k(C, k, loss):
    """The gap may be within tol as soon as there are k columns."""
    X, y, cost = problem(60, 80, 4, C=C)
    found = run(X, apart(y[:, None], cost, loss), wanted=k, candidate_factor=2.0)
    assert found.features.size == k
    assert set(threshed(found)) == set(range(1, 2 * k + 1))


def test_a_deadline_in_the_past_returns_what_there_is():
    for posed in POSED:
        X, problems = POSED[posed]("squared_hinge")
        found = run(X, problems, wanted=20, candidate_factor=2.0, deadline=time.perf_counter())
        assert found.stop_reason == "stopped early: max_time reached"
        assert found.features.size >= 1
        assert max(np.count_nonzero(w) for w in np.atleast_2d(found.weights.T)) <= 20


@pytest.mark.parametrize("at", [1, 5])
@pytest.mark.parametrize("posed", POSED)
def test_interrupted_in_elimination_the_model_so_far_comes_back(at, posed, monkeypatch):
    from thresher.families.fgm import fitted_problem as module

    def interrupted(*args, **options):
        for number, station in enumerate(real(*args, **options), 1):
            if number > at:
                raise KeyboardInterrupt
            yield station

    real = module.thresh
    monkeypatch.setattr(module, "thresh", interrupted)
    X, problems = POSED[posed]("squared_hinge")
    found = run(X, problems, wanted=7)
    assert found.interrupted
    assert found.stop_reason == "interrupted"
    assert max(np.count_nonzero(w) for w in np.atleast_2d(found.weights.T)) == 7


def test_sizes_of_the_pool():
    sizes = [growth_target(k, "auto", 10**6) for k in (1, 10, 50, 100, 125, 200, 1000)]
    assert sizes == [398, 380, 300, 200, 150, 240, 1200]
    assert [growth_target(k, 1.5, 50) for k in (1, 3, 10, 40)] == [2, 5, 15, 50]
    assert growth_target(None, "auto", 50) is None
    assert growth_target(10, None, 50) == 10
    assert growth_target(10, "auto", 50) == 50
    assert growth_target(10, 2.0, 50) == 20


@pytest.mark.parametrize("loss", LOSSES)
def test_a_pick_does_not_hang_on_the_accuracy_of_the_solver(loss, monkeypatch):
    """Few samples, many columns that go together: there elimination amplifies whatever a solver leaves open."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((48, 10)) @ rng.standard_normal((10, 600)) + 0.3 * rng.standard_normal((48, 600))
    y = np.where(X[:, :5].sum(axis=1) > 0, 1.0, -1.0)
    one, design, picks = MarginProblem(y, np.full(48, 10.0), LOSSES[loss]), as_design(X), []
    for tol in (threshing.STATION_TOL, 1e-13):
        monkeypatch.setattr(threshing, "STATION_TOL", tol)
        path = fgm(design, [one], Trace(), wanted=10, candidate_factor="auto").path
        picks.append([path.at(number).features.tolist() for number in path.numbers])
    assert picks[0] == picks[1]


def test_bounds_hold_for_more_columns_than_a_scan_kept_scores_of(monkeypatch):
    """Never above the dual value with the scores of all columns, and equal to it for as many as were kept."""
    X, y, cost = problem(60, 80, 4)
    one, scans, record = MarginProblem(y, cost, LOSSES["squared_hinge"]), [], growing.GrowingModel.record_scan

    def noting(model, result, eligible):
        record(model, result, eligible)
        scans.append((model.last_scan, model.kept))

    monkeypatch.setattr(growing.GrowingModel, "record_scan", noting)
    fgm(as_design(X), [one], Trace(), wanted=3, candidate_factor=2.0)
    for scan, kept in scans:
        squares = np.sort((X.T @ scan.dual.vector) ** 2)[::-1]
        for number in range(1, 81):
            exact = scan.dual.bound(float(squares[:number].sum()))
            assert scan.bound(number) <= exact * (1.0 + 1e-12)
            if number <= kept:
                assert scan.bound(number) == pytest.approx(exact, rel=1e-12)
