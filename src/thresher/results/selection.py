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
    """Why a fit ended; the value is what it says where nothing more particular is known."""

    REACHED = "as many features as asked for"
    CONVERGED = "converged"
    SMALL_DECREASE = "converged: the objective hardly falls"
    MAX_TIME = "stopped early: max_time reached"
    MAX_ITER = "stopped early: max_iter reached"
    NO_LOSS = "no loss is left: the features taken fit the data perfectly"
    NO_SCORE = "no other feature has a non-zero score"
    NOT_CONVERGED = "not converged"
    INTERRUPTED = "interrupted"
    STREAM = "end of the examples"


class Stop(NamedTuple):
    """Why a fit ended, with a sentence for people; the reason's own where none is given."""

    reason: StopReason
    sentence: str = ""

    @property
    def text(self) -> str:
        """The sentence."""
        return self.sentence or self.reason.value


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
    def gap(self) -> float:
        """(objective - lower_bound) / at_zero: 0 when no other model could be better."""
        return relative(self.objective - self.lower_bound, self.at_zero)

    @property
    def pick_gap(self) -> float:
        """(pick_objective - pick_bound) / at_zero."""
        return relative(self.pick_objective - self.pick_bound, self.at_zero)

    def check(self) -> None:
        """Raise InconsistentResultError unless the numbers are finite and no bound exceeds its objective."""
        numbers = (self.objective, self.lower_bound, self.pick_objective, self.pick_bound)
        consistent(bool(np.isfinite(numbers).all()), "the certificate contains numbers that are not finite")
        slack = 1e-9 * self.at_zero
        consistent(self.lower_bound <= self.objective + slack, "the lower bound lies above the objective")
        consistent(self.pick_bound <= self.pick_objective + slack, "the bound of the pick lies above its objective")

    def __repr__(self) -> str:
        return (
            f"Certificate(objective={self.objective:.6g}, lower_bound={self.lower_bound:.6g}, gap={self.gap:.2e}, "
            f"pick_objective={self.pick_objective:.6g}, pick_bound={self.pick_bound:.6g})"
        )


def consistent(good: bool, problem: str) -> None:
    """Raise InconsistentResultError with ``problem`` unless ``good``; unlike ``assert``, under ``python -O`` too."""
    if not good:
        raise InconsistentResultError(problem)


def relative(difference: float, yardstick: float) -> float:
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
    """Where a fit stood after a turn: ``features`` in the model out of columns ``taken``."""

    features: int
    taken: int
    objective: float
    lower_bound: float
    gap: float
    passes: float
    seconds: float


@dataclass(frozen=True)
class Milestone:
    """Where a stream stood after so many ``examples``, each judged before it was learnt from.

    ``loss`` and ``accuracy`` are means since the beginning, ``features`` those with a weight; ``truncation_error`` is
    what the last cut back to the budget took away, in the norm of the method.
    """

    examples: int
    loss: float
    accuracy: float
    features: int
    truncation_error: float


@dataclass
class Trace:
    """The record of a fit: every scan, take and solve. Progress bars, plots and benchmarks read nothing else."""

    steps: list[Step] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    begun: float = field(default_factory=time.perf_counter)

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
            Nothing is recorded where the block raises.
        """
        start = time.perf_counter()
        yield
        self.steps.append(Step(kind, time.perf_counter() - start, passes, int(n_bytes)))

    def turned(self, features: int, taken: int, objective: float, lower_bound: float, at_zero: float) -> Turn:
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

        Returns
        -------
        Turn
            What was recorded.
        """
        gap = relative(objective - lower_bound, at_zero)
        self.turns.append(Turn(features, taken, objective, lower_bound, gap, self.passes, self.elapsed))
        return self.turns[-1]

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

    def __repr__(self) -> str:
        by_kind = ", ".join(f"{kind} {seconds:.3g} s" for kind, seconds in self.seconds.items())
        return f"Trace({self.passes:.3g} passes, {len(self.turns)} turns; {by_kind})"


@dataclass(frozen=True)
class Station:
    """A model on the way: a turn of growth (phase "grow"), or what elimination left (phase "thresh").

    ``number`` of features, for each class where each has its own; ``weights`` in the units of X, (features,) or
    (features, classes); ``objective`` is 1/2 ||w||^2 plus the loss, ``bound`` a value that no model on any ``number``
    features can go below, in the units in which the data was scaled.
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
        # of several with one number the last of the later phase counts
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
        """Numbers of features that ``at`` knows, rising."""
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
            Number of features, for each class where each has its own.

        Returns
        -------
        Station
            Of several with this number the last.

        Raises
        ------
        ValueError
            If no station has this number of features.
        """
        if number not in self._at:
            raise ValueError(f"no station of the path has {number!r} features; there are {in_words(self.numbers)}")
        return self._at[number]

    def __repr__(self) -> str:
        phases = [station.phase for station in self.stations]
        return (
            f"Path({phases.count('grow')} stations of growth, {phases.count('thresh')} of elimination; "
            f"features: {in_words(self.numbers)})"
        )


def as_asked(number: int) -> str:
    """The reason to stop that everybody hopes for."""
    return f"{number} feature{'' if number == 1 else 's'}, as asked"


def in_words(numbers: np.ndarray) -> str:
    """Whole numbers, rising, with runs written as "a to b"."""
    runs = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1) if len(numbers) else []
    return ", ".join(str(run[0]) if run.size == 1 else f"{run[0]} to {run[-1]}" for run in runs) or "none"


@dataclass(frozen=True)
class Selection:
    """The features that were picked, in ascending order, with weights in the units of X as given.

    ``weights`` are (features,), or (features, classes) with more than two classes. Only features that were ``forced``
    into the model may have weight zero.
    """

    features: np.ndarray
    weights: np.ndarray
    intercept: float | np.ndarray
    stop_reason: str
    certificate: Certificate | None  # None: of a stream nothing is proven
    trace: Trace = field(repr=False)
    path: Path = field(default_factory=Path, repr=False)
    scale: str | None = None
    budget: int = 0
    forced: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False)
    interrupted: bool = False
    stop: StopReason | None = None  # None: a model file that does not say

    def check(self) -> None:
        """Raise InconsistentResultError unless ids are sorted, unique and matched by finite weights.

        A weight may be zero only where the feature was forced; the certificate, if there is one, is checked too.
        """
        ids, weights, shape = self.features, self.weights, np.shape(self.intercept)
        consistent(ids.dtype == np.int64 and ids.ndim == 1, "features are not a vector of int64")
        consistent(bool(np.all(np.diff(ids) > 0)), "features are not sorted and unique")
        consistent(weights.shape == (*ids.shape, *shape), "weights, features and intercept have different shapes")
        consistent(bool(np.isfinite(weights).all()), "weights are not finite")
        consistent(bool(np.isin(self.forced, ids).all()), "a forced feature is missing")
        consistent(bool(np.all(self.weighted | np.isin(ids, self.forced))), "a picked feature has no weight")
        if self.certificate is not None:
            self.certificate.check()

    @property
    def weighted(self) -> np.ndarray:
        """Which features have a weight other than zero (in any class)."""
        return (self.weights != 0.0).any(axis=tuple(range(1, self.weights.ndim)))

    def at(self, number: int) -> "Selection":
        """The selection with a given number of features, as the path has it.

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
        station, own = self.path.at(number), self.certificate
        proven = None
        if own is not None:
            proven = replace(own, pick_objective=station.objective, pick_bound=station.bound)
        return replace(
            self,
            features=station.features,
            weights=station.weights,
            intercept=station.intercept,
            stop_reason=f"{number} features, out of the path of a fit that ended with: {self.stop_reason}",
            certificate=proven,
        )
