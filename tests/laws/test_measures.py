"""Laws of the searches: against all labellings and rankings, weights, cuts, cost."""

import pickle
import time
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings

from tests.laws.measures import (
    FREE,
    LIST,
    RANKINGS,
    TABLES,
    WEIGHTED,
    by_name,
    largest_violation,
    parameters,
    problems,
    random_problem,
)
from tests.oracles import measures as oracle
from thresher.loops.measures import place_negatives
from thresher.losses import SquaredHinge
from thresher.measures import (
    F1,
    PRBEP,
    AveragePrecision,
    ConfusionMeasure,
    ErrorRate,
    FBeta,
    PrecisionAtK,
    RecallAtK,
    RocArea,
)
from thresher.optim.measures import labellings
from thresher.optim.measures.cuts import LabelCut
from thresher.optim.measures.labellings import CountsOracle
from thresher.testing import check_measure


@by_name
@pytest.mark.parametrize("seed", range(4))
def test_laws(measure, seed):
    check_measure(measure, random_state=seed)


@dataclass(frozen=True)
class OfCounts(ConfusionMeasure):
    """A measure of the confusion matrix with a loss from FORMS, and the search that all such measures have."""

    form: str

    def loss_of_counts(self, true, false, n_positive, n_negative):
        return FORMS[self.form](true, false, n_positive, n_negative)


def correlation(true, false, n_positive, n_negative):
    """(1 - Matthews correlation) / 2."""
    product = (true + false) * n_positive * n_negative * (n_positive + n_negative - true - false)
    above = true * (n_negative - false) - false * (n_positive - true)
    return 0.5 * (1.0 - above / np.sqrt(np.where(product > 0.0, product, np.inf)))


FORMS = {
    "balanced error": lambda a, b, P, N: 0.5 * (1.0 - a / P + b / N),
    "1 - geometric mean": lambda a, b, P, N: 1.0 - np.sqrt(a / P * (1.0 - b / N)),
    "1 - Jaccard": lambda a, b, P, N: 1.0 - a / (P + b),
    "anything perfect": lambda a, b, P, N: 1.0 * (a + N - b < P + N),
    "wrong by two": lambda a, b, P, N: np.where(P - a + b == 2, 1.0, 0.0),
    "correlation": correlation,
    "F1": F1().loss_of_counts,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(2))
def test_every_measure_of_the_confusion_matrix_has_an_exact_search(form, seed):
    """Also where the loss rises and falls with the counts."""
    check_measure(OfCounts(form), random_state=seed)


@pytest.mark.parametrize("scale", [0.0, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("most", [1, 1000, 1 << 20])
def test_the_search_over_all_counts_finds_what_that_of_f1_does(scale, most, monkeypatch):
    monkeypatch.setattr(labellings, "COUNT_PAIRS", most)
    y, scores = random_problem(5, 200)
    ours, general = F1().prepare(y), OfCounts("F1").prepare(y)
    assert general.cut(scale * scores) == ours.cut(scale * scores)
    for b in (-1.0, 0.0, 0.3):
        found, expected = general.shift_search(scale * scores).at(b), ours.shift_search(scale * scores).at(b)
        assert found.counts == expected.counts
        assert found.value == pytest.approx(expected.value, abs=1e-12)
    assert general.threshold(scores, 0.1) == ours.threshold(scores, 0.1)
    assert [general.uniform_cut(each) for each in (True, False)] == [ours.uniform_cut(each) for each in (True, False)]


class NotFrozen(ConfusionMeasure):
    loss_of_counts = F1.loss_of_counts


def broken(name, base=F1, **members):
    """A measure with some members replaced, which pickles."""
    cls = dataclass(frozen=True)(type(name, (base,), members | {"__module__": __name__}))
    globals()[name] = cls
    return cls()


def of_oracle(name, base=F1, **members):
    """A measure whose search has some members replaced."""

    def oracle(self, rows):
        search = base().oracle(rows)
        search.__class__ = type(name, (type(search),), members)
        return search

    return broken(name, base, oracle=oracle)


def lazy(self, scores):
    """Exact for few rows; of many only every other time."""
    if scores.size <= 20 or scores[0] > 0.0:
        return CountsOracle.cut(self, scores)
    return LabelCut.of(self.rows, self.loss(0, 0), self.rows.y > 0)


def zero_or_one(weights):
    return None if weights is None else weights > 0.0


def heavier(self, scores):
    cut = CountsOracle.cut(self, scores)
    return LabelCut(cut.loss + 0.1, cut.key, cut.rows)


@dataclass(frozen=True)
class Local(F1):
    """Another class stands under its name."""


local, Local = Local(), None
BROKEN = {
    "it must pickle; define its class at the top": local,
    "must be a value of a subclass": SquaredHinge(),
    "must be a frozen dataclass": NotFrozen(),
    r"the loss must be in \[0, 1\]": broken(
        "Doubled", RocArea, loss_of=lambda self, y, r: 2.0 * RocArea().loss_of(y, r)
    ),
    "the loss must be defined for all": broken("Below", loss_of_counts=lambda self, a, b, P, N: 1.0 - a / (a + b)),
    "the loss of a perfect prediction": broken("Never", loss_of_counts=lambda self, a, b, P, N: 0.5 + 0.0 * a),
    "score must be one less loss": broken("Other", score_of=lambda self, y, s: ErrorRate().score_of(y, s)),
    "most_violated must be a prediction that": broken("Flat", most_violated=lambda self, y, s: 0.0 * y),
    "most_violated must be what brute force": broken("Wrong", oracle=lambda self, rows: ErrorRate().oracle(rows)),
    "a cut must have the loss": of_oracle("Heavier", cut=heavier),
    "the risk must be that of the cut": of_oracle("Riskier", risk=lambda self, s: 0.1 + CountsOracle.risk(self, s)),
    "no cut may be above the risk": of_oracle("Lazy", cut=lazy),
    "weight 0 must not count in score": broken("CountsAll", score=lambda self, y, s, w=None: F1().score(y, s)),
    "weight 0 must not count in the search": broken("All", prepare=lambda self, y, w=None: F1().prepare(y)),
    "score must refuse weights": broken("Taking", score=lambda self, y, s, w=None: F1().score(y, s, zero_or_one(w))),
    "prepare must refuse weights": broken("Keeping", prepare=lambda self, y, w=None: F1().prepare(y, zero_or_one(w))),
    "repetitions in score": broken("Even", ErrorRate, weighted_score_of=lambda self, y, s, w: self.score_of(y, s)),
    "repetitions in the search": broken(
        "Level", ErrorRate, prepare=lambda self, y, w=None: ErrorRate().prepare(y, zero_or_one(w))
    ),
}


@pytest.mark.parametrize("law", BROKEN)
def test_every_law_fails_on_a_broken_copy(law):
    with pytest.raises(AssertionError, match=law):
        check_measure(BROKEN[law])


def test_measures_of_more_samples_than_are_tried_cannot_be_checked():
    with pytest.raises(ValueError, match=r"PrecisionAtK\(k=50\) needs more than the 10 samples that are tried"):
        check_measure(PrecisionAtK(50))


@pytest.mark.parametrize("measure", TABLES, ids=repr)
@pytest.mark.parametrize("share", [0.15, 0.5, 0.85])
def test_no_labelling_of_twelve_rows_is_more_violated(measure, share):
    y, scores = random_problem(int(100 * share), 12, share)
    cut = measure.prepare(y).cut(scores)
    assert cut.loss - cut.vector() @ scores == pytest.approx(largest_violation(measure, y, scores), abs=1e-12)


@pytest.mark.parametrize("measure", TABLES, ids=repr)
@pytest.mark.parametrize("seed", range(40))
def test_no_numbers_of_true_and_false_positives_are_more_violated(measure, seed):
    """With scores so good that the worst labelling keeps some positives, and takes some negatives."""
    rng = np.random.default_rng(seed)
    y, noise = random_problem(seed, int(rng.integers(5, 60)), rng.choice([0.1, 0.4, 0.8]))
    scores = rng.choice([0.3, 1.0, 4.0]) * (noise * rng.choice([0.1, 1.0]) + y * rng.choice([0.0, 0.5, 1.0, 3.0]))
    cut = measure.prepare(y).cut(scores)
    worst = oracle.largest_violation_by_counts(measure.name, y, scores, **parameters(measure))
    assert cut.loss - cut.vector() @ scores == pytest.approx(worst, abs=1e-12 * (1 + np.abs(scores).max()))


@pytest.mark.parametrize("spread", [(2.0, 0.5), (2.0, 4.0), (5.0, 4.0)])
@pytest.mark.parametrize("seed", range(18))
def test_no_numbers_are_more_violated_where_positives_are_many_and_precision_counts(spread, seed):
    """The number of false positives then first rises and then falls with that of true ones."""
    rng = np.random.default_rng(seed)
    y, _ = random_problem(seed, 50, 0.9)
    scores = np.where(y > 0, rng.exponential(spread[0], 50), -rng.exponential(spread[1], 50))
    cut = FBeta(0.3).prepare(y).cut(scores)
    worst = oracle.largest_violation_by_counts("fbeta", y, scores, beta=0.3)
    assert cut.loss - cut.vector() @ scores == pytest.approx(worst, abs=1e-12)


@pytest.mark.parametrize("share", [0.03, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("scale", [0.0, 0.05, 1.0, 20.0])
def test_no_merging_is_more_violated(share, scale):
    y, scores = random_problem(4, 90, share)
    cut = AveragePrecision().prepare(y).cut(scale * scores)
    worst = oracle.largest_violation_by_merging(y, scale * scores)
    assert cut.loss - cut.vector() @ (scale * scores) == pytest.approx(worst, abs=1e-12 * (1 + scale))


@pytest.mark.parametrize("measure", RANKINGS, ids=repr)
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_no_ranking_of_nine_rows_is_more_violated(measure, share):
    y, scores = random_problem(int(10 * share), 9, share)
    cut = measure.prepare(y).cut(scores)
    assert cut.loss - cut.vector() @ scores == pytest.approx(largest_violation(measure, y, scores), abs=1e-12)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_the_papers_form_at_k_loses_its_loss_to_a_constant(k):
    """Scores as they are: the same labelling, and a violation that a constant removes; not so where the mean is off."""
    y, scores = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0]), np.array([0.3, -0.2, 0.1, 0.3, 0.0, -0.4, 0.5])
    ours, paper = PrecisionAtK(k).prepare(y), PrecisionAtK(k).prepare(y)
    paper.mean = 0.0
    np.testing.assert_array_equal(paper.most_violated(scores), ours.most_violated(scores))
    violations = [
        oracle.loss_of_table("precision_at_k", y, labels, None, k) - (y - labels) @ scores / (2 * y.size)
        for labels in oracle.labellings(y.size, k)
    ]
    assert paper.risk(scores) == pytest.approx(max(0.0, *violations), abs=1e-15)
    constant = np.full(y.size, 10.0 * np.sign(3 - k))
    assert paper.risk(constant) == 0.0
    assert ours.risk(constant) == pytest.approx(ours.risk(0.0 * constant)) == pytest.approx(1.0 - max(0, k - 4) / k)


@settings(max_examples=30, deadline=None)
@given(problems(40))
def test_error_rate_is_the_mean_hinge_loss_and_roc_area_that_of_pairs(problem):
    y, scores = problem
    weights = np.random.default_rng(0).uniform(0, 2, y.size)
    hinge = np.average(np.maximum(0.0, 1.0 - y * scores), weights=weights)
    assert ErrorRate().prepare(y, weights).risk(scores) == pytest.approx(hinge, rel=1e-12, abs=1e-12)
    pairs = oracle.pairwise_hinge(y, scores, weights)
    assert RocArea().prepare(y, weights).risk(scores) == pytest.approx(pairs, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("measure", [each for each in LIST if each not in WEIGHTED], ids=repr)
def test_other_measures_refuse_other_weights(measure):
    y, _ = random_problem(0, 9)
    with pytest.raises(ValueError, match=r"takes weights 0 and 1 only.*knapsack"):
        measure.prepare(y, np.linspace(0.5, 1.0, 9))


@by_name
def test_cuts_are_small_equal_by_content_and_pickle(measure):
    y, scores = random_problem(5, 1000)
    search = measure.prepare(y)
    first, again, other = search.cut(scores), search.cut(scores.copy()), search.cut(-scores)
    assert first == again
    assert len({first, again, other}) == 2
    assert first != other
    assert (first.key == again.key, first.key == other.key) == (True, False)
    assert len(first.key) == (4000 if measure in RANKINGS else 125)
    copy = pickle.loads(pickle.dumps(first))
    assert (copy, copy.loss) == (first, first.loss)
    np.testing.assert_array_equal(copy.vector(), first.vector())
    assert len(repr(first)) < 200


@by_name
def test_cuts_do_not_share_memory_with_what_was_given(measure):
    y, scores = random_problem(6, 30)
    given = y.copy()
    search = measure.prepare(given)
    cut = search.cut(scores)
    before = cut.vector()
    given[:] = -given
    scores[:] = 0.0
    np.testing.assert_array_equal(cut.vector(), before)


@by_name
def test_a_shift_of_all_scores_matters_where_positives_are_free(measure):
    y, scores = random_problem(7, 80)
    search = measure.prepare(y)
    assert search.shift == (measure in FREE)
    moved = search.risk(scores + 0.37)
    assert (moved == pytest.approx(search.risk(scores), abs=1e-12)) is not search.shift


@pytest.mark.parametrize("measure", FREE, ids=repr)
@pytest.mark.parametrize("positive", [True, False])
def test_all_rows_with_one_label(measure, positive):
    y, _ = random_problem(8, 40)
    there = np.arange(40) % 5 != 4
    cut = measure.prepare(y, there.astype(float)).uniform_cut(positive)
    labels = np.full(there.sum(), 1.0 if positive else -1.0)
    assert cut.loss == pytest.approx(measure.loss(y[there], labels), abs=1e-15)
    np.testing.assert_allclose(cut.vector()[there], oracle.direction(y[there], labels), atol=1e-16)
    assert np.sign(cut.vector().sum()) == (-1.0 if positive else 1.0)


@pytest.mark.parametrize("measure", [each for each in LIST if each not in FREE], ids=repr)
def test_a_fixed_number_of_positives_cannot_be_all(measure):
    y, _ = random_problem(8, 40)
    with pytest.raises(ValueError, match="number of predicted positives"):
        measure.prepare(y).uniform_cut(True)


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


def test_equally_violated_predictions():
    """At the scores where two of them are: fewest true positives, margins that are wide enough, no swaps."""
    y = np.array([1.0, -1.0])
    np.testing.assert_array_equal(ErrorRate().most_violated(y, y), y)
    np.testing.assert_array_equal(F1().most_violated(y, np.array([2.0, -9.0])), [-1, -1])
    np.testing.assert_array_equal(F1().most_violated(y, np.array([9.0, -1.0])), [1, -1])
    np.testing.assert_array_equal(PRBEP().most_violated(y, y), [-1, 1])
    np.testing.assert_array_equal(RocArea().most_violated(y, 0.5 * y), [1, 2])
    np.testing.assert_array_equal(AveragePrecision().most_violated(y, 0.25 * y), [1, 2])


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
        search.cut(scores)
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
