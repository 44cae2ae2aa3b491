"""Kernels of one column, or of several together, and columns as the lists of entries that sums over kernels need."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from thresher.data.blocks.base import Block, Scannable, StoredColumns
from thresher.data.designs.numbering import end_to_end
from thresher.loops import alignment as loops

LOOP_KINDS = {"rbf": loops.RBF, "laplace": loops.LAPLACE, "polynomial": loops.POLYNOMIAL, "linear": loops.POLYNOMIAL}


@dataclass(frozen=True)
class ColumnKernel:
    """A kernel of points: ``gamma`` None is chosen for each column by its variance.

    rbf exp(-gamma (x - z)^2), laplace exp(-gamma |x - z|), polynomial (gamma x z + coef0)^degree, linear x z. Points
    are values, or rows of several: squares, absolute differences and products are then summed.
    """

    name: str = "rbf"
    gamma: float | None = None
    degree: int = 3
    coef0: float = 1.0

    @property
    def of_products(self) -> bool:
        """Whether the kernel depends on products of points; else on their differences, and is 1 for equal ones."""
        return self.name in ("polynomial", "linear")

    @property
    def settings(self) -> tuple[float, float, float]:
        """Kind, degree and constant, as the loops take them."""
        if self.name == "linear":
            return float(loops.POLYNOMIAL), 1.0, 0.0
        return float(LOOP_KINDS[self.name]), float(self.degree), float(self.coef0)

    @property
    def fixed_gamma(self) -> float:
        """The gamma of every column, NaN if it is chosen by the variance."""
        if self.name == "linear":  # one constant factor, which unit trace takes out
            return 1.0
        return np.nan if self.gamma is None else float(self.gamma)

    def with_gamma(self, gamma: float) -> "ColumnKernel":
        """The same kernel with another gamma."""
        return replace(self, gamma=gamma)

    def values_less_one(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        """The kernel of points x with points z, (len(x), len(z)), for rbf and laplace less 1.

        v'Kv with v that sums to zero is the same, and loses no digits.
        """
        if self.of_products:
            return self._power(np.multiply.outer(x, z) if x.ndim == 1 else x @ z.T)
        exponents = np.zeros((len(x), len(z)))
        for a, b in [(x, z)] if x.ndim == 1 else zip(x.T, z.T, strict=True):
            part = np.subtract.outer(a, b)
            exponents += np.multiply(part, part, out=part) if self.name == "rbf" else np.abs(part, out=part)
        exponents *= -self.fixed_gamma
        return np.expm1(exponents, out=exponents)

    def _power(self, products: np.ndarray) -> np.ndarray:
        return products if self.name == "linear" else (self.fixed_gamma * products + self.coef0) ** self.degree

    def diagonal(self, x: np.ndarray) -> np.ndarray:
        """``values_less_one`` of each point with itself."""
        if not self.of_products:
            return np.zeros(len(x))
        return self._power(x * x if x.ndim == 1 else np.sum(x * x, axis=1))

    def anchored(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        """(phi(x) - phi(0))'(phi(z) - phi(0)): zero at zero, and the same kernel once it is centred."""
        zero = np.zeros((1, *x.shape[1:]))
        to_zero = self.values_less_one(x, zero)
        from_zero = self.values_less_one(zero, z)
        return self.values_less_one(x, z) - to_zero - from_zero + self.values_less_one(zero, zero)

    def anchored_diagonal(self, x: np.ndarray) -> np.ndarray:
        """``anchored`` of each point with itself."""
        zero = np.zeros((1, *x.shape[1:]))
        to_zero = -2.0 * self.values_less_one(x, zero)[:, 0]
        return self.diagonal(x) + to_zero + float(self.values_less_one(zero, zero)[0, 0])


@dataclass(frozen=True, eq=False)
class FittedKernels:
    """Kernels with their gammas, each of one column or more.

    Columns are laid out kernel by kernel: kernel k has the columns begins[k] to begins[k + 1] - 1.
    """

    kernels: tuple[ColumnKernel, ...]
    gammas: np.ndarray
    begins: np.ndarray

    def __len__(self) -> int:
        return self.gammas.size

    @property
    def n_columns(self) -> int:
        """Number of columns of all kernels."""
        return int(self.begins[-1])

    def kernel(self, k: int) -> ColumnKernel:
        """Kernel ``k``, with its gamma."""
        return self.kernels[k].with_gamma(float(self.gammas[k]))

    def columns(self, k: int) -> range:
        """The columns of kernel ``k``."""
        return range(int(self.begins[k]), int(self.begins[k + 1]))

    def take(self, places: np.ndarray) -> "FittedKernels":
        """Some of the kernels."""
        begins, _ = take_ranges(self.begins, places)
        return FittedKernels(tuple(self.kernels[k] for k in places.tolist()), self.gammas[places], begins)


def take_ranges(begins: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(begins, members) of some of the ranges begins[k] to begins[k + 1] - 1, laid out one after the other."""
    sizes = begins[places + 1] - begins[places]
    new = np.concatenate([[0], np.cumsum(sizes)])
    return new, end_to_end(begins[places], sizes)


@dataclass(frozen=True, eq=False)
class SortedColumns:
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

    def take(self, ids: np.ndarray) -> "SortedColumns":
        """Some of the columns."""
        indptr, places = take_ranges(self.indptr, ids)
        return SortedColumns(self.n_rows, indptr, self.rows[places], self.values[places])

    def take_rows(self, rows: np.ndarray) -> "SortedColumns":
        """Some of the rows, in ascending order, which are numbered anew."""
        place = np.full(self.n_rows, -1, dtype=np.int64)
        place[rows] = np.arange(rows.size)
        kept = place[self.rows] >= 0
        indptr = np.concatenate([[0], np.cumsum(kept)])[self.indptr]
        return SortedColumns(rows.size, indptr, place[self.rows[kept]], self.values[kept])

    def array(self, ids: Sequence[int]) -> np.ndarray:
        """Some of the columns as an array, (n_rows, columns)."""
        out = np.zeros((self.n_rows, len(ids)))
        for place, j in enumerate(ids):
            rows, values = self.column(j)
            out[rows, place] = values
        return out


def side_by_side(n_rows: int, parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> SortedColumns:
    """Columns given as (rows, values), side by side."""
    indptr = np.cumsum([0, *(rows.size for rows, _ in parts)])
    rows = np.concatenate([*(rows for rows, _ in parts), np.zeros(0, dtype=np.int64)])
    values = np.concatenate([*(values for _, values in parts), np.zeros(0)])
    return SortedColumns(n_rows, indptr, rows, values)


def sorted_columns_of(block: Block) -> SortedColumns:
    """All columns of a block, copied."""
    everywhere = np.ones(block.shape[0], dtype=bool)
    parts = [part for _, part in sorted_columns(block, 0, block.shape[1], everywhere)]
    entries = side_by_side(block.shape[0], [(part.rows, part.values) for part in parts])
    indptr = np.cumsum(np.concatenate([[0], *(np.diff(part.indptr) for part in parts)]))
    return SortedColumns(block.shape[0], indptr, entries.rows, entries.values)


def sorted_columns(block: Scannable, lo: int, hi: int, weighted: np.ndarray) -> Iterator[tuple[int, SortedColumns]]:
    """(first column, some columns) for all lo <= j < hi of a block, without the rows that are not ``weighted``."""
    if not isinstance(block, Block):
        raise TypeError(f"alignments need columns that can be taken, which {type(block).__name__} does not have")
    for stored in block.stored_parts(lo, hi):
        yield stored.first, _sorted(stored, weighted)


def _sorted(stored: StoredColumns, weighted: np.ndarray) -> SortedColumns:
    rows, values, column = stored.rows.astype(np.int64), stored.values.astype(np.float64), stored.columns
    kept = (values != 0.0) & weighted[rows]
    lengths = np.diff(stored.indptr)
    if not kept.all():
        rows, values, column = rows[kept], values[kept], column[kept]
        lengths = np.bincount(column, minlength=lengths.size)
    if values.size and values.min() < values.max():
        order = _order(values, column, lengths)
        rows, values = rows[order], values[order]
    return SortedColumns(weighted.size, np.concatenate([[0], np.cumsum(lengths)]), rows, values)


def _order(values: np.ndarray, column: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The order by column, then by value, then by row."""
    if lengths.min() < lengths.max():  # else they are sorted as a table, which is faster
        return np.lexsort((values, column))
    within = np.argsort(values.reshape(lengths.size, -1), axis=1, kind="stable")
    return (within + lengths[0] * np.arange(lengths.size)[:, None]).ravel()
