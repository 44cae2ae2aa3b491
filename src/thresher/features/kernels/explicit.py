"""Kernels as explicit columns: sums of many kernels are one product, and predictions are additive.

A centred kernel does not change when phi(0) is subtracted from its feature map, so zeros stay zero: a sparse column
with d distinct non-zero values becomes at most d sparse columns, a binary one a single one, a continuous one a few
dozen. A kernel of several columns together is not written down: it is computed anew for each sum.

For linear SVMs, which need no n x n matrix, explicit columns are made by Cholesky's factorisation with pivots, so that
a linear function of them is a sum of kernels with the pivots alone, its anchors: a few dozen values for a column,
however many rows there are. New rows can be given to these.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import comb
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular

from thresher.data.scan.pieces import OutOfTime
from thresher.errors import InvalidDataError
from thresher.features.kernels.columns import ColumnKernel, FittedKernels, SortedColumns, side_by_side

TOLERANCE = 1e-10  # by which products of explicit columns may differ from the anchored kernel, of its largest value
DENSE_SHARE = 0.1  # of non-zero entries from which explicit columns are multiplied as a dense array
PREDICTION_VALUES = 1 << 22  # values of a kernel of several columns that predictions hold
EXPLICIT_ENTRIES = 1 << 28  # of all explicit columns that are not zero: 4 GiB
MOST_ANCHORS = 512  # explicit columns of one kernel for linear SVMs
PART_WORK = 5e10  # multiplications between two looks at the clock: about two seconds
SPARSE_COST = 50.0  # times that a multiplication of sparse columns takes longer
MOST_EXPLICIT = 64  # distinct values up to which a Laplace kernel, whose columns are as many, is written down

ColumnEntries = tuple[np.ndarray, np.ndarray]  # (rows, values) of a column


class Anchors(NamedTuple):
    """The pivots of a kernel, (anchors, columns of the kernel), and its explicit columns there: a lower triangle."""

    points: np.ndarray
    triangle: np.ndarray


class Made(NamedTuple):
    """The explicit columns of one kernel, and their anchors if they have any."""

    columns: list[ColumnEntries]
    anchors: Anchors | None = None

    @property
    def n_entries(self) -> int:
        """Of all columns."""
        return sum(rows.size for rows, _ in self.columns)


class KernelColumns(ABC):
    """Explicit columns phi(x) - phi(0) of the kernels of ``columns``, side by side: ``phi``, of kernel ``owner`` each.

    A sparse matrix or, if they are ``dense``, an array. OutOfTime as soon as ``ended()``, InvalidDataError if they are
    too many. Many kernels take seconds, during which no other thread gets far.
    """

    def __init__(self, columns: SortedColumns, kernels: FittedKernels, ended: Callable[[], bool] = lambda: False):
        self.columns, self.kernels, self.ended = columns, kernels, ended
        self.anchors: list[Anchors | None] = []
        parts: list[ColumnEntries] = []
        counts, n_entries, n_rows = [], 0, columns.n_rows
        for k in range(len(kernels)):
            self._check_time()
            made = self.made(columns, kernels, k)
            self.anchors.append(made.anchors)
            parts += made.columns
            counts.append(len(made.columns))
            n_entries += made.n_entries
            if n_entries > EXPLICIT_ENTRIES:
                raise InvalidDataError(
                    f"the explicit columns of {k + 1:,} kernels have more than {EXPLICIT_ENTRIES:,} entries, "
                    f"which take {16e-9 * EXPLICIT_ENTRIES:.1f} GB: set max_features to fewer, or "
                    "use svm=None for the path alone"
                )
        self.dense = n_entries > DENSE_SHARE * max(1, n_rows * len(parts))
        self.owner = np.repeat(np.arange(len(kernels)), np.array(counts, dtype=np.int64))
        self.phi: Any = _dense(n_rows, parts) if self.dense else _sparse(n_rows, parts)

    def _check_time(self) -> None:
        if self.ended():
            raise OutOfTime(0.0)

    @classmethod
    @abstractmethod
    def made(cls, columns: SortedColumns, kernels: FittedKernels, k: int) -> Made:
        """The explicit columns of kernel ``k``."""

    @classmethod
    def price(cls, columns: SortedColumns, kernels: FittedKernels, k: int) -> int:
        """Entries of the explicit columns of kernel ``k``, or as many as its work compares to if it has none."""
        return cls.made(columns, kernels, k).n_entries

    def used(self, shares: np.ndarray) -> np.ndarray:
        """Which columns are those of kernels with a share."""
        return np.flatnonzero(shares[self.owner] > 0.0)

    def scaled(self, places: np.ndarray, shares: np.ndarray) -> Any:
        """The columns ``places``, times the root of the share of their kernel."""
        return self.phi[:, places] * np.sqrt(shares[self.owner[places]])[None]


class ExplicitColumns(KernelColumns):
    """For SVMs on a kernel matrix: kernels that have too many explicit columns have none."""

    @classmethod
    def made(cls, columns: SortedColumns, kernels: FittedKernels, k: int) -> Made:
        """See KernelColumns."""
        kernel, places = kernels.kernel(k), kernels.columns(k)
        if kernel.name == "linear":
            return Made([columns.column(j) for j in places if columns.column(j)[0].size])
        if len(places) == 1:
            rows, x = columns.column(places[0])
            if kernel.name != "laplace" or _distinct(x)[0].size <= MOST_EXPLICIT:
                return Made([(rows, values) for values in _explicit_values(kernel, x)])
        return Made([])

    @classmethod
    def price(cls, columns: SortedColumns, kernels: FittedKernels, k: int) -> int:
        """See KernelColumns; a kernel without explicit columns is computed anew for each sum of kernels."""
        return super().price(columns, kernels, k) or MOST_EXPLICIT * columns.n_rows

    def for_svm(self, shares: np.ndarray) -> np.ndarray:
        """The sum of the kernels times ``shares``, (n, n), not centred; kernels without a share are not read.

        It is computed in parts of about PART_WORK multiplications; OutOfTime as soon as ``ended()``.
        """
        gram = np.zeros((self.columns.n_rows,) * 2)
        used = self.used(shares)
        for places in np.split(used, _part_ends(self._multiplications()[used])):
            self._check_time()
            A = self.scaled(places, shares)
            gram += A @ A.T if self.dense else (sparse.csr_array(A) @ sparse.csr_array(A.T)).toarray()
        for k in np.setdiff1d(np.flatnonzero(shares > 0.0), self.owner).tolist():
            self._check_time()
            x = self.columns.array(self.kernels.columns(k))
            if x.any():  # else the kernel is zero, too
                x = x[:, 0] if x.shape[1] == 1 else x
                gram += shares[k] * self.kernels.kernel(k).anchored(x, x)
        return gram

    def _multiplications(self) -> np.ndarray:
        """Those of the products of each column with itself."""
        if self.dense:
            return np.full(self.owner.size, float(self.columns.n_rows) ** 2)
        return SPARSE_COST * np.diff(self.phi.indptr).astype(np.float64) ** 2


def _dense(n_rows: int, parts: list[ColumnEntries]) -> np.ndarray:
    """Columns as an array; ``parts`` is emptied, so that they take their memory once."""
    phi = np.zeros((n_rows, len(parts)), order="F")
    for j in reversed(range(len(parts))):
        rows, values = parts.pop()
        phi[rows, j] = values
    return phi


def _sparse(n_rows: int, parts: list[ColumnEntries]) -> Any:
    """Columns as a sparse matrix."""
    entries = side_by_side(n_rows, parts)
    return sparse.csc_array((entries.values, entries.rows, entries.indptr), shape=(n_rows, len(parts)))


def _part_ends(work: np.ndarray) -> np.ndarray:
    """Where to cut columns with so much ``work`` into parts of about PART_WORK."""
    part = np.cumsum(work) // PART_WORK
    return np.flatnonzero(part[1:] != part[:-1]) + 1


def _explicit_values(kernel: ColumnKernel, x: np.ndarray) -> list[np.ndarray]:
    """The explicit columns of the kernel of one column, at the rows with its sorted values ``x``."""
    if not x.size:
        return []
    if kernel.name == "polynomial":
        d, c, gamma = kernel.degree, kernel.coef0, kernel.fixed_gamma
        squares = [(comb(d, k) * c ** (d - k) * gamma**k, k) for k in range(1, d + 1)]
        return [float(np.sqrt(square)) * x**k for square, k in squares if square > 0.0]  # without the constant one
    if x[0] == x[-1]:
        return [np.full(x.size, np.sqrt(kernel.anchored_diagonal(x[:1])[0]))]
    distinct, place = _distinct(x)
    return [values[place] for values in pivoted_cholesky(kernel, distinct)[0]]


def _distinct(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(the distinct values of a sorted array, the place of each value among them)."""
    new = np.ones(x.size, dtype=bool)
    new[1:] = x[1:] != x[:-1]
    return x[new], np.cumsum(new) - 1


def pivoted_cholesky(kernel: ColumnKernel, x: np.ndarray, most: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """(columns, pivots): columns whose products are the anchored kernel of the points ``x``, to TOLERANCE.

    The columns at the pivots are a lower triangle. The tolerance is relative to the largest value of the anchored
    kernel, which is small if gamma is. At most ``most`` columns.
    """
    zero = np.zeros((1, *x.shape[1:]))
    to_zero = kernel.values_less_one(x, zero)[:, 0]
    at_zero = float(kernel.values_less_one(zero, zero)[0, 0])
    residual = kernel.anchored_diagonal(x)
    least = TOLERANCE * float(residual.max(initial=0.0))
    columns = np.zeros((min(len(x), 8), len(x)))
    pivots: list[int] = []
    while len(pivots) < (len(x) if most is None else min(most, len(x))):
        pivot = int(np.argmax(residual))
        if residual[pivot] <= least:
            break
        count = len(pivots)
        row = kernel.values_less_one(x[pivot : pivot + 1], x)[0] - to_zero[pivot] - to_zero + at_zero
        row -= columns[:count, pivot] @ columns[:count]
        row /= np.sqrt(residual[pivot])
        if count == len(columns):
            columns = np.concatenate([columns, np.zeros_like(columns)])
        columns[count] = row
        residual -= row * row
        residual[pivot] = 0.0
        pivots.append(pivot)
    return columns[: len(pivots)], np.array(pivots, dtype=np.int64)


def additive_scores(
    new: SortedColumns, columns: SortedColumns, kernels: FittedKernels, shares: np.ndarray, dual: np.ndarray
) -> np.ndarray:
    """Scores sum_i dual_i K(x, x_i) of new rows x, (rows, outputs), for a ``dual`` (rows, outputs).

    K is the sum of the anchored kernels times ``shares``, which gives the same as the kernels themselves if ``dual``
    sums to zero, but for a constant. Each kernel adds a function of its own columns alone, which is zero at zero.
    """
    scores = np.zeros((new.n_rows, dual.shape[1]))
    for k in np.flatnonzero(shares > 0.0).tolist():
        places, share = kernels.columns(k), float(shares[k])
        rows, x = new.column(places[0])
        if len(places) > 1:
            scores += share * _joint_scores(new.array(places), columns.array(places), kernels.kernel(k), dual)
        elif rows.size:
            scores[rows] += share * _column_scores(x, columns.column(places[0]), kernels.kernel(k), dual)
    return scores


def _column_scores(x: np.ndarray, column: ColumnEntries, kernel: ColumnKernel, dual: np.ndarray) -> np.ndarray:
    """Scores of sorted values x by the anchored kernel of one column; equal values are evaluated once."""
    distinct, place = _distinct(x)
    rows, values = column
    points, group = _distinct(values)
    sums = np.zeros((points.size + 1, dual.shape[1]))
    np.add.at(sums, group, dual[rows])
    sums[-1] = -sums[:-1].sum(axis=0)  # of the rows that are zero
    points = np.append(points, 0.0)
    table = kernel.values_less_one(distinct, points) - kernel.values_less_one(np.zeros(1), points)
    return (table @ sums)[place]


def _joint_scores(x: np.ndarray, z: np.ndarray, kernel: ColumnKernel, dual: np.ndarray) -> np.ndarray:
    """Scores by the anchored kernel of points x with points z, some rows at a time."""
    used = np.flatnonzero(z.any(axis=1))  # the kernel with zero is zero
    scores = np.empty((len(x), dual.shape[1]))
    step = max(1, PREDICTION_VALUES // max(1, used.size))
    for first in range(0, len(x), step):
        rows = slice(first, first + step)
        scores[rows] = kernel.anchored(x[rows], z[used]) @ dual[used]
    return scores


class AnchoredColumns(KernelColumns):
    """For linear SVMs: all kernels have explicit columns, and ``anchors``."""

    @classmethod
    def made(cls, columns: SortedColumns, kernels: FittedKernels, k: int) -> Made:
        """See KernelColumns."""
        kernel, places = kernels.kernel(k), kernels.columns(k)
        rows, x = columns.column(places[0])
        if len(places) > 1:
            x = columns.array(places)
            rows = np.flatnonzero(x.any(axis=1))
            x = x[rows]
        points, group = np.unique(x, axis=0, return_inverse=True)
        values, pivots = pivoted_cholesky(kernel, points, MOST_ANCHORS + 1)
        if len(values) > MOST_ANCHORS:
            raise InvalidDataError(
                f"a {kernel.name} kernel takes more than {MOST_ANCHORS} explicit columns, so that svm='linear' cannot "
                "use it: use kernel='rbf' of single columns, a smaller gamma, or svm=None"
            )
        anchors = Anchors(points[pivots].reshape(len(pivots), len(places)), values[:, pivots].T)
        return Made([(rows, column) for column in values[:, group.ravel()]], anchors)

    def for_svm(self, shares: np.ndarray) -> Any:
        """Columns whose products are the sum of the kernels times ``shares``."""
        columns = self.scaled(self.used(shares), shares)
        return columns if self.dense else sparse.csr_array(columns)

    def expansion(self, coef: np.ndarray, shares: np.ndarray) -> tuple[SortedColumns, np.ndarray]:
        """(anchors as rows, dual): the linear function ``coef`` of ``for_svm`` as a sum of kernels with anchors.

        Each row is an anchor of one kernel, and zero in the columns of the others.
        """
        coefs = np.zeros((self.owner.size, coef.shape[1]))
        coefs[self.used(shares)] = coef
        begins = np.searchsorted(self.owner, np.arange(len(self.kernels) + 1))
        parts: list[ColumnEntries] = []
        duals = [np.zeros((0, coef.shape[1]))]
        n_anchors = 0
        for k, (points, triangle) in enumerate(filter(None, self.anchors)):
            share = float(shares[k])
            own = points if share > 0.0 else points[:0]
            parts += [_sorted_entries(n_anchors, column) for column in own.T]
            if len(own):
                own_coefs = coefs[begins[k] : begins[k + 1]]
                duals.append(solve_triangular(triangle, own_coefs, lower=True, trans=1) / np.sqrt(share))
            n_anchors += len(own)
        return side_by_side(n_anchors, parts), np.concatenate(duals)


def _sorted_entries(first: int, values: np.ndarray) -> ColumnEntries:
    """(rows, values) of those that are not zero, by ascending value; rows are numbered from ``first``."""
    rows = np.flatnonzero(values)
    rows = rows[np.argsort(values[rows], kind="stable")]
    return first + rows, values[rows]
