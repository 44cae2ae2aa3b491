"""Learners give their state as a value, and others go on from it as if nothing had happened."""

from dataclasses import fields, replace

import numpy as np
import pytest

from tests.families.test_online import EVERY_METHOD, feed, made_learners, options_of, setting_of, stream
from thresher.errors import InconsistentResultError
from thresher.loops import descent


def made(method, n_classes=3):
    """Learners under two settings that know nothing yet."""
    settings = [setting_of(method, penalty, gamma=1.0 + penalty) for penalty in (1e-3, 1e-2)]
    return made_learners(method, settings, n_classes, **options_of(method, 4, intercept=True))


def data(n_classes=3, n=120):
    """(X, codes)"""
    rng = np.random.default_rng(0)
    return stream(rng, n, 20, "normal")[0], rng.integers(0, n_classes, n)


def assert_equal(a, b):
    """Every number of two states is the same, to the last bit."""
    for part in fields(a):
        one, other = getattr(a, part.name), getattr(b, part.name)
        if part.name == "learners":
            for left, right in zip(one, other, strict=True):
                assert_equal(left, right)
        elif isinstance(one, np.ndarray):
            assert one.dtype == other.dtype
            assert one.tobytes() == other.tobytes(), part.name
        else:
            assert one == other, part.name


@EVERY_METHOD
@pytest.mark.parametrize("n_classes", [2, 3])
def test_going_on_from_a_state_is_as_if_nothing_had_happened(method, n_classes):
    """Given and taken after every few examples."""
    X, codes = data(n_classes)
    straight, broken = feed(made(method, n_classes), X, codes), made(method, n_classes)
    for first in range(0, len(X), 17):
        feed(broken, X[first : first + 17], codes[first : first + 17])
        fresh = made(method, n_classes)
        fresh.restore(broken.state())
        broken = fresh
    assert_equal(straight.state(), broken.state())
    assert straight.selection.weights.tobytes() == broken.selection.weights.tobytes()


@EVERY_METHOD
def test_a_state_is_a_value(method):
    """It does not change when the learners it came from, or those that took it, learn more."""
    X, codes = data()
    learners = feed(made(method), X[:60], codes[:60])
    state, again = learners.state(), learners.state()
    other = made(method)
    other.restore(state)
    feed(learners, X[60:], codes[60:])
    feed(other, X[60:], codes[60:])
    assert_equal(state, again)
    assert learners.examples == other.examples == 120


def with_learner(**change):
    """A change of the second learner."""

    def changed(state):
        own = state.learners[1]
        own = replace(own, **{name: make(getattr(own, name)) for name, make in change.items()})
        return replace(state, learners=[state.learners[0], own, *state.learners[2:]])

    return changed


def put(at, value):
    """A copy of an array with one number changed."""

    def make(array):
        array = array.copy()
        array[at] = value
        return array

    return make


WRONG = {
    "no examples": (lambda s: replace(s, examples=0), "no examples"),
    "other examples": (lambda s: replace(s, examples=61), "clock"),
    "an id twice": (lambda s: replace(s, ids=put(0, s.ids[1])(s.ids)), "duplicates"),
    "an id below zero": (lambda s: replace(s, ids=put(0, -1)(s.ids)), "negative"),
    "an id too few": (lambda s: replace(s, ids=s.ids[1:]), "shape"),
    "totals below zero": (lambda s: replace(s, totals=put(0, -1.0)(s.totals)), "totals"),
    "totals of nan": (lambda s: replace(s, totals=put(0, np.nan)(s.totals)), "totals"),
    "totals of zero": (lambda s: replace(s, totals=put(-1, 0.0)(s.totals)), "totals"),
    "totals of two classes": (lambda s: replace(s, totals=s.totals[1:]), "totals have shape"),
    "mistakes of one setting": (lambda s: replace(s, mistakes=s.mistakes[:1]), "mistakes"),
    "milestones of no setting": (lambda s: replace(s, milestones=[]), "milestones"),
    "more mistakes than examples": (lambda s: replace(s, mistakes=[61.0, 0.0]), "more mistakes"),
    "a learner too few": (lambda s: replace(s, learners=s.learners[1:]), "learners do not match"),
    "a narrow table": (with_learner(table=lambda a: a[:, 1:]), "a table has shape"),
    "a short clock": (with_learner(clock=lambda a: a[1:]), "a clock has shape"),
    "nan in a table": (with_learner(table=put((0, 0), np.nan)), "not finite"),
    "inf in a clock": (with_learner(clock=put(descent.LOSS, np.inf)), "not finite"),
    "another round": (with_learner(clock=put(descent.ROUNDS, 59.0)), "clock"),
    "kept twice": (with_learner(kept=lambda a: put(0, a[1])(a)), "kept"),
    "kept that was never seen": (with_learner(kept=put(0, 20)), "kept"),
    "kept below zero": (with_learner(kept=put(0, -1)), "kept"),
    "kept too many": (
        with_learner(kept=lambda a: np.arange(5), clock=put(descent.KEPT, 5.0)), "too many"
    ),
    "a spread below zero": (with_learner(table=put((2, 1), -1e-9)), "negative"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_state_that_a_loop_cannot_work_with_is_refused(case):
    """One rule is broken at a time; the learners that were to take it are as they were."""
    X, codes = data()
    state = feed(made("b-arda"), X[:60], codes[:60]).state()
    change, why = WRONG[case]
    learners = made("b-arda")
    with pytest.raises(InconsistentResultError, match=why):
        learners.restore(change(state))
    assert (learners.examples, learners.slots.count) == (0, 0)
    learners.restore(state)
    assert_equal(learners.state(), state)


def test_second_order_learners_need_variances_above_zero():
    """They divide by them."""
    X, codes = data()
    state = feed(made("sofs"), X[:60], codes[:60]).state()
    for change in (with_learner(table=put((2, 1), 0.0)), with_learner(clock=put(descent.SHIFT_SPREAD, 0.0))):
        with pytest.raises(InconsistentResultError, match="variance"):
            made("sofs").restore(change(state))
