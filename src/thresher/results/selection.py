"""A selection of features, and what belongs to it: why the fit ended, certificate and path."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple, overload

import numpy as np

from thresher.results.known import KnownFeatures, OfFittedFeatures, consistent
from thresher.results.table import Tabulated
from thresher.results.trace import Trace, relative


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
        """The message."""
        return self.sentence or self.reason.value


@dataclass(frozen=True)
class Certificate:
    """How good the result is, proven. All values are in the units in which the data was scaled.

    Parameters
    ----------
    objective : float
        Objective of the grown model.
    lower_bound : float
        A value that no model over *all* features with the same budget can go below; of features that are equal or
        opposite after scaling, and of which growth took one, the others do not count, nor do excluded ones.
    pick_objective : float
        1/2 ||w||^2 plus the loss of the features that were selected.
    pick_bound : float
        A value that no model on *any* equally many features can go below, excluded ones excepted.
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
        """Relative duality gap, (objective - lower_bound) / at_zero: 0 when no model has a lower objective."""
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
        consistent(self.lower_bound <= self.objective + slack, "the lower bound exceeds the objective")
        consistent(self.pick_bound <= self.pick_objective + slack, "the lower bound of the pick exceeds its objective")

    def __repr__(self) -> str:
        return (
            f"Certificate(objective={self.objective:.6g}, lower_bound={self.lower_bound:.6g}, gap={self.gap:.2e}, "
            f"pick_objective={self.pick_objective:.6g}, pick_bound={self.pick_bound:.6g})"
        )


@dataclass(frozen=True)
class Station(OfFittedFeatures):
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
    units : ndarray of int64, default=None
        The selected units, sorted, where ``number`` counts groups of features; None: the features themselves.
    fitted_features : FittedFeatures, default=None
        What the fit selected from; ``importance``, ``ranking``, ``groups`` and ``pairs`` follow from it.
    """

    phase: str
    number: int
    features: np.ndarray
    weights: np.ndarray
    intercept: float | np.ndarray
    objective: float
    bound: float
    units: np.ndarray | None = None
    fitted_features: KnownFeatures | None = field(default=None, repr=False)


def _place(station: Station) -> tuple[bool, int]:
    """Growth comes first, in the order of its turns, then elimination from many features to few."""
    return (True, -station.number) if station.phase != "grow" else (False, 0)


class Path(Sequence[Station]):
    """The stations of a fit: growth in the order of its turns, then elimination from many features to few.

    Parameters
    ----------
    stations : iterable of Station, default=()
        The models; of several with the same number of features ``at`` returns the last.
    later : callable, default=None
        Returns more stations of elimination. It is called once, when the first of them is needed, and before the path
        is pickled or saved: models are computed on first access.
    """

    def __init__(self, stations: Iterable[Station] = (), later: Callable[[], Iterable[Station]] | None = None):
        self._lock = threading.Lock()
        self._later = later
        self._set(stations)

    def _set(self, stations: Iterable[Station]) -> None:
        self._stations = tuple(stations)
        # of several with the same number of features, the last one wins: elimination comes after growth
        self._at = {station.number: station for station in self._stations}

    @property
    def stations(self) -> tuple[Station, ...]:
        """All stations."""
        with self._lock:  # two threads may ask at the same time
            if self._later is not None:
                self._set(sorted([*self._stations, *self._later()], key=_place))
                self._later = None  # the columns that it needed are free
            return self._stations

    def __getstate__(self) -> tuple[Station, ...]:
        return self.stations

    def __setstate__(self, stations: tuple[Station, ...]) -> None:
        self.__init__(stations)  # type: ignore[misc]

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
        return np.array(sorted({station.number for station in self.stations}), dtype=np.int64)

    @property
    def n_features(self) -> np.ndarray:
        """Number of features of each station, in the order in which they were reached (of all classes together)."""
        return np.array([station.features.size for station in self.stations], dtype=np.int64)

    def feature_sets(self) -> Iterator[np.ndarray]:
        """The features of each station: of elimination from few to many, then of growth in the order of its turns.

        Returns
        -------
        iterator of ndarray of int64
            Sorted features.
        """
        growth = [station for station in self.stations if station.phase == "grow"]
        elimination = [station for station in self.stations if station.phase != "grow"]
        for station in (*reversed(elimination), *growth):
            yield station.features

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
        known = self._at.get(number)
        if known is None or known.phase == "grow":  # a station of elimination may come later, and counts more
            if number not in self.numbers:
                if not self.stations:
                    raise ValueError(
                        f"there is no path to take a model with {number!r} features from: files of models that at() "
                        "returned have none, nor those with path=False. Use the fitted model, or save with path=True"
                    )
                there = format_ranges(self.numbers)
                raise ValueError(f"no station of the path has {number!r} features; there are {there}")
            known = self._at[number]
        return known

    def __repr__(self) -> str:
        phases = [station.phase for station in self.stations]
        return (
            f"Path({phases.count('grow')} stations of growth, {phases.count('thresh')} of elimination; "
            f"features: {format_ranges(self.numbers)})"
        )


def counted(number: int, noun: str) -> str:
    """A number with its noun: "1 group", "2 groups", "3 classes"."""
    plural = "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}{'' if number == 1 else plural}"


def reached_text(number: int, noun: str = "feature") -> str:
    """The stop reason of a fit that selected as many features, or groups, as requested."""
    return f"{counted(number, noun)} selected, as requested"


def format_ranges(integers: np.ndarray) -> str:
    """Ascending integers as a string, with consecutive ones written as "a to b"."""
    runs = np.split(integers, np.flatnonzero(np.diff(integers) > 1) + 1) if len(integers) else []
    return ", ".join(str(run[0]) if run.size == 1 else f"{run[0]} to {run[-1]}" for run in runs) or "none"


@dataclass(frozen=True)
class Selection(Tabulated):
    """The features that were selected, with weights in the units of X as given.

    A weight says little about how much a feature matters: it is small where the values of the column are large.
    ``importance`` is |weight| times the standard deviation of the column, ``ranking`` the order by it.

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
    units : ndarray of int64, default=None
        The selected units, sorted, where groups of features were selected; None: the features themselves.
    fitted_features : FittedFeatures, default=None
        What the fit selected from, and what new data needs; ``importance``, ``ranking``, ``groups`` and ``pairs``
        follow from it.
    classes : ndarray of shape (n_classes,), default=None
        Class labels, for ``to_frame``; None: weights favour no class.
    library : str, default=None
        Of the data frame fitted on: "pandas" or "polars"; None: other data, or not known.
    from_path : bool, default=False
        Whether ``at`` took it from the path of a fit: ``save`` then leaves the path out, unless it is asked for.
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
    units: np.ndarray | None = None
    fitted_features: KnownFeatures | None = field(default=None, repr=False)
    classes: np.ndarray | None = field(default=None, repr=False)
    library: str | None = field(default=None, repr=False)
    from_path: bool = field(default=False, repr=False)

    def check(self) -> None:
        """Check that features are sorted, unique and matched by finite weights; the certificate is checked, too.

        A weight may be zero only where the feature was forced.

        Raises
        ------
        InconsistentResultError
            If that is not so.
        """
        ids, weights, shape = self.features, self.weights, np.shape(self.intercept)
        consistent(ids.dtype == np.int64 and ids.ndim == 1, "features are not a 1-D int64 array")
        consistent(bool(np.all(np.diff(ids) > 0)), "features are not sorted and unique")
        consistent(weights.shape == (*ids.shape, *shape), "weights, features and intercept have different shapes")
        consistent(bool(np.isfinite(weights).all()), "weights are not finite")
        consistent(bool(np.isin(self.forced, ids).all()), "a forced feature is missing")
        if self.units is not None and self.labels is not None:
            self.labels.of(self.units)
        if self.units is None:  # a column of a selected group may have weight zero
            consistent(bool(np.all(self.weighted | np.isin(ids, self.forced))), "a selected feature has no weight")
        if self.spread is not None:
            consistent(self.spread.covers(ids), "the standard deviation of a selected column is missing")
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
        size = counted(number, station.noun)
        if certificate is not None:
            certificate = replace(certificate, pick_objective=station.objective, pick_bound=station.bound)
        return replace(
            self,
            features=station.features,
            weights=station.weights,
            intercept=station.intercept,
            stop_reason=f"{size}, from the path of a fit that stopped with: {self.stop_reason}",
            certificate=certificate,
            units=station.units,
            from_path=True,
        )
