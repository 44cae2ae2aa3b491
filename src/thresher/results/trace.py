"""The record of a fit: what was done, how long it took, and where the fit stood in between."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from thresher.state import ArrayReader, ArrayWriter, fields, get_records, need, put_records, required


def relative(difference: float, yardstick: float) -> float:
    """The difference as a share of the yardstick, not below zero; nan stays nan."""
    return 0.0 if difference <= 0 or yardstick <= 0 else difference / yardstick


def rounded(number: float) -> str:
    """Three significant digits, with commas between thousands: 0.0123, 5.07, 5,070."""
    value = float(f"{number:.3g}")
    return f"{value:,.0f}" if abs(value) >= 100.0 else f"{value:.3g}"


@dataclass(frozen=True)
class Step:
    """One thing done.

    Parameters
    ----------
    kind : str
        What it was, for example "scan", "take" or "solve".
    seconds : float
        How long it took.
    passes : float, default=0.0
        How much of X was read, in full passes over it.
    bytes : int, default=0
        How many bytes of X were read.
    """

    kind: str
    seconds: float
    passes: float = 0.0
    bytes: int = 0


@dataclass(frozen=True)
class Turn:
    """Where a fit stood after a turn.

    Parameters
    ----------
    features : int
        Number of features in the model.
    taken : int
        Number of columns taken so far.
    objective : float
        Objective of the model.
    lower_bound : float
        A value that no model with the same budget can go below.
    gap : float
        Their difference as a share of the objective without features.
    passes : float
        Full passes over X so far.
    seconds : float
        Seconds since the fit began.
    visited : float, default=1.0
        Share of the columns whose products the last scan looked at; 1.0 where features are no products.
    cuts : int, default=0
        Labellings that the bundle method of a measure holds; 0 for other losses.
    inner_gap : float, default=0.0
        Duality gap of the problem on the columns taken, as a share of the objective without features.
    """

    features: int
    taken: int
    objective: float
    lower_bound: float
    gap: float
    passes: float
    seconds: float
    visited: float = 1.0
    cuts: int = 0
    inner_gap: float = 0.0


@dataclass(frozen=True)
class Milestone:
    """Where a stream stood; each example is judged before it is learnt from.

    Parameters
    ----------
    examples : int
        Number of examples so far.
    loss : float
        Mean loss since the beginning.
    accuracy : float
        Mean accuracy since the beginning.
    features : int
        Number of features with a weight.
    truncation_error : float
        What the last cut back to the budget took away, in the norm of the method.
    """

    examples: int
    loss: float
    accuracy: float
    features: int
    truncation_error: float


def get_milestones(reader: ArrayReader, value: Any, what: str) -> list[Milestone]:
    """Milestones from a document, where ``put_records`` has put them."""
    milestones = get_records(reader, value, Milestone, what, finite=True)
    counts = [count for milestone in milestones for count in (milestone.examples, milestone.features)]
    need(min(counts, default=0) >= 0, f"{what} contain a negative count")
    return milestones


@dataclass
class Trace:
    """The record of a fit: every scan, take and solve. Progress bars, plots and benchmarks read nothing else.

    Parameters
    ----------
    steps : list of Step, default=[]
        What was done, in order.
    turns : list of Turn, default=[]
        Where the fit stood after each turn.
    begun : float, default=time.perf_counter()
        When the record was begun.
    """

    steps: list[Step] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    begun: float = field(default_factory=lambda: time.perf_counter())  # looked up each time: tests replace the clock
    _under_way: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    @contextmanager
    def step(self, kind: str, passes: float = 0.0, n_bytes: int = 0) -> Iterator[None]:
        """Time what happens inside a ``with`` block and record it as a Step.

        Parameters
        ----------
        kind : str
            What is done, for example "scan" or "solve".
        passes : float, default=0.0
            How much of X is read, in full passes over it.
        n_bytes : int, default=0
            How many bytes of X are read.

        Returns
        -------
        context manager
            Nothing is recorded where the block raises, nor of steps inside one of the same kind, whose parts they
            are, on whatever thread.
        """
        if kind in self._under_way:
            yield
            return
        start = time.perf_counter()
        self._under_way.add(kind)
        try:
            yield
        finally:
            self._under_way.discard(kind)
        self.steps.append(Step(kind, time.perf_counter() - start, passes, int(n_bytes)))

    def record_turn(
        self, features: int, taken: int, objective: float, lower_bound: float, at_zero: float, visited: float = 1.0,
        cuts: int = 0, inner_gap: float = 0.0,
    ) -> Turn:  # fmt: skip
        """Record where the fit stands after a turn.

        Parameters
        ----------
        features : int
            Number of features in the model.
        taken : int
            Number of columns taken so far.
        objective : float
            Objective of the model.
        lower_bound : float
            Largest lower bound of the objective so far.
        at_zero : float
            Objective without features; the gap is a share of it.
        visited : float, default=1.0
            Share of the columns whose products the last scan looked at.
        cuts : int, default=0
            Labellings that the bundle method holds.
        inner_gap : float, default=0.0
            Duality gap of the problem on the columns taken, as a share of ``at_zero``.

        Returns
        -------
        Turn
            What was recorded.
        """
        gap = relative(objective - lower_bound, at_zero)
        passes, seconds = self.passes, self.elapsed
        turn = Turn(features, taken, objective, lower_bound, gap, passes, seconds, visited, cuts, inner_gap)
        self.turns.append(turn)
        return turn

    @property
    def passes(self) -> float:
        """Full passes over X, those of validation and statistics included."""
        return sum(step.passes for step in self.steps)

    @property
    def bytes(self) -> int:
        """Bytes of X read."""
        return sum(step.bytes for step in self.steps)

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds spent, by kind of step."""
        total: dict[str, float] = {}
        for step in self.steps:
            total[step.kind] = total.get(step.kind, 0.0) + step.seconds
        return total

    @property
    def elapsed(self) -> float:
        """Seconds since the record was begun."""
        return time.perf_counter() - self.begun

    def to_state(self, writer: ArrayWriter) -> dict[str, Any]:
        """As a part of a document.

        Parameters
        ----------
        writer : ArrayWriter
            Takes the arrays.

        Returns
        -------
        dict
            What ``from_state`` takes.
        """
        return {
            "steps": put_records(writer, "steps", Step, self.steps),
            "turns": put_records(writer, "turns", Turn, self.turns),
        }

    @classmethod
    def from_state(cls, reader: ArrayReader, state: Any) -> Self:
        """The Trace that ``to_state`` was called on, begun as long ago as its last turn took.

        Parameters
        ----------
        reader : ArrayReader
            Has the arrays.
        state : dict
            The part of a document, which is validated.

        Returns
        -------
        Trace
            A valid one.
        """
        state = fields(state, required("steps", "turns"), "trace")
        steps = get_records(reader, state["steps"], Step, "the steps")
        turns = get_records(reader, state["turns"], Turn, "the turns")
        return cls(steps, turns, time.perf_counter() - (turns[-1].seconds if turns else 0.0))

    def __repr__(self) -> str:
        by_kind = ", ".join(f"{kind} {seconds:.3g} s" for kind, seconds in self.seconds.items())
        return f"Trace({rounded(self.passes)} passes, {len(self.turns)} turns; {by_kind})"
