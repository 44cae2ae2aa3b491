"""Kernels as explicit columns: sums of many kernels are one product, and predictions are additive.

A centred kernel does not change when phi(0) is subtracted from its feature map, so zeros stay zero: a sparse column
with d distinct non-zero values becomes at most d sparse columns, a binary one a single one, a continuous one a few
dozen. A kernel of several columns together is not written down: it is computed anew for each sum.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from scipy import sparse

from thresher.data.blocks.base import Block
from thresher.data.scan.pieces import OutOfTime
from thresher.errors import InvalidDataError
from thresher.features.kernels.alignment import ColumnKernel, UnitKernels, laid_out, sorted_columns

TOLERANCE = 1e-10  # by which products of explicit columns may differ from the anchored kernel, of its largest value
DENSE_SHARE = 0.1  # of non-zero entries from which explicit columns are multiplied as a dense array
MOST_AT_ONCE = 1 << 22  # values of a kernel of several columns that predictions hold
MOST_ENTRIES = 1 << 28  # of all explicit columns that are not zero: 4 GiB
MOST_EXPLICIT = 64  # distinct values up to which a Laplace kernel, whose columns are as many, is written down


@dataclass(frozen=True, eq=False)
class TrainingColumns:
    """Non-zero entries of some columns: each by ascending value, equal values by row."""

    n_rows: int
    indptr: np.ndarray
    rows: np.ndarray
    values: np.ndarray

    def __len__(self) -> int:
        return self.indptr.size - 1

    def column(self, j: int) -> tuple[np.ndarray, np.ndarray]:
        """(rows, values) of column ``j``."""
        part = slice(int(self.indptr[j]), int(self.indptr[j + 1]))
        return self.rows[part], self.values[part]

    def take(self, ids: np.ndarray) -> "TrainingColumns":
        """Some of the columns."""
        indptr, places = laid_out(self.indptr, ids)
        return TrainingColumns(self.n_rows, indptr, self.rows[places], self.values[places])

    def take_rows(self, rows: np.ndarray) -> "TrainingColumns":
        """Some of the rows, in ascending order, which are numbered anew."""
        place = np.full(self.n_rows, -1, dtype=np.int64)
        place[rows] = np.arange(rows.size)
        kept = place[self.rows] >= 0
        indptr = np.concatenate([[0], np.cumsum(kept)])[self.indptr]
        return TrainingColumns(rows.size, indptr, place[self.rows[kept]], self.values[kept])

    def array(self, ids: Sequence[int]) -> np.ndarray:
        """Some of the columns as an array, (n_rows, columns)."""
        out = np.zeros((self.n_rows, len(ids)))
        for place, j in enumerate(ids):
            rows, values = self.column(j)
            out[rows, place] = values
        return out


def columns_of(block: Block) -> TrainingColumns:
    """All columns of a block, copied."""
    everywhere = np.ones(block.shape[0], dtype=bool)
    parts = list(sorted_columns(block, 0, block.shape[1], everywhere))
    sizes = [np.diff(part.indptr) for part in parts]
    indptr = np.concatenate([[0], np.cumsum(np.concatenate([*sizes, np.zeros(0, dtype=np.int64)]))])
    rows = np.concatenate([*(part.rows for part in parts), np.zeros(0, dtype=np.int64)])
    values = np.concatenate([*(part.values for part in parts), np.zeros(0)])
    return TrainingColumns(block.shape[0], indptr, rows, values)


class KernelColumns:
    """Explicit columns phi(x) - phi(0) of the kernels of ``columns``; those of some kernels may be unwritten.

    OutOfTime as soon as ``ended()``: many kernels take seconds, during which no other thread gets far.
    """

    def __init__(self, columns: TrainingColumns, kernels: UnitKernels, ended: Callable[[], bool] = lambda: False):
        self.columns, self.kernels = columns, kernels
        self.unwritten: list[int] = []
        entries = 0
        parts: list[tuple[int, np.ndarray, np.ndarray]] = []
        for k in range(len(kernels)):
            if ended():
                raise OutOfTime(k / len(kernels))
            written = _written(columns, kernels, k)
            if written is None:
                self.unwritten.append(k)
            else:
                parts += [(k, rows, values) for rows, values in written]
                entries += sum(rows.size for rows, _ in written)
                check_entries(entries, k + 1)
        self.owner = np.array([part[0] for part in parts], dtype=np.int64)
        self.phi, self.dense = side_by_side(columns.n_rows, [(rows, values) for _, rows, values in parts])

    @property
    def nbytes(self) -> int:
        """Memory of the explicit columns."""
        return self.phi.nbytes if self.dense else self.phi.data.nbytes + self.phi.indices.nbytes

    def gram(self, shares: np.ndarray) -> np.ndarray:
        """The sum of the kernels times ``shares``, (n, n), not centred; kernels without a share are not read."""
        share = shares[self.owner]
        used = np.flatnonzero(share > 0.0)
        A = self.phi[:, used] * np.sqrt(share[used])[None]
        out = A @ A.T if self.dense else (sparse.csr_array(A) @ sparse.csr_array(A.T)).toarray()
        for k in self.unwritten:
            if shares[k] > 0.0:
                x = _points(self.columns, self.kernels, k)[1]
                out += shares[k] * self.kernels.kernel(k).anchored(x, x, float(self.kernels.gammas[k]))
        return out


def check_entries(entries: int, n_kernels: int) -> None:
    """Raise InvalidDataError if explicit columns take too much memory."""
    if entries > MOST_ENTRIES:
        raise InvalidDataError(
            f"the explicit columns of {n_kernels:,} kernels have more than {MOST_ENTRIES:,} entries, which take "
            f"{16e-9 * MOST_ENTRIES:.1f} GB: set max_features to fewer, or use svm=None for the path alone"
        )


def side_by_side(n_rows: int, parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[Any, bool]:
    """Columns given as (rows, values), side by side: (a sparse matrix or an array, whether it is an array)."""
    indptr = np.concatenate([[0], np.cumsum(np.array([rows.size for rows, _ in parts], dtype=np.int64))])
    rows = np.concatenate([*(part[0] for part in parts), np.zeros(0, dtype=np.int64)])
    values = np.concatenate([*(part[1] for part in parts), np.zeros(0)])
    phi = sparse.csc_array((values, rows, indptr), shape=(n_rows, len(parts)))
    dense = rows.size > DENSE_SHARE * max(1, n_rows * len(parts))
    return (phi.toarray(order="F") if dense else phi), dense


def _written(columns: TrainingColumns, kernels: UnitKernels, k: int) -> list[tuple[np.ndarray, np.ndarray]] | None:
    """(rows, values) of the explicit columns of unit ``k``; None if it is not written down."""
    kernel, gamma, places = kernels.kernel(k), float(kernels.gammas[k]), kernels.columns(np.array([k])).tolist()
    if kernel.name == "linear":
        return [columns.column(j) for j in places if columns.column(j)[0].size]
    if len(places) > 1:
        return None
    rows, x = columns.column(places[0])
    if not x.size:
        return []
    if kernel.name == "polynomial":
        return [(rows, factor * x**power) for factor, power in _powers(kernel, gamma)]
    if x[0] == x[-1]:
        return [(rows, np.full(x.size, np.sqrt(kernel.anchored_diagonal(x[:1], gamma)[0])))]
    distinct, place = _distinct(x)
    if kernel.name == "laplace" and distinct.size > MOST_EXPLICIT:
        return None
    return [(rows, column[place]) for column in factored(kernel, distinct, gamma)[0]]


def _points(columns: TrainingColumns, kernels: UnitKernels, k: int) -> tuple[np.ndarray, np.ndarray]:
    """(the columns of unit ``k``, its values in all rows: (rows,) if that is one column, else (rows, columns))."""
    places = kernels.columns(np.array([k]))
    x = columns.array(places.tolist())
    return places, x[:, 0] if places.size == 1 else x


def _powers(kernel: ColumnKernel, gamma: float) -> list[tuple[float, int]]:
    """(factor, power) of the explicit columns of a polynomial kernel, but for the constant one."""
    d, c = kernel.degree, kernel.coef0
    shares = [(comb(d, k) * c ** (d - k) * gamma**k, k) for k in range(1, d + 1)]
    return [(float(np.sqrt(share)), k) for share, k in shares if share > 0.0]


def _distinct(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(the distinct values of a sorted array, the place of each value among them)."""
    new = np.concatenate([[True], x[1:] != x[:-1]])
    return x[new], np.cumsum(new) - 1


def factored(
    kernel: ColumnKernel, x: np.ndarray, gamma: float, most: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """(columns, pivots): columns whose products are the anchored kernel of the points ``x``, to TOLERANCE.

    Cholesky's factorisation with pivots: the columns at the pivots are a lower triangle. The tolerance is relative to
    the largest value of the anchored kernel, which is small if gamma is. At most ``most`` columns.
    """
    zero = np.zeros((1, *x.shape[1:]))
    to_zero, at_zero = kernel.less_one(x, zero, gamma)[:, 0], float(kernel.less_one(zero, zero, gamma)[0, 0])
    left = kernel.anchored_diagonal(x, gamma)  # what is left of the diagonal
    least = TOLERANCE * float(left.max(initial=0.0))
    columns = np.zeros((min(len(x), 8), len(x)))
    pivots: list[int] = []
    while len(pivots) < (len(x) if most is None else min(most, len(x))):
        pivot = int(np.argmax(left))
        if left[pivot] <= least:
            break
        count = len(pivots)
        row = kernel.less_one(x[pivot : pivot + 1], x, gamma)[0] - to_zero[pivot] - to_zero + at_zero
        row -= columns[:count, pivot] @ columns[:count]
        row /= np.sqrt(left[pivot])
        if count == len(columns):
            columns = np.concatenate([columns, np.zeros_like(columns)])
        columns[count] = row
        left -= row * row
        left[pivot] = 0.0
        pivots.append(pivot)
    return columns[: len(pivots)], np.array(pivots, dtype=np.int64)


def additive_scores(
    new: TrainingColumns, columns: TrainingColumns, kernels: UnitKernels, shares: np.ndarray, dual: np.ndarray
) -> np.ndarray:
    """Scores sum_i dual_i K(x, x_i) of new rows x, (rows, outputs), for a ``dual`` (rows, outputs).

    K is the sum of the anchored kernels times ``shares``, which gives the same as the kernels themselves if ``dual``
    sums to zero, but for a constant. Each unit adds a function of its own columns alone, which is zero at zero: of
    single columns, values that are equal are evaluated once.
    """
    out = np.zeros((new.n_rows, dual.shape[1]))
    for k in np.flatnonzero(shares > 0.0).tolist():
        places, share = kernels.columns(np.array([k])).tolist(), float(shares[k])
        kernel, gamma = kernels.kernel(k), float(kernels.gammas[k])
        if len(places) > 1:
            out += share * _joint_scores(new.array(places), columns.array(places), kernel, gamma, dual)
            continue
        rows, x = new.column(places[0])
        if not x.size:
            continue
        distinct, place = _distinct(x)
        training_rows, z = columns.column(places[0])
        z, group = _distinct(z) if z.size else (z, np.zeros(0, dtype=np.int64))
        sums = np.zeros((z.size + 1, dual.shape[1]))
        np.add.at(sums, group, dual[training_rows])
        sums[-1] = -sums[:-1].sum(axis=0)  # of the rows that are zero
        points = np.append(z, 0.0)
        table = kernel.less_one(distinct, points, gamma) - kernel.less_one(np.zeros(1), points, gamma)
        out[rows] += share * (table @ sums)[place]
    return out


def _joint_scores(x: np.ndarray, z: np.ndarray, kernel: ColumnKernel, gamma: float, dual: np.ndarray) -> np.ndarray:
    """Scores by the anchored kernel of points x with points z, some rows at a time."""
    used, out = np.flatnonzero(z.any(axis=1)), np.empty((len(x), dual.shape[1]))  # the kernel with zero is zero
    step = max(1, MOST_AT_ONCE // max(1, used.size))
    for lo in range(0, len(x), step):
        out[lo : lo + step] = kernel.anchored(x[lo : lo + step], z[used], gamma) @ dual[used]
    return out
