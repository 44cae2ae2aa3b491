"""Measures as users meet them: losses and scores, labels, values and names, bad input, scorers."""

import itertools
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn import metrics
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import LinearSVC

import thresher
from tests.laws.measures import (
    FREE,
    RANKINGS,
    TABLES,
    all_rankings,
    by_name,
    problems,
    random_problem,
)
from tests.oracles import measures as oracle
from thresher.optim.measures.values import (
    F1,
    MEASURES,
    PRBEP,
    AveragePrecision,
    ErrorRate,
    FBeta,
    PrecisionAtK,
    RecallAtK,
    RocArea,
)
from thresher.optim.problems.named import as_loss


@pytest.mark.parametrize("measure", TABLES, ids=repr)
@settings(max_examples=30, deadline=None)
@given(problems(8))
def test_loss_equals_its_definition(measure, problem):
    y, _ = problem
    k = oracle.count_of(measure.name, getattr(measure, "k", None), y)
    for labels in itertools.islice(oracle.labellings(y.size, k), 0, None, 7):
        expected = oracle.loss_of_table(measure.name, y, labels, getattr(measure, "beta", None), k)
        assert measure.loss(y, labels) == pytest.approx(expected, abs=1e-15)
        assert 0.0 <= measure.loss(y, labels) <= 1.0


@pytest.mark.parametrize("measure", RANKINGS, ids=repr)
def test_loss_of_ranks_equals_its_definition(measure):
    y, _ = random_problem(1, 6, 0.5)
    ranks = all_rankings(y.size)
    expected = oracle.loss_of_ranks(measure.name, y, ranks)
    np.testing.assert_allclose([measure.loss(y, each) for each in ranks], expected, atol=1e-15)


def by_scikit_learn(measure, y, scores):
    """The measure by scikit-learn's functions."""
    positive = y > 0
    if measure in RANKINGS:
        return (metrics.roc_auc_score if measure.name == "auc" else metrics.average_precision_score)(positive, scores)
    if measure in FREE:
        beta = getattr(measure, "beta", 1.0)
        accuracy, f = metrics.accuracy_score, metrics.fbeta_score
        return accuracy(positive, scores > 0) if measure.name == "error" else f(positive, scores > 0, beta=beta)
    chosen = np.zeros(y.size, dtype=bool)
    k = oracle.count_of(measure.name, getattr(measure, "k", None), y)
    chosen[np.argsort(-scores, kind="stable")[:k]] = True
    return (metrics.precision_score if measure.name == "precision_at_k" else metrics.recall_score)(positive, chosen)


@by_name
@settings(max_examples=30, deadline=None)
@given(problems(40))
def test_score_equals_scikit_learn(measure, problem):
    y, scores = problem
    with np.errstate(all="ignore"):
        expected = by_scikit_learn(measure, y, scores)
    assert measure.score(y, scores) == pytest.approx(expected, abs=1e-14)


def test_labels_by_count():
    scores = np.array([0.1, -3.0, 2.0, 0.1, -1.0])
    np.testing.assert_array_equal(PRBEP().label(scores, n_positive=2), [1, -1, 1, -1, -1])
    np.testing.assert_array_equal(RecallAtK(2.0).label(scores, n_positive=2), [1, -1, 1, 1, 1])
    np.testing.assert_array_equal(RecallAtK(9.5).label(scores, n_positive=2), np.ones(5))
    np.testing.assert_array_equal(PrecisionAtK(0.1).label(scores, n_positive=2), [-1, -1, 1, -1, -1])
    np.testing.assert_array_equal(PrecisionAtK(1).label(scores), [-1, -1, 1, -1, -1])
    for measure in (F1(), RocArea(), AveragePrecision(), ErrorRate()):
        np.testing.assert_array_equal(measure.label(scores), [1, -1, 1, 1, -1])
    for measure in (PRBEP(), RecallAtK(2.0)):
        with pytest.raises(ValueError, match="pass n_positive"):
            measure.label(scores)


@by_name
@pytest.mark.parametrize("n_positive", [-1, 6, 2.0, 1.5, "2"])
def test_a_number_of_positives_that_cannot_be(measure, n_positive):
    with pytest.raises(ValueError, match=r"n_positive must be an integer from 0 to 5 \(samples\), got"):
        measure.label(np.arange(5.0), n_positive)


@by_name
def test_nothing_to_judge(measure):
    for use in (measure.score, measure.loss, measure.most_violated):
        with pytest.raises(ValueError, match="y is empty: a measure needs at least one sample"):
            use([], [])


@by_name
def test_measures_are_values(measure):
    assert eval(repr(measure), {type(measure).__name__: type(measure)}) == measure
    assert as_loss(measure) is measure
    assert getattr(thresher, type(measure).__name__) is type(measure) is MEASURES[measure.name]
    with pytest.raises(FrozenInstanceError):
        measure.k = 3


def test_integer_and_float_k_are_different_measures():
    assert PrecisionAtK(2) != PrecisionAtK(2.0)
    assert PrecisionAtK(np.int64(2)) == PrecisionAtK(2)
    assert PrecisionAtK(2) != RecallAtK(2)
    assert FBeta(2) == FBeta(2.0)


def test_names():
    assert list(MEASURES) == [
        "error", "f1", "fbeta", "prbep", "precision_at_k", "recall_at_k", "auc", "average_precision",
    ]  # fmt: skip
    assert as_loss("f1") == F1()
    with pytest.raises(ValueError, match=r"loss must be one of .*'error', 'f1', .*'average_precision', .* got 'f2'"):
        as_loss("f2")
    with pytest.raises(ValueError, match="got 3"):
        as_loss(3)
    with pytest.raises(ValueError, match=r"pass a value, for example loss=PrecisionAtK\(k=50\)"):
        as_loss("precision_at_k")


@pytest.mark.parametrize("k", [0, -1, 0.0, -0.5, np.nan, np.inf, "3", None, True])
@pytest.mark.parametrize("kind", [PrecisionAtK, RecallAtK])
def test_bad_k(kind, k):
    with pytest.raises(ValueError, match="k must be an integer of at least 1, or a float above 0"):
        kind(k)


@pytest.mark.parametrize("beta", [0, -1.0, np.nan, np.inf, 1e-9, 1e9, "1", None, True])
def test_bad_beta(beta):
    with pytest.raises(ValueError, match="beta must be a number from 1e-6 to 1e6"):
        FBeta(beta)


@pytest.mark.parametrize("measure", [PrecisionAtK(9), RecallAtK(9)], ids=repr)
def test_more_than_all_samples(measure):
    y, scores = random_problem(0, 8)
    for use in (measure.prepare, lambda y: measure.score(y, scores), lambda y: measure.label(scores)):
        with pytest.raises(ValueError, match="needs at least 9 samples, got 8"):
            use(y)
    y, scores = random_problem(0, 9)
    assert measure.prepare(y).k == 9
    with pytest.raises(ValueError, match="needs at least 9 samples, got 8"):
        measure.prepare(y, np.arange(9) < 8)


def test_other_labels_are_named_and_the_scorer_is_recommended():
    scores = np.linspace(-1.0, 1.0, 2000)
    for labels, found in ((np.arange(2000) % 2, "0, 1"), (np.repeat(["ham", "spam"], 1000), "'ham', 'spam'")):
        with pytest.raises(ValueError, match=r"y must be a vector of -1 and \+1; got the values") as told:
            PrecisionAtK(50).score(labels, scores)
        assert str(told.value).endswith(f" {found}; for other labels use scorer(), a callable of (estimator, X, y)")
    with pytest.raises(ValueError, match=r"got the values 0, 1, 2, \.\.\.;"):
        PrecisionAtK(50).score(np.arange(2000), scores)


@by_name
def test_bad_data(measure):
    y, scores = random_problem(0, 9)
    for bad in (np.ones(9), -np.ones(9)):
        with pytest.raises(ValueError, match=r"y has no (positive|negative) rows"):
            measure.prepare(bad)
    with pytest.raises(ValueError, match="y has no negative rows"):
        measure.prepare(y, y > 0)
    for bad in (np.arange(9), y[:, None], np.where(y > 0, 1.0, np.nan)):
        with pytest.raises(ValueError, match=r"y must be a vector of -1 and \+1"):
            measure.prepare(bad)
    for bad in (scores[:-1], scores[:, None], np.where(y > 0, np.nan, 0.0), np.where(y > 0, np.inf, 0.0)):
        for use in (measure.prepare(y).cut, lambda s: measure.score(y, s), lambda s: measure.most_violated(y, s)):
            with pytest.raises(ValueError, match="scores"):
                use(bad)
    for bad in (y, np.full(9, np.nan), np.ones(8)):
        with pytest.raises(ValueError, match="weights must be"):
            measure.prepare(y, bad)
    with pytest.raises(ValueError, match=r"labels must have the shape of y|ranks"):
        measure.loss(y, y[:-1])
    with pytest.raises(ValueError, match=r"labels must be a vector of -1 and \+1|ranks must be the numbers 1 to 9"):
        measure.loss(y, np.zeros(9))


def test_labels_of_the_wrong_number():
    with pytest.raises(ValueError, match=r"PrecisionAtK\(k=2\) is for exactly 2 positive labels here; got 1"):
        PrecisionAtK(2).loss([1, 1, -1], [1, -1, -1])


def test_scores_of_one_class():
    """F1 of no positives is 0, as without true positives; what is undefined is an error."""
    nothing, scores = -np.ones(4), np.arange(4.0)
    assert F1().score(nothing, scores) == 0.0
    assert ErrorRate().score(nothing, -1.0 - scores) == 1.0
    assert PrecisionAtK(2).score(nothing, scores) == 0.0
    for measure in (PRBEP(), RecallAtK(2), RecallAtK(2.0), RocArea(), AveragePrecision()):
        with pytest.raises(ValueError, match=r"undefined|positives"):
            measure.score(nothing, scores)


def classes_problem(n_classes, names):
    rng = np.random.default_rng(2)
    y = rng.integers(0, n_classes, 150)
    X = rng.standard_normal((150, 5)) + np.eye(5)[y] * 1.5
    return X, np.asarray(names)[y]


@by_name
def test_scorer_of_two_classes(measure):
    X, y = classes_problem(2, ["rare", "apple"])
    scorer = measure.scorer()
    clf = LogisticRegression().fit(X, y)
    assert metrics.check_scoring(clf, scoring=scorer)(clf, X, y) == scorer(clf, X, y)
    expected = by_scikit_learn(measure, np.where(y == "rare", 1.0, -1.0), clf.decision_function(X))  # classes_[1]
    assert pickle.loads(pickle.dumps(scorer))(clf, X, y) == pytest.approx(expected, abs=1e-14)
    found = cross_val_score(LogisticRegression(), X, y, scoring=scorer, cv=3, error_score="raise")
    assert found.shape == (3,)
    assert np.all((found > 0.0) & (found <= 1.0))
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, scoring=scorer, cv=3, error_score="raise")
    assert scorer(search.fit(X, y), X, y) == search.score(X, y)


@by_name
def test_scorer_of_three_classes_is_the_mean_over_those_in_y(measure):
    X, y = classes_problem(3, [10, 20, 30])
    clf = LinearSVC(random_state=0).fit(X, y)
    columns = clf.decision_function(X)
    each = [by_scikit_learn(measure, np.where(y == c, 1.0, -1.0), columns[:, i]) for i, c in enumerate((10, 20, 30))]
    assert measure.scorer()(clf, X, y) == pytest.approx(np.mean(each), abs=1e-14)
    few = y < 30
    each = [by_scikit_learn(measure, np.where(y == c, 1.0, -1.0)[few], columns[few, i]) for i, c in enumerate((10, 20))]
    assert measure.scorer()(clf, X[few], y[few]) == pytest.approx(np.mean(each), abs=1e-14)


def test_scorers_say_what_they_need():
    X, y = classes_problem(2, [0, 1])
    with pytest.raises(TypeError, match=r"F1\(\) needs a fitted classifier .* LogisticRegression has no classes_"):
        F1().scorer()(LogisticRegression(), X, y)
    with pytest.raises(ValueError, match="no label in y is a class of the estimator"):
        F1().scorer()(LogisticRegression().fit(X, y), X, np.full(150, "a"))
