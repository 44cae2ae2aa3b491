"""What a fit returns: values that can be looked at, printed and checked. Nothing here computes."""

import time
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Certificate:
    """How good the result is, proven.

    ``objective`` is that of the grown model, ``lower_bound`` a value that no model over *all* features with the same
    budget can go below. ``pick_objective`` is 1/2 ||w||^2 plus the loss of the features that came back, and
    ``pick_bound`` a value that no model on *any* equally many features can go below. ``at_zero`` is the objective
    without features. All are in the units in which the data was scaled.
    """

    objective: float
    lower_bound: float
    pick_objective: float
    pick_bound: float
    at_zero: float

    @property
    def gap(self):
        """(objective - lower_bound) / at_zero: 0 when no other model could be better."""
        return _relative(self.objective - self.lower_bound, self.at_zero)

    @property
    def pick_gap(self):
        """(pick_objective - pick_bound) / at_zero."""
        return _relative(self.pick_objective - self.pick_bound, self.at_zero)

    def check(self):
        """Raise AssertionError unless the numbers fit each other."""
        assert np.all(np.isfinite([self.objective, self.lower_bound, self.pick_objective, self.pick_bound]))
        slack = 1e-9 * self.at_zero
        assert self.lower_bound <= self.objective + slack, "the lower bound lies above the objective"
        assert self.pick_bound <= self.pick_objective + slack, "the bound of the pick lies above its objective"

    def __repr__(self):
        return (
            f"Certificate(objective={self.objective:.6g}, lower_bound={self.lower_bound:.6g}, gap={self.gap:.2e}, "
            f"pick_objective={self.pick_objective:.6g}, pick_bound={self.pick_bound:.6g})"
        )


def _relative(difference, yardstick):
    """The difference as a share of the yardstick, not below zero; nan stays nan."""
    return 0.0 if difference <= 0 or yardstick <= 0 else difference / yardstick


@dataclass(frozen=True)
class Step:
    """One thing done: its kind, how long it took, and how much of X was read."""

    kind: str
    seconds: float
    passes: float = 0.0
    bytes: int = 0


@dataclass(frozen=True)
class Turn:
    """Where a fit stood after a turn."""

    features: int
    objective: float
    lower_bound: float
    gap: float
    passes: float
    seconds: float


@dataclass
class Trace:
    """The record of a fit: every scan, take and solve. Progress bars, plots and benchmarks read nothing else."""

    steps: list[Step] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    begun: float = field(default_factory=time.perf_counter)

    @contextmanager
    def step(self, kind, passes=0.0, n_bytes=0):
        """Time what happens inside and record it."""
        start = time.perf_counter()
        yield
        self.steps.append(Step(kind, time.perf_counter() - start, passes, int(n_bytes)))

    def turned(self, features, objective, lower_bound, at_zero):
        """Record where the fit stands after a turn, and return it."""
        gap = _relative(objective - lower_bound, at_zero)
        self.turns.append(Turn(features, objective, lower_bound, gap, self.passes, self.elapsed))
        return self.turns[-1]

    @property
    def passes(self):
        """Full passes over X, those of validation and statistics included."""
        return sum(step.passes for step in self.steps)

    @property
    def bytes(self):
        """Bytes of X read."""
        return sum(step.bytes for step in self.steps)

    @property
    def seconds(self):
        """Seconds spent, by kind of step."""
        total = {}
        for step in self.steps:
            total[step.kind] = total.get(step.kind, 0.0) + step.seconds
        return total

    @property
    def elapsed(self):
        """Seconds since the record was begun."""
        return time.perf_counter() - self.begun

    def __repr__(self):
        by_kind = ", ".join(f"{kind} {seconds:.3g} s" for kind, seconds in self.seconds.items())
        return f"Trace({self.passes:.3g} passes, {len(self.turns)} turns; {by_kind})"


@dataclass(frozen=True)
class Selection:
    """The features that were picked, in ascending order, with weights in the units of X as given.

    Only features that were ``forced`` into the model may have weight zero.
    """

    features: np.ndarray
    weights: np.ndarray
    intercept: float
    stop_reason: str
    certificate: Certificate
    trace: Trace = field(repr=False)
    scale: str | None = None
    budget: int = 0
    forced: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False)
    interrupted: bool = False

    def check(self):
        """Raise AssertionError unless ids are sorted, unique and matched by finite weights, zero only where forced."""
        assert self.features.dtype == np.int64
        assert self.features.ndim == 1
        assert np.all(np.diff(self.features) > 0), "features are not sorted and unique"
        assert self.weights.shape == self.features.shape
        assert np.all(np.isfinite(self.weights))
        assert np.all(np.isin(self.forced, self.features)), "a forced feature is missing"
        assert np.all((self.weights != 0.0) | np.isin(self.features, self.forced)), "a picked feature has no weight"
        self.certificate.check()
