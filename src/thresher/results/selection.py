"""A selection of features, and what belongs to it: why the fit ended, certificate and path."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple, overload

import numpy as np

from thresher.errors import InconsistentResultError
from thresher.results.trace import Trace, relative


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
    """Why a fit ended, with a sentence for people.

    Parameters
    ----------
    reason : StopReason
        The reason.
    sentence : str, default=""
        What it says in this case; "": the text of the reason itself.
    """

    reason: StopReason
    sentence: str = ""

    @property
    def text(self) -> str:
        """The sentence."""
        return self.sentence or self.reason.value


@dataclass(frozen=True)
class Certificate:
    """How good the result is, proven. All values are in the units in which the data was scaled.

    Parameters
    ----------
    objective : float
        Objective of the grown model.
    lower_bound : float
        A value that no model over *all* features with the same budget can go below.
    pick_objective : float
        1/2 ||w||^2 plus the loss of the features that were selected.
    pick_bound : float
        A value that no model on *any* equally many features can go below.
    at_zero : float
        Objective without features.
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
        """Check that the numbers are finite and no bound exceeds its objective.

        Raises
        ------
        InconsistentResultError
            If that is not so.
        """
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


@dataclass(frozen=True)
class Station:
    """A model on the way from one to many features, or back.

    Parameters
    ----------
    phase : {"grow", "thresh"}
        A turn of growth, or what elimination left.
    number : int
        Number of features, for each class where each has its own.
    features : ndarray of int64
        The features, sorted.
    weights : ndarray of shape (n_features,) or (n_features, n_classes)
        Their weights, in the units of X.
    intercept : float or ndarray of shape (n_classes,)
        The intercept.
    objective : float
        1/2 ||w||^2 plus the loss, in the units in which the data was scaled.
    bound : float
        A value that no model on any ``number`` features can go below, in the same units.
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
    """The features that were selected, with weights in the units of X as given.

    Parameters
    ----------
    features : ndarray of int64
        The features, sorted.
    weights : ndarray of shape (n_features,) or (n_features, n_classes)
        Their weights; zero only where a feature was ``forced`` into the model.
    intercept : float or ndarray of shape (n_classes,)
        The intercept.
    stop_reason : str
        Why the fit ended, for people.
    certificate : Certificate or None
        How good the result is; None for a stream, of which nothing is proven.
    trace : Trace
        The record of the fit.
    path : Path, default=Path()
        The models on the way.
    scale : str, default=None
        The scale that columns were put on; None: as they are.
    budget : int, default=0
        The budget of the penalty, or of a stream; 0: none.
    forced : ndarray of int64, default=[]
        Features that had to be in the model.
    interrupted : bool, default=False
        Whether Ctrl-C ended the fit.
    stop : StopReason, default=None
        Why the fit ended; None: a model file that does not say.
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
        """Check that features are sorted, unique and matched by finite weights; the certificate is checked, too.

        A weight may be zero only where the feature was forced.

        Raises
        ------
        InconsistentResultError
            If that is not so.
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
