"""Alignment: how well the kernel of each column agrees with the labels, as a score of a scan."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from thresher.data.blocks.base import Scannable
from thresher.data.blocks.scaled import Scaling
from thresher.data.designs.base import Design
from thresher.data.designs.scaled import ScaledDesign
from thresher.data.scan.reducers import Collect
from thresher.data.scan.scores import Score
from thresher.errors import InvalidDataError
from thresher.features.kernels.column_kernel import ColumnKernel
from thresher.features.kernels.sorted_columns import SortedColumns, sorted_columns
from thresher.loops import alignment as loops

ENTRY_COST = 32  # what an entry costs beside a product: it is sorted, and takes part in many sums


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
        return ENTRY_COST * self.vectors

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
