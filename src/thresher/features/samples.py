"""What a fit is given: samples, what must and must not be selected, and X, which is read once."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from thresher.data.designs.base import Design
from thresher.data.designs.units import Units
from thresher.data.input.digests import combined, digested_columns
from thresher.data.input.fingerprint import fingerprint
from thresher.data.input.scaling import centred, is_sparse, scaled, spread_of
from thresher.data.input.validation import as_design, check_finite
from thresher.data.workers import Workers
from thresher.errors import InvalidDataError, UnsupportedDesignError
from thresher.features.fitted_columns import ColumnFeatures
from thresher.loops.moments import LARGEST, SUM
from thresher.results import Step, Trace


@dataclass(frozen=True)
class Samples:
    """What labels belong to: the rows of X, or bags of them.

    Parameters
    ----------
    X : array, sparse matrix or Design
        Validated rows.
    y : ndarray of shape (n_samples,)
        A label for each sample.
    weights : ndarray of shape (n_samples,)
        A weight for each sample.
    owner : ndarray of int64 of shape (n_rows,), default=None
        The sample that each row of X belongs to; None: each row is one.
    """

    X: Any
    y: np.ndarray
    weights: np.ndarray
    owner: np.ndarray | None = None

    def of_rows(self, rows: np.ndarray, X: Any, weights: np.ndarray) -> "Samples":
        """Some rows, each of them a sample with a weight of its own; ``X`` has them."""
        return Samples(X, self.y[rows], weights)

    def by_row(self, values: np.ndarray) -> np.ndarray:
        """One of ``values``, which are those of the samples, for each row of X."""
        return values if self.owner is None else values[self.owner]


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
    """X before features are made of it: its columns as given, and statistics of one pass over them.

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
    owner : ndarray of int64 of shape (n_rows,), default=None
        The sample that each row belongs to; None: each row is one.
    """

    design: Design
    anchor: np.ndarray
    table: np.ndarray
    weights: np.ndarray
    sample_weights: np.ndarray
    columns: ColumnFeatures
    fingerprint: dict
    trace: Trace
    owner: np.ndarray | None = None

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

    @property
    def content(self) -> "Content":
        """What the samples hold, for folds: nothing is computed before it is asked for."""

        def columns() -> np.ndarray | None:
            return digested_columns(self.design, self.table, self.total, int(np.count_nonzero(self.weights)))

        return Content.of(self.design, columns, self.owner, self.sample_weights.size, self.trace)

    def of_rows(self, rows: np.ndarray, weights: np.ndarray) -> "Base | None":
        """Some rows, sorted, with other weights and statistics of these; None if the design cannot be read so."""
        begun = time.perf_counter()
        design = self.design.of_rows(rows)
        if design is None:
            return None
        anchor, table = design.statistics(weights)
        self.trace.steps.append(Step("extract", time.perf_counter() - begun, *self.design.check_cost()))
        return replace(self, design=design, anchor=anchor, table=table, weights=weights, sample_weights=weights)

    def scaled(self, scale: str | None, *, centre: bool) -> tuple[Design, str | None]:
        """(the columns on a scale, which scale that is: "auto" is resolved)."""
        return scaled(
            self.design, self.anchor, self.table, self.total, scale, centre=centre, n_features=self.columns.n_columns
        )

    def centred(self, design: Design) -> Design:
        """These columns, on their scale, with mean zero; as they are if few entries of X are not zero."""
        sparse = is_sparse(self.table, self.total, self.columns.n_columns)
        return design if sparse else centred(design, self.mean)

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
        check_finite(table, design, columns.shown_name)
        digest = fingerprint(design, table, samples.by_row(labels), columns.n_columns)
        return cls(design, anchor, table, row_weights, weights, columns, digest, trace, samples.owner)


class Content:
    """What samples hold, in a number for each: by it they are told apart whatever their order is, and put in order.

    Parameters
    ----------
    read : callable
        Makes the numbers, when they are asked for.
    """

    def __init__(self, read: Callable[[], np.ndarray]):
        self._read = read

    @classmethod
    def of(
        cls,
        design: Design,
        columns: Callable[[], np.ndarray | None],
        owner: np.ndarray | None,
        n_samples: int,
        trace: Trace,
    ) -> "Content":
        """Digests of ``n_samples`` samples by some ``columns()`` of a design (None: all), which is then read.

        They are the same in any storage: see ``Design.row_digests``. ``owner`` is the sample that each row belongs to
        (None: each row is one); the digest of a bag does not depend on the order of its rows.
        """

        def read() -> np.ndarray:
            chosen = columns()
            ids = np.arange(design.width) if chosen is None else chosen
            with trace.step("digest", *design.take_cost(ids)):
                rows = design.row_digests(ids)
            return rows if owner is None else combined(rows, owner, n_samples)

        return cls(read)

    @cached_property
    def digests(self) -> np.ndarray:
        """A number for each sample, uint64."""
        return self._read()

    def of_rows(self, rows: np.ndarray) -> "Content":
        """What some of the samples hold."""
        return Content(lambda: self.digests[rows])


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
