"""The rest of the path: computed when asked for, once, and before a model leaves the process."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import thresher
from tests.problems import many_classes, problem
from tests.rule import fgm_by_rule
from thresher.engine import growing
from thresher.families.fgm import fitted_problem as fgm_model
from thresher.families.fgm import path as fgm_path
from thresher.optim import dispatch as solvers
from thresher.optim.elimination import by_curvature as elimination


@pytest.fixture
def data():
    X, y, _ = problem(60, 300, 1)
    return X, y


@pytest.fixture
def stations_made(monkeypatch):
    """The numbers of features of all stations that elimination yields, as they come."""
    made, eliminate = [], elimination.eliminate

    def watched(*args, **options):
        for station in eliminate(*args, **options):
            made.append(station.units.size)
            yield station

    first = solvers.ELIMINATORS[0]
    monkeypatch.setattr(solvers, "ELIMINATORS", (type(first)(watched, first.problem),))
    return made


def test_a_fit_ends_at_its_pick_and_the_path_comes_when_asked_for(data, stations_made):
    clf = fgm_by_rule(8).fit(*data)
    assert min(stations_made) == 8
    in_fit = len(stations_made)
    assert clf.at(8).selection_.features.size == 8, "the pick itself needs nothing more"
    assert len(stations_made) == in_fit
    assert clf.at(3).selection_.features.size == 3
    rest = stations_made[in_fit:]
    assert set(range(1, 8)) <= set(rest)
    assert 8 not in rest
    assert len(rest) == len(set(rest))
    made = len(stations_made)
    assert clf.path_.numbers[:16].tolist() == list(range(1, 17))
    assert [clf.at(j).selection_.features.size for j in range(1, 17)] == list(range(1, 17))
    assert len(stations_made) == made, "computed once"


@pytest.mark.parametrize("wanted", [3, 40, 130])
def test_every_number_up_to_twice_the_wanted_one_is_nested_below_the_pick(data, wanted):
    clf = fgm_by_rule(wanted).fit(*data)
    assert set(range(1, 2 * wanted + 1)) <= set(clf.path_.numbers.tolist())
    pick = set(clf.selection_.features.tolist())
    for j in range(1, wanted):
        assert set(clf.path_.at(j).features.tolist()) <= pick
    with pytest.raises(ValueError, match="there are 1 to"):
        clf.at(100_000)


@pytest.mark.parametrize("support", ["shared", "per_class"])
def test_what_is_computed_later_is_what_a_fit_computes_at_once(support, monkeypatch):
    X, labels, _, _ = many_classes(90, 120)
    later = fgm_by_rule(10, per_class=support == "per_class").fit(X, labels)
    monkeypatch.setattr(fgm_path, "KEEP", -1)
    at_once = fgm_by_rule(10, per_class=support == "per_class").fit(X, labels)
    assert at_once.path_._later is None
    assert [station.number for station in later.path_] == [station.number for station in at_once.path_]
    for j in range(1, 21):
        mine, theirs = later.path_.at(j), at_once.path_.at(j)
        np.testing.assert_array_equal(mine.features, theirs.features)
        np.testing.assert_array_equal(mine.weights, theirs.weights)
        assert (mine.objective, mine.bound) == (theirs.objective, theirs.bound)


@pytest.mark.parametrize("leave", [lambda clf, _: pickle.loads(pickle.dumps(clf)), lambda clf, _: copy.deepcopy(clf)])
def test_a_model_that_leaves_the_process_is_complete(data, leave, tmp_path):
    clf = fgm_by_rule(6).fit(*data)
    other = leave(clf, tmp_path)
    assert other.path_._later is None
    assert other.path_.numbers.tolist() == clf.path_.numbers.tolist()
    assert other.at(2).selection_.features.tolist() == clf.at(2).selection_.features.tolist()


def test_a_model_file_has_the_whole_path(data, tmp_path):
    clf = fgm_by_rule(6).fit(*data)
    thresher.save(clf, tmp_path / "model.json")
    loaded = thresher.load(tmp_path / "model.json")
    assert [loaded.at(j).selection_.features.size for j in range(1, 13)] == list(range(1, 13))


def test_what_waits_for_the_path_does_not_hold_X(data):
    class Watched(np.ndarray):
        pass

    X, y = data
    X = np.array(X).view(Watched)
    alive = weakref.ref(X)
    clf = fgm_by_rule(5, scale=None).fit(X, y)
    del X, data
    gc.collect()
    assert alive() is None
    assert clf.at(2).selection_.features.size == 2


def test_an_interrupted_computation_can_be_repeated(data, monkeypatch):
    clf = fgm_by_rule(5).fit(*data)
    with monkeypatch.context() as patched:
        patched.setattr(fgm_path, "thresh", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            clf.at(2)
    assert clf.at(2).selection_.features.size == 2


def test_ctrl_c_while_a_large_rest_is_computed_keeps_the_model(data, monkeypatch):
    monkeypatch.setattr(fgm_path, "KEEP", -1)
    monkeypatch.setattr(fgm_path, "thresh", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
    clf = fgm_by_rule(5)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(*data)
    assert clf.selection_.interrupted
    assert clf.selection_.features.size == 5
    assert clf.path_.at(5).features.size == 5


def test_large_blocks_skip_stations_on_the_way_to_the_pick(data, stations_made, monkeypatch):
    """Where a station is expensive, some units leave at a time; the numbers between come when they are asked for."""
    monkeypatch.setattr(growing, "LARGE_BLOCK", 100)
    monkeypatch.setattr(fgm_model, "STRIDE", 0.4)
    clf = fgm_by_rule(8, n_candidates=2.0).fit(*data)
    assert stations_made == [16, 14, 11, 8]
    assert clf.selection_.features.size == 8
    assert sorted(set(clf.path_.numbers)) == list(range(1, 17))
    assert all(clf.at(number).selection_.features.size == number for number in (9, 10, 12, 13, 15))
