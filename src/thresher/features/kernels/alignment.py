"""Alignment: how well the kernel of each column agrees with the labels, as a score of a scan."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from thresher.data.blocks.base import Block, Scannable, StoredColumns
from thresher.data.blocks.scaled import Scaling
from thresher.data.designs.base import Design
from thresher.data.designs.scaled import ScaledDesign
from thresher.data.scan.reducers import Collect
from thresher.data.scan.scores import ColumnScaling, Score
from thresher.errors import InvalidDataError
from thresher.loops import alignment as loops

KERNELS = {"rbf": loops.RBF, "laplace": loops.LAPLACE, "polynomial": loops.POLYNOMIAL, "linear": loops.POLYNOMIAL}
ENTRY_COST = 32  # what an entry costs beside a product: it is sorted, and takes part in many sums


@dataclass(frozen=True)
class ColumnKernel:
    """A kernel of one variable: ``gamma`` None is chosen for each column by its variance.

    rbf exp(-gamma (x - z)^2), laplace exp(-gamma |x - z|), polynomial (gamma x z + coef0)^degree, linear x z. Of
    several variables: squares, absolute differences and products are summed.
    """

    name: str = "rbf"
    gamma: float | None = None
    degree: int = 3
    coef0: float = 1.0

    @property
    def settings(self) -> tuple[float, float, float]:
        """Kind, degree and constant, as the loops take them."""
        if self.name == "linear":
            return float(loops.POLYNOMIAL), 1.0, 0.0
        return float(KERNELS[self.name]), float(self.degree), float(self.coef0)

    @property
    def fixed_gamma(self) -> float:
        """The gamma of every column, nan if it is chosen by the variance."""
        if self.name == "linear":  # one constant factor, which unit trace takes out
            return 1.0
        return np.nan if self.gamma is None else float(self.gamma)

    def with_gamma(self, gamma: float) -> "ColumnKernel":
        """The same kernel with another gamma."""
        return replace(self, gamma=gamma)

    def of(self, x: np.ndarray, z: np.ndarray, gamma: float) -> np.ndarray:
        """The kernel of points x with points z, (len(x), len(z)): each point is a value, or a row of values."""
        if self.name in ("linear", "polynomial"):
            return self._of_products(x, z, gamma)
        exponents = self._exponents(x, z, gamma)
        return np.exp(exponents, out=exponents)

    def less_one(self, x: np.ndarray, z: np.ndarray, gamma: float) -> np.ndarray:
        """``of``, for rbf and laplace less 1: forms v'Kv with v that sums to zero are the same, and lose no digits."""
        if self.name in ("linear", "polynomial"):
            return self._of_products(x, z, gamma)
        exponents = self._exponents(x, z, gamma)
        return np.expm1(exponents, out=exponents)

    def _of_products(self, x: np.ndarray, z: np.ndarray, gamma: float) -> np.ndarray:
        products = np.multiply.outer(x, z) if x.ndim == 1 else x @ z.T
        return products if self.name == "linear" else (gamma * products + self.coef0) ** self.degree

    def _exponents(self, x: np.ndarray, z: np.ndarray, gamma: float) -> np.ndarray:
        out = np.zeros((len(x), len(z)))
        for a, b in [(x, z)] if x.ndim == 1 else zip(x.T, z.T, strict=True):
            part = np.subtract.outer(a, b)
            out += np.multiply(part, part, out=part) if self.name == "rbf" else np.abs(part, out=part)
        out *= -gamma
        return out

    def diagonal(self, x: np.ndarray, gamma: float) -> np.ndarray:
        """The kernel of each point with itself."""
        if self.name in ("rbf", "laplace"):
            return np.ones(len(x))
        squares = x * x if x.ndim == 1 else np.sum(x * x, axis=1)
        return squares if self.name == "linear" else (gamma * squares + self.coef0) ** self.degree

    def anchored(self, x: np.ndarray, z: np.ndarray, gamma: float) -> np.ndarray:
        """(phi(x) - phi(0))'(phi(z) - phi(0)): zero at zero, and the same kernel once it is centred."""
        zero = np.zeros((1, *x.shape[1:]))
        to_zero, from_zero = self.less_one(x, zero, gamma), self.less_one(zero, z, gamma)
        return self.less_one(x, z, gamma) - to_zero - from_zero + self.less_one(zero, zero, gamma)

    def anchored_diagonal(self, x: np.ndarray, gamma: float) -> np.ndarray:
        """``anchored`` of each point with itself."""
        zero = np.zeros((1, *x.shape[1:]))
        to_zero = -2.0 * self.less_one(x, zero, gamma)[:, 0]
        if self.name in ("rbf", "laplace"):
            return to_zero
        return self.diagonal(x, gamma) + to_zero + float(self.of(zero, zero, gamma)[0, 0])


@dataclass(frozen=True, eq=False)
class UnitKernels:
    """The kernels of units: kernel, gamma, and how many columns each is made of.

    Columns are laid out unit by unit: unit k has the columns begins[k] to begins[k + 1] - 1. ``begins`` None: every
    column is a unit, and all have the kernel ``kernels[0]``.
    """

    kernels: tuple[ColumnKernel, ...]
    gammas: np.ndarray
    begins: np.ndarray | None = None

    def __len__(self) -> int:
        return self.gammas.size

    def kernel(self, k: int) -> ColumnKernel:
        """The kernel of unit ``k``."""
        return self.kernels[0 if self.begins is None else k]

    def columns(self, units: np.ndarray) -> np.ndarray:
        """The columns of some units, laid out unit by unit."""
        return units if self.begins is None else laid_out(self.begins, units)[1]

    def take(self, units: np.ndarray) -> "UnitKernels":
        """The kernels of some units."""
        if self.begins is None:
            return UnitKernels(self.kernels, self.gammas[units])
        begins = laid_out(self.begins, units)[0]
        return UnitKernels(tuple(self.kernels[k] for k in units.tolist()), self.gammas[units], begins)


def laid_out(begins: np.ndarray, parts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(begins, places) of some parts of what lies between ``begins``, one after the other."""
    sizes = begins[parts + 1] - begins[parts]
    new = np.concatenate([[0], np.cumsum(sizes)])
    return new, np.repeat(begins[parts] - new[:-1], sizes) + np.arange(new[-1])


class Alignments(NamedTuple):
    """Per column: v'Kv of the centred kernel of unit trace for each v, (k, columns); its trace before; its gamma."""

    values: np.ndarray
    trace: np.ndarray
    gamma: np.ndarray


class Alignment(Score):
    """Alignments of the columns with ``targets``, then trace and gamma of their kernels. (k + 2, columns).

    With weights w, H = I - 1w'/sum(w) centres a kernel, its trace is sum_i w_i K_ii, and the alignment with y is
    (wy)'HKH'(wy) / trace: integer weights count as repeated rows. Constant columns have alignment 0. ``targets`` are
    (n,) or (n, k). Equal columns give equal bits in every storage. Sums over up to 128 distinct values, and all of the
    other kernels, are exact; those of an RBF kernel over more may be taken by a Fourier series that differs from the
    kernel by at most 1e-14.
    """

    def __init__(self, targets: ArrayLike, kernel: ColumnKernel, weights: ArrayLike | None = None):
        Y = np.array(targets, dtype=np.float64)
        Y = Y[:, None] if Y.ndim == 1 else Y
        w = np.ones(len(Y)) if weights is None else np.asarray(weights, dtype=np.float64)
        self.kernel, self.weighted = kernel, w > 0.0
        self.vectors = Y.shape[1] + 2
        V = np.concatenate([w[:, None] * (Y - (w @ Y) / w.sum()), w[:, None]], axis=1)
        self._V = np.ascontiguousarray(np.concatenate([V, V.sum(axis=0, keepdims=True)]))
        self._settings = np.array([*kernel.settings, np.count_nonzero(self.weighted)], dtype=np.float64)

    @property
    def work(self) -> int:
        """See Score."""
        return ENTRY_COST * self.vectors

    def of(self, block: Scannable, lo: int, hi: int, scaling: ColumnScaling | None = None) -> np.ndarray:
        """See Score."""
        out = np.zeros((self.vectors, hi - lo))
        table = np.empty((hi - lo, 3))
        table[:, loops.SHIFT] = 0.0 if scaling is None or scaling.shift is None else scaling.shift
        table[:, loops.FACTOR] = 1.0 if scaling is None else scaling.factor
        table[:, loops.GAMMA] = self.kernel.fixed_gamma
        for columns in sorted_columns(block, lo, hi, self.weighted):
            which = slice(columns.first - lo, columns.first - lo + columns.indptr.size - 1)
            out[:, which] = self.of_sorted(columns, table[which])
        return out

    def of_sorted(self, columns: StoredColumns, table: np.ndarray) -> np.ndarray:
        """The score of sorted columns without rows of weight zero; ``table``: shift, factor and gamma of each."""
        out = np.zeros((self.vectors, columns.indptr.size - 1))
        work = np.empty((int(np.diff(columns.indptr).max(initial=0)) + 1, 3 * self._V.shape[1] + 1))
        _, indptr, rows, values = columns
        loops.forms(indptr, rows, values, self._V, table, self._settings, work, out)
        return out


def alignments_of(
    design: Design, targets: np.ndarray, kernel: ColumnKernel, weights: np.ndarray, deadline: float | None = None
) -> Alignments:
    """The Alignments of all columns of a design: one pass over X."""
    table = design.scan(Alignment(targets, kernel, weights), Collect(design.width), deadline).T
    wrong = np.flatnonzero(~np.isfinite(table).all(axis=0))
    if wrong.size:
        raise InvalidDataError(
            f"the kernel of column {int(design.ids_in_X(wrong[:1])[0])} is not finite: powers of its values overflow. "
            "Rescale the column, or use a kernel of another kind"
        )
    return Alignments(table[:-2], table[-2], table[-1])


def with_gammas(design: Design, kernel: ColumnKernel, gammas: np.ndarray) -> tuple[Design, ColumnKernel]:
    """(design, kernel) whose columns have the kernel with a gamma each: columns are scaled, and gamma is 1."""
    factor = gammas if kernel.name == "laplace" else np.sqrt(gammas)
    return ScaledDesign(design, Scaling(factor, None)), ColumnKernel(kernel.name, 1.0, kernel.degree, kernel.coef0)


def sorted_columns(block: Scannable, lo: int, hi: int, weighted: np.ndarray) -> Iterator[StoredColumns]:
    """The non-zero values of the columns lo <= j < hi of a block, some columns at a time, in the rows ``weighted``.

    Those of each column are in ascending order, equal ones by row.
    """
    if not isinstance(block, Block):
        raise TypeError(f"alignments need columns that can be taken, which {type(block).__name__} has not")
    for stored in block.stored_parts(lo, hi):
        yield _sorted(stored, weighted)


def _sorted(stored: StoredColumns, weighted: np.ndarray) -> StoredColumns:
    rows, values, column = stored.rows.astype(np.int64), stored.values.astype(np.float64), stored.columns
    kept = (values != 0.0) & weighted[rows]
    lengths = np.diff(stored.indptr)
    if not kept.all():
        rows, values, column = rows[kept], values[kept], column[kept]
        lengths = np.bincount(column, minlength=lengths.size)
    if values.size and values.min() < values.max():
        order = _order(values, column, lengths)
        rows, values = rows[order], values[order]
    return StoredColumns(stored.first, np.concatenate([[0], np.cumsum(lengths)]), rows, values)


def _order(values: np.ndarray, column: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The order by column, then by value, then by row."""
    if lengths.min() < lengths.max():  # else they are sorted as a table, which is faster
        return np.lexsort((values, column))
    within = np.argsort(values.reshape(lengths.size, -1), axis=1, kind="stable")
    return (within + lengths[0] * np.arange(lengths.size)[:, None]).ravel()
