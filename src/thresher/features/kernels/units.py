"""Units of kernels: each column with a kernel of its own, or columns that users put together under one kernel."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from thresher.data.blocks.base import StoredColumns
from thresher.data.designs.base import Design
from thresher.data.scan.pieces import OutOfTime
from thresher.errors import InvalidDataError
from thresher.features.fitted import Label, MadeFeatures
from thresher.features.kernels.alignment import (
    Alignment,
    Alignments,
    ColumnKernel,
    UnitKernels,
    alignments_of,
    laid_out,
    with_gammas,
)
from thresher.features.kernels.explicit import TrainingColumns, columns_of
from thresher.loops import alignment as loops

SLICE = 1 << 21  # values of a kernel of several columns that are held: 16 MiB
VALUE_COST = 8  # what a value of such a kernel costs, in times that a product takes


class Units(NamedTuple):
    """Kernels as users list them: unit k has ``kernels[k]`` on the columns members[begins[k]:begins[k + 1]] of X."""

    kernels: tuple[ColumnKernel, ...]
    begins: np.ndarray
    members: np.ndarray

    def columns(self, ids: np.ndarray) -> np.ndarray:
        """The columns of X of some units, laid out unit by unit."""
        return self.members[laid_out(self.begins, ids)[1]]


class KernelSource(Protocol):
    """X as a fit on kernels needs it; ids are those of units, numbered as the features of the model."""

    def aligned(self, targets: np.ndarray, weights: np.ndarray, deadline: float | None) -> Alignments:
        """The Alignments of all units; OutOfTime if the deadline passes before."""

    def kernels(self, ids: np.ndarray, gammas: np.ndarray) -> UnitKernels:
        """The kernels of some units, with these gammas."""

    def columns(self, ids: np.ndarray) -> TrainingColumns:
        """Their columns, laid out unit by unit."""


class ColumnKernels:
    """Every column of X has the same kernel, with gammas of its own if these are given."""

    def __init__(self, design: Design, kernel: ColumnKernel, gammas: np.ndarray | None = None):
        self.design, self.kernel, self.gammas = design, kernel, gammas

    def aligned(self, targets: np.ndarray, weights: np.ndarray, deadline: float | None = None) -> Alignments:
        """See KernelSource: one pass over X."""
        design, kernel = self.design, self.kernel
        if self.gammas is not None:
            design, kernel = with_gammas(design, kernel, self.gammas)
        found = alignments_of(design, targets, kernel, weights, deadline)
        if self.gammas is not None:
            found = found._replace(gamma=self.gammas)
        if self.design.ids is None:
            return found
        return Alignments(*(_spread(part, self.design.ids, self.design.n_columns) for part in found))

    def kernels(self, ids: np.ndarray, gammas: np.ndarray) -> UnitKernels:
        """See KernelSource."""
        return UnitKernels((self.kernel,), gammas)

    def columns(self, ids: np.ndarray) -> TrainingColumns:
        """See KernelSource."""
        return columns_of(self.design.take(self.design.ids_here(ids)))


def _spread(part: np.ndarray, ids: np.ndarray, size: int) -> np.ndarray:
    """Numbers of the columns that a design has, in their places among all columns of X; zero elsewhere."""
    out = np.zeros((*part.shape[:-1], size))
    out[..., ids] = part
    return out


class GivenKernels:
    """Units as users list them, with gammas of their own if these are given; their columns are held in memory."""

    def __init__(self, design: Design, units: Units, gammas: np.ndarray | None = None):
        self.units, self.gammas, self.workers = units, gammas, design.workers
        used, place = np.unique(units.members, return_inverse=True)
        held = design.holds(used)
        known = columns_of(design.take(design.ids_here(used[held])))
        last = np.append(known.indptr, known.indptr[-1])  # then an empty column, for those that are zero everywhere
        known = TrainingColumns(known.n_rows, last, known.rows, known.values)
        self._columns = known.take(np.where(held, np.cumsum(held) - 1, len(known) - 1)[place])

    def aligned(self, targets: np.ndarray, weights: np.ndarray, deadline: float | None = None) -> Alignments:
        """See KernelSource. A kernel of several columns together takes n^2 values, some rows at a time."""
        n, count = weights.size, len(self.units.kernels)
        several = int(np.count_nonzero(np.diff(self.units.begins) > 1))
        work = float(VALUE_COST * several * n * n + self._columns.rows.size * Alignment(targets, self._kernel(0)).work)
        parts = []
        tasks = ((k, targets, weights, deadline) for k in range(count))
        for part in self.workers.stream(self._aligned, tasks, entries=work):
            parts.append(part)
            if deadline is not None and len(parts) < count and time.perf_counter() >= deadline:
                raise OutOfTime(len(parts) / count)
        table = np.stack(parts, axis=1)
        wrong = np.flatnonzero(~np.isfinite(table).all(axis=0))
        if wrong.size:
            raise InvalidDataError(
                f"kernel[{int(wrong[0])}] is not finite: powers of its values overflow. Rescale its columns, or use a "
                "kernel of another kind"
            )
        return Alignments(table[:-2], table[-2], table[-1])

    def _kernel(self, k: int) -> ColumnKernel:
        """The kernel of unit ``k``, with its gamma if that is given."""
        kernel = self.units.kernels[k]
        return kernel if self.gammas is None else kernel.with_gamma(float(self.gammas[k]))

    def _aligned(self, k: int, targets: np.ndarray, weights: np.ndarray, deadline: float | None) -> np.ndarray:
        """Alignments, trace and gamma of unit ``k``."""
        kernel, places = self._kernel(k), np.arange(self.units.begins[k], self.units.begins[k + 1])
        if places.size > 1:
            return joint_forms(self._columns.array(places.tolist()), kernel, targets, weights, deadline)
        score, (rows, values) = Alignment(targets, kernel, weights), self._columns.column(int(places[0]))
        kept = score.weighted[rows]
        column = StoredColumns(0, np.array([0, np.count_nonzero(kept)]), rows[kept], values[kept])
        table = np.zeros((1, 3))
        table[0, loops.FACTOR], table[0, loops.GAMMA] = 1.0, kernel.fixed_gamma
        return score.of_sorted(column, table)[:, 0]

    def kernels(self, ids: np.ndarray, gammas: np.ndarray) -> UnitKernels:
        """See KernelSource."""
        return kernels_of(self.units, ids, gammas)

    def columns(self, ids: np.ndarray) -> TrainingColumns:
        """See KernelSource."""
        return self._columns.take(laid_out(self.units.begins, ids)[1])


def kernels_of(units: Units, ids: np.ndarray, gammas: np.ndarray) -> UnitKernels:
    """The kernels of some of the units, with these gammas."""
    return UnitKernels(tuple(units.kernels[k] for k in ids.tolist()), gammas, laid_out(units.begins, ids)[0])


def joint_forms(
    X: np.ndarray, kernel: ColumnKernel, targets: np.ndarray, weights: np.ndarray, deadline: float | None = None
) -> np.ndarray:
    """Alignments with the targets, trace and gamma of one kernel of all columns of X, as ``Alignment`` has them.

    n^2 values of the kernel are computed, some rows at a time.
    """
    rows = np.flatnonzero(weights > 0.0)
    x, w = X[rows], weights[rows]
    Y, total = targets[rows], w.sum()
    out = np.zeros(Y.shape[1] + 2)
    means = w @ x / total
    deviations = np.sqrt(w @ (x - means) ** 2 / total)
    if not deviations.any():
        return out
    gamma = kernel.fixed_gamma
    if np.isnan(gamma):
        variance = float(np.sum(deviations**2))
        gamma = {"rbf": 0.5 / variance, "laplace": 1.0 / float(deviations.sum())}.get(kernel.name, 1.0 / variance)
    V = np.concatenate([w[:, None] * (Y - w @ Y / total), w[:, None]], axis=1)
    forms, diagonal = np.zeros(V.shape[1]), 0.0
    with np.errstate(over="ignore", invalid="ignore"):  # powers that overflow are reported by the caller
        for lo, part in _slices(kernel, x, gamma, deadline):
            forms += np.sum(V[lo : lo + len(part)] * (part @ V), axis=0)
        if kernel.name in ("linear", "polynomial"):
            diagonal = float(w @ kernel.diagonal(x, gamma))
        trace = diagonal - forms[-1] / total
    if not trace <= 0.0:  # not a number after an overflow
        out[:-2], out[-2] = np.maximum(forms[:-1], 0.0) / trace, trace
    out[-1] = gamma
    return out


def _slices(
    kernel: ColumnKernel, x: np.ndarray, gamma: float, deadline: float | None
) -> Iterator[tuple[int, np.ndarray]]:
    """(first row, rows of the kernel); of rbf and laplace less 1, by expm1, so that tiny gammas lose no digits."""
    step = max(1, SLICE // len(x))
    for lo in range(0, len(x), step):
        if deadline is not None and time.perf_counter() >= deadline:
            raise OutOfTime(0.0)
        yield lo, kernel.less_one(x[lo : lo + step], x, gamma)


@dataclass(frozen=True, eq=False)
class UnitFeatures(MadeFeatures):
    """Kernels of columns that users put together: a feature is a unit, its inputs are its columns."""

    units: Units = field(repr=False)

    @property
    def width(self) -> int:
        """See FittedFeatures."""
        return len(self.units.kernels)

    @property
    def n_listed(self) -> int | None:
        """See FittedFeatures."""
        return self.width

    def places(self, ids: np.ndarray) -> list[dict[str, Any]]:
        """See FittedFeatures."""
        return [{"kernel": int(k), "columns": self.units.columns(np.array([k])).tolist()} for k in ids]

    def inputs(self, ids: np.ndarray) -> np.ndarray:
        """See FittedFeatures."""
        return np.unique(self.units.columns(ids))

    def names(self, ids: Sequence[int] | np.ndarray, label: Label) -> list[str]:
        """See FittedFeatures: the kernel, and its columns."""
        return [self._name(int(k), label) for k in ids]

    def _name(self, k: int, label: Label) -> str:
        columns = self.units.columns(np.array([k])).tolist()
        return f"{self.units.kernels[k].name}({', '.join(label(j) for j in columns)})"

    def columns(self, X: Any, ids: np.ndarray) -> Any:
        """Raise: a kernel is no column."""
        raise TypeError("kernels have no columns of their own: take those that they are made of")

    def scores(self, X: Any, ids: np.ndarray, weights: np.ndarray, intercept: float | np.ndarray) -> np.ndarray:
        """Raise: weights of kernels are not those of a linear model."""
        raise TypeError("kernels have no linear scores")
