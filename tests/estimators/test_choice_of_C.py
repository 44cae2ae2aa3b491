"""C chosen by cross-validation inside a fit."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneOut, ShuffleSplit, StratifiedKFold

from tests.problems import fold_scores, many_classes, problem
from thresher import FGMClassifier
from thresher.engine import growing, growth, threshing
from thresher.estimators.fgm.base import CS

pytestmark = pytest.mark.filterwarnings("ignore:cv=")  # fits with the same parameters and a C

X, y, _ = problem(90, 40, 8)
TWICE = {"n_candidates": 2.0}
Z, CODES, _, _ = many_classes(90, 30, seed=8)


def assert_scores_equal_fits_on_the_training_rows(clf, A, labels, folds, *, samples):
    """The accuracy of each fold and C against a fit on the rows not held out, but for so many held-out samples.

    The models of the folds are solved roughly. tol=0 lets all of them grow to twice the number asked for: the choice
    stops at that number where the gap is within tol, and the fit does not, so they would not have the same columns.
    """
    assert not clf.elimination or clf.n_candidates == 2.0
    assert clf.tol == 0.0
    scores = fold_scores(clf)
    for i, (train, test) in enumerate(folds):
        for j, C in enumerate(CS):
            alone = clone(clf).set_params(C=C).fit(A[train], labels[train])
            assert scores[i, j] * len(test) == pytest.approx(
                alone.score(A[test], labels[test]) * len(test), abs=samples + 1e-6
            )


def solve_folds_well(monkeypatch):
    """Solve the models of the folds as those of a fit are solved."""
    monkeypatch.setattr(growing, "COARSE_TOL", 1e-7)
    monkeypatch.setattr(threshing, "LARGE_TOL", 1e-9)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("options", [TWICE, {"elimination": False}], ids=["elimination", "growth"])
def test_scores_equal_fits_on_the_training_rows(loss, options, monkeypatch):
    """To the last sample where all models are solved well."""
    solve_folds_well(monkeypatch)
    folds = list(StratifiedKFold(2).split(X, y))
    clf = FGMClassifier(4, C="auto", cv=2, loss=loss, scale=None, tol=0.0, **options).fit(X, y)
    assert fold_scores(clf).shape == (2, 5)
    np.testing.assert_array_equal(clf.cv_results_["param_C"], [0.01, 0.1, 1.0, 10.0, 100.0])
    assert clf.cv_results_["param_C"][np.argmax(fold_scores(clf).mean(axis=0))] == clf.C_
    assert clf.C == "auto"
    assert_scores_equal_fits_on_the_training_rows(clf, X, y, folds, samples=0)


@pytest.mark.parametrize("options", [TWICE, {"elimination": False}], ids=["elimination", "growth"])
def test_rough_scores_are_near_those_of_fits_on_the_training_rows(options):
    """Inexact weights turn single samples over, and another column may go where two are nearly alike."""
    folds = list(StratifiedKFold(2).split(X, y))
    clf = FGMClassifier(4, C="auto", cv=2, scale=None, tol=0.0, **options).fit(X, y)
    assert_scores_equal_fits_on_the_training_rows(clf, X, y, folds, samples=3)


@pytest.mark.parametrize("per_class", [False, True])
def test_scores_with_many_classes_equal_fits_on_the_training_rows(per_class, monkeypatch):
    solve_folds_well(monkeypatch)
    A, labels = Z[:48, :9], CODES[:48]
    folds = list(StratifiedKFold(2).split(A, labels))
    clf = FGMClassifier(2, C="auto", cv=2, per_class=per_class, scale=None, tol=0.0, **TWICE).fit(A, labels)
    assert fold_scores(clf).shape == (2, 5)
    assert_scores_equal_fits_on_the_training_rows(clf, A, labels, folds, samples=0)


@pytest.mark.parametrize("options", [{}, {"elimination": False}, {"loss": "logistic"}, {"always_include": [39]}])
def test_the_fit_is_that_with_the_C_chosen(options):
    clf = FGMClassifier(4, C="auto", cv=2, **{"n_candidates": 2.0} | options).fit(X, y)
    given = clone(clf).set_params(C=clf.C_).fit(X, y)
    np.testing.assert_array_equal(clf.coef_.toarray(), given.coef_.toarray())
    np.testing.assert_array_equal(clf.intercept_, given.intercept_)
    assert clf.n_iter_ == given.n_iter_
    assert given.C_ == clf.C_
    assert not hasattr(given, "cv_results_")


def test_of_equal_scores_the_smallest_C_is_chosen():
    """The label is a column: every C tells all samples right."""
    A = np.random.default_rng(0).standard_normal((60, 8))
    A[:, 5] = np.repeat([-4.0, 4.0], 30)
    clf = FGMClassifier(1, C="auto", cv=3).fit(A, A[:, 5] > 0)
    np.testing.assert_array_equal(fold_scores(clf), np.ones((3, 5)))
    assert clf.C_ == 0.01


def test_the_choice_costs_about_as_many_passes_as_a_fit():
    """25 models are chosen from in the same scans: not 26 times as many."""
    A, labels, _ = problem(120, 400, 3)
    chosen = FGMClassifier(6, C="auto", n_candidates=2.0).fit(A, labels)
    single = FGMClassifier(6, C=chosen.C_, n_candidates=2.0).fit(A, labels)
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
    clf = FGMClassifier(3, C="auto", cv=2, n_candidates=2.0)
    plain = clone(clf).fit(A[rows], labels[rows], sample_weight=weights[rows])
    padded = clone(clf).fit(more[order], mixed[order], sample_weight=weights[order])
    np.testing.assert_allclose(fold_scores(plain), fold_scores(padded), atol=1e-12)
    assert plain.C_ == padded.C_
    np.testing.assert_array_equal(plain.selection_.features, padded.selection_.features)
    np.testing.assert_allclose(plain.coef_.toarray(), padded.coef_.toarray(), rtol=1e-7, atol=1e-9)


def test_scores_are_weighted(monkeypatch):
    solve_folds_well(monkeypatch)
    weights = np.random.default_rng(3).integers(1, 5, 90).astype(float)
    clf = FGMClassifier(4, C="auto", cv=2, n_candidates=2.0, scale=None, tol=0.0).fit(X, y, sample_weight=weights)
    for i, (train, test) in enumerate(StratifiedKFold(2).split(X, y)):
        alone = FGMClassifier(4, C=1.0, n_candidates=2.0, scale=None, tol=0.0).fit(X[train], y[train], weights[train])
        assert fold_scores(clf)[i, 2] == pytest.approx(alone.score(X[test], y[test], weights[test]), abs=1e-12)


def test_folds_of_any_kind():
    folds = list(KFold(3, shuffle=True, random_state=1).split(X))
    given = [
        KFold(3, shuffle=True, random_state=1),
        folds,
        iter(folds),
        [(train[::-1], test[::-1]) for train, test in folds],
        [tuple(np.isin(np.arange(90), part) for part in fold) for fold in folds],
    ]
    fits = [FGMClassifier(3, C="auto", cv=cv, elimination=False).fit(X, y) for cv in given]
    for clf in fits[1:]:
        np.testing.assert_array_equal(fold_scores(clf), fold_scores(fits[0]))
        assert clf.C_ == fits[0].C_
    few = np.r_[np.flatnonzero(y > 0)[:6], np.flatnonzero(y < 0)[:6]]
    alone = FGMClassifier(2, C="auto", cv=LeaveOneOut(), elimination=False).fit(X[few], y[few])
    assert fold_scores(alone).shape == (12, 5)
    assert set(np.unique(fold_scores(alone))) <= {0.0, 1.0}


def test_an_integer_means_stratified_folds():
    one, other = (FGMClassifier(3, C="auto", cv=cv, elimination=False).fit(X, y) for cv in (3, StratifiedKFold(3)))
    np.testing.assert_array_equal(fold_scores(one), fold_scores(other))


HALF = [(np.arange(0, 90, 2), np.arange(1, 90, 2))]


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (1, "cv must be an integer >= 2, got 1"),
        (0, "cv must be an integer >= 2"),
        (2.5, "cv must be an integer >= 2"),
        (True, "cv must be an integer >= 2"),
        (80, "cv=80 cannot be greater than the number of samples in each class, but the smallest has"),
        ("five", "cv"),
        ([(np.flatnonzero(y > 0), np.flatnonzero(y < 0))], "the training set of fold 0 of cv is missing a class"),
        (HALF + [(np.flatnonzero(y > 0), np.flatnonzero(y < 0))], "training set of fold 1 of cv is missing a class"),
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
    clf = FGMClassifier(3, C="auto", cv=folds, elimination=False).fit(X, y, sample_weight=weights)
    fewer = [tuple(part[part >= 20] - 20 for part in fold) for fold in folds]
    without = FGMClassifier(3, C="auto", cv=fewer, elimination=False).fit(X[20:], y[20:])
    one_sample = 1.01 / 35  # which may turn, since solves are rough
    np.testing.assert_allclose(fold_scores(clf), fold_scores(without), atol=one_sample)


@pytest.mark.filterwarnings("error:cv=")
def test_cv_that_has_no_effect_is_told():
    for C in (None, 1.0):
        with pytest.warns(UserWarning, match=r"cv='nonsense' has no effect, since it chooses C: set C="):
            assert FGMClassifier(3, C=C, cv="nonsense").fit(X, y).C_ == 1.0
    FGMClassifier(3, C=1.0).fit(X, y)
    assert len(fold_scores(FGMClassifier(3, C="auto").fit(X, y))) == 5


@pytest.mark.parametrize("C", ["Auto", "best", -1, np.nan, True, [1.0]])
def test_wrong_C_is_named(C):
    with pytest.raises(ValueError, match="C must be a positive number"):
        FGMClassifier(3, C=C).fit(X, y)


def test_another_fit_with_a_given_C_forgets_the_scores():
    clf = FGMClassifier(3, C="auto", cv=2, elimination=False).fit(X, y)
    clf.set_params(C=1.0).fit(X, y)
    assert clf.C_ == 1.0
    assert not hasattr(clf, "cv_results_")


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
    assert not hasattr(clf, "cv_results_")


def test_interrupted_after_the_choice_the_model_so_far_is_kept(monkeypatch):
    clf = FGMClassifier(6, C="auto", cv=2, features_per_turn=1)
    kinds = [step.kind for step in clone(clf).fit(X, y).selection_.trace.steps]
    interrupt(monkeypatch, kinds.count("scan"))
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, y)
    assert clf.selection_.stop_reason == "interrupted"
    assert fold_scores(clf).shape == (2, 5)
    assert clf.predict(X).shape == (90,)


@pytest.mark.parametrize("max_time", [1e-9, 0.02])
def test_max_time_holds_for_the_choice_too(max_time):
    clf = FGMClassifier(1, C="auto", cv=2, max_time=max_time, features_per_turn=1).fit(X, y)
    assert fold_scores(clf).shape == (2, 5)
    assert clf.selection_.features.size == 1


def test_grid_search_over_the_number_of_features():
    search = GridSearchCV(FGMClassifier(C="auto", cv=2, n_candidates=2.0), {"n_features_to_select": [2, 4]}, cv=2)
    search.fit(X, y)
    assert search.best_estimator_.selection_.features.size == search.best_params_["n_features_to_select"]
    assert search.best_estimator_.C_ in CS
    assert search.best_score_ > 0.5


def test_parameters_survive_a_round_trip():
    folds = KFold(3)
    given = {"C": "auto", "cv": folds, "per_class": True, "n_candidates": 1.5, "n_features_to_select": 3}
    clf = FGMClassifier(**given)
    params = clf.get_params()
    assert all(params[name] == value for name, value in given.items() if name != "cv")
    assert params["cv"] is folds
    assert FGMClassifier().set_params(**params).get_params() == params
    copy = clone(clf)
    assert {k: v for k, v in copy.get_params().items() if k != "cv"} == {k: v for k, v in params.items() if k != "cv"}
    again = pickle.loads(pickle.dumps(FGMClassifier(3, C="auto", cv=2, elimination=False).fit(X, y)))
    assert fold_scores(again).shape == (2, 5)
