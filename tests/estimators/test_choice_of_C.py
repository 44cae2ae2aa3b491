"""C and elimination chosen by cross-validation inside a fit."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneOut, ShuffleSplit

import thresher
from tests.problems import fold_scores, folds_of, many_classes, problem
from tests.rule import fgm_by_rule
from thresher import AlignmentPathClassifier, Polynomial, SparseSVCPath
from thresher.engine import growth
from thresher.estimators.fgm.base import FGMBase
from thresher.estimators.fgm.choice import CS
from thresher.families.fgm import choice

pytestmark = pytest.mark.filterwarnings("ignore:cv=")  # fits with the same parameters and a C

X, y, _ = problem(90, 40, 8)
TWICE = {"n_candidates": 2.0}
Z, CODES, _, _ = many_classes(90, 30, seed=8)


def assert_scores_equal_fits_on_the_training_rows(clf, A, labels, folds):
    """The accuracy of each fold and C against a fit on the rows not held out."""
    scores = fold_scores(clf)
    for i, (train, test) in enumerate(folds):
        for j, C in enumerate(clf.cv_results_["param_C"].tolist()):
            alone = clone(clf).set_params(C=C).fit(A[train], labels[train])
            assert scores[i, j] == pytest.approx(alone.score(A[test], labels[test]), abs=1e-12)


def compare_in_full(monkeypatch):
    """Candidates are fitted on all of X, as a fit is, not on what their folds have gathered."""
    monkeypatch.setattr(FGMBase, "_compares_in_full", True)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("options", [TWICE, {"elimination": False}], ids=["elimination", "growth"])
def test_scores_equal_fits_on_the_training_rows(loss, options, monkeypatch):
    """To the last sample."""
    compare_in_full(monkeypatch)
    folds = folds_of(2, X, y)
    clf = fgm_by_rule(4, C="auto", cv=2, loss=loss, scale=None, tol=0.0, **options).fit(X, y)
    assert fold_scores(clf).shape == (2, 4)
    first = [1.0] if loss == "logistic" else []  # of equal scores the first is taken
    np.testing.assert_array_equal(clf.cv_results_["param_C"], [*first, *(C for C in CS if C not in first)])
    assert clf.cv_results_["param_C"][np.argmax(fold_scores(clf).mean(axis=0))] == clf.C_
    assert clf.C == "auto"
    assert_scores_equal_fits_on_the_training_rows(clf, X, y, folds)


def test_choices_on_what_folds_gather_are_nearly_as_good_as_on_all_of_X(monkeypatch):
    """Scores differ, since not all columns are at hand and solves are rough; the winner is as good on average."""
    lost = []
    for seed in range(8):
        A, labels, _ = problem(90, 200, seed)
        clf = fgm_by_rule(4, C="auto", elimination="auto", cv=2)
        quick = clone(clf).fit(A, labels)
        with monkeypatch.context() as context:
            compare_in_full(context)
            full = clf.fit(A, labels)
        params = {"C": quick.C_, "elimination": quick.elimination_}
        means = full.cv_results_["mean_test_score"]
        lost.append(means.max() - means[full.cv_results_["params"].index(params)])
        assert abs(means - quick.cv_results_["mean_test_score"]).mean() < 0.06
    assert np.mean(lost) < 0.02


@pytest.mark.parametrize("per_class", [False, True])
def test_scores_with_many_classes_equal_fits_on_the_training_rows(per_class, monkeypatch):
    compare_in_full(monkeypatch)
    A, labels = Z[:48, :9], CODES[:48]
    folds = folds_of(2, A, labels)
    clf = fgm_by_rule(2, C="auto", cv=2, per_class=per_class, scale=None, tol=0.0, **TWICE).fit(A, labels)
    assert fold_scores(clf).shape == (2, 4)
    assert_scores_equal_fits_on_the_training_rows(clf, A, labels, folds)


@pytest.mark.parametrize("options", [{}, {"elimination": False}, {"loss": "logistic"}, {"always_include": [39]}])
def test_the_fit_is_that_with_the_C_chosen(options):
    clf = fgm_by_rule(4, C="auto", cv=2, **{"n_candidates": 2.0} | options).fit(X, y)
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
    clf = fgm_by_rule(1, C="auto", cv=3).fit(A, A[:, 5] > 0)
    np.testing.assert_array_equal(fold_scores(clf), np.ones((3, 4)))
    assert clf.C_ == 0.01


def test_the_choice_costs_about_as_many_passes_as_a_fit():
    """20 models are chosen from on what ten have gathered in the same scans: not 21 times as many."""
    A, labels, _ = problem(120, 400, 3)
    chosen = fgm_by_rule(6, C="auto", n_candidates=2.0).fit(A, labels)
    single = fgm_by_rule(6, C=chosen.C_, n_candidates=2.0).fit(A, labels)
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
    clf = fgm_by_rule(3, C="auto", cv=2, n_candidates=2.0)
    plain = clone(clf).fit(A[rows], labels[rows], sample_weight=weights[rows])
    padded = clone(clf).fit(more[order], mixed[order], sample_weight=weights[order])
    np.testing.assert_allclose(fold_scores(plain), fold_scores(padded), atol=1e-12)
    assert plain.C_ == padded.C_
    np.testing.assert_array_equal(plain.selection_.features, padded.selection_.features)
    np.testing.assert_allclose(plain.coef_.toarray(), padded.coef_.toarray(), rtol=1e-7, atol=1e-9)


def test_scores_are_weighted(monkeypatch):
    compare_in_full(monkeypatch)
    weights = np.random.default_rng(3).integers(1, 5, 90).astype(float)
    clf = fgm_by_rule(4, C="auto", cv=2, n_candidates=2.0, scale=None, tol=0.0).fit(X, y, sample_weight=weights)
    for i, (train, test) in enumerate(folds_of(2, X, y, weights)):
        alone = fgm_by_rule(4, C=1.0, n_candidates=2.0, scale=None, tol=0.0).fit(X[train], y[train], weights[train])
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
    fits = [fgm_by_rule(3, C="auto", cv=cv, elimination=False).fit(X, y) for cv in given]
    for clf in fits[1:]:
        np.testing.assert_array_equal(fold_scores(clf), fold_scores(fits[0]))
        assert clf.C_ == fits[0].C_
    few = np.r_[np.flatnonzero(y > 0)[:6], np.flatnonzero(y < 0)[:6]]
    alone = fgm_by_rule(2, C="auto", cv=LeaveOneOut(), elimination=False).fit(X[few], y[few])
    assert fold_scores(alone).shape == (12, 4)
    scores = fold_scores(alone)
    assert set(np.unique(scores[~np.isnan(scores)])) <= {0.0, 1.0}
    assert np.isnan(scores).sum(axis=1).tolist() == [0] * 3 + [1] * 2 + [2] * 7, "two were left out, one by one"


HALF = [(np.arange(0, 90, 2), np.arange(1, 90, 2))]


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (1, "cv must be an integer >= 2, got 1"),
        (0, "cv must be an integer >= 2"),
        (2.5, "cv must be an integer >= 2"),
        (True, "cv must be an integer >= 2"),
        (80, "cv=80 cannot be greater than the number of different samples in each class, but the smallest has"),
        ("five", "cv"),
        ([(np.flatnonzero(y > 0), np.flatnonzero(y < 0))], "the training set of fold 0 of cv is missing a class"),
        (HALF + [(np.flatnonzero(y > 0), np.flatnonzero(y < 0))], "training set of fold 1 of cv is missing a class"),
        (ShuffleSplit(2, train_size=0.5, test_size=0.2, random_state=0), "fold 0 of cv must split all samples"),
        ([(np.arange(90), np.arange(0, 90, 2))], "fold 0 of cv must split all samples"),
    ],
)
def test_wrong_folds_are_refused(cv, message):
    with pytest.raises(ValueError, match=message):
        fgm_by_rule(3, C="auto", cv=cv).fit(X, y)


@pytest.mark.parametrize("cv", [[], [(np.arange(90), np.arange(0))]], ids=["no fold", "nothing held out"])
def test_folds_without_anything_in_them_are_refused(cv):
    with pytest.raises(ValueError, match="cv"):
        fgm_by_rule(3, C="auto", cv=cv).fit(X, y)


def test_given_folds_number_all_samples_also_those_without_weight():
    weights = np.where(np.arange(90) < 20, 0.0, 1.0)
    folds = [(part, np.setdiff1d(np.arange(90), part)) for part in (np.arange(0, 90, 2), np.arange(1, 90, 2))]
    clf = fgm_by_rule(3, C="auto", cv=folds, elimination=False).fit(X, y, sample_weight=weights)
    fewer = [tuple(part[part >= 20] - 20 for part in fold) for fold in folds]
    without = fgm_by_rule(3, C="auto", cv=fewer, elimination=False).fit(X[20:], y[20:])
    one_sample = 1.01 / 35  # which may turn, since solves are rough
    np.testing.assert_allclose(fold_scores(clf), fold_scores(without), atol=one_sample)


@pytest.mark.filterwarnings("error:cv=")
def test_cv_that_has_no_effect_is_told():
    advice = "since nothing is chosen: set C or elimination to"
    for C in (None, 1.0):
        with pytest.warns(UserWarning, match=f"cv='nonsense' has no effect, {advice}"):
            assert fgm_by_rule(3, C=C, cv="nonsense").fit(X, y).C_ == 1.0
        with pytest.warns(UserWarning, match=f"scoring='roc_auc' has no effect, {advice}"):
            fgm_by_rule(3, C=C, scoring="roc_auc").fit(X, y)
    for clf in (SparseSVCPath(2, 2, scoring="roc_auc"), AlignmentPathClassifier(cv=None, scoring="roc_auc")):
        with pytest.warns(UserWarning, match=r"scoring='roc_auc' has no effect without cv: set cv=5 \(--cv 5\)"):
            clf.fit(X[:, :5], y)
    fgm_by_rule(3, C=1.0).fit(X, y)
    assert len(fold_scores(fgm_by_rule(3, C="auto").fit(X, y))) == 5


@pytest.mark.parametrize("C", ["Auto", "best", -1, np.nan, True, [1.0]])
def test_wrong_C_is_named(C):
    with pytest.raises(ValueError, match=r"C must be ('auto' or )?a positive number, got "):
        fgm_by_rule(3, C=C).fit(X, y)


def test_another_fit_with_a_given_C_forgets_the_scores():
    clf = fgm_by_rule(3, C="auto", cv=2, elimination=False).fit(X, y)
    clf.set_params(C=1.0).fit(X, y)
    assert clf.C_ == 1.0
    assert not hasattr(clf, "cv_results_")


def interrupt(monkeypatch, at):
    """Ctrl-C in the ``at``-th scan; returns how many scans there were so far."""
    scans = []

    def scan(*args):
        scans.append(args)
        if len(scans) == at:
            raise KeyboardInterrupt
        return real(*args)

    real = growth.scan
    monkeypatch.setattr(growth, "scan", scan)
    return lambda: len(scans)


@pytest.mark.parametrize("at", [1, 2, 4])
def test_interrupted_while_choosing_there_is_no_model(at, monkeypatch):
    interrupt(monkeypatch, at)
    clf = fgm_by_rule(6, C="auto", cv=2)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, y)
    assert not hasattr(clf, "selection_")
    assert not hasattr(clf, "cv_results_")


def test_interrupted_after_the_choice_the_model_so_far_is_kept(monkeypatch):
    clf = fgm_by_rule(6, C="auto", cv=2, features_per_turn=1)
    with monkeypatch.context() as context:
        count = interrupt(context, 0)
        clone(clf).fit(X, y)
    interrupt(monkeypatch, count())
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, y)
    assert clf.selection_.stop_reason == "interrupted"
    assert fold_scores(clf).shape == (2, 4)
    assert clf.predict(X).shape == (90,)


def test_without_time_to_choose_the_usual_candidate_is_taken_and_that_is_said():
    clf = fgm_by_rule(1, C="auto", elimination="auto", cv=2, max_time=1e-9, features_per_turn=1)
    with pytest.warns(ConvergenceWarning, match="max_time was over before candidates.*C = 1 and elimination by rule"):
        clf.fit(X, y)
    assert np.isnan(fold_scores(clf)).all()
    assert (clf.C_, clf.elimination_) == (1.0, True)
    assert clf.selection_.features.size == 1


def test_with_enough_time_all_candidates_have_scores():
    clf = fgm_by_rule(1, C="auto", cv=2, max_time=60.0, features_per_turn=1).fit(X, y)
    assert not np.isnan(fold_scores(clf)).any()


def test_grid_search_over_the_number_of_features():
    search = GridSearchCV(fgm_by_rule(C="auto", cv=2, n_candidates=2.0), {"n_features_to_select": [2, 4]}, cv=2)
    search.fit(X, y)
    assert search.best_estimator_.selection_.features.size == search.best_params_["n_features_to_select"]
    assert search.best_estimator_.C_ in CS
    assert search.best_score_ > 0.5


def test_parameters_survive_a_round_trip():
    folds = KFold(3)
    given = {"C": "auto", "cv": folds, "per_class": True, "n_candidates": 1.5, "n_features_to_select": 3}
    clf = fgm_by_rule(**given)
    params = clf.get_params()
    assert all(params[name] == value for name, value in given.items() if name != "cv")
    assert params["cv"] is folds
    assert fgm_by_rule().set_params(**params).get_params() == params
    copy = clone(clf)
    assert {k: v for k, v in copy.get_params().items() if k != "cv"} == {k: v for k, v in params.items() if k != "cv"}
    again = pickle.loads(pickle.dumps(fgm_by_rule(3, C="auto", cv=2, elimination=False).fit(X, y)))
    assert fold_scores(again).shape == (2, 4)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"per_class": True},
        {"groups": np.repeat(np.arange(10), 3)},
        {"always_include": [29], "exclude": [0, 1]},
        {"feature_map": "additive_gaussian"},
        {"loss": "f1"},
    ],
    ids=["shared", "per class", "groups", "restrictions", "kernel", "measure"],
)
def test_C_and_elimination_are_chosen_together(options):
    """For every kind of fit: the best of eight, and the fit is that with the candidate chosen."""
    clf = fgm_by_rule(3, C="auto", elimination="auto", cv=2, n_candidates=2.0, **options).fit(Z, CODES)
    params, means = clf.cv_results_["params"], clf.cv_results_["mean_test_score"]
    assert [tuple(each) for each in params] == [("C", "elimination")] * 7
    chosen = {"C": clf.C_, "elimination": clf.elimination_}
    assert params.index(chosen) == np.argmax(means)
    given = clone(clf).set_params(**chosen).fit(Z, CODES)
    np.testing.assert_array_equal(given.coef_.toarray(), clf.coef_.toarray())


def test_elimination_alone_is_chosen_where_C_is_given():
    clf = fgm_by_rule(3, C=0.5, elimination="auto", cv=2).fit(X, y)
    assert clf.cv_results_["params"] == [{"C": 0.5, "elimination": True}, {"C": 0.5, "elimination": False}]
    assert clf.C_ == 0.5


@pytest.mark.parametrize(
    ("options", "eliminates"),
    [
        ({"n_features_to_select": None}, False),
        ({"solver": "apg"}, False),
        ({"feature_map": Polynomial(heredity="strong")}, True),
    ],
    ids=["no number", "apg", "heredity"],
)
def test_elimination_is_not_chosen_where_there_is_only_one_way(options, eliminates):
    clf = fgm_by_rule(**{"n_features_to_select": 3} | options, elimination="auto", max_iter=5).fit(X[:, :8], y)
    assert clf.elimination_ is eliminates
    assert not hasattr(clf, "cv_results_")


def test_products_with_heredity_choose_C():
    clf = fgm_by_rule(3, C="auto", cv=2, feature_map=Polynomial(heredity="strong")).fit(X[:, :8], y)
    assert clf.cv_results_["mean_test_score"].size == 4
    assert clf.elimination_


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_choices_have_the_same_bits_for_any_number_of_threads(n_jobs):
    clf = fgm_by_rule(4, C="auto", elimination="auto", n_jobs=n_jobs)
    serial, threaded = clone(clf).set_params(n_jobs=1).fit(X, y), clf.fit(X, y)
    np.testing.assert_array_equal(fold_scores(threaded), fold_scores(serial))
    np.testing.assert_array_equal(threaded.coef_.toarray(), serial.coef_.toarray())


def test_little_memory_means_more_scans_and_the_same_choice(monkeypatch):
    clf = fgm_by_rule(4, C="auto", elimination="auto", cv=3)
    at_once = clone(clf).fit(X, y)
    monkeypatch.setattr(choice, "POOLED", 0)
    one_by_one = clf.fit(X, y)
    np.testing.assert_array_equal(fold_scores(one_by_one), fold_scores(at_once))
    assert one_by_one.selection_.trace.passes > at_once.selection_.trace.passes


def test_what_was_chosen_is_saved_and_shown(tmp_path):
    clf = fgm_by_rule(3, C="auto", elimination="auto", cv=2).fit(X, y)
    thresher.save(clf, tmp_path / "model.json")
    loaded = thresher.load(tmp_path / "model.json")
    assert loaded.elimination_ is clf.elimination_
    assert loaded.cv_results_["params"] == clf.cv_results_["params"]
    assert [type(each["elimination"]) for each in loaded.cv_results_["params"]] == [bool] * 7
    assert "the best of 7 combinations of C and elimination" in str(loaded.describe())


def test_words_are_named_with_what_else_a_parameter_may_be():
    with pytest.raises(ValueError, match="elimination must be 'auto' or True or False, got 'x'"):
        fgm_by_rule(3, elimination="x").fit(X, y)
    with pytest.raises(ValueError, match="C must be 'auto' or a positive number, got 'atuo'"):
        fgm_by_rule(3, C="atuo").fit(X, y)
    with pytest.raises(ValueError, match=r"beta_ratio must be between 0 and 1 \(exclusive\), got 2"):
        SparseSVCPath(beta_ratio=2).fit(X, y)
    with pytest.raises(ValueError) as told:
        fgm_by_rule("some").fit(X, y)
    assert str(told.value).count("'all'") == str(told.value).count("None") == 1
