"""FeatureMap: what a model selects, as users say it; Features: the same for the data of a fit.

A fit asks its FeatureMap three things: ``samples`` (what a label belongs to: rows, or bags of them), ``on`` (the
Features of the data: a design that can be scanned, its units, which of them must or must not be selected) and, of the
Features, ``fitted``: what new data needs. A feature map of your own is a frozen dataclass that derives from FeatureMap;
``thresher.testing.check_feature_map`` checks the laws that a fit relies on.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from thresher.data.designs.base import Design
from thresher.data.designs.units import Units
from thresher.data.scan.pieces import Cost
from thresher.errors import InvalidDataError
from thresher.features.fitted import FittedFeatures
from thresher.features.fitted_columns import ColumnFeatures
from thresher.features.samples import Base, Restrictions, Samples
from thresher.results import GroupLabels, Path, Selection, Spread, Station

Earlier = tuple[np.ndarray, np.ndarray]  # units of an earlier fit, and weights (columns, outputs) as solvers have them


@dataclass(frozen=True, kw_only=True)
class Features:
    """The features of one fit.

    Parameters
    ----------
    design : Design
        All features, as they are scanned and solved on.
    fitted_type : type
        The FittedFeatures that new data needs of them; ``parts`` has the fields that it adds.
    units : Units
        What is counted, taken and eliminated as one.
    columns : ColumnFeatures
        The columns of X that they are made of.
    n_candidates : int
        How many units could be selected; with columns of zeros, which a design may omit.
    n_units : int
        How many there are with those that must not be selected.
    scale : str, default=None
        The scale that columns were put on; None: as they are.
    forced : tuple of int, default=()
        Units that must be selected.
    excluded : tuple of int, default=()
        Units that must not be, sorted.
    labels : ndarray of shape (n_units,), default=None
        Labels of all units; None: units are columns of the design, which have a number.
    weights : ndarray of shape (n_samples,), default=None
        Weights of the samples, over which the standard deviations of features are measured; None: these are unknown,
        and so is the importance of features.
    """

    design: Design
    fitted_type: type[FittedFeatures]
    units: Units
    columns: ColumnFeatures
    n_candidates: int
    n_units: int
    scale: str | None = None
    forced: tuple[int, ...] = ()
    excluded: tuple[int, ...] = ()
    labels: np.ndarray | None = None
    weights: np.ndarray | None = None

    @property
    def candidates_text(self) -> str:
        """What there is to select from, in messages."""
        return f"{self.units.noun}s of X"

    def fitted(self, ids: np.ndarray, units: np.ndarray) -> FittedFeatures:
        """What new data needs of some features.

        Parameters
        ----------
        ids : ndarray of int64
            Columns of the design, sorted: those of all models on the path.
        units : ndarray of int64
            The units that they are in, sorted.

        Returns
        -------
        FittedFeatures
            Whose ids are those of ``design.ids_in_X``.
        """
        labels = None if self.labels is None else GroupLabels(units, self.labels[units], self.units.noun)
        common = {"n_candidates": self.n_candidates, "labels": labels, "column_names": self.columns.column_names}
        return self.fitted_type(self.columns.n_columns, **common | self.parts(ids))

    def parts(self, ids: np.ndarray) -> dict[str, Any]:
        """What ``fitted`` knows of the features ``ids`` of the design besides: fields of ``fitted_type``."""
        return {} if self.weights is None else {"spread": measured_spread(self.design, ids, self.weights)}

    def fitted_cost(self, ids: np.ndarray) -> Cost:
        """What ``fitted`` reads of X besides what the fit has read; by default what ``parts`` takes."""
        return Cost(0.0, 0) if self.weights is None else self.design.take_cost(ids)

    def barred(self, held_out: np.ndarray) -> tuple[int, ...]:
        """Units that a model must not select for which the samples ``held_out`` are unknown."""
        return self.excluded

    @property
    def settings(self) -> list[dict[str, float]]:
        """What there is to choose from by cross-validation, of equally good ones the last: values of parameters."""
        return [{}]

    def varied(self, setting: dict[str, float]) -> Self:
        """The features with one of the ``settings``."""
        return self

    def continues(self, fitted: FittedFeatures) -> bool:
        """Whether an earlier fit selected from the same features, so that ``start`` can begin there."""
        return isinstance(fitted, self.fitted_type)

    def start(self, selection: Selection, most: int | None) -> Earlier:
        """Units of an earlier fit that are here again, sorted, and their weights, in the units of the design.

        Parameters
        ----------
        selection : Selection
            Of an earlier fit of the same feature map.
        most : int or None
            The largest number of units; None: any.

        Returns
        -------
        units : ndarray of int64
            Units that may be selected.
        weights : ndarray of shape (n_columns, n_outputs)
            Weights of their columns.
        """
        model = largest_model(selection, most)
        return self._start_of_columns(model) if self.labels is None else self._start_of_groups(model, self.labels)

    def _start_of_columns(self, model: Selection | Station) -> Earlier:
        """The columns of an earlier model that may be selected here."""
        known = np.flatnonzero(self.design.holds(model.features))
        here = self.design.ids_here(model.features[known])
        allowed = ~np.isin(here, self.excluded)
        here, known = here[allowed], known[allowed]
        return here, self.design.in_units_here(here, by_output(model.weights)[known])

    def _start_of_groups(self, model: Selection | Station, labels: np.ndarray) -> Earlier:
        """The groups of an earlier model that may be selected here, by their labels.

        The weight of a column that several groups share is divided among them: a start need not be a solution.
        """
        allowed = np.setdiff1d(np.arange(self.units.count), np.asarray(self.excluded, dtype=np.int64))
        chosen = allowed[_among(labels[allowed], model.groups)]
        columns, sizes = self.units.members(chosen)
        in_X = self.design.ids_in_X(columns)
        known = np.isin(in_X, model.features)
        place = np.searchsorted(model.features, in_X[known])
        times = np.bincount(place, minlength=model.features.size)
        shares = by_output(model.weights) / np.maximum(times, 1)[:, None]
        weights = np.zeros((columns.size, shares.shape[1]))
        weights[known] = self.design.in_units_here(columns[known], shares[place])
        roots = self.units.roots(chosen)
        if roots is not None:
            weights *= (roots if sizes is None else np.repeat(roots, sizes))[:, None]
        return chosen, weights


def check_number(name: str, value: Any, *, zero: bool = False) -> None:
    """Raise ValueError unless a parameter is a positive number, or with ``zero`` 0; both finite."""
    real = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not real or not np.isfinite(value) or value < 0.0 or (value == 0.0 and not zero):
        kind = "finite number, at least 0" if zero else "positive number"
        raise ValueError(f"{name} must be a {kind}, got {value!r}")


def by_output(weights: np.ndarray) -> np.ndarray:
    """Weights of a model, (n_features, n_outputs) also where there is one output."""
    return weights[:, None] if weights.ndim == 1 else weights


def largest_model(selection: Selection, most: int | None) -> Selection | Station:
    """The largest model on the path of an earlier fit with at most ``most`` units, or else its selection."""
    if most is None:
        return selection
    path: Path = selection.path
    stations = [station for station in path if station.phase == "thresh" and station.number <= most]
    return max(stations, key=lambda station: station.number) if stations else selection


def _among(labels: np.ndarray, wanted: np.ndarray | None) -> np.ndarray:
    """Which of the labels, integers or objects, are ``wanted``."""
    if wanted is None:
        return np.zeros(labels.size, dtype=bool)
    if labels.dtype == wanted.dtype == np.int64:
        return np.isin(labels, wanted)
    names = set(wanted.tolist())
    return np.array([label in names for label in labels.tolist()], dtype=bool)


def measured_spread(design: Design, ids: np.ndarray, weights: np.ndarray) -> Spread:
    """The standard deviations of some columns of a design, which are taken once more, over samples with ``weights``."""
    block, total = design.take(ids), weights.sum()
    mean = block.correlate(weights) / total
    variance = np.maximum(block.column_squares(weights) / total - mean**2, 0.0)
    return Spread(design.ids_in_X(ids), design.in_units_here(ids, np.sqrt(variance)))


@dataclass(frozen=True)
class FeatureMap(ABC):
    """What is selected. Derive a frozen dataclass from it, whose fields are the parameters of the map.

    ``word``, if it is not empty, is a string that is short for the map with its default parameters.
    """

    word: ClassVar[str] = ""
    positive_only: ClassVar[bool] = False  # whether values of X must not be negative
    reads_columns: ClassVar[bool] = True  # whether scans read columns of X, which are then stored by columns

    @property
    def needs_elimination(self) -> str:
        """What of the map needs elimination, since growth alone cannot keep it, nor count by it; empty: nothing."""
        return ""

    def check(self, scale: str | None, restrictions: Restrictions) -> None:  # noqa: B027 (optional)
        """Raise ValueError if the map does not go with other parameters of an estimator.

        Parameters
        ----------
        scale : str or None
            As in the constructor of the estimator.
        restrictions : Restrictions
            What must be selected, what must not, and the groups.
        """

    def samples(self, X: Any, y: np.ndarray, weights: np.ndarray, bags: Any) -> Samples:
        """What labels belong to.

        Parameters
        ----------
        X : array, sparse matrix or Design
            Validated rows.
        y : ndarray of shape (n_rows,)
            Labels.
        weights : ndarray of shape (n_rows,)
            Weights of the rows.
        bags : array-like of shape (n_rows,) or None
            The bag of each row, as given.

        Returns
        -------
        Samples
            By default the rows, which have no bags.
        """
        if bags is not None:
            raise ValueError(f"{type(self).__name__} selects features of rows: bags must be None")
        return Samples(X, y, weights)

    @abstractmethod
    def on(
        self, base: Base, samples: Samples, restrictions: Restrictions, *, scale: str | None, centre: bool
    ) -> Features:
        """The features of some data.

        Parameters
        ----------
        base : Base
            The columns of X, and what is known of them.
        samples : Samples
            What labels belong to.
        restrictions : Restrictions
            What must be selected, and what must not.
        scale : str or None
            The parameter ``scale`` of the estimator.
        centre : bool
            Whether columns may be centred: whether there is an intercept.

        Returns
        -------
        Features
            A design, its units, and which of them must or must not be selected.
        """


def column_units(base: Base, design: Design, restrictions: Restrictions, single: Units) -> dict[str, Any]:
    """Fields of Features for columns of X, or groups of them.

    Parameters
    ----------
    base : Base
        The columns of X.
    design : Design
        The same, perhaps on another scale.
    restrictions : Restrictions
        What must be selected, what must not, and the groups.
    single : Units
        The units of ``design`` where there are no groups: each column by itself.

    Returns
    -------
    dict
        ``units``, ``labels``, ``columns`` and their numbers.
    """
    grouping, forced, excluded = restrictions.grouping, restrictions.forced, restrictions.excluded
    if grouping is None:
        units, n_units = single, base.columns.n_columns
        labels = design.ids_in_X(np.arange(design.width)) if single.grouped else None
        forced, excluded = restricted_columns(design, restrictions)
    else:
        units, n_units, labels = grouping.units(design), grouping.labels.size, grouping.labels
        if not np.all(units.members(forced).sizes):
            raise InvalidDataError(
                "always_include contains a group that has only columns of zeros, which are not in the Design given as X"
            )
    return {
        "units": units,
        "columns": base.columns,
        "n_candidates": n_units - restrictions.excluded.size,
        "n_units": n_units,
        "forced": tuple(forced.tolist()),
        "excluded": tuple(excluded.tolist()),
        "labels": labels,
    }


def restricted_columns(design: Design, restrictions: Restrictions) -> tuple[np.ndarray, np.ndarray]:
    """(columns that must be selected, columns that must not), by their number in the design."""
    forced, excluded = restrictions.forced, restrictions.excluded
    missing = forced[~design.holds(forced)]
    if missing.size:
        raise InvalidDataError(
            f"always_include contains column {missing[0]}, which has only zeros and is not in the Design given as X"
        )
    return design.ids_here(forced), design.ids_here(excluded[design.holds(excluded)])
