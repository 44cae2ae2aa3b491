"""FeatureMap: what a model selects, as users say it; Features: the same for the data of a fit.

A fit asks its FeatureMap three things: ``samples`` (what a label belongs to: rows, or bags of them), ``on`` (the
Features of the data: a design that can be scanned, its units, which of them must or must not be selected) and, of the
Features, ``fitted``: what new data needs. A feature map of your own is a frozen dataclass that derives from FeatureMap;
``thresher.testing.check_feature_map`` checks the laws that a fit relies on.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from thresher.data.designs.base import Design
from thresher.data.designs.units import Units
from thresher.data.input.fingerprint import fingerprint
from thresher.data.input.scaling import scaled, spread_of
from thresher.data.input.validation import as_design, check_finite
from thresher.data.scan.pieces import Cost
from thresher.data.workers import Workers
from thresher.errors import InvalidDataError, UnsupportedDesignError
from thresher.features.fitted import FittedFeatures
from thresher.features.fitted_columns import ColumnFeatures
from thresher.loops.moments import LARGEST, SUM
from thresher.results import GroupLabels, Path, Selection, Spread, Station, Trace

Earlier = tuple[np.ndarray, np.ndarray]  # units of an earlier fit, and weights (columns, outputs) as solvers have them


@dataclass(frozen=True)
class Samples:
    """What labels belong to: here the rows of X.

    Parameters
    ----------
    X : array, sparse matrix or Design
        Validated rows.
    y : ndarray of shape (n_samples,)
        A label for each sample.
    weights : ndarray of shape (n_samples,)
        A weight for each sample.
    """

    X: Any
    y: np.ndarray
    weights: np.ndarray

    def by_row(self, values: np.ndarray) -> np.ndarray:
        """One of ``values``, which are those of the samples, for each row of X."""
        return values


class Grouping(ABC):
    """Groups of the columns of X: ``labels`` names each unit, ``columns`` are all columns that are in a group."""

    labels: np.ndarray
    columns: np.ndarray

    @abstractmethod
    def units(self, design: Design) -> Units:
        """The units for a design of X; columns that it omits, which have only zeros, are left out."""


@dataclass(frozen=True)
class Restrictions:
    """What must be selected and what must not, by number: columns of X or, with ``grouping``, groups of them.

    Parameters
    ----------
    forced : ndarray of int64
        What must be in the model, in the order given.
    excluded : ndarray of int64
        What must not be, sorted.
    grouping : Grouping, default=None
        The groups; None: columns are selected one by one.
    """

    forced: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    excluded: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    grouping: Grouping | None = None

    @property
    def columns(self) -> np.ndarray:
        """Columns of X that a design must keep, even if they have only zeros."""
        return self.forced if self.grouping is None else self.grouping.columns


@dataclass(frozen=True)
class Base:
    """X before features are made of it: its columns as given, and what one pass over them tells.

    Parameters
    ----------
    design : Design
        The columns.
    anchor, table : ndarray
        Statistics of them: see ``Design.statistics``.
    weights : ndarray of shape (n_rows,)
        Weights of the rows.
    sample_weights : ndarray of shape (n_samples,)
        Weights of the samples: of the rows, unless these are in bags.
    columns : ColumnFeatures
        The columns of X as features: their number, and their names.
    fingerprint : dict
        A digest of the data.
    trace : Trace
        The record of the fit.
    """

    design: Design
    anchor: np.ndarray
    table: np.ndarray
    weights: np.ndarray
    sample_weights: np.ndarray
    columns: ColumnFeatures
    fingerprint: dict
    trace: Trace

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return self.weights.sum()

    @property
    def mean(self) -> np.ndarray:
        """The mean of each column."""
        return self.anchor + self.table[SUM] / self.total

    @property
    def largest(self) -> np.ndarray:
        """The largest |x| of each column."""
        return self.table[LARGEST]

    @property
    def spread(self) -> np.ndarray:
        """The standard deviation of each column."""
        return spread_of(self.table, self.total)

    def scaled(self, scale: str | None, *, centre: bool) -> tuple[Design, str | None]:
        """(the columns on a scale, which scale that is: "auto" is resolved)."""
        return scaled(
            self.design, self.anchor, self.table, self.total, scale, centre=centre, n_features=self.columns.n_columns
        )

    @classmethod
    def read(
        cls,
        samples: Samples,
        columns: ColumnFeatures,
        labels: np.ndarray,
        weights: np.ndarray,
        workers: Workers,
        trace: Trace,
        *,
        scale: str | None,
        keep: np.ndarray | tuple = (),
        to_csc: bool = False,
    ) -> "Base":
        """Read X once: is it finite, and what are the statistics of its columns?

        ``labels`` and ``weights`` are those of the samples. Columns of zeros may be omitted, except those of ``keep``.
        """
        X = samples.X
        row_weights = samples.by_row(weights)
        with trace.step("arrange"):
            design = as_design(X, workers, keep=keep, to_csc=to_csc)
        if design.prunes:
            raise UnsupportedDesignError(
                "X is a Design of products: give the Design of the columns they are made of, with "
                'feature_map="polynomial"'
            )
        if design.scaling is not None and scale is not None:
            raise InvalidDataError(f"the Design is already scaled: set scale=None, got {scale!r}")
        with trace.step("validate", *design.check_cost()):
            anchor, table = design.statistics(row_weights)
        check_finite(table, design, columns.called)
        digest = fingerprint(design, table, samples.by_row(labels), columns.n_columns)
        return cls(design, anchor, table, row_weights, weights, columns, digest, trace)


@dataclass(frozen=True, kw_only=True)
class Features(ABC):
    """The features of one fit.

    Parameters
    ----------
    design : Design
        All features, as they are scanned and solved on.
    units : Units
        What is counted, taken and eliminated as one.
    columns : ColumnFeatures
        The columns of X that they are made of.
    scale : str or None
        The scale that columns were put on; None: as they are.
    n_candidates : int
        How many units could be selected; with columns of zeros, which a design may omit.
    n_units : int
        How many there are with those that must not be selected.
    forced : tuple of int
        Units that must be selected.
    excluded : tuple of int
        Units that must not be, sorted.
    """

    design: Design
    units: Units
    columns: ColumnFeatures
    scale: str | None
    n_candidates: int
    n_units: int
    forced: tuple[int, ...] = ()
    excluded: tuple[int, ...] = ()

    @property
    def noun(self) -> str:
        """What is counted, in messages."""
        return self.units.noun

    @property
    def candidates_text(self) -> str:
        """What there is to select from, in messages."""
        return f"{self.noun}s of X"

    @property
    def setting(self) -> dict[str, float]:
        """Parameters that ``variants`` vary, with their values here."""
        return {}

    @abstractmethod
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

    def fitted_cost(self, ids: np.ndarray) -> Cost:
        """What ``fitted`` reads of X besides what the fit has read; by default nothing."""
        return Cost(0.0, 0)

    def barred(self, held_out: np.ndarray) -> tuple[int, ...]:
        """Units that a model must not select for which the samples ``held_out`` are unknown."""
        return self.excluded

    @property
    def n_variants(self) -> int:
        """How many ``variants`` there are."""
        return 1

    def variants(self) -> Iterable["Features"]:
        """Features to choose from by cross-validation, of equally good ones the last; by default these alone."""
        return (self,)

    @abstractmethod
    def continues(self, fitted: FittedFeatures) -> bool:
        """Whether an earlier fit selected from the same features, so that ``start`` can begin there."""

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
        kept = np.flatnonzero(self.design.holds(model.features))
        here = self.design.ids_here(model.features[kept])
        allowed = ~np.isin(here, self.excluded)
        kept, here = kept[allowed], here[allowed]
        return here, self.design.in_units_here(here, by_output(model.weights)[kept])


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


def spread_on(design: Design, ids: np.ndarray, std: np.ndarray | Callable[[np.ndarray], np.ndarray]) -> Spread:
    """The Spread of the columns ``ids`` of a design; ``std`` has those of all, or returns those of some."""
    return Spread(design.ids_in_X(ids), std(ids) if callable(std) else std[ids])


def labels_of(units: Units, chosen: np.ndarray, labels: np.ndarray) -> GroupLabels:
    """The GroupLabels of the units ``chosen``; ``labels`` has those of all."""
    return GroupLabels(chosen, labels[chosen], units.noun)


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
        """What of the map needs elimination, since growth alone cannot keep it; empty: nothing."""
        return ""

    @property
    def proof_note(self) -> str:
        """A sentence that the proof of a fit ends with; empty: none."""
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


def restricted_columns(design: Design, restrictions: Restrictions) -> dict[str, tuple[int, ...]]:
    """``forced`` and ``excluded`` of Restrictions on single columns, by their number in a design of them."""
    forced, excluded = restrictions.forced, restrictions.excluded
    missing = forced[~design.holds(forced)]
    if missing.size:
        raise InvalidDataError(
            f"always_include contains column {missing[0]}, which has only zeros and is not in the Design given as X"
        )
    kept = excluded[design.holds(excluded)]
    return {
        "forced": tuple(design.ids_here(forced).tolist()),
        "excluded": tuple(design.ids_here(kept).tolist()),
    }


def restricted_groups(units: Units, restrictions: Restrictions) -> dict[str, tuple[int, ...]]:
    """The same for groups, which have one number everywhere."""
    forced = restrictions.forced
    if not np.all(units.members(forced).sizes):
        raise InvalidDataError(
            "always_include contains a group that has only columns of zeros, which are not in the Design given as X"
        )
    return {"forced": tuple(forced.tolist()), "excluded": tuple(restrictions.excluded.tolist())}
