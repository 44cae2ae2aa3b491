"""The path of a fit and the models on it; C chosen by cross-validation inside a fit."""

import itertools
import pickle
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneOut, ShuffleSplit, StratifiedKFold

from tests.problems import many_classes, problem
from thresher import FGMClassifier
from thresher.engine import growth, threshing
from thresher.estimators.folds import CS

X, y, _ = problem(90, 40, 8)
Z, CODES, _, _ = many_classes(90, 30, seed=8)
FITTED = {}


def fitted(kind="two"):
    """A fit on the data above, made once: two classes, or three with a shared support or each with its own."""
    if kind not in FITTED:
        clf = FGMClassifier(6, support="per_class" if kind == "per_class" else "shared", loss="logistic", overshoot=4.0)
        FITTED[kind] = clf.fit(X, y) if kind == "two" else clf.fit(Z, CODES)
    return FITTED[kind], X if kind == "two" else Z


KINDS = ["two", "shared", "per_class"]


# the path


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
    assert f"{k} features, out of the path" in fewer.selection_.stop_reason
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
    assert fewer.selection_.stop_reason == "4 features, as asked"
    np.testing.assert_array_equal(clf.coef_.toarray(), coef)
    assert clf.n_features_to_select == 6


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (0, "no station of the path has 0 features; there are 1 to 12"),
        (-3, "no station of the path has -3 features"),
        (1000, "no station of the path has 1000 features; there are 1 to 12, "),
        (2.0, r"number must be a whole number, got 2\.0"),
        (True, "number must be a whole number, got True"),
        ("3", "number must be a whole number, got '3'"),
        (None, "number must be a whole number, got None"),
    ],
)
def test_numbers_that_are_not_on_the_path(number, message):
    with pytest.raises(ValueError, match=message):
        fitted()[0].at(number)


def test_there_is_no_path_before_fit():
    with pytest.raises(NotFittedError):
        FGMClassifier(5).at(3)


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
    clf = FGMClassifier(12, overshoot=None).fit(X, y)
    assert {station.phase for station in clf.path_} == {"grow"}
    assert len(clf.path_) == clf.n_iter_
    np.testing.assert_array_equal(clf.at(12).coef_.toarray(), clf.coef_.toarray())
    for number in clf.path_.numbers:
        assert clf.at(number).selection_.features.size == number
    assert "thresh" not in clf.selection_.trace.seconds


def test_weights_of_stations_are_in_the_units_of_X():
    factor = 10.0 ** np.random.default_rng(2).integers(-3, 4, 40)
    plain, moved = (FGMClassifier(5, scale="std").fit(A, y) for A in (X, X * factor + 5.0))
    for k in (1, 4, 9):
        np.testing.assert_allclose(
            moved.at(k).decision_function(X * factor + 5.0), plain.at(k).decision_function(X), rtol=1e-4, atol=1e-5
        )


def test_without_a_number_the_whole_model_is_on_the_path():
    clf = FGMClassifier(tol=1e-2).fit(X, y)
    same = clf.at(clf.selection_.features.size)
    np.testing.assert_array_equal(same.coef_.toarray(), clf.coef_.toarray())


@pytest.mark.parametrize("overshoot", [0.5, 0, -1, "x", "Auto", np.nan, np.inf, True, [2.0]])
def test_wrong_overshoot_is_named(overshoot):
    with pytest.raises(ValueError, match=r"overshoot must be (at least 1|a positive number), got "):
        FGMClassifier(5, overshoot=overshoot).fit(X, y)


@pytest.mark.parametrize("overshoot", [1, 1.0, np.float64(2.5), 1e9, "auto", None])
def test_right_overshoot_gives_k_features(overshoot):
    assert FGMClassifier(5, overshoot=overshoot).fit(X, y).selection_.features.size == 5


# C


def assert_scores_equal_fits_on_the_training_rows(clf, A, labels, folds, *, samples):
    """The accuracy of each fold and C against a fit on the rows not held out, but for so many held-out samples.

    The models of the folds are solved roughly. tol=0 lets all of them grow to twice the number asked for: the choice
    stops at that number where the gap is within tol, and the fit does not, so they would not have the same columns.
    """
    assert clf.overshoot in (None, 2.0)
    assert clf.tol == 0.0
    for i, (train, test) in enumerate(folds):
        for j, C in enumerate(CS):
            alone = clone(clf).set_params(C=C).fit(A[train], labels[train])
            assert clf.scores_[i, j] * len(test) == pytest.approx(
                alone.score(A[test], labels[test]) * len(test), abs=samples + 1e-6
            )


def solve_folds_well(monkeypatch):
    """Solve the models of the folds as those of a fit are solved."""
    monkeypatch.setattr(growth, "COARSE_TOL", 1e-7)
    monkeypatch.setattr(threshing, "LARGE_TOL", 1e-9)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("overshoot", [2.0, None])
def test_scores_equal_fits_on_the_training_rows(loss, overshoot, monkeypatch):
    """To the last sample where all models are solved well."""
    solve_folds_well(monkeypatch)
    folds = list(StratifiedKFold(2).split(X, y))
    clf = FGMClassifier(4, C="auto", cv=2, overshoot=overshoot, loss=loss, scale=None, tol=0.0).fit(X, y)
    assert clf.scores_.shape == (2, 5)
    np.testing.assert_array_equal(clf.Cs_, [0.01, 0.1, 1.0, 10.0, 100.0])
    assert clf.Cs_[np.argmax(clf.scores_.mean(axis=0))] == clf.C_
    assert clf.C == "auto"
    assert_scores_equal_fits_on_the_training_rows(clf, X, y, folds, samples=0)


@pytest.mark.parametrize("overshoot", [2.0, None])
def test_rough_scores_are_near_those_of_fits_on_the_training_rows(overshoot):
    """Inexact weights turn single samples over, and another column may go where two are nearly alike."""
    folds = list(StratifiedKFold(2).split(X, y))
    clf = FGMClassifier(4, C="auto", cv=2, overshoot=overshoot, scale=None, tol=0.0).fit(X, y)
    assert_scores_equal_fits_on_the_training_rows(clf, X, y, folds, samples=3)


@pytest.mark.parametrize("support", ["shared", "per_class"])
def test_scores_with_many_classes_equal_fits_on_the_training_rows(support, monkeypatch):
    solve_folds_well(monkeypatch)
    A, labels = Z[:48, :9], CODES[:48]
    folds = list(StratifiedKFold(2).split(A, labels))
    clf = FGMClassifier(2, C="auto", cv=2, overshoot=2.0, support=support, scale=None, tol=0.0).fit(A, labels)
    assert clf.scores_.shape == (2, 5)
    assert_scores_equal_fits_on_the_training_rows(clf, A, labels, folds, samples=0)


@pytest.mark.parametrize("options", [{}, {"overshoot": None}, {"loss": "logistic"}, {"always_include": [39]}])
def test_the_fit_is_that_with_the_C_chosen(options):
    clf = FGMClassifier(4, C="auto", cv=2, **{"overshoot": 2.0} | options).fit(X, y)
    given = clone(clf).set_params(C=clf.C_).fit(X, y)
    np.testing.assert_array_equal(clf.coef_.toarray(), given.coef_.toarray())
    np.testing.assert_array_equal(clf.intercept_, given.intercept_)
    assert clf.n_iter_ == given.n_iter_
    assert given.C_ == clf.C_
    assert not hasattr(given, "scores_")
    assert not hasattr(given, "Cs_")


def test_of_equal_scores_the_smallest_C_is_chosen():
    """The label is a column: every C tells all samples right."""
    A = np.random.default_rng(0).standard_normal((60, 8))
    A[:, 5] = np.repeat([-4.0, 4.0], 30)
    clf = FGMClassifier(1, C="auto", cv=3).fit(A, A[:, 5] > 0)
    np.testing.assert_array_equal(clf.scores_, np.ones((3, 5)))
    assert clf.C_ == 0.01


def test_the_choice_costs_about_as_many_passes_as_a_fit():
    """25 models are chosen from in the same scans: not 26 times as many."""
    A, labels, _ = problem(120, 400, 3)
    chosen = FGMClassifier(6, C="auto", overshoot=2.0).fit(A, labels)
    single = FGMClassifier(6, C=chosen.C_, overshoot=2.0).fit(A, labels)
    scans = [sum(step.kind == "scan" for step in clf.selection_.trace.steps) for clf in (chosen, single)]
    assert scans[1] < scans[0] <= 3 * scans[1]
    assert chosen.selection_.trace.passes <= 3 * single.selection_.trace.passes
    assert len(chosen.selection_.trace.turns) == len(single.selection_.trace.turns)


@pytest.mark.parametrize("kind", ["two", "three"])
def test_samples_without_weight_do_not_matter(kind):
    """Neither in the folds nor in the scores, whatever they hold."""
    A, labels = (X, y) if kind == "two" else (Z, CODES)
    rng = np.random.default_rng(4)
    weights = np.concatenate([rng.integers(1, 4, 90), np.zeros(25)])
    more = np.concatenate([A, 100.0 * rng.standard_normal((25, A.shape[1]))])
    mixed, order = np.concatenate([labels, rng.permutation(labels)[:25]]), rng.permutation(115)
    rows = order[order < 90]
    clf = FGMClassifier(3, C="auto", cv=2, overshoot=2.0)
    plain = clone(clf).fit(A[rows], labels[rows], sample_weight=weights[rows])
    padded = clone(clf).fit(more[order], mixed[order], sample_weight=weights[order])
    np.testing.assert_allclose(plain.scores_, padded.scores_, atol=1e-12)
    assert plain.C_ == padded.C_
    np.testing.assert_array_equal(plain.selection_.features, padded.selection_.features)
    np.testing.assert_allclose(plain.coef_.toarray(), padded.coef_.toarray(), rtol=1e-7, atol=1e-9)


def test_scores_are_weighted(monkeypatch):
    solve_folds_well(monkeypatch)
    weights = np.random.default_rng(3).integers(1, 5, 90).astype(float)
    clf = FGMClassifier(4, C="auto", cv=2, overshoot=2.0, scale=None, tol=0.0).fit(X, y, sample_weight=weights)
    for i, (train, test) in enumerate(StratifiedKFold(2).split(X, y)):
        alone = FGMClassifier(4, C=1.0, overshoot=2.0, scale=None, tol=0.0).fit(X[train], y[train], weights[train])
        assert clf.scores_[i, 2] == pytest.approx(alone.score(X[test], y[test], weights[test]), abs=1e-12)


def test_folds_of_any_kind():
    folds = list(KFold(3, shuffle=True, random_state=1).split(X))
    given = [
        KFold(3, shuffle=True, random_state=1),
        folds,
        iter(folds),
        [(train[::-1], test[::-1]) for train, test in folds],
        [tuple(np.isin(np.arange(90), part) for part in fold) for fold in folds],
    ]
    fits = [FGMClassifier(3, C="auto", cv=cv, overshoot=None).fit(X, y) for cv in given]
    for clf in fits[1:]:
        np.testing.assert_array_equal(clf.scores_, fits[0].scores_)
        assert clf.C_ == fits[0].C_
    few = np.r_[np.flatnonzero(y > 0)[:6], np.flatnonzero(y < 0)[:6]]
    alone = FGMClassifier(2, C="auto", cv=LeaveOneOut(), overshoot=None).fit(X[few], y[few])
    assert alone.scores_.shape == (12, 5)
    assert set(np.unique(alone.scores_)) <= {0.0, 1.0}


def test_an_integer_means_stratified_folds():
    one, other = (FGMClassifier(3, C="auto", cv=cv, overshoot=None).fit(X, y) for cv in (3, StratifiedKFold(3)))
    np.testing.assert_array_equal(one.scores_, other.scores_)


HALF = [(np.arange(0, 90, 2), np.arange(1, 90, 2))]


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (1, "cv must be a whole number of at least 2, got 1"),
        (0, "cv must be a whole number of at least 2"),
        (2.5, "cv must be a whole number of at least 2"),
        (True, "cv must be a whole number of at least 2"),
        (80, "cv=80 folds need as many samples of each class, but the smallest class has"),
        ("five", "cv"),
        ([(np.flatnonzero(y > 0), np.flatnonzero(y < 0))], "the training part of fold 0 of cv lacks a class"),
        (HALF + [(np.flatnonzero(y > 0), np.flatnonzero(y < 0))], "the training part of fold 1 of cv lacks a class"),
        (ShuffleSplit(2, train_size=0.5, test_size=0.2, random_state=0), "fold 0 of cv must split all samples"),
        ([(np.arange(90), np.arange(0, 90, 2))], "fold 0 of cv must split all samples"),
    ],
)
def test_wrong_folds_are_refused(cv, message):
    with pytest.raises(ValueError, match=message):
        FGMClassifier(3, C="auto", cv=cv).fit(X, y)


@pytest.mark.parametrize("cv", [[], [(np.arange(90), np.arange(0))]], ids=["no fold", "nothing held out"])
def test_folds_without_anything_in_them_are_refused(cv):
    with pytest.raises(ValueError, match="cv"):
        FGMClassifier(3, C="auto", cv=cv).fit(X, y)


def test_given_folds_number_all_samples_also_those_without_weight():
    weights = np.where(np.arange(90) < 20, 0.0, 1.0)
    folds = [(part, np.setdiff1d(np.arange(90), part)) for part in (np.arange(0, 90, 2), np.arange(1, 90, 2))]
    clf = FGMClassifier(3, C="auto", cv=folds, overshoot=None).fit(X, y, sample_weight=weights)
    fewer = [tuple(part[part >= 20] - 20 for part in fold) for fold in folds]
    without = FGMClassifier(3, C="auto", cv=fewer, overshoot=None).fit(X[20:], y[20:])
    np.testing.assert_allclose(clf.scores_, without.scores_, atol=1.01 / 35)  # rough solves: one of 35 samples may turn


def test_cv_is_not_looked_at_without_auto():
    assert FGMClassifier(3, C=1.0, cv="nonsense").fit(X, y).C_ == 1.0


@pytest.mark.parametrize("C", ["Auto", "best", -1, np.nan, True, [1.0]])
def test_wrong_C_is_named(C):
    with pytest.raises(ValueError, match="C must be a positive number"):
        FGMClassifier(3, C=C).fit(X, y)


def test_another_fit_with_a_given_C_forgets_the_scores():
    clf = FGMClassifier(3, C="auto", cv=2, overshoot=None).fit(X, y)
    clf.set_params(C=1.0).fit(X, y)
    assert clf.C_ == 1.0
    assert not hasattr(clf, "scores_")
    assert not hasattr(clf, "Cs_")


def interrupt(monkeypatch, at):
    """Ctrl-C in the ``at``-th scan."""

    def scan(*args):
        nonlocal at
        at -= 1
        if at == 0:
            raise KeyboardInterrupt
        return real(*args)

    real = growth.scan
    monkeypatch.setattr(growth, "scan", scan)


@pytest.mark.parametrize("at", [1, 2, 4])
def test_interrupted_while_choosing_there_is_no_model(at, monkeypatch):
    interrupt(monkeypatch, at)
    clf = FGMClassifier(6, C="auto", cv=2)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, y)
    assert not hasattr(clf, "selection_")
    assert not hasattr(clf, "scores_")


def test_interrupted_after_the_choice_the_model_so_far_is_kept(monkeypatch):
    clf = FGMClassifier(6, C="auto", cv=2, features_per_turn=1)
    kinds = [step.kind for step in clone(clf).fit(X, y).selection_.trace.steps]
    interrupt(monkeypatch, kinds.count("scan"))
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, y)
    assert clf.selection_.stop_reason == "interrupted"
    assert clf.scores_.shape == (2, 5)
    assert clf.predict(X).shape == (90,)


@pytest.mark.parametrize("max_time", [1e-9, 0.02])
def test_max_time_holds_for_the_choice_too(max_time):
    clf = FGMClassifier(1, C="auto", cv=2, max_time=max_time, features_per_turn=1).fit(X, y)
    assert clf.scores_.shape == (2, 5)
    assert clf.selection_.features.size == 1


def test_grid_search_over_the_number_of_features():
    search = GridSearchCV(FGMClassifier(C="auto", cv=2, overshoot=2.0), {"n_features_to_select": [2, 4]}, cv=2)
    search.fit(X, y)
    assert search.best_estimator_.selection_.features.size == search.best_params_["n_features_to_select"]
    assert search.best_estimator_.C_ in CS
    assert search.best_score_ > 0.5


def test_parameters_survive_a_round_trip():
    folds = KFold(3)
    given = {"C": "auto", "cv": folds, "support": "per_class", "overshoot": 1.5, "n_features_to_select": 3}
    clf = FGMClassifier(**given)
    params = clf.get_params()
    assert all(params[name] == value for name, value in given.items() if name != "cv")
    assert params["cv"] is folds
    assert FGMClassifier().set_params(**params).get_params() == params
    copy = clone(clf)
    assert {k: v for k, v in copy.get_params().items() if k != "cv"} == {k: v for k, v in params.items() if k != "cv"}
    again = pickle.loads(pickle.dumps(FGMClassifier(3, C="auto", cv=2, overshoot=None).fit(X, y)))
    assert again.scores_.shape == (2, 5)
