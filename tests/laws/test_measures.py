"""Laws of the searches: against all labellings and rankings, weights, cuts, cost."""

import pickle
import time

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
from thresher.optim.measures.values import (
    F1,
    PRBEP,
    AveragePrecision,
    ErrorRate,
    FBeta,
    PrecisionAtK,
    RecallAtK,
    RocArea,
)


@pytest.mark.parametrize("measure", TABLES, ids=repr)
@settings(max_examples=60, deadline=None)
@given(problems(9))
def test_no_labelling_is_more_violated(measure, problem):
    """The constraint of the cut found is as violated as the worst one of all labellings."""
    y, scores = problem
    cut = measure.prepare(y).cut(scores)
    worst = largest_violation(measure, y, scores)
    assert cut.loss - cut.vector() @ scores == pytest.approx(worst, abs=1e-12 * (1 + np.abs(scores).max()))


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
@settings(max_examples=80, deadline=None)
@given(problems(7))
def test_no_ranking_is_more_violated(measure, problem):
    y, scores = problem
    cut = measure.prepare(y).cut(scores)
    worst = largest_violation(measure, y, scores)
    assert cut.loss - cut.vector() @ scores == pytest.approx(worst, abs=1e-12 * (1 + np.abs(scores).max()))


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


@by_name
@settings(max_examples=30, deadline=None)
@given(problems(40))
def test_most_violated_is_what_the_cut_is_of(measure, problem):
    """Its loss is that of the cut, and its sum over rows is v.s, written out."""
    y, scores = problem
    cut, worst = measure.prepare(y).cut(scores), measure.most_violated(y, scores)
    assert measure.loss(y, worst) == pytest.approx(cut.loss, abs=1e-12)
    if measure in RANKINGS:
        swapped = [(i, j) for i, j in oracle.pairs(y) if worst[i] > worst[j]]
        v = np.zeros(y.size)
        for i, j in swapped:
            v[[i, j]] += np.array([1.0, -1.0]) / len(oracle.pairs(y))
    else:
        k = oracle.count_of(measure.name, getattr(measure, "k", None), y)
        v = oracle.direction(y, worst, k)
    np.testing.assert_allclose(cut.vector(), v, atol=1e-15)


@by_name
@settings(max_examples=30, deadline=None)
@given(problems(40))
def test_risk_is_the_violation_or_zero(measure, problem):
    y, scores = problem
    search = measure.prepare(y)
    cut = search.cut(scores)
    assert search.risk(scores) == max(0.0, cut.loss - cut.vector() @ scores)
    assert search.risk(1e6 * y) == 0.0


@by_name
def test_no_cut_is_above_the_risk(measure):
    """Cuts found at other scores are constraints at these, too: risk is the largest of all."""
    y, _ = random_problem(3, 60)
    search, rng = measure.prepare(y), np.random.default_rng(4)
    tried = [rng.standard_normal(60) * 10.0 ** rng.uniform(-2, 2) + y * rng.uniform(0, 3) for _ in range(30)]
    cuts = [search.cut(scores) for scores in tried]
    for scores in tried:
        risk = search.risk(scores)
        assert max(cut.loss - cut.vector() @ scores for cut in cuts) <= risk + 1e-12 * (1 + abs(risk))


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
        measure.prepare(y, there.astype(float)).cut(scores),
        measure.prepare(y[there]).cut(scores[there]),
    )
    assert found.loss == expected.loss
    np.testing.assert_array_equal(found.vector()[there], expected.vector())
    assert not found.vector()[~there].any()
    other = np.where(there, scores, 5.0 - scores)
    assert measure.prepare(y, there).cut(other) == found
    worst = measure.prepare(y, there.astype(float)).most_violated(scores)
    np.testing.assert_array_equal(worst[there], measure.most_violated(y[there], scores[there]))


@pytest.mark.parametrize("measure", WEIGHTED, ids=repr)
@pytest.mark.parametrize("seed", range(4))
def test_weights_are_repetitions(measure, seed):
    y, scores = random_problem(seed, 50)
    times = np.random.default_rng(seed).integers(0, 4, 50)
    times[:2] = 1, 2
    found = measure.prepare(y, times.astype(float)).cut(scores)
    repeated = measure.prepare(np.repeat(y, times)).cut(np.repeat(scores, times))
    assert found.loss == pytest.approx(repeated.loss, abs=1e-14)
    sums = np.bincount(np.repeat(np.arange(50), times), repeated.vector(), 50)
    np.testing.assert_allclose(found.vector(), sums, atol=1e-15)


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
    assert first.nbytes == (4000 if measure in RANKINGS else 125)
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
    assert search.shift == measure.free
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


@pytest.mark.parametrize("measure", [each for each in LIST if not each.free], ids=repr)
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
