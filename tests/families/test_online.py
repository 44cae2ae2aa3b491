"""Online learners against the literal algorithms of tests/oracles/online.py, round by round."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.online import Literal
from thresher.families.online.learner import METHODS, LearnerOptions
from thresher.families.online.learners import Learners, milestone_after
from thresher.loops import averaging, descent

LOSSES = ("squared_hinge", "hinge", "logistic")
KINDS = ("binary", "counts", "normal", "repeated")
EVERY_METHOD = pytest.mark.parametrize("method", METHODS)


def stream(rng, n, d, kind):
    """(X, y): rows with a third of the features at most, some with none; y leans on a fifth of them."""
    X = np.zeros((n, d))
    for row in X:
        k = int(rng.integers(0, max(2, d // 3)))
        columns = rng.choice(d, k, replace=kind == "repeated")
        values = {"binary": np.ones(k), "normal": rng.normal(size=k), "repeated": rng.choice([-1.0, 0.5, 2.0], k)}
        np.add.at(row, columns, values.get(kind, rng.integers(1, 4, k)))
    pull = X @ (rng.normal(size=d) * (rng.random(d) < 0.2))
    return X, np.where(pull + 0.5 * rng.normal(size=n) > 0.0, 1.0, -1.0)


def setting_of(method, penalty, step_size=0.1, gamma=1.0):
    """The parameters that a method knows."""
    known = {"step_size": step_size, "l2": penalty, "l1": penalty, "gamma": gamma}
    return {name: known[name] for name in METHODS[method].parameters}


def options_of(method, budget, loss=None, intercept=False):
    return {"budget": budget, "delta": 0.01, "loss": loss or METHODS[method].loss, "intercept": intercept}


def made_learners(method, settings, n_classes, **options):
    return Learners(LearnerOptions(method=method, settings=settings, **options), n_classes)


def feed(learners, X, codes, weights=None, class_weight=None, chunk=None):
    """Let learners see the rows of a dense X, so many at a time."""
    weights, chunk = np.ones(len(X)) if weights is None else weights, chunk or max(1, len(X))
    for first in range(0, len(X), chunk):
        part = slice(first, first + chunk)
        at, ids = np.nonzero(X[part])
        begins = np.concatenate([[0], np.cumsum(np.bincount(at, minlength=len(X[part])))])
        rows = learners.prepared(begins, ids, X[part][at, ids])
        learners.learn(rows, np.arange(len(X[part])), np.asarray(codes[part]), weights[part], class_weight)
    return learners


def weights_of(learners, d, s=0, c=0):
    """(weights of all d features, truncation error)."""
    found, error = learners.learners[s][c].weights(learners.slots.count)
    w = np.zeros(d)
    w[learners.slots.ids] = found
    return w, error


def follow(method, X, y, *, setting, budget, loss=None, intercept=False, weights=None, exact=True, watch=None):
    """Both go through X; after every round they agree, and the budget holds."""
    options, d = options_of(method, budget, loss, intercept), X.shape[1]
    learners = made_learners(method, [setting], 2, **options)
    literal = Literal(method, d, budget=budget, delta=0.01, loss=options["loss"], fit_intercept=intercept, **setting)
    weights, mistakes = np.ones(len(X)) if weights is None else weights, 0.0
    learner = learners.learners[0][0]
    for i in range(len(X)):
        before = literal.mistakes
        literal.round(X[i], y[i], weights[i])
        mistakes += weights[i] * (literal.mistakes - before)
        feed(learners, X[i : i + 1], [int(y[i] > 0)], weights[i : i + 1])
        w, error = weights_of(learners, d)
        if exact:
            assert np.array_equal(w, literal.w), f"round {i}"
            assert learner.clock[descent.SHIFT] == literal.b, f"round {i}"
        else:
            np.testing.assert_allclose(w, literal.w, rtol=0, atol=1e-12 * np.abs(literal.w).max(), err_msg=f"round {i}")
            np.testing.assert_allclose(learner.clock[descent.SHIFT], literal.b, rtol=1e-11, atol=1e-13)
        assert budget is None or np.count_nonzero(w) <= budget
        assert error == pytest.approx(literal.xi, rel=1e-9, abs=1e-9), f"round {i}"
        if watch is not None:
            watch(learner)
    assert learner.clock[descent.LOSS] == pytest.approx(literal.loss_sum, rel=1e-9)
    assert learners.records[0].mistakes == mistakes
    return literal


def exactly(method, budget):
    """Whether every operation is done in the order of the definition."""
    return method != "ofs" and not (method == "ada-fobos" and budget is None)


CASES = [
    (method, penalty, loss)
    for method in METHODS
    for loss in METHODS[method].losses
    for penalty in ((0.0, 1e-3, 0.1) if method != "sofs" else (0.0,))
]


@pytest.mark.parametrize(("method", "penalty", "loss"), CASES)
def test_every_round_is_that_of_the_literal_algorithm(method, penalty, loss):
    rng, moved = np.random.default_rng(CASES.index((method, penalty, loss))), 0
    for turn in range(2 * len(KINDS)):
        d = int(rng.integers(20, 81))
        X, y = stream(rng, 30, d, KINDS[turn % 4])
        budget = int(rng.integers(1, d // 2 + 1)) if turn < 5 else d + turn % 2
        budget = None if METHODS[method].endless and turn in (2, 3, 5) else budget
        weights = rng.choice([0.25, 1.0, 3.0], 30) if turn in (1, 3, 4, 6) else None
        setting = setting_of(method, penalty, 10.0 ** rng.integers(-2, 1), 10.0 ** rng.integers(-1, 3))
        shift, exact = turn in (0, 3, 5, 6), exactly(method, budget)
        shared = {"setting": setting, "budget": budget, "loss": loss, "intercept": shift, "weights": weights}
        moved += np.count_nonzero(follow(method, X, y, exact=exact, **shared).w)
    assert moved > 0 or penalty == 0.1


@EVERY_METHOD
def test_exact_ties_of_many_equal_features(method):
    rng = np.random.default_rng(3)
    X = np.zeros((150, 40))
    for i in range(150):
        X[i, rng.permutation(8)[:3][:, None] * 5 + np.arange(5)] = 1.0  # columns come five at a time
    y = np.where(X[:, 0] + X[:, 7] > 0.5, 1.0, -1.0)
    for budget in (1, 7, 12):
        follow(method, X, y, setting=setting_of(method, 1e-3), budget=budget, exact=exactly(method, budget))


# Dual averaging: a tournament with floors instead of a scan.


def bursts(rng, n, d):
    """(X, y): long times without news, bursts of new features, some that never come back, turned signs."""
    X, y, at, leaning = np.zeros((n, d)), np.ones(n), 0, rng.normal(size=d)
    while at < n:
        mood, end = rng.integers(5), min(n, at + int(rng.integers(5, 120)))
        first = int(rng.integers(0, max(1, d - d // 4)))
        if mood == 4:
            leaning = -leaning
        for i in range(at, end):
            if mood == 0:  # only time goes on
                continue
            window = np.arange(first, first + max(1, d // 4)) if mood < 3 else np.arange(min(8, d))
            columns = rng.choice(window, min(window.size, int(rng.integers(1, 7))), replace=False)
            kind = rng.integers(3)
            X[i, columns] = 1.0 if kind == 0 else rng.normal(size=columns.size) * 10.0 ** rng.integers(-2, 2)
            y[i] = 1.0 if X[i] @ leaning > 0.0 else -1.0
        at = end
    return X, y


class Floors:
    """Watches the floor below which features do not play."""

    def __init__(self):
        self.before, self.raised, self.lowered, self.idle = 0.0, 0, 0, 0

    def __call__(self, learner):
        floor = learner._trees[2][averaging.FLOOR]
        self.raised += floor > self.before
        self.lowered += floor < self.before
        self.idle += bool((learner.place == averaging.IDLE)[learner._table.any(axis=1)].any())
        self.before = floor


@pytest.mark.parametrize(("l2", "step_size"), [(1e-6, 10.0), (1e-4, 0.1), (1e-2, 1.0), (0.1, 1e-3), (10.0, 1e-2)])
def test_a_long_stream_of_bursts_and_silence(l2, step_size):
    rng, floors = np.random.default_rng(11), Floors()
    X, y = bursts(rng, 700, 400)
    follow("b-arda", X, y, setting={"l2": l2, "step_size": step_size}, budget=12, watch=floors)
    assert floors.raised > 0
    assert floors.idle > 100


def test_features_fall_below_the_floor_and_come_back():
    """Five features grow, then their gradients are taken back: those they had left behind return."""
    rng, floors, d = np.random.default_rng(5), Floors(), 300
    X = np.zeros((900, d))
    y = np.ones(900)
    for i in range(300):
        X[i, 5 + (np.arange(4) + 4 * i) % (d - 5)] = rng.normal(size=4)
    X[300:600, :5] = rng.normal(size=(300, 5)) ** 2
    X[600:, :5] = X[300:600, :5]
    y[600:] = -1.0
    for l2 in (0.0, 1e-3):
        follow("b-arda", X, y, setting={"l2": l2, "step_size": 0.1}, budget=5, loss="logistic", watch=floors)
    assert floors.lowered > 0


@pytest.mark.parametrize("l1", [0.0, 1e-3, 0.02])
def test_l1_averaging_over_a_long_stream(l1):
    X, y = bursts(np.random.default_rng(12), 500, 150)
    for budget in (6, None):
        follow("l1-arda", X, y, setting={"l1": l1, "step_size": 0.5}, budget=budget)


def one_search(seed, d, budget, step, penalty, loss, method="b-arda", rounds=120):
    X, y = bursts(np.random.default_rng(seed), rounds, d)
    setting = setting_of(method, 0.0 if penalty == -7 else 10.0**penalty, 10.0**step)
    follow(method, X, y, setting=setting, budget=min(budget, d), loss=loss, intercept=bool(seed % 2))


@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(1, 130),
    budget=st.integers(1, 20),
    step=st.integers(-3, 1),
    penalty=st.integers(-7, 1),
    loss=st.sampled_from(LOSSES),
    method=st.sampled_from(["b-arda", "l1-arda"]),
)
@settings(derandomize=True, deadline=None, max_examples=8, database=None)
def test_any_stream_any_setting(seed, d, budget, step, penalty, loss, method):
    one_search(seed, d, budget, step, penalty, loss, method)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_any_stream_any_setting_at_length(part):
    rng = np.random.default_rng(part)
    for _ in range(60):
        d, method = int(rng.integers(1, 400)), ("b-arda", "b-arda", "l1-arda")[rng.integers(3)]
        numbers = [int(rng.integers(1, 40)), int(rng.integers(-3, 2)), int(rng.integers(-7, 2))]
        one_search(int(rng.integers(2**32)), d, *numbers, LOSSES[rng.integers(3)], method, rounds=800)


# Batches, settings, classes.


def state_of(learners, d):
    """Everything that two runs are compared by."""
    each = [
        (*weights_of(learners, d, s, c), learners.learners[s][c].clock.tolist())
        for s in range(len(learners.settings))
        for c in range(len(learners.learners[0]))
    ]
    whole = [(w.tobytes(), error, clock) for w, error, clock in each]
    return whole, learners.records, learners.totals.tolist(), learners.examples, learners.best


@EVERY_METHOD
@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_does_not_matter_where_batches_end(method, n_classes):
    rng = np.random.default_rng(6)
    X, y = stream(rng, 260, 50, "normal")
    codes = (y > 0).astype(int) + (n_classes > 2) * (X[:, 0] > 0.5)
    weights = rng.choice([0.0, 0.3, 1.0, 2.0], 260)
    runs = []
    for chunk in (260, 1, 7, 64):
        learners = made_learners(method, [setting_of(method, 1e-3)], n_classes, **options_of(method, 9, intercept=True))
        feed(learners, X, codes, weights, "balanced", chunk)
        runs.append(state_of(learners, 50))
    assert runs[0][1][0].mistakes > 0.0
    assert runs[0] == runs[1] == runs[2] == runs[3]


@EVERY_METHOD
def test_the_budget_is_never_exceeded_in_any_class(method):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(120, 40)) * (rng.random((120, 40)) < 0.4)
    codes = rng.integers(0, 4, 120)
    learners, full = made_learners(method, [setting_of(method, 1e-3)], 4, **options_of(method, 3)), 0
    for i in range(120):
        feed(learners, X[i : i + 1], codes[i : i + 1])
        counts = [np.count_nonzero(weights_of(learners, 40, c=c)[0]) for c in range(4)]
        assert max(counts) <= 3
        full += min(counts) == 3
    assert full > 50
    assert 3 <= learners.selection.features.size <= 12


def test_milestones_lie_at_powers_of_the_root_of_two():
    learners = feed(made_learners("b-amd", [{"step_size": 0.1, "l2": 0.0}], 2, **options_of("b-amd", 4)), *small())
    examples = [each.examples for each in learners.records[0].milestones]
    assert examples == [1, 2, 3, 4, 6, 8, 12, 16, 23, 32, 46, 64, 91, 128, 182]
    after, found = 0, []
    while after < 10**12:
        after = milestone_after(after)
        found.append(after)
    assert found == sorted({math.isqrt(2**k - 1) + 1 for k in range(81)} - {0} | {1})[: len(found)]


def small(n=200, d=30, seed=8):
    X, y = stream(np.random.default_rng(seed), n, d, "normal")
    return X, (y > 0).astype(int)


@EVERY_METHOD
def test_a_milestone_is_where_a_shorter_stream_would_have_ended(method):
    X, codes = small()
    setting, options = setting_of(method, 1e-3), options_of(method, 5)
    whole = feed(made_learners(method, [setting], 2, **options), X, codes).records[0].milestones
    for mark in whole:
        short = feed(made_learners(method, [setting], 2, **options), X[: mark.examples], codes[: mark.examples])
        assert short.milestone(0) == mark
        assert mark.features == short.selection.features.size <= 5
        assert mark.truncation_error == weights_of(short, 30)[1]


@EVERY_METHOD
@pytest.mark.parametrize("n_classes", [2, 3])
def test_settings_side_by_side_are_separate_runs(method, n_classes):
    X, codes = small()
    codes = codes + (n_classes > 2) * (X[:, 1] > 0.5)
    tried = [setting_of(method, penalty, step, 10 * step) for penalty in (0.0, 0.05) for step in (1e-4, 0.1, 3.0)]
    options = options_of(method, 5, intercept=True)
    together = feed(made_learners(method, tried, n_classes, **options), X, codes, chunk=33)
    alone = [feed(made_learners(method, [each], n_classes, **options), X, codes) for each in tried]
    for s, one in enumerate(alone):
        assert together.records[s] == one.records[0]
        assert together.loss(s) == one.loss(0)
        assert together.accuracy(s) == one.accuracy(0)
        for c in range(len(one.learners[0])):
            np.testing.assert_array_equal(weights_of(together, 30, s, c)[0], weights_of(one, 30, c=c)[0])
    losses = [one.loss(0) for one in alone]
    assert together.best == int(np.argmin(losses))
    assert min(losses) < max(losses)
    np.testing.assert_array_equal(together.selection.weights, alone[together.best].selection.weights)


@EVERY_METHOD
def test_many_classes_are_binary_learners_one_against_the_rest(method):
    rng = np.random.default_rng(9)
    X = rng.normal(size=(150, 24)) * (rng.random((150, 24)) < 0.5)
    codes = (X[:, :4] + 0.1 * rng.normal(size=(150, 4))).argmax(axis=1)
    setting, options = setting_of(method, 1e-3), options_of(method, 5, intercept=True)
    many, scores = made_learners(method, [setting], 4, **options), np.zeros((150, 4))
    binary = [made_learners(method, [setting], 2, **options) for _ in range(4)]
    for i in range(150):
        for c, one in enumerate(binary):
            scores[i, c] = X[i] @ weights_of(one, 24)[0] + one.learners[0][0].clock[descent.SHIFT]
            feed(one, X[i : i + 1], (codes[i : i + 1] == c).astype(int))
    feed(many, X, codes)
    for c, one in enumerate(binary):
        np.testing.assert_array_equal(weights_of(many, 24, c=c)[0], weights_of(one, 24)[0])
        assert many.selection.intercept[c] == one.selection.intercept
    assert many.loss(0) == pytest.approx(sum(one.loss(0) for one in binary), rel=1e-12)
    assert many.accuracy(0) == pytest.approx((scores.argmax(axis=1) == codes).mean(), abs=1e-12)


@pytest.mark.parametrize("method", ["b-arda", "b-amd", "sofs"])
def test_balanced_classes_count_alike_by_what_was_seen(method):
    rng = np.random.default_rng(10)
    X, y = stream(rng, 200, 30, "counts")
    weights, seen = rng.choice([0.0, 0.5, 1.0, 2.0], 200), np.zeros(2)
    setting, costs = setting_of(method, 1e-3), np.zeros(200)
    literal = Literal(method, 30, budget=6, delta=0.01, fit_intercept=True, **setting)
    for i in range(200):
        seen[int(y[i] > 0)] += weights[i]
        if weights[i] > 0.0:
            costs[i] = weights[i] * (seen.sum() / (2 * seen[int(y[i] > 0)]))
        literal.round(X[i], y[i], costs[i])
    options = options_of(method, 6, intercept=True)
    learners = feed(made_learners(method, [setting], 2, **options), X, (y > 0).astype(int), weights, "balanced", 13)
    np.testing.assert_allclose(weights_of(learners, 30)[0], literal.w, rtol=1e-9, atol=1e-12)
    assert learners.loss(0) == pytest.approx(literal.loss_sum / costs.sum(), rel=1e-9)
    fixed = feed(made_learners(method, [setting], 2, **options), X, (y > 0).astype(int), weights, [1.0, 2.0])
    doubled = feed(
        made_learners(method, [setting], 2, **options), X, (y > 0).astype(int), weights * np.where(y > 0, 2.0, 1.0)
    )
    np.testing.assert_array_equal(weights_of(fixed, 30)[0], weights_of(doubled, 30)[0])
