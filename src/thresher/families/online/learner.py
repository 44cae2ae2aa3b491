"""One binary problem of online selection under one setting: its state, and the compiled rounds that change it."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from thresher.errors import InvalidDataError
from thresher.families.online.state import LearnerState
from thresher.loops import averaging, descent
from thresher.results import consistent

LOSSES = {"squared_hinge": descent.SQUARED_HINGE, "hinge": descent.HINGE, "logistic": descent.LOGISTIC}
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


@dataclass(frozen=True, kw_only=True)
class LearnerOptions:
    """What is learnt: ``settings``, values of the parameters of the method, are learnt side by side, all else alike."""

    method: str
    settings: list[dict[str, float]]
    budget: int | None
    delta: float
    loss: str
    intercept: bool


class Learner:
    """One binary problem under one setting."""

    def __init__(self, options: LearnerOptions, setting: dict[str, float]):
        self.method, self.setting, params = METHODS[options.method], setting, np.zeros(descent.N_PARAMS)
        for name, value in setting.items():
            params[PLACES[name]] = value
        params[descent.BUDGET] = np.inf if options.budget is None else options.budget
        params[descent.DELTA], params[descent.INTERCEPT] = options.delta, options.intercept
        params[descent.LOSS_KIND] = LOSSES[options.loss]
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
        kept = state.kept
        if not self.method.averages:
            self._kept, self._keys = np.array(kept, dtype=np.int32), np.empty(len(kept))
            self.place[kept] = 0
            return
        self._kept[: len(kept)] = kept
        self.place[kept] = np.arange(len(kept))
        if self._capped:
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


def running(start, values):
    """Cumulative sums of ``values`` from ``start``, in order, so that the result does not depend on batch sizes."""
    return np.cumsum(np.concatenate([[start], values]))[1:]
