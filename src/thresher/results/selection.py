"""A selection of features, and what belongs to it: certificate, trace and path."""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple, overload

import numpy as np

from thresher.errors import InconsistentResultError


class StopReason(Enum):
    """Why a fit stopped; the value is the message where nothing more specific is known."""

    REACHED = "requested number of features reached"
    CONVERGED = "converged"
    SMALL_DECREASE = "converged: the objective hardly decreases"
    MAX_TIME = "stopped early: max_time reached"
    MAX_ITER = "stopped early: max_iter reached"
    NO_LOSS = "zero loss: the features taken fit the data perfectly"
    NO_SCORE = "no other feature has a non-zero score"
    NOT_CONVERGED = "not converged"
    INTERRUPTED = "interrupted"
    STREAM = "end of the stream"


class Stop(NamedTuple):
    """Why a fit stopped, with a specific message; the default message of the reason where none is given."""

    reason: StopReason
    sentence: str = ""

    @property
    def text(self) -> str:
        """The message."""
        return self.sentence or self.reason.value


@dataclass(frozen=True)
class Certificate:
    """Proven bounds on how good the result is.

    ``objective`` is that of the grown model, ``lower_bound`` a lower bound of the objective of every model over *all*
    features with the same budget. ``pick_objective`` is 1/2 ||w||^2 plus the loss of the selected features, and
    ``pick_bound`` a lower bound of it over *all* subsets of as many features. ``at_zero`` is the objective without
    features. All are in the units of the scaled data.
    """

    objective: float
    lower_bound: float
    pick_objective: float
    pick_bound: float
    at_zero: float

    @property
    def gap(self) -> float:
        """Relative duality gap, (objective - lower_bound) / at_zero: 0 when no model has a lower objective."""
        return relative(self.objective - self.lower_bound, self.at_zero)

    @property
    def pick_gap(self) -> float:
        """(pick_objective - pick_bound) / at_zero."""
        return relative(self.pick_objective - self.pick_bound, self.at_zero)

    def check(self) -> None:
        """Raise InconsistentResultError unless all values are finite and no bound exceeds its objective."""
        values = (self.objective, self.lower_bound, self.pick_objective, self.pick_bound)
        consistent(bool(np.isfinite(values).all()), "the certificate contains non-finite values")
        slack = 1e-9 * self.at_zero
        consistent(self.lower_bound <= self.objective + slack, "the lower bound exceeds the objective")
        consistent(self.pick_bound <= self.pick_objective + slack, "the lower bound of the pick exceeds its objective")

    def __repr__(self) -> str:
        return (
            f"Certificate(objective={self.objective:.6g}, lower_bound={self.lower_bound:.6g}, gap={self.gap:.2e}, "
            f"pick_objective={self.pick_objective:.6g}, pick_bound={self.pick_bound:.6g})"
        )


def consistent(condition: bool, message: str) -> None:
    """Raise InconsistentResultError with ``message`` unless ``condition``; works under ``python -O`` too."""
    if not condition:
        raise InconsistentResultError(message)


def relative(difference: float, reference: float) -> float:
    """The difference as a share of the reference, not below zero; nan stays nan."""
    return 0.0 if difference <= 0 or reference <= 0 else difference / reference


@dataclass(frozen=True)
class Step:
    """One step of a fit: its kind, how long it took, and how much of X was read."""

    kind: str
    seconds: float
    passes: float = 0.0
    bytes: int = 0


@dataclass(frozen=True)
class Turn:
    """The state of a fit after a turn: ``features`` in the model, out of ``taken`` columns."""

    features: int
    taken: int
    objective: float
    lower_bound: float
    gap: float
    passes: float
    seconds: float


@dataclass(frozen=True)
class Milestone:
    """The state of a stream after ``examples`` examples, each predicted before it was learned from.

    ``loss`` and ``accuracy`` are means since the beginning, ``features`` is the number of non-zero weights;
    ``truncation_error`` is what the last truncation to the budget removed, in the norm of the method.
    """

    examples: int
    loss: float
    accuracy: float
    features: int
    truncation_error: float


@dataclass
class Trace:
    """The record of a fit: every scan, take and solve. Progress messages, plots and benchmarks read nothing else."""

    steps: list[Step] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    begun: float = field(default_factory=time.perf_counter)

    @contextmanager
    def step(self, kind: str, passes: float = 0.0, n_bytes: int = 0) -> Iterator[None]:
        """Time the body of a ``with`` block and record it as a Step.

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
            Nothing is recorded if the block raises.
        """
        start = time.perf_counter()
        yield
        self.steps.append(Step(kind, time.perf_counter() - start, passes, int(n_bytes)))

    def record_turn(self, features: int, taken: int, objective: float, lower_bound: float, at_zero: float) -> Turn:
        """Record the state of the fit after a turn.

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

        Returns
        -------
        Turn
            The turn that was recorded.
        """
        gap = relative(objective - lower_bound, at_zero)
        self.turns.append(Turn(features, taken, objective, lower_bound, gap, self.passes, self.elapsed))
        return self.turns[-1]

    @property
    def passes(self) -> float:
        """Full passes over X, including those of validation and statistics."""
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
        """Seconds since the beginning of the fit."""
        return time.perf_counter() - self.begun

    def __repr__(self) -> str:
        by_kind = ", ".join(f"{kind} {seconds:.3g} s" for kind, seconds in self.seconds.items())
        return f"Trace({self.passes:.3g} passes, {len(self.turns)} turns; {by_kind})"


@dataclass(frozen=True)
class Station:
    """An intermediate model: a turn of growth (phase "grow") or a step of elimination (phase "thresh").

    ``number`` is the number of features, per class where each class has its own; ``weights`` are in the units of X,
    (features,) or (features, classes). ``objective`` is 1/2 ||w||^2 plus the loss and ``bound`` a lower bound of it
    over all subsets of ``number`` features, both in the units of the scaled data.
    """

    phase: str
    number: int
    features: np.ndarray
    weights: np.ndarray
    intercept: float | np.ndarray
    objective: float
    bound: float


class Path(Sequence[Station]):
    """The stations of a fit in the order in which they were reached: growth, then elimination.

    Parameters
    ----------
    stations : iterable of Station, default=()
        The models; of several with the same number of features ``at`` returns the last.
    """

    def __init__(self, stations: Iterable[Station] = ()):
        self.stations = tuple(stations)
        # of several with the same number of features, the last one wins: elimination comes after growth
        self._at = {station.number: station for station in self.stations}

    def __len__(self) -> int:
        return len(self.stations)

    @overload
    def __getitem__(self, index: int) -> Station: ...

    @overload
    def __getitem__(self, index: slice) -> "Path": ...

    def __getitem__(self, index: int | slice) -> "Station | Path":
        return Path(self.stations[index]) if isinstance(index, slice) else self.stations[index]

    @property
    def numbers(self) -> np.ndarray:
        """Numbers of features that ``at`` accepts, in ascending order."""
        return np.array(sorted(self._at), dtype=np.int64)

    @property
    def n_features(self) -> np.ndarray:
        """Number of features of each station, in the order in which they were reached (of all classes together)."""
        return np.array([station.features.size for station in self.stations], dtype=np.int64)

    def at(self, number: int) -> Station:
        """The station with a given number of features.

        Parameters
        ----------
        number : int
            Number of features, per class where each class has its own.

        Returns
        -------
        Station
            The last one, if several have this number of features.

        Raises
        ------
        ValueError
            If no station has this number of features.
        """
        if number not in self._at:
            raise ValueError(f"no station of the path has {number!r} features; there are {format_ranges(self.numbers)}")
        return self._at[number]

    def __repr__(self) -> str:
        phases = [station.phase for station in self.stations]
        return (
            f"Path({phases.count('grow')} stations of growth, {phases.count('thresh')} of elimination; "
            f"features: {format_ranges(self.numbers)})"
        )


def reached_text(n_features: int) -> str:
    """The stop reason of a fit that selected as many features as requested."""
    return f"{n_features} feature{'' if n_features == 1 else 's'} selected, as requested"


def format_ranges(integers: np.ndarray) -> str:
    """Ascending integers as a string, with consecutive ones written as "a to b"."""
    runs = np.split(integers, np.flatnonzero(np.diff(integers) > 1) + 1) if len(integers) else []
    return ", ".join(str(run[0]) if run.size == 1 else f"{run[0]} to {run[-1]}" for run in runs) or "none"


@dataclass(frozen=True)
class Selection:
    """The selected features, in ascending order, with weights in the units of X as given.

    ``weights`` are (features,), or (features, classes) with more than two classes. Only ``forced`` features may have
    weight zero.
    """

    features: np.ndarray
    weights: np.ndarray
    intercept: float | np.ndarray
    stop_reason: str
    certificate: Certificate | None  # None for a stream: nothing is proven
    trace: Trace = field(repr=False)
    path: Path = field(default_factory=Path, repr=False)
    scale: str | None = None
    budget: int = 0
    forced: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False)
    interrupted: bool = False
    stop: StopReason | None = None  # None for a model file that does not contain it

    def check(self) -> None:
        """Raise InconsistentResultError unless features are sorted and unique and weights are finite and match them.

        Only forced features may have weight zero; the certificate, if there is one, is checked too.
        """
        ids, weights, shape = self.features, self.weights, np.shape(self.intercept)
        consistent(ids.dtype == np.int64 and ids.ndim == 1, "features are not a 1-D int64 array")
        consistent(bool(np.all(np.diff(ids) > 0)), "features are not sorted and unique")
        consistent(weights.shape == (*ids.shape, *shape), "weights, features and intercept have different shapes")
        consistent(bool(np.isfinite(weights).all()), "weights are not finite")
        consistent(bool(np.isin(self.forced, ids).all()), "a forced feature is missing")
        consistent(bool(np.all(self.weighted | np.isin(ids, self.forced))), "a selected feature has no weight")
        if self.certificate is not None:
            self.certificate.check()

    @property
    def weighted(self) -> np.ndarray:
        """Mask of the features with a non-zero weight (in any class)."""
        return (self.weights != 0.0).any(axis=tuple(range(1, self.weights.ndim)))

    def at(self, number: int) -> "Selection":
        """The selection with a given number of features, taken from the path.

        Parameters
        ----------
        number : int
            Number of features; one of ``path.numbers``.

        Returns
        -------
        Selection
            A copy with the features, weights and bounds of that station.

        Raises
        ------
        ValueError
            If no station has this number of features.
        """
        station, certificate = self.path.at(number), self.certificate
        if certificate is not None:
            certificate = replace(certificate, pick_objective=station.objective, pick_bound=station.bound)
        return replace(
            self,
            features=station.features,
            weights=station.weights,
            intercept=station.intercept,
            stop_reason=f"{number} features, from the path of a fit that stopped with: {self.stop_reason}",
            certificate=certificate,
        )
