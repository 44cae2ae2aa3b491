"""Online selection under a budget (paper 4): B-ARDA, B-AMD and other methods, one example at a time.

A ``Learner`` is one binary problem under one setting. ``Learners`` are all of them, classes times settings, on the same
examples: features are looked up once, and the setting with the lowest progressive loss is the best.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thresher.data.slots import Slots
from thresher.data.workers import unbroken
from thresher.errors import InvalidDataError
from thresher.families.online_state import LearnersState, LearnerState
from thresher.loops import averaging, descent
from thresher.results import Milestone, Selection, StopReason, Trace, consistent

LOSSES = {"squared_hinge": descent.SQUARED_HINGE, "hinge": descent.HINGE, "logistic": descent.LOGISTIC}
UNBROKEN_EXAMPLES = 4096  # examples that are processed before Ctrl-C is handled
PLACES = {"step_size": descent.STEP, "l2": descent.L2, "l1": descent.L1, "gamma": descent.GAMMA}
LEAST_VARIANCE = 1e-200  # far below the variances of real streams, far above underflow


@dataclass(frozen=True)
class Method:
    """A compiled loop, its default loss, its parameters with their defaults, and what it supports.

    ``endless``: the budget may be None. ``losses``: the losses that it supports.
    """

    loop: Callable[..., int]
    loss: str
    parameters: dict
    endless: bool = False
    losses: tuple[str, ...] = tuple(LOSSES)

    @property
    def averages(self):
        """Whether it is dual averaging, where truncated features may return."""
        return self.loop is DUAL_AVERAGING


DUAL_AVERAGING, SECOND_ORDER = averaging.dual_averaging, descent.confidence_weighting
METHODS = {
    "b-arda": Method(DUAL_AVERAGING, "squared_hinge", {"step_size": 0.1, "l2": 1e-4}),
    "b-amd": Method(descent.mirror_descent, "squared_hinge", {"step_size": 0.1, "l2": 1e-4}),
    "ofs": Method(descent.plain_descent, "hinge", {"step_size": 0.1, "l2": 1e-2}),
    "sofs": Method(SECOND_ORDER, "squared_hinge", {"gamma": 1.0}, losses=("squared_hinge",)),
    "l1-arda": Method(DUAL_AVERAGING, "squared_hinge", {"step_size": 0.1, "l1": 1e-3}, endless=True),
    "ada-fobos": Method(descent.composite_descent, "squared_hinge", {"step_size": 0.1, "l1": 1e-3}, endless=True),
}


class Learner:
    """One binary problem under one setting."""

    def __init__(self, method, setting, *, budget, delta, loss, intercept):
        self.method, self.setting, params = METHODS[method], setting, np.zeros(descent.N_PARAMS)
        for name, value in setting.items():
            params[PLACES[name]] = value
        params[descent.BUDGET] = np.inf if budget is None else budget
        params[descent.DELTA], params[descent.INTERCEPT] = delta, intercept
        params[descent.LOSS_KIND] = LOSSES[loss]
        self.params, self.clock = params, np.zeros(descent.CLOCK)
        self._table, self.place = np.zeros((0, 2 if self.method.averages else 3)), np.zeros(0, dtype=np.int32)
        self._kept, self._keys = np.zeros(0, dtype=np.int32), np.zeros(0)
        self._trees: Any = None  # of dual averaging, created with the first feature: see ``_plant``
        if self.method.loop is SECOND_ORDER:
            self.clock[descent.SHIFT_SPREAD] = 1.0

    def state(self, count):
        """The state of the first ``count`` features; copies."""
        return LearnerState(self.table(count), self.kept.copy(), self.clock.copy())

    def restore(self, state):
        """Continue from the state of another learner under the same setting."""
        self.clock[:] = state.clock
        self._grow(max(len(state.table), 1), 0)
        self._table[: len(state.table)] = state.table
        self._put_kept(state.kept)
        if self.method.averages and self._capped:
            self.place[self._table.any(axis=1) & (self.place < 0)] = averaging.PLAYS
            self._trees[2][averaging.STALE] = 1.0

    def check(self, state, count, examples):
        """Raise InconsistentResultError unless ``state`` is that of ``count`` features after ``examples`` examples."""
        table, kept, clock = state.table, state.kept, state.clock
        shape = (count, self._table.shape[1])
        consistent(table.shape == shape, f"a table has shape {table.shape}, expected {shape}")
        consistent(clock.shape == self.clock.shape, f"a clock has shape {clock.shape}, expected {self.clock.shape}")
        finite = bool(np.isfinite(table).all() and np.isfinite(clock).all())
        consistent(finite, "a table or a clock contains values that are not finite")
        seen = bool(((kept >= 0) & (kept < count)).all()) and np.unique(kept).size == kept.size
        few = kept.size <= self.params[descent.BUDGET]
        consistent(seen and few, "features kept have duplicates, were never seen, or are too many for the budget")
        right = clock[descent.ROUNDS] == examples and clock[descent.KEPT] == kept.size
        consistent(right, "a clock does not match the number of examples or of features kept")
        spread = table[:, averaging.SQUARES if self.method.averages else descent.SPREAD]
        least = min(spread.min(initial=1.0), clock[descent.SHIFT_SPREAD])
        lowest = LEAST_VARIANCE if self.method.loop is SECOND_ORDER else 0.0
        consistent(least >= lowest, "a sum of squares is negative, or a variance is not positive")

    @property
    def kept(self):
        """Slots with a weight, which may be zero."""
        return self._kept[: int(self.clock[descent.KEPT])]

    def table(self, count):
        """The state of each of the first ``count`` features, by slot."""
        table = np.zeros((count, self._table.shape[1]))
        if self.method.loop is SECOND_ORDER:
            table[:, descent.SPREAD] = 1.0
        table[: len(self._table)] = self._table[:count]
        return table

    def learn(self, rows, ids, longest, scores):
        """Learn from all of ``rows``, as in ``descent``; scores before each update go into ``scores``."""
        self._grow(max(1, ids.size), longest)
        seen = (self._table, ids, self.place)
        work = self._trees if self.method.averages else (self._kept, self._keys)
        if self.method.loop(rows, seen, work, self.clock, self.params, scores) < scores.size:
            raise InvalidDataError(
                f"training diverged with {self.setting}: the loss of example {int(self.clock[descent.ROUNDS]) + 1:,} "
                "is not finite. Rescale X and the weights, or use a smaller step_size, and refit."
            )

    def weights(self, count):
        """(weights of the first ``count`` slots, truncation error of the last round)."""
        self._grow(max(1, count), 0)
        table, t, error = self._table[:count], self.clock[descent.ROUNDS], float(self.clock[descent.ERROR])
        with np.errstate(all="ignore"):  # as in compiled loops
            if self.method.averages:
                return _averaged(table, self.place[:count], t, self.params, self._capped)
            if self.method.loop is descent.composite_descent:
                return _shrunk(table, t, self.params), error
        weights = np.zeros(count)
        weights[self.kept] = table[self.kept, descent.WEIGHT]
        return weights, error

    def _grow(self, count, longest):
        """Allocate memory for ``count`` features, and for an example with ``longest`` more."""
        if count > len(self._table):
            room = 1 << max(6, int(count - 1).bit_length())
            table, place = np.zeros((room, self._table.shape[1])), np.full(room, -1, dtype=np.int32)
            if self.method.loop is SECOND_ORDER:
                table[:, descent.SPREAD] = 1.0
            table[: len(self._table)], place[: self.place.size] = self._table, self.place
            self._table, self.place = table, place
            if self.method.averages:
                self._plant()
        if self.method.averages:
            if longest > self._trees[3].size:
                self._trees = (*self._trees[:3], np.empty(longest, dtype=np.int32))
        else:
            need = int(min(self.params[descent.BUDGET], len(self._table))) + longest
            if need > self._kept.size:
                kept = np.zeros(max(need, 2 * self._kept.size), dtype=np.int32)
                kept[: self.kept.size] = self.kept
                self._kept, self._keys = kept, np.empty(kept.size)

    @property
    def _capped(self):
        return bool(np.isfinite(self.params[descent.BUDGET]))

    def _plant(self):
        """Allocate trees for the size of the table, with the leaves of the old ones."""
        room, budget, capped = len(self._table), self.params[descent.BUDGET], self._capped
        leaves = 1 << max(1, int(min(budget, room) - 1).bit_length())
        leaf, pace = np.full(leaves, -1, dtype=np.int32), np.zeros(averaging.PACE)
        if self._trees is not None:
            leaf[: self._kept.size], pace = self._kept[:leaves], self._trees[2]
        pace[averaging.LEEWAY] = pace[averaging.LEEWAY] or averaging.FIRST
        todo = np.zeros(0, dtype=np.int32) if self._trees is None else self._trees[3]
        self._trees = (_tree(leaf, leaves if capped else 2), _tree(leaf[:0], room if capped else 2), pace, todo)
        self._kept = leaf
        pace[averaging.STALE] = capped

    def _put_kept(self, kept):
        if not self.method.averages:
            self._kept, self._keys = np.array(kept, dtype=np.int32), np.empty(len(kept))
            self.place[kept] = 0
        else:
            self._kept[: len(kept)] = kept
            self.place[kept] = np.arange(len(kept))


def _tree(leaf, inner):
    """(leaf, winner, until) without any match played."""
    return leaf, np.full(inner, -1, dtype=np.int32), np.full(inner, np.inf)


def _averaged(table, place, t, params, capped):
    """(weights under dual averaging after ``t`` rounds, truncation error), by the operations of the compiled rounds."""
    total, scale = table[:, averaging.GRADIENTS], params[descent.DELTA] + np.sqrt(table[:, averaging.SQUARES])
    rest, growth = np.abs(total) - params[descent.L1] * t, params[descent.L2] * params[descent.STEP] * t
    z = np.where(rest > 0.0, params[descent.STEP] * rest / (growth + scale), 0.0)
    lost = (scale * (z * z))[place < 0]
    error = math.sqrt(running(0.0, lost)[-1]) if capped and lost.size else 0.0
    return np.where(place >= 0, np.where(total > 0.0, -z, z), 0.0), error


def _shrunk(table, t, params):
    """Weights under Ada-Fobos after ``t`` rounds, by the operations of the compiled rounds."""
    weight, scale = table[:, descent.WEIGHT], params[descent.DELTA] + np.sqrt(table[:, descent.SPREAD])
    rest = np.abs(weight) - (t - table[:, descent.LAST]) * (params[descent.L1] * params[descent.STEP] / scale)
    return np.where(rest > 0.0, np.copysign(rest, weight), 0.0)


@dataclass
class Record:
    """Progressive validation of a setting: each example is predicted before it is learned from."""

    mistakes: float = 0.0  # total weight of the misclassified examples
    milestones: list = field(default_factory=list)


class Learners:
    """All classes under all settings. ``settings`` are dicts of the method's parameters."""

    def __init__(self, method, settings, n_classes, **options):
        self.settings, self.n_classes = settings, n_classes
        self.made = {"method": method, "settings": settings, "n_classes": n_classes} | options
        problems = 1 if n_classes == 2 else n_classes
        self.learners = [[Learner(method, setting, **options) for _ in range(problems)] for setting in settings]
        self.records = [Record() for _ in settings]
        self.slots, self.examples, self.diverged = Slots(), 0, False
        # total weight of the examples seen: of each class, of all, and of all times class weights
        self.totals = np.zeros(n_classes + 2)
        self._selection = None

    def prepared(self, begins, ids, values):
        """Rows with slots for all their features."""
        return Rows(begins, self.slots.find(ids, insert=True), values, int(np.diff(begins).max(initial=0)))

    def learn(self, rows, order, codes, weights, class_weight=None):
        """Learn from the prepared ``rows`` in this order, with the class and the weight of each row.

        ``class_weight`` has one value per class, or is "balanced": inversely proportional to the class frequencies so
        far. Rows of weight zero are skipped.
        """
        order = np.ascontiguousarray(order[weights[order] > 0.0], dtype=np.int64)
        while order.size:
            part = order[: min(UNBROKEN_EXAMPLES, milestone_after(self.examples) - self.examples)]
            order = order[part.size :]
            with unbroken():
                self._learn(rows, part, codes[part], weights[part], class_weight)

    def _learn(self, rows, order, codes, weights, class_weight):
        """Learn from a part without a milestone before its end."""
        ids, scores = self.slots.ids, np.empty((len(self.settings), len(self.learners[0]), order.size))
        costs = weights * self._class_weights(codes, weights, class_weight)
        self._selection, self.diverged = None, True  # until all learners are done
        for c in range(scores.shape[1]):
            signs = np.where(codes == (1 if self.n_classes == 2 else c), 1.0, -1.0)
            arrays = (order, rows.begins, rows.slots, rows.values, signs, costs)
            for s, learners in enumerate(self.learners):
                learners[c].learn(arrays, ids, rows.longest, scores[s, c])
        self.examples, self.diverged = self.examples + order.size, False
        self.totals[-1] = running(self.totals[-1], costs)[-1]
        for s, record in enumerate(self.records):
            predicted = scores[s, 0] > 0.0 if self.n_classes == 2 else scores[s].argmax(axis=0)
            record.mistakes = float(running(record.mistakes, weights * (predicted != codes))[-1])
            if self.examples == milestone_after(self.examples - 1):
                record.milestones.append(self.milestone(s))

    def _class_weights(self, codes, weights, class_weight):
        """Class weights in each round; updates the totals."""
        seen = np.array([running(self.totals[c], weights * (codes == c)) for c in range(self.n_classes)])
        all_seen = running(self.totals[-2], weights)
        self.totals[:-2], self.totals[-2] = seen[:, -1], all_seen[-1]
        if class_weight is None:
            return np.ones(codes.size)
        if isinstance(class_weight, str):
            return all_seen / (self.n_classes * seen[codes, np.arange(codes.size)])
        return np.asarray(class_weight)[codes]

    def loss(self, s):
        """Mean progressive loss of a setting, summed over the classes."""
        if not self.examples:
            return np.nan
        return sum(learner.clock[descent.LOSS] for learner in self.learners[s]) / self.totals[-1]

    def accuracy(self, s):
        """Share of the examples that a setting predicted correctly before it learned from them."""
        return 1.0 - self.records[s].mistakes / self.totals[-2] if self.examples else np.nan

    @property
    def best(self):
        """The setting with the lowest progressive loss; the first of tied ones."""
        return int(np.argmin([self.loss(s) for s in range(len(self.settings))])) if self.examples else 0

    def _weights(self, s):
        """(slots with a non-zero weight in any class, their weights, truncation error over all classes)."""
        results = [learner.weights(self.slots.count) for learner in self.learners[s]]
        columns = np.stack([weights for weights, _ in results], axis=1)
        slots = np.flatnonzero(columns.any(axis=1))
        return slots, columns[slots], math.sqrt(sum(error * error for _, error in results))

    def milestone(self, s):
        """The Milestone of a setting now."""
        slots, _, error = self._weights(s)
        return Milestone(self.examples, float(self.loss(s)), float(self.accuracy(s)), slots.size, error)

    def state(self) -> LearnersState:
        """The complete state, as a value that further learning does not change."""
        return LearnersState(
            self.slots.ids.copy(),
            self.examples,
            self.totals.copy(),
            [record.mistakes for record in self.records],
            [list(record.milestones) for record in self.records],
            [learner.state(self.slots.count) for learner in itertools.chain(*self.learners)],
        )

    def check(self, state: LearnersState) -> None:
        """Raise InconsistentResultError unless these learners can continue from ``state``."""
        ids, totals, shape = state.ids, state.totals, self.totals.shape
        distinct = bool((ids >= 0).all()) and np.unique(ids).size == ids.size
        consistent(ids.ndim == 1 and distinct, "ids of features are negative, or have duplicates")
        consistent(state.examples > 0, "there are no examples")
        consistent(totals.shape == shape, f"totals have shape {totals.shape}, not {shape}")
        good = bool((totals >= 0.0).all()) and min(totals[-1], totals[-2]) > 0.0
        consistent(good and bool(np.isfinite(totals).all()), "totals of weights must be positive and finite")
        for name in ("mistakes", "milestones"):
            consistent(len(getattr(state, name)) == len(self.settings), f"{name} do not match the number of settings")
        possible = all(0.0 <= mistakes <= totals[-2] for mistakes in state.mistakes)
        consistent(possible, "there are more mistakes than examples")
        learners = list(itertools.chain(*self.learners))
        consistent(len(state.learners) == len(learners), "learners do not match the numbers of settings and classes")
        for learner, part in zip(learners, state.learners, strict=True):
            learner.check(part, ids.size, state.examples)

    def restore(self, state: LearnersState) -> None:
        """Continue from ``state``; InconsistentResultError if that is not possible."""
        self.check(state)
        self._put_back(state)

    def _put_back(self, state):
        self.slots, self.examples, self.totals = Slots(state.ids), state.examples, state.totals.copy()
        for record, mistakes, milestones in zip(self.records, state.mistakes, state.milestones, strict=True):
            record.mistakes, record.milestones = mistakes, list(milestones)
        for learner, part in zip(itertools.chain(*self.learners), state.learners, strict=True):
            learner.restore(part)

    def __getstate__(self):
        """The state, without trees and compiled loops."""
        restored = ("slots", "examples", "totals", "records", "learners", "made", "settings", "n_classes", "_selection")
        more = {name: value for name, value in vars(self).items() if name not in restored}
        return self.made, more, self.state()

    def __setstate__(self, state):
        made, more, learned = state
        type(self).__init__(self, **made)
        vars(self).update(more)
        self._put_back(learned)  # not checked: learners that diverged can be pickled too

    @property
    def standing(self):
        """The Milestone of the best setting now."""
        return self.milestone(self.best)

    @property
    def selection(self):
        """The Selection of the best setting; computed on demand."""
        if self._selection is None:
            slots, weights, _ = self._weights(self.best)
            order = np.argsort(self.slots.ids[slots])
            shifts = np.array([learner.clock[descent.SHIFT] for learner in self.learners[self.best]])
            two = self.n_classes == 2
            self._selection = Selection(
                self.slots.ids[slots][order],
                weights[order, 0] if two else weights[order],
                float(shifts[0]) if two else shifts,
                f"learned from {self.examples:,} example{'' if self.examples == 1 else 's'}",
                None,
                Trace(),
                stop=StopReason.STREAM,
                budget=int(self.learners[0][0].params[descent.BUDGET]) if self.made["budget"] is not None else 0,
            )
        return self._selection


@dataclass(frozen=True)
class Rows:
    """Examples, concatenated: features as slots, and their values."""

    begins: np.ndarray
    slots: np.ndarray
    values: np.ndarray
    longest: int


def running(start, values):
    """Cumulative sums of ``values`` from ``start``, in order, so that the result does not depend on batch sizes."""
    return np.cumsum(np.concatenate([[start], values]))[1:]


def milestone_after(examples):
    """The next number of examples at which a milestone is recorded: powers of the root of 2, rounded up."""
    k = 0 if examples < 1 else int(2 * math.log2(examples))
    while math.ceil(2 ** (k / 2)) <= examples:
        k += 1
    return math.ceil(2 ** (k / 2))
