"""FeatureMap: what a model selects, as users say it; Features: the same for the data of a fit.

A fit asks its FeatureMap three things: ``samples`` (what a label belongs to: rows, or bags of them), ``on`` (the
Features of the data: a design that can be scanned, its units, which of them must or must not be selected) and, of the
Features, ``fitted``: what new data needs. A feature map of your own is a frozen dataclass that derives from FeatureMap;
``thresher.testing.check_feature_map`` checks the laws that a fit relies on.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

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
from thresher.features.starts import Earlier, largest_model, start_of_columns, start_of_groups
from thresher.loops.moments import LARGEST, SUM
from thresher.results import GroupLabels, Selection, Spread, Trace


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


@dataclass(frozen=True, eq=False)
class Grouping:
    """Groups of columns of X, ranges of ``entries``; ``labels`` names each of them, ``columns`` are all in a group.

    ``made`` makes the units of columns: of the entries that a design has, of how many it has before each entry, and of
    its width.
    """

    labels: np.ndarray
    entries: np.ndarray
    columns: np.ndarray
    made: Callable[[np.ndarray, np.ndarray, int], Units]

    def units(self, design: Design) -> Units:
        """The units for a design of X; columns that it omits, which have only zeros, are left out."""
        known = design.holds(self.entries)
        before = np.concatenate([[0], np.cumsum(known)])
        return self.made(design.ids_here(self.entries[known]), before, design.width)


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
        What each unit is called; None: units are columns of the design, which have a number.
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

    @property
    def noun(self) -> str:
        """What is counted, in messages."""
        return self.units.noun

    @property
    def candidates_text(self) -> str:
        """What there is to select from, in messages."""
        return f"{self.noun}s of X"

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
        return {}

    def fitted_cost(self, ids: np.ndarray) -> Cost:
        """What ``fitted`` reads of X besides what the fit has read; by default nothing."""
        return Cost(0.0, 0)

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
        if self.labels is None:
            return start_of_columns(self.design, self.excluded, model)
        return start_of_groups(self.design, self.units, self.labels, self.excluded, model)


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


def are_missing(values: np.ndarray) -> np.ndarray:
    """Which of some values that users gave, of any type, are None, NaN, NaT or the NA of pandas."""
    if values.dtype.kind == "O":
        return np.array([_is_missing(value) for value in values.tolist()], dtype=bool)
    return np.asarray(values != values) if values.dtype.kind in "fcmMT" else np.zeros(values.size, dtype=bool)


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:  # the NA of pandas is neither equal to itself nor different
        return True
    except ValueError:  # an array, which cannot be compared with others
        return False
