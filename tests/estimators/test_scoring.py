"""``scoring=``: C, and the width of similarities, are chosen by any scorer of scikit-learn."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import get_scorer, make_scorer, matthews_corrcoef
from sklearn.model_selection import KFold

from tests.estimators.test_choice_of_C import compare_in_full
from tests.estimators.test_miles import made_bags
from tests.oracles import bags as oracle
from tests.problems import fold_scores, folds_of, many_classes, problem, tried
from tests.rule import fgm_by_rule, miles_by_rule
from thresher import FewerFeaturesWarning

X, y, _ = problem(90, 40, 8)
Z, CODES, _, _ = many_classes(60, 12, seed=8)
MATTHEWS = make_scorer(matthews_corrcoef)
OPTIONS = {"C": "auto", "scale": None, "tol": 0.0, "n_candidates": 2.0}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scoring", ["roc_auc", "neg_mean_absolute_error", MATTHEWS], ids=str)
def test_scores_are_those_of_a_plain_loop_over_the_folds(scoring, weighted, monkeypatch):
    """Law: score of fold and C == the scorer on the held-out rows, of a fit on the others."""
    compare_in_full(monkeypatch)
    weights = np.random.default_rng(3).integers(1, 4, 90).astype(float) if weighted else np.ones(90)
    clf = fgm_by_rule(4, cv=2, scoring=scoring, **OPTIONS).fit(X, y, sample_weight=weights)
    scorer, scores = get_scorer(scoring), fold_scores(clf)
    for i, (train, test) in enumerate(folds_of(2, X, y, weights)):
        for j, C in enumerate(tried(clf)):
            alone = clone(clf).set_params(C=C, cv=None, scoring=None).fit(X[train], y[train], weights[train])
            expected = scorer(alone, X[test], y[test], sample_weight=weights[test])
            assert scores[i, j] == pytest.approx(expected, abs=1e-12)
    assert tried(clf)[np.argmax(scores.mean(axis=0))] == clf.C_


@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("scoring", ["balanced_accuracy", "f1_macro"])
def test_scores_of_many_classes_are_those_of_a_plain_loop(scoring, per_class, monkeypatch):
    compare_in_full(monkeypatch)
    names = np.array(["ash", "beech", "cedar"])[CODES]
    clf = fgm_by_rule(2, cv=2, scoring=scoring, per_class=per_class, **OPTIONS).fit(Z, names)
    for i, (train, test) in enumerate(folds_of(2, Z, names)):
        for j, C in enumerate(tried(clf)):
            alone = clone(clf).set_params(C=C, cv=None, scoring=None).fit(Z[train], names[train])
            expected = get_scorer(scoring)(alone, Z[test], names[test])
            assert fold_scores(clf)[i, j] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("scoring", ["roc_auc", MATTHEWS], ids=str)
def test_bags_are_scored_as_in_a_plain_loop(scoring, monkeypatch):
    """Law: as on the similarities to the instances of the training bags, written out; scores are of bags, not rows."""
    compare_in_full(monkeypatch)
    rows, labels, bags = made_bags(24)
    options = {"cv": KFold(3), "sigma": 1.5, "scoring": scoring}
    clf = miles_by_rule(3, **OPTIONS, **options).fit(rows, labels, bags=bags)
    names, first = np.unique(bags, return_index=True)
    own = labels[first]
    for i, (train, test) in enumerate(KFold(3).split(names)):
        S = oracle.embedding(rows, bags, rows[np.isin(bags, names[train])], 1.5)
        for j, C in enumerate(tried(clf)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FewerFeaturesWarning)
                peer = fgm_by_rule(3, **OPTIONS | {"C": C}).fit(S[train], own[train])
            expected = get_scorer(scoring)(peer, S[test], own[test])
            assert fold_scores(clf)[i, j] == pytest.approx(expected, abs=1e-12)


def test_without_scoring_it_is_the_accuracy():
    plain, named = (fgm_by_rule(3, C="auto", cv=2, scoring=scoring).fit(X, y) for scoring in (None, "accuracy"))
    np.testing.assert_allclose(fold_scores(plain), fold_scores(named), atol=1e-15)
    assert plain.C_ == named.C_


def test_a_scorer_may_choose_another_C_than_the_measure_that_is_the_loss():
    clf = fgm_by_rule(2, C="auto", cv=2, loss="f1", scoring="accuracy").fit(X, (y > 0).astype(int))
    scores = fold_scores(clf)
    assert np.round(45 * scores) == pytest.approx(45 * scores), "shares of 45 samples, which F1 is not"


@pytest.mark.parametrize(
    ("scoring", "message"),
    [
        ("roc_aux", r"scoring='roc_aux' is not the name of a scorer of scikit-learn.*'roc_auc'"),
        (3, "scoring must be a string or a callable, got 3"),
        ("neg_log_loss", "scoring='neg_log_loss' cannot be used: FGMClassifier has decision_function and predict only"),
    ],
)
def test_wrong_scorers_are_refused_before_anything_is_solved(scoring, message, monkeypatch):
    monkeypatch.setattr("thresher.estimators.fgm.choice.compared", pytest.fail)
    with pytest.raises(ValueError, match=message):
        fgm_by_rule(3, C="auto", cv=2, scoring=scoring).fit(X, y)


def test_scorers_of_one_class_need_two():
    with pytest.raises(ValueError, match=r"scoring='f1' is of class 1 of two classes.* use 'f1_macro'"):
        fgm_by_rule(3, C="auto", cv=2, scoring="f1").fit(Z, CODES)


@pytest.mark.filterwarnings("ignore:scoring='nonsense' has no effect")
def test_scoring_is_not_looked_at_without_a_choice():
    assert fgm_by_rule(3, C=1.0, scoring="nonsense").fit(X, y).C_ == 1.0
