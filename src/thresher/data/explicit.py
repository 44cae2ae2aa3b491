"""Kernels of single columns as explicit columns: sums of many kernels are one product, and predictions are additive.

A centred kernel does not change when phi(0) is subtracted from its feature map, so zeros stay zero: a sparse column
with d distinct non-zero values becomes at most d sparse columns, a binary one a single one, a continuous one a few
dozen.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb

import numpy as np
from scipy import sparse

from thresher.data.alignment import ColumnKernel, sorted_columns
from thresher.data.block import Block

TOLERANCE = 1e-10  # by which products of explicit columns may differ from the kernel, whose largest value is 1
DENSE_SHARE = 0.1  # of non-zero entries from which explicit columns are multiplied as a dense array
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
        sizes = self.indptr[ids + 1] - self.indptr[ids]
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        places = np.repeat(self.indptr[ids] - indptr[:-1], sizes) + np.arange(indptr[-1])
        return TrainingColumns(self.n_rows, indptr, self.rows[places], self.values[places])


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
    """Explicit columns phi(x) - phi(0) of the kernels of ``columns``; those of Laplace kernels may be unwritten."""

    def __init__(self, columns: TrainingColumns, kernel: ColumnKernel, gammas: np.ndarray):
        self.columns, self.kernel, self.gammas = columns, kernel, gammas
        parts = list(_explicit(columns, kernel, gammas))
        owners, sizes = [part[0] for part in parts], [part[1].size for part in parts]
        self.unwritten: list[int] = []
        if kernel.name == "laplace":
            self.unwritten = np.setdiff1d(np.arange(len(columns)), np.unique(owners)).tolist()
        self.owner = np.array(owners, dtype=np.int64)
        shape = (columns.n_rows, self.owner.size)
        indptr = np.concatenate([[0], np.cumsum(np.array(sizes, dtype=np.int64))])
        rows = np.concatenate([*(part[1] for part in parts), np.zeros(0, dtype=np.int64)])
        values = np.concatenate([*(part[2] for part in parts), np.zeros(0)])
        phi = sparse.csc_array((values, rows, indptr), shape=shape)
        self.dense = rows.size > DENSE_SHARE * max(1, shape[0] * shape[1])
        self.phi = phi.toarray(order="F") if self.dense else phi

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
        for j in self.unwritten:
            if shares[j] > 0.0:
                x = np.zeros(self.columns.n_rows)
                rows, values = self.columns.column(j)
                x[rows] = values
                out += shares[j] * _anchored(self.kernel, x, x, float(self.gammas[j]))
        return out


def _explicit(
    columns: TrainingColumns, kernel: ColumnKernel, gammas: np.ndarray
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """(column, rows, values) of each explicit column."""
    for j in range(len(columns)):
        rows, x = columns.column(j)
        if not x.size:
            continue
        gamma = float(gammas[j])
        if kernel.name in ("linear", "polynomial"):
            for factor, power in _powers(kernel, gamma):
                yield j, rows, factor * x**power
            continue
        if x[0] == x[-1]:
            yield j, rows, np.full(x.size, np.sqrt(_anchored(kernel, x[:1], x[:1], gamma)[0, 0]))
            continue
        distinct, place = _distinct(x)
        if kernel.name == "laplace" and distinct.size > MOST_EXPLICIT:
            continue
        for column in _factor(kernel, distinct, gamma):
            yield j, rows, column[place]


def _powers(kernel: ColumnKernel, gamma: float) -> list[tuple[float, int]]:
    """(factor, power) of the explicit columns of a polynomial kernel, but for the constant one."""
    if kernel.name == "linear":
        return [(1.0, 1)]
    d, c = kernel.degree, kernel.coef0
    shares = [(comb(d, k) * c ** (d - k) * gamma**k, k) for k in range(1, d + 1)]
    return [(float(np.sqrt(share)), k) for share, k in shares if share > 0.0]


def _distinct(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(the distinct values of a sorted array, the place of each value among them)."""
    new = np.concatenate([[True], x[1:] != x[:-1]])
    return x[new], np.cumsum(new) - 1


def _anchored(kernel: ColumnKernel, x: np.ndarray, z: np.ndarray, gamma: float) -> np.ndarray:
    """(phi(x) - phi(0))'(phi(z) - phi(0))."""
    zero = np.zeros(1)
    at_zero = kernel.of(zero, zero, gamma)
    return kernel.of(x, z, gamma) - kernel.of(x, zero, gamma) - kernel.of(zero, z, gamma) + at_zero


def _factor(kernel: ColumnKernel, x: np.ndarray, gamma: float) -> list[np.ndarray]:
    """Columns whose products are the anchored kernel of the values ``x``: Cholesky with pivots, to TOLERANCE."""
    zero = np.zeros(1)
    to_zero = kernel.of(x, zero, gamma)[:, 0]
    left = 2.0 - 2.0 * to_zero  # what is left of the diagonal; k(x, x) = 1
    columns = np.zeros((min(x.size, 8), x.size))
    count = 0
    while count < x.size:
        pivot = int(np.argmax(left))
        if left[pivot] <= TOLERANCE:
            break
        row = kernel.of(x[pivot : pivot + 1], x, gamma)[0] - to_zero[pivot] - to_zero + 1.0
        row -= columns[:count, pivot] @ columns[:count]
        row /= np.sqrt(left[pivot])
        if count == len(columns):
            columns = np.concatenate([columns, np.zeros_like(columns)])
        columns[count] = row
        left -= row * row
        left[pivot] = 0.0
        count += 1
    return list(columns[:count])


def additive_scores(
    new: TrainingColumns,
    columns: TrainingColumns,
    kernel: ColumnKernel,
    gammas: np.ndarray,
    shares: np.ndarray,
    dual: np.ndarray,
) -> np.ndarray:
    """Scores sum_j dual_j K(x, x_j) of new rows x, (rows, outputs), for a ``dual`` (rows, outputs) that sums to zero.

    K is the sum of the kernels of the columns times ``shares``. Each column adds a function of its value alone, which
    is zero at zero: values that are equal are evaluated once.
    """
    out = np.zeros((new.n_rows, dual.shape[1]))
    zero = np.zeros(1)
    for j in np.flatnonzero(shares > 0.0).tolist():
        rows, x = new.column(j)
        if not x.size:
            continue
        distinct, place = _distinct(x)
        training_rows, z = columns.column(j)
        z, group = _distinct(z) if z.size else (z, np.zeros(0, dtype=np.int64))
        sums = np.zeros((z.size + 1, dual.shape[1]))
        np.add.at(sums, group, dual[training_rows])
        sums[-1] = -sums[:-1].sum(axis=0)  # of the rows that are zero
        points, gamma = np.append(z, 0.0), float(gammas[j])
        table = kernel.of(distinct, points, gamma) - kernel.of(zero, points, gamma)
        out[rows] += float(shares[j]) * (table @ sums)[place]
    return out
