"""How well kernels agree with the labels: each column of X has one, or users list them with their columns."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from thresher.data.blocks.base import Scannable
from thresher.data.blocks.scaled import Scaling
from thresher.data.designs.base import Design
from thresher.data.designs.scaled import ScaledDesign
from thresher.data.scan.pieces import OutOfTime
from thresher.data.scan.reducers import Collect
from thresher.data.scan.scores import Score
from thresher.errors import InvalidDataError
from thresher.features.fitted import Label
from thresher.features.fitted_columns import MadeFeatures
from thresher.features.kernels.columns import (
    ColumnKernel,
    FittedKernels,
    SortedColumns,
    sorted_columns,
    sorted_columns_of,
    take_ranges,
)
from thresher.loops import alignment as loops

SORTED_COST = 32  # what an entry costs beside a product: it is sorted, and takes part in many sums


class Alignments(NamedTuple):
    """Per kernel: v'Kv of the centred kernel of unit trace for each v, (k, kernels); its trace before; its gamma."""

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
        V = centred_targets(Y, w)
        self.kernel, self.weighted = kernel, w > 0.0
        self.vectors = V.shape[1] + 1
        self._V = np.ascontiguousarray(np.concatenate([V, V.sum(axis=0, keepdims=True)]))
        self._settings = np.array([*kernel.settings, np.count_nonzero(self.weighted)], dtype=np.float64)

    @property
    def work(self) -> int:
        """See Score."""
        return SORTED_COST * self.vectors

    def of(self, block: Scannable, lo: int, hi: int, scaling: Scaling | None = None) -> np.ndarray:
        """See Score."""
        out = np.zeros((self.vectors, hi - lo))
        for first, columns in sorted_columns(block, lo, hi, self.weighted):
            start, stop = first - lo, first - lo + len(columns)
            out[:, start:stop] = self.of_sorted(columns, None if scaling is None else scaling.take(slice(start, stop)))
        return out

    def of_sorted(self, columns: SortedColumns, scaling: Scaling | None = None) -> np.ndarray:
        """The score of sorted columns, which lack the rows of weight zero."""
        table = np.empty((len(columns), 3))
        table[:, loops.SHIFT] = 0.0 if scaling is None or scaling.shift is None else scaling.shift
        table[:, loops.FACTOR] = 1.0 if scaling is None else scaling.factor
        table[:, loops.GAMMA] = self.kernel.fixed_gamma
        out = np.zeros((self.vectors, len(columns)))
        longest = int(np.diff(columns.indptr).max(initial=0))
        work = np.empty((longest + 1, 3 * self._V.shape[1] + 1))
        loops.forms(columns.indptr, columns.rows, columns.values, self._V, table, self._settings, work, out)
        return out


def centred_targets(Y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The vectors whose forms v'Kv are alignments of the centred kernel: weighted targets less their mean, and w."""
    return np.concatenate([w[:, None] * (Y - (w @ Y) / w.sum()), w[:, None]], axis=1)


def alignments_of(
    design: Design, targets: np.ndarray, kernel: ColumnKernel, weights: np.ndarray, deadline: float | None = None
) -> Alignments:
    """The Alignments of the kernels of all columns of a design: one pass over X."""
    table = design.scan(Alignment(targets, kernel, weights), Collect(design.width), deadline).T
    return checked_alignments(table, lambda place: f"the kernel of column {int(design.ids_in_X([place])[0])}")


def checked_alignments(table: np.ndarray, describe: Callable[[int], str]) -> Alignments:
    """The Alignments in a table (k + 2, kernels); InvalidDataError if one is not finite, with ``describe`` of it."""
    wrong = np.flatnonzero(~np.isfinite(table).all(axis=0))
    if wrong.size:
        raise InvalidDataError(
            f"{describe(int(wrong[0]))} is not finite: powers of its values overflow. Rescale X, or use a "
            "kernel of another kind"
        )
    return Alignments(table[:-2], table[-2], table[-1])


def with_gammas(design: Design, kernel: ColumnKernel, gammas: np.ndarray) -> tuple[Design, ColumnKernel]:
    """(design, kernel) whose columns have the kernel with a gamma each: columns are scaled, and gamma is 1."""
    factor = gammas if kernel.name == "laplace" else np.sqrt(gammas)
    return ScaledDesign(design, Scaling(factor, None)), kernel.with_gamma(1.0)


KERNEL_VALUES = 1 << 21  # of a kernel of several columns: 16 MiB
VALUE_COST = 8  # what a value of such a kernel costs, in times that a product takes


class SameKernel(NamedTuple):
    """Every column of X has the same kernel."""

    kernel: ColumnKernel

    def columns(self, ids: np.ndarray) -> np.ndarray:
        """The columns of X of some kernels, laid out kernel by kernel."""
        return ids

    def fitted(self, ids: np.ndarray, gammas: np.ndarray) -> FittedKernels:
        """Some of the kernels, with these gammas."""
        return FittedKernels((self.kernel,) * ids.size, gammas, np.arange(ids.size + 1))


class KernelList(NamedTuple):
    """Kernels as users list them: ``kernels[k]`` is of the columns members[begins[k]:begins[k + 1]] of X."""

    kernels: tuple[ColumnKernel, ...]
    begins: np.ndarray
    members: np.ndarray

    def columns(self, ids: np.ndarray) -> np.ndarray:
        """See SameKernel."""
        return self.members[take_ranges(self.begins, ids)[1]]

    def fitted(self, ids: np.ndarray, gammas: np.ndarray) -> FittedKernels:
        """See SameKernel."""
        begins, _ = take_ranges(self.begins, ids)
        return FittedKernels(tuple(self.kernels[k] for k in ids.tolist()), gammas, begins)


class ColumnKernelSource:
    """X for a fit where every column has the same kernel, with gammas of its own if these are given."""

    def __init__(self, design: Design, kernel: ColumnKernel, gammas: np.ndarray | None = None):
        self.design, self.gammas = design, gammas
        self.layout = SameKernel(kernel)
        self._scanned = (design, kernel) if gammas is None else with_gammas(design, kernel, gammas)

    def aligned(self, targets: np.ndarray, weights: np.ndarray, deadline: float | None = None) -> Alignments:
        """The Alignments of all kernels, by one pass over X; OutOfTime if the deadline passes before."""
        design, kernel = self._scanned
        alignments = alignments_of(design, targets, kernel, weights, deadline)
        if self.gammas is not None:
            alignments = alignments._replace(gamma=self.gammas)
        if self.design.ids is None:
            return alignments
        return Alignments(*(self._among_all_columns(part) for part in alignments))

    def _among_all_columns(self, part: np.ndarray) -> np.ndarray:
        """Numbers of the columns that the design has, in their places among all columns of X; zero elsewhere."""
        out = np.zeros((*part.shape[:-1], self.design.n_columns))
        out[..., self.design.ids] = part
        return out

    def columns(self, ids: np.ndarray) -> SortedColumns:
        """The columns of some kernels, laid out kernel by kernel."""
        return sorted_columns_of(self.design.take(self.design.ids_here(ids)))


class ListedKernelSource:
    """X for a fit of listed kernels, with gammas of their own if these are given; it holds their columns in memory."""

    def __init__(self, design: Design, listed: KernelList, gammas: np.ndarray | None = None):
        self.layout, self.workers = listed, design.workers
        self._kernels = listed.kernels
        if gammas is not None:
            self._kernels = tuple(map(ColumnKernel.with_gamma, listed.kernels, gammas.tolist()))
        used, place = np.unique(listed.members, return_inverse=True)
        held = design.holds(used)
        known = sorted_columns_of(design.take(design.ids_here(used[held])))
        ends_empty = SortedColumns(known.n_rows, np.append(known.indptr, known.indptr[-1]), known.rows, known.values)
        # columns that are zero everywhere are the last one
        self._columns = ends_empty.take(np.where(held, np.cumsum(held) - 1, len(known))[place])

    def aligned(self, targets: np.ndarray, weights: np.ndarray, deadline: float | None = None) -> Alignments:
        """See ColumnKernelSource. A kernel of several columns together takes n^2 values, some rows at a time."""
        count = len(self._kernels)
        joint_values = int(np.count_nonzero(np.diff(self.layout.begins) > 1)) * weights.size**2
        sorted_work = self._columns.rows.size * Alignment(targets, self._kernels[0]).work
        tasks = ((k, targets, weights, deadline) for k in range(count))
        parts = []
        for part in self.workers.stream(self._aligned, tasks, entries=float(VALUE_COST * joint_values + sorted_work)):
            parts.append(part)
            if deadline is not None and len(parts) < count and time.perf_counter() >= deadline:
                raise OutOfTime(len(parts) / count)
        return checked_alignments(np.stack(parts, axis=1), "kernel[{}]".format)

    def _aligned(self, k: int, targets: np.ndarray, weights: np.ndarray, deadline: float | None) -> np.ndarray:
        """Alignments, trace and gamma of kernel ``k``."""
        kernel = self._kernels[k]
        places = range(int(self.layout.begins[k]), int(self.layout.begins[k + 1]))
        if len(places) > 1:
            return joint_alignment(self._columns.array(places), kernel, targets, weights, deadline)
        score = Alignment(targets, kernel, weights)
        rows, values = self._columns.column(places[0])
        kept = score.weighted[rows]
        indptr = np.array([0, np.count_nonzero(kept)])
        return score.of_sorted(SortedColumns(weights.size, indptr, rows[kept], values[kept]))[:, 0]

    def columns(self, ids: np.ndarray) -> SortedColumns:
        """See ColumnKernelSource."""
        return self._columns.take(take_ranges(self.layout.begins, ids)[1])


KernelSource = ColumnKernelSource | ListedKernelSource


def joint_alignment(
    X: np.ndarray, kernel: ColumnKernel, targets: np.ndarray, weights: np.ndarray, deadline: float | None = None
) -> np.ndarray:
    """Alignments with the targets, trace and gamma of one kernel of all columns of X, as ``Alignment`` has them.

    n^2 values of the kernel are computed, some rows at a time.
    """
    rows = np.flatnonzero(weights > 0.0)
    x, w, Y = X[rows], weights[rows], targets[rows]
    total = w.sum()
    out = np.zeros(Y.shape[1] + 2)
    means = w @ x / total
    deviations = np.sqrt(w @ (x - means) ** 2 / total)
    if not deviations.any():
        return out
    if np.isnan(kernel.fixed_gamma):
        kernel = kernel.with_gamma(_gamma_by_variance(kernel.name, deviations))
    V = centred_targets(Y, w)
    forms = np.zeros(V.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):  # powers that overflow are reported by the caller
        for first, values in _rows_of_kernel(kernel, x, deadline):
            forms += np.sum(V[first : first + len(values)] * (values @ V), axis=0)
        trace = float(w @ kernel.diagonal(x)) - forms[-1] / total
    if not trace <= 0.0:  # NaN after an overflow
        out[:-2], out[-2] = np.maximum(forms[:-1], 0.0) / trace, trace
    out[-1] = kernel.fixed_gamma
    return out


def _gamma_by_variance(name: str, deviations: np.ndarray) -> float:
    """gamma="scale" of several columns together, with these standard deviations."""
    if name == "laplace":
        return 1.0 / float(deviations.sum())
    variance = float(np.sum(deviations**2))
    return (0.5 if name == "rbf" else 1.0) / variance


def _rows_of_kernel(kernel: ColumnKernel, x: np.ndarray, deadline: float | None) -> Iterator[tuple[int, np.ndarray]]:
    """(first row, some rows of the kernel); of rbf and laplace less 1, by expm1, so that tiny gammas lose no digits."""
    step = max(1, KERNEL_VALUES // len(x))
    for first in range(0, len(x), step):
        if deadline is not None and time.perf_counter() >= deadline:
            raise OutOfTime(0.0)
        yield first, kernel.values_less_one(x[first : first + step], x)


@dataclass(frozen=True, eq=False)
class KernelFeatures(MadeFeatures):
    """Kernels of columns that users put together: a feature is a kernel, its inputs are its columns."""

    listed: KernelList = field(repr=False)
    plural: ClassVar[str] = "kernels"

    @property
    def width(self) -> int:
        """See FittedFeatures."""
        return len(self.listed.kernels)

    @property
    def n_listed(self) -> int | None:
        """See FittedFeatures."""
        return self.width

    def places(self, ids: np.ndarray) -> list[dict[str, Any]]:
        """See FittedFeatures."""
        return [{"kernel": int(k), "columns": self.listed.columns(np.array([k])).tolist()} for k in ids]

    def inputs(self, ids: np.ndarray) -> np.ndarray:
        """See FittedFeatures."""
        return np.unique(self.listed.columns(ids))

    def names(self, ids: Sequence[int] | np.ndarray, label: Label) -> list[str]:
        """See FittedFeatures: the kernel, and its columns."""
        kinds = [self.listed.kernels[int(k)].name for k in ids]
        places = self.places(np.asarray(ids))
        return [f"{kind}({', '.join(map(label, place['columns']))})" for kind, place in zip(kinds, places, strict=True)]

    def block(self, columns: Any, inputs: np.ndarray, ids: np.ndarray) -> NoReturn:
        """Raise TypeError: a kernel is not a column."""
        raise TypeError("kernels have no columns of their own: take the columns that they are made of")
