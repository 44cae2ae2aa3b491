"""The path of a fit and the models on it."""

import itertools
import pickle
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from tests.problems import many_classes, problem
from tests.rule import fgm_by_rule
from thresher import FGMClassifier

X, y, _ = problem(90, 40, 8)
Z, CODES, _, _ = many_classes(90, 30, seed=8)
FITTED = {}


def fitted(kind="two"):
    """A fit on the data above, made once: two classes, or three with a shared support or each with its own."""
    if kind not in FITTED:
        clf = fgm_by_rule(6, per_class=kind == "per_class", loss="logistic", n_candidates=4.0)
        FITTED[kind] = clf.fit(X, y) if kind == "two" else clf.fit(Z, CODES)
    return FITTED[kind], X if kind == "two" else Z


KINDS = ["two", "shared", "per_class"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 3, 6, 12])
def test_at_is_a_fitted_copy_with_that_many_features(kind, k):
    clf, A = fitted(kind)
    before, steps = pickle.dumps(vars(clf)), len(clf.selection_.trace.steps)
    fewer = clf.at(k)
    assert type(fewer) is FGMClassifier
    assert (fewer.coef_.toarray() != 0.0).sum(axis=1).tolist() == [k] * clf.coef_.shape[0]
    if kind != "per_class":
        assert fewer.selection_.features.size == fewer.transform(A).shape[1] == k
    station = clf.path_.at(k)
    np.testing.assert_array_equal(fewer.selection_.features, station.features)
    scores = A[:, station.features] @ station.weights + station.intercept
    np.testing.assert_allclose(fewer.decision_function(A), scores, atol=1e-12)
    assert fewer.predict(A).shape == (90,)
    assert fewer.predict_proba(A).shape == (90, clf.classes_.size)
    fewer.selection_.check()
    assert f"{k} feature{'s' * (k > 1)}, from the path" in fewer.selection_.stop_reason
    certificate = fewer.selection_.certificate
    assert (certificate.pick_objective, certificate.pick_bound) == (station.objective, station.bound)
    assert len(clf.selection_.trace.steps) == steps, "X was read"
    assert pickle.dumps(vars(clf)) == before, "the original has changed"


@pytest.mark.parametrize("kind", KINDS)
def test_at_the_number_asked_for_is_the_model_itself(kind):
    clf, A = fitted(kind)
    np.testing.assert_array_equal(clf.at(6).coef_.toarray(), clf.coef_.toarray())
    np.testing.assert_array_equal(clf.at(6).intercept_, clf.intercept_)
    np.testing.assert_array_equal(clf.at(12).at(6).decision_function(A), clf.decision_function(A))


def test_a_model_of_the_path_can_be_cloned_pickled_and_fitted_again():
    clf, _ = fitted()
    fewer = clf.at(np.int64(4))
    copy = clone(fewer)
    assert copy.get_params() == clf.get_params() | {"n_features_to_select": 4}
    assert not hasattr(copy, "selection_")
    again = pickle.loads(pickle.dumps(fewer))
    np.testing.assert_array_equal(again.decision_function(X), fewer.decision_function(X))
    assert repr(again.path_) == repr(clf.path_)
    coef = clf.coef_.toarray()
    assert fewer.fit(X, y).selection_.features.size == 4
    assert fewer.selection_.stop_reason == "4 features selected, as requested"
    np.testing.assert_array_equal(clf.coef_.toarray(), coef)
    assert clf.n_features_to_select == 6


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (0, "no station of the path has 0 features; there are 1 to 12"),
        (-3, "no station of the path has -3 features"),
        (1000, "no station of the path has 1000 features; there are 1 to 12, "),
        (2.0, r"number must be an integer, got 2\.0"),
        (True, "number must be an integer, got True"),
        ("3", "number must be an integer, got '3'"),
        (None, "number must be an integer, got None"),
    ],
)
def test_numbers_that_are_not_on_the_path(number, message):
    with pytest.raises(ValueError, match=message):
        fitted()[0].at(number)


def test_another_number_needs_a_fit_with_the_own_parameter():
    with pytest.raises(ValueError, match=r"fit again with n_features_to_select \(--features\)") as told:
        fitted()[0].at(99)
    assert "bags" not in str(told.value)
    assert "n_instances" not in str(told.value)


def test_there_is_no_path_before_fit():
    with pytest.raises(NotFittedError):
        fgm_by_rule(5).at(3)


@pytest.mark.parametrize("kind", KINDS)
def test_the_path_is_a_sequence_of_stations(kind):
    path = fitted(kind)[0].path_
    phases = [station.phase for station in path]
    assert phases == sorted(phases), "growth comes first"
    assert len(path) == len(phases) == phases.count("grow") + phases.count("thresh")
    assert path[0].phase == "grow"
    assert path[-1].number == 1
    assert [s.number for s in path[-3:]] == [3, 2, 1]
    assert type(path[-3:]) is type(path)
    assert path[-3:].numbers.tolist() == [1, 2, 3]
    assert len(path[:0]) == 0
    assert set(range(1, 13)) <= set(path.numbers.tolist())
    expected = rf"Path\({phases.count('grow')} stations of growth, {phases.count('thresh')} of elimination; features: 1"
    assert re.match(expected, repr(path))
    assert repr(path[-3:]) == "Path(0 stations of growth, 3 of elimination; features: 1 to 3)"
    assert repr(path[:0]) == "Path(0 stations of growth, 0 of elimination; features: none)"
    with pytest.raises(IndexError):
        path[len(path)]


@pytest.mark.parametrize("kind", KINDS)
def test_fewer_features_never_lower_the_objective(kind):
    """Each station is the optimum on columns that the one before had, too."""
    clf, _ = fitted(kind)
    objectives = [station.objective for station in clf.path_ if station.phase == "thresh"]
    slack = 1e-5 * clf.selection_.certificate.at_zero
    assert all(a <= b + slack for a, b in itertools.pairwise(objectives))
    assert all(station.bound <= station.objective + slack for station in clf.path_)


def test_growth_alone_has_a_path_of_its_turns():
    clf = fgm_by_rule(12, elimination=False).fit(X, y)
    assert {station.phase for station in clf.path_} == {"grow"}
    assert len(clf.path_) == clf.n_iter_
    np.testing.assert_array_equal(clf.at(12).coef_.toarray(), clf.coef_.toarray())
    for number in clf.path_.numbers:
        assert clf.at(number).selection_.features.size == number
    assert "thresh" not in clf.selection_.trace.seconds


def test_weights_of_stations_are_in_the_units_of_X():
    factor = 10.0 ** np.random.default_rng(2).integers(-3, 4, 40)
    plain, moved = (fgm_by_rule(5, scale="std").fit(A, y) for A in (X, X * factor + 5.0))
    for k in (1, 4, 9):
        np.testing.assert_allclose(
            moved.at(k).decision_function(X * factor + 5.0), plain.at(k).decision_function(X), rtol=1e-4, atol=1e-5
        )


def test_without_a_number_the_whole_model_is_on_the_path():
    clf = fgm_by_rule(tol=1e-2).fit(X, y)
    same = clf.at(clf.selection_.features.size)
    np.testing.assert_array_equal(same.coef_.toarray(), clf.coef_.toarray())


@pytest.mark.parametrize("value", [0.5, 0, -1, "x", "Auto", np.nan, np.inf, True, [2.0], None])
def test_wrong_numbers_of_candidates_are_named(value):
    message = f"n_candidates must be 'auto', an integer >= 1 or a factor >= 1.0, got {value!r}"
    with pytest.raises(ValueError, match=re.escape(message)):
        fgm_by_rule(5, n_candidates=value).fit(X, y)


def test_fewer_candidates_than_features_are_refused():
    with pytest.raises(ValueError, match="n_candidates=4 is smaller than n_features_to_select=5: there would be"):
        fgm_by_rule(5, n_candidates=4).fit(X, y)


@pytest.mark.parametrize("value", [5, np.int64(7), 10**9, 1.0, np.float64(2.5), 1e9, "auto"])
def test_right_numbers_of_candidates_give_k_features(value):
    assert fgm_by_rule(5, n_candidates=value).fit(X, y).selection_.features.size == 5


@pytest.mark.parametrize("number", [5, 9, 13])
def test_an_integer_is_the_number_of_candidates_itself(number):
    """Law: so many are eliminated from (the path begins at twice the number of features); a factor means the same."""
    clf = fgm_by_rule(5, n_candidates=number).fit(X, y)
    assert max(station.number for station in clf.path_ if station.phase == "thresh") == max(number, 2 * 5)
    same = fgm_by_rule(5, n_candidates=number / 5).fit(X, y)
    np.testing.assert_array_equal(clf.coef_.toarray(), same.coef_.toarray())
    np.testing.assert_array_equal(clf.path_.numbers, same.path_.numbers)


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name in ("elimination", "per_class") for value in ("yes", 1, 0.0)] + [("per_class", None)],
)
def test_switches_must_be_bool(name, value):
    with pytest.raises(ValueError, match=f"{name} must be ('auto' or )?True or False, got {value!r}"):
        fgm_by_rule(5, **{name: value}).fit(X, y)
