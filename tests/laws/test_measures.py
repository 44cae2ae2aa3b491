"""Laws of the measures: exact searches against all labellings and rankings, weights, planes, values, scorers."""

import functools
import itertools
import pickle
import time
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import LinearSVC

import thresher
from tests.oracles import measures as oracle
from thresher.loops.measures import place_negatives
from thresher.optim.measures import (
    F1,
    MEASURES,
    PRBEP,
    AveragePrecision,
    ErrorRate,
    FBeta,
    Measure,
    PrecisionAtK,
    RecallAtK,
    RocArea,
    as_measure,
)

TABLES = [
    ErrorRate(), F1(), FBeta(0.3), FBeta(1.0), FBeta(3.0), PRBEP(), PrecisionAtK(1), PrecisionAtK(2), PrecisionAtK(0.5),
    RecallAtK(2), RecallAtK(1.5), RecallAtK(2.0),
]  # fmt: skip
RANKINGS = [RocArea(), AveragePrecision()]
LIST = TABLES + RANKINGS
WEIGHTED = [ErrorRate(), RocArea()]
FREE = [measure for measure in LIST if measure.free]
by_name = pytest.mark.parametrize("measure", LIST, ids=repr)


@st.composite
def problems(draw, most):
    """Labels of both classes, and scores of few values, so that there are ties, or of many."""
    n = draw(st.integers(2, most))
    y = np.array(draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=n, max_size=n)))
    y[draw(st.permutations(range(n)))[:2]] = 1.0, -1.0
    coarse = st.integers(-3, 3).map(lambda value: value / 2)
    value = draw(st.sampled_from([coarse, st.floats(-3, 3), st.floats(-100, 100)]))
    return y, np.array(draw(st.lists(value, min_size=n, max_size=n)))


all_rankings = functools.cache(oracle.rankings)


def parameters(measure):
    return {each.name: getattr(measure, each.name) for each in fields(measure)}


def largest_violation(measure, y, scores):
    if measure in RANKINGS:
        return oracle.largest_violation_of_ranks(measure.name, y, scores, all_rankings(y.size))
    return oracle.largest_violation(measure.name, y, scores, **parameters(measure))


def random_problem(seed, n, share=0.3):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < share, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return y, np.round(rng.standard_normal(n) + 0.4 * y, rng.integers(1, 8))


@pytest.mark.parametrize("measure", TABLES, ids=repr)
@settings(max_examples=60, deadline=None)
@given(problems(9))
def test_no_labelling_is_more_violated(measure, problem):
    """The constraint of the plane found is as violated as the worst one of all labellings."""
    y, scores = problem
    plane = measure.prepare(y).plane(scores)
    worst = largest_violation(measure, y, scores)
    assert plane.loss - plane.vector() @ scores == pytest.approx(worst, abs=1e-12 * (1 + np.abs(scores).max()))


@pytest.mark.parametrize("measure", TABLES, ids=repr)
@pytest.mark.parametrize("share", [0.15, 0.5, 0.85])
def test_no_labelling_of_twelve_rows_is_more_violated(measure, share):
    y, scores = random_problem(int(100 * share), 12, share)
    plane = measure.prepare(y).plane(scores)
    assert plane.loss - plane.vector() @ scores == pytest.approx(largest_violation(measure, y, scores), abs=1e-12)


@pytest.mark.parametrize("measure", TABLES, ids=repr)
@pytest.mark.parametrize("share", [0.03, 0.3, 0.9])
@pytest.mark.parametrize("scale", [0.05, 1.0, 20.0])
def test_no_numbers_of_true_and_false_positives_are_more_violated(measure, share, scale):
    y, scores = random_problem(3, 70, share)
    plane = measure.prepare(y).plane(scale * scores)
    worst = oracle.largest_violation_by_counts(measure.name, y, scale * scores, **parameters(measure))
    assert plane.loss - plane.vector() @ (scale * scores) == pytest.approx(worst, abs=1e-12 * (1 + scale))


@pytest.mark.parametrize("share", [0.03, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("scale", [0.0, 0.05, 1.0, 20.0])
def test_no_merging_is_more_violated(share, scale):
    y, scores = random_problem(4, 90, share)
    plane = AveragePrecision().prepare(y).plane(scale * scores)
    worst = oracle.largest_violation_by_merging(y, scale * scores)
    assert plane.loss - plane.vector() @ (scale * scores) == pytest.approx(worst, abs=1e-12 * (1 + scale))


@pytest.mark.parametrize("measure", RANKINGS, ids=repr)
@settings(max_examples=80, deadline=None)
@given(problems(7))
def test_no_ranking_is_more_violated(measure, problem):
    y, scores = problem
    plane = measure.prepare(y).plane(scores)
    worst = largest_violation(measure, y, scores)
    assert plane.loss - plane.vector() @ scores == pytest.approx(worst, abs=1e-12 * (1 + np.abs(scores).max()))


@pytest.mark.parametrize("measure", RANKINGS, ids=repr)
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_no_ranking_of_nine_rows_is_more_violated(measure, share):
    y, scores = random_problem(int(10 * share), 9, share)
    plane = measure.prepare(y).plane(scores)
    assert plane.loss - plane.vector() @ scores == pytest.approx(largest_violation(measure, y, scores), abs=1e-12)


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


@by_name
@settings(max_examples=30, deadline=None)
@given(problems(40))
def test_most_violated_is_what_the_plane_is_of(measure, problem):
    """Its loss is that of the plane, and its sum over rows is v.s, written out."""
    y, scores = problem
    plane, worst = measure.prepare(y).plane(scores), measure.most_violated(y, scores)
    assert measure.loss(y, worst) == pytest.approx(plane.loss, abs=1e-12)
    if measure in RANKINGS:
        swapped = [(i, j) for i, j in oracle.pairs(y) if worst[i] > worst[j]]
        v = np.zeros(y.size)
        for i, j in swapped:
            v[[i, j]] += np.array([1.0, -1.0]) / len(oracle.pairs(y))
    else:
        k = oracle.count_of(measure.name, getattr(measure, "k", None), y)
        v = oracle.direction(y, worst, k)
    np.testing.assert_allclose(plane.vector(), v, atol=1e-15)


@by_name
@settings(max_examples=30, deadline=None)
@given(problems(40))
def test_risk_is_the_violation_or_zero(measure, problem):
    y, scores = problem
    search = measure.prepare(y)
    plane = search.plane(scores)
    assert search.risk(scores) == max(0.0, plane.loss - plane.vector() @ scores)
    assert search.risk(1e6 * y) == 0.0


@by_name
def test_no_plane_is_above_the_risk(measure):
    """Planes found at other scores are constraints at these, too: risk is the largest of all."""
    y, _ = random_problem(3, 60)
    search, rng = measure.prepare(y), np.random.default_rng(4)
    tried = [rng.standard_normal(60) * 10.0 ** rng.uniform(-2, 2) + y * rng.uniform(0, 3) for _ in range(30)]
    planes = [search.plane(scores) for scores in tried]
    for scores in tried:
        risk = search.risk(scores)
        assert max(plane.loss - plane.vector() @ scores for plane in planes) <= risk + 1e-12 * (1 + abs(risk))


@settings(max_examples=30, deadline=None)
@given(problems(40))
def test_error_rate_is_the_mean_hinge_loss_and_roc_area_that_of_pairs(problem):
    y, scores = problem
    weights = np.random.default_rng(0).uniform(0, 2, y.size)
    hinge = np.average(np.maximum(0.0, 1.0 - y * scores), weights=weights)
    assert ErrorRate().prepare(y, weights).risk(scores) == pytest.approx(hinge, rel=1e-12, abs=1e-12)
    pairs = oracle.pairwise_hinge(y, scores, weights)
    assert RocArea().prepare(y, weights).risk(scores) == pytest.approx(pairs, rel=1e-12, abs=1e-12)


@by_name
@pytest.mark.parametrize("seed", range(4))
def test_rows_of_weight_zero_are_not_there(measure, seed):
    y, scores = random_problem(seed, 50)
    there = np.random.default_rng(seed).random(50) < 0.7
    there[:2] = True
    found, expected = (
        measure.prepare(y, there.astype(float)).plane(scores),
        measure.prepare(y[there]).plane(scores[there]),
    )
    assert found.loss == expected.loss
    np.testing.assert_array_equal(found.vector()[there], expected.vector())
    assert not found.vector()[~there].any()
    worst = measure.prepare(y, there.astype(float)).most_violated(scores)
    np.testing.assert_array_equal(worst[there], measure.most_violated(y[there], scores[there]))


@pytest.mark.parametrize("measure", WEIGHTED, ids=repr)
@pytest.mark.parametrize("seed", range(4))
def test_weights_are_repetitions(measure, seed):
    y, scores = random_problem(seed, 50)
    times = np.random.default_rng(seed).integers(0, 4, 50)
    times[:2] = 1, 2
    found = measure.prepare(y, times.astype(float)).plane(scores)
    repeated = measure.prepare(np.repeat(y, times)).plane(np.repeat(scores, times))
    assert found.loss == pytest.approx(repeated.loss, abs=1e-14)
    sums = np.bincount(np.repeat(np.arange(50), times), repeated.vector(), 50)
    np.testing.assert_allclose(found.vector(), sums, atol=1e-15)


@pytest.mark.parametrize("measure", [each for each in LIST if each not in WEIGHTED], ids=repr)
def test_other_measures_refuse_other_weights(measure):
    y, _ = random_problem(0, 9)
    with pytest.raises(ValueError, match=r"takes weights 0 and 1 only.*knapsack"):
        measure.prepare(y, np.linspace(0.5, 1.0, 9))


@by_name
def test_planes_are_small_equal_by_content_and_pickle(measure):
    y, scores = random_problem(5, 1000)
    search = measure.prepare(y)
    first, again, other = search.plane(scores), search.plane(scores.copy()), search.plane(-scores)
    assert first == again
    assert len({first, again, other}) == 2
    assert first != other
    assert (first.key == again.key, first.key == other.key) == (True, False)
    assert first.nbytes == (4000 if measure in RANKINGS else 125)
    copy = pickle.loads(pickle.dumps(first))
    assert (copy, copy.loss) == (first, first.loss)
    np.testing.assert_array_equal(copy.vector(), first.vector())
    assert len(repr(first)) < 200


@by_name
def test_planes_do_not_share_memory_with_what_was_given(measure):
    y, scores = random_problem(6, 30)
    given = y.copy()
    search = measure.prepare(given)
    plane = search.plane(scores)
    before = plane.vector()
    given[:] = -given
    scores[:] = 0.0
    np.testing.assert_array_equal(plane.vector(), before)


@by_name
def test_a_shift_of_all_scores_matters_where_positives_are_free(measure):
    y, scores = random_problem(7, 80)
    search = measure.prepare(y)
    assert search.shift == measure.free
    moved = search.risk(scores + 0.37)
    assert (moved == pytest.approx(search.risk(scores), abs=1e-12)) is not search.shift


@pytest.mark.parametrize("measure", FREE, ids=repr)
@pytest.mark.parametrize("positive", [True, False])
def test_all_rows_with_one_label(measure, positive):
    y, _ = random_problem(8, 40)
    there = np.arange(40) % 5 != 4
    plane = measure.prepare(y, there.astype(float)).everything(positive)
    labels = np.full(there.sum(), 1.0 if positive else -1.0)
    assert plane.loss == pytest.approx(measure.loss(y[there], labels), abs=1e-15)
    np.testing.assert_allclose(plane.vector()[there], oracle.direction(y[there], labels), atol=1e-16)
    assert np.sign(plane.vector().sum()) == (-1.0 if positive else 1.0)


@pytest.mark.parametrize("measure", [each for each in LIST if not each.free], ids=repr)
def test_a_fixed_number_of_positives_cannot_be_all(measure):
    y, _ = random_problem(8, 40)
    with pytest.raises(ValueError, match="number of predicted positives"):
        measure.prepare(y).everything(True)


def test_ties_go_to_the_lower_row():
    y = np.array([-1.0, 1.0, 1.0, 1.0, -1.0, -1.0])
    labels = PRBEP().most_violated(y, np.zeros(6))
    np.testing.assert_array_equal(labels, [1.0, -1.0, -1.0, -1.0, 1.0, 1.0])
    np.testing.assert_array_equal(PrecisionAtK(2).most_violated(y, np.zeros(6)), [1, -1, -1, -1, 1, -1])
    np.testing.assert_array_equal(RecallAtK(5).most_violated(y, np.zeros(6)), [1, 1, 1, -1, 1, 1])
    np.testing.assert_array_equal(F1().most_violated(y, np.zeros(6)), np.full(6, -1.0))
    np.testing.assert_array_equal(RocArea().most_violated(y, np.zeros(6)), [1, 4, 5, 6, 2, 3])
    np.testing.assert_array_equal(AveragePrecision().most_violated(y, np.zeros(6)), [1, 4, 5, 6, 2, 3])
    np.testing.assert_array_equal(PrecisionAtK(3).label(np.zeros(6)), [1, 1, 1, -1, -1, -1])


def by_scikit_learn(measure, y, scores):
    """The measure by scikit-learn's functions."""
    positive = y > 0
    if measure in RANKINGS:
        return (metrics.roc_auc_score if measure.name == "auc" else metrics.average_precision_score)(positive, scores)
    if measure.free:
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


@pytest.mark.parametrize("measure", TABLES, ids=repr)
def test_score_is_one_less_the_loss_of_the_labels(measure):
    y, scores = random_problem(9, 70)
    labels = measure.label(scores, int((y > 0).sum()))
    assert measure.score(y, scores) == 1.0 - measure.loss(y, labels)


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
def test_measures_are_values(measure):
    assert pickle.loads(pickle.dumps(measure)) == measure
    assert eval(repr(measure), {type(measure).__name__: type(measure)}) == measure
    assert hash(measure) == hash(pickle.loads(pickle.dumps(measure)))
    assert isinstance(measure, Measure)
    assert as_measure(measure) is measure
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
    assert as_measure("f1") == F1()
    with pytest.raises(ValueError, match=r"unknown measure 'f2': use one of 'error', 'f1', .*'average_precision'"):
        as_measure("f2")
    with pytest.raises(ValueError, match="unknown measure 3"):
        as_measure(3)
    with pytest.raises(ValueError, match=r"pass PrecisionAtK\(k=...\)"):
        as_measure("precision_at_k")


@pytest.mark.parametrize("k", [0, -1, 0.0, -0.5, np.nan, np.inf, "3", None, True])
@pytest.mark.parametrize("kind", [PrecisionAtK, RecallAtK])
def test_bad_k(kind, k):
    with pytest.raises(ValueError, match="k must be an integer of at least 1, or a float above 0"):
        kind(k)


@pytest.mark.parametrize("beta", [0, -1.0, np.nan, np.inf, "1", None, True])
def test_bad_beta(beta):
    with pytest.raises(ValueError, match="beta must be a finite number above 0"):
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
        for use in (measure.prepare(y).plane, lambda s: measure.score(y, s), lambda s: measure.most_violated(y, s)):
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


class Counting:
    """Scores that count how often they are read."""

    def __init__(self, scores):
        self.scores, self.size, self.reads = scores, scores.size, 0

    def __getitem__(self, at):
        self.reads += 1
        return self.scores[at]


@pytest.mark.parametrize("kind", ["random", "equal", "separated", "reversed"])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.98])
def test_steps_of_the_average_precision_grow_as_n_log_n(kind, share):
    y, scores = random_problem(1, 1500, share)
    scores = {"random": scores, "equal": 0.0 * y, "separated": 3.0 * y, "reversed": -3.0 * y}[kind]
    positives, negatives = (np.sort(scores[y == sign])[::-1] for sign in (1.0, -1.0))
    counting, above = Counting(positives), np.empty(negatives.size, dtype=np.int64)
    place_negatives.py_func(counting, negatives, above)
    rounds = np.ceil(np.log2(negatives.size)) + 1
    assert 0 < counting.reads <= rounds * (positives.size + negatives.size)
    compiled = np.empty_like(above)
    place_negatives(positives, negatives, compiled)
    np.testing.assert_array_equal(above, compiled)


def seconds(measure, n, kind):
    """Of the processor, for one search; the best of three."""
    y, scores = random_problem(0, n, 0.5)
    search = measure.prepare(y)
    scores = {"random": scores, "equal": 0.0 * y, "separated": 3.0 * y}[kind]
    taken = []
    for _ in range(3):
        begin = time.process_time()
        search.plane(scores)
        taken.append(time.process_time() - begin)
    return min(taken)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["random", "equal", "separated"])
@by_name
def test_time_grows_as_n_log_n(measure, kind):
    """16 times the rows take 20 times as long, and would take 256 times as long if each met each."""
    assert seconds(measure, 1_600_000, kind) < 80 * seconds(measure, 100_000, kind)


@pytest.mark.slow
@pytest.mark.parametrize("measure", [F1(), FBeta(0.5), FBeta(2.0)], ids=repr)
def test_f_of_a_million_rows_takes_less_than_a_second(measure):
    assert seconds(measure, 1_000_000, "random") < 1.0
