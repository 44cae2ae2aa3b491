"""Online selection under a budget (paper 4): B-ARDA, B-AMD and other methods, one example at a time.

A ``Learner`` is one binary problem under one setting. ``Learners`` are all of them, classes times settings, on the same
examples: features are looked up once, and the setting with the lowest progressive loss is the best.
"""

import itertools
import math
from dataclasses import dataclass, field

import numpy as np

from thresher.data.rows.slots import Slots
from thresher.data.workers import unbroken
from thresher.families.online.learner import Learner, LearnerOptions, running
from thresher.families.online.state import LearnersState
from thresher.loops import descent
from thresher.results import Milestone, Selection, StopReason, Trace, consistent

UNBROKEN_EXAMPLES = 4096  # examples that are processed before Ctrl-C is handled


@dataclass
class Record:
    """Progressive validation of a setting: each example is predicted before it is learned from."""

    mistakes: float = 0.0  # total weight of the misclassified examples
    milestones: list = field(default_factory=list)


class Learners:
    """All classes under all settings."""

    def __init__(self, options: LearnerOptions, n_classes: int):
        self.options, self.n_classes = options, n_classes
        problems = 1 if n_classes == 2 else n_classes
        self.learners = [[Learner(options, setting) for _ in range(problems)] for setting in options.settings]
        self.records = [Record() for _ in options.settings]
        self.slots, self.examples, self.diverged = Slots(), 0, False
        # total weight of the examples seen: of each class, of all, and of all times class weights
        self.totals = np.zeros(n_classes + 2)
        self._selection: Selection | None = None

    @property
    def settings(self):
        """Values of the method's parameters, which are learnt side by side."""
        return self.options.settings

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
        """The state, without trees and compiled loops, and attributes that an owner has added."""
        restored = ("slots", "examples", "totals", "records", "learners", "options", "n_classes", "_selection")
        more = {name: value for name, value in vars(self).items() if name not in restored}
        return self.options, self.n_classes, more, self.state()

    def __setstate__(self, state):
        options, n_classes, more, learned = state
        type(self).__init__(self, options, n_classes)
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
                budget=int(self.learners[0][0].params[descent.BUDGET]) if self.options.budget is not None else 0,
            )
        return self._selection


@dataclass(frozen=True)
class Rows:
    """Examples, concatenated: features as slots, and their values."""

    begins: np.ndarray
    slots: np.ndarray
    values: np.ndarray
    longest: int


def milestone_after(examples):
    """The next number of examples at which a milestone is recorded: powers of the root of 2, rounded up."""
    k = 0 if examples < 1 else int(2 * math.log2(examples))
    while math.ceil(2 ** (k / 2)) <= examples:
        k += 1
    return math.ceil(2 ** (k / 2))
