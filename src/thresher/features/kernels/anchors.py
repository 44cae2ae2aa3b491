"""Explicit columns of kernels that new rows can be given, too: for linear SVMs, which need no n x n matrix.

The explicit columns of a unit are made by Cholesky's factorisation with pivots, so that a linear function of them is a
sum of kernels with the pivots alone, its anchors: a few dozen values for a column, however many rows there are.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular

from thresher.data.scan.pieces import OutOfTime
from thresher.errors import InvalidDataError
from thresher.features.kernels.alignment import UnitKernels
from thresher.features.kernels.explicit import TrainingColumns, check_entries, factored, side_by_side

MOST_ANCHORS = 512  # explicit columns of one kernel


class Anchors(NamedTuple):
    """The pivots of a unit, (anchors, columns of the unit), and its explicit columns there: a lower triangle."""

    points: np.ndarray
    triangle: np.ndarray


class AnchoredColumns:
    """Explicit columns of the kernels of ``columns``, all written down, with the anchors of each unit.

    OutOfTime as soon as ``ended()``.
    """

    def __init__(self, columns: TrainingColumns, kernels: UnitKernels, ended: Callable[[], bool] = lambda: False):
        self.kernels = kernels
        self.anchors: list[Anchors] = []
        parts: list[tuple[np.ndarray, np.ndarray]] = []
        owners, entries = [], 0
        for k in range(len(kernels)):
            if ended():
                raise OutOfTime(k / len(kernels))
            rows, found, anchors = _anchored(columns, kernels, k)
            self.anchors.append(anchors)
            parts += [(rows, column) for column in found]
            owners += [k] * len(found)
            entries += rows.size * len(found)
            check_entries(entries, k + 1)
        self.owner = np.array(owners, dtype=np.int64)
        self.phi, self.dense = side_by_side(columns.n_rows, parts)

    def scaled(self, shares: np.ndarray) -> tuple[Any, np.ndarray]:
        """(columns whose products are the sum of the kernels times ``shares``, which of all explicit columns).

        Sparse ones are in CSR with 32-bit indices, which LIBLINEAR asks for.
        """
        share = shares[self.owner]
        used = np.flatnonzero(share > 0.0)
        columns = self.phi[:, used] * np.sqrt(share[used])[None]
        if not self.dense:
            columns = sparse.csr_array(columns)
            columns.indices, columns.indptr = columns.indices.astype(np.int32), columns.indptr.astype(np.int32)
        return columns, used

    def expansion(self, coef: np.ndarray, used: np.ndarray, shares: np.ndarray) -> tuple[TrainingColumns, np.ndarray]:
        """(anchors as rows, dual): the linear function ``coef`` of scaled columns as a sum of kernels with anchors.

        Each row is an anchor of one unit, and zero in the columns of the others.
        """
        whole = np.zeros((self.owner.size, coef.shape[1]))
        whole[used] = coef
        begins = np.searchsorted(self.owner, np.arange(len(self.kernels) + 1))
        rows, values, duals, first = [], [], [], 0
        for k, (points, triangle) in enumerate(self.anchors):
            share = float(shares[k])
            some = points if share > 0.0 else points[:0]
            for column in some.T:
                kept = np.flatnonzero(column)
                order = kept[np.argsort(column[kept], kind="stable")]
                rows.append(first + order)
                values.append(column[order])
            if len(some):
                part = whole[begins[k] : begins[k + 1]]
                duals.append(solve_triangular(triangle, part, lower=True, trans=1) / np.sqrt(share))
            first += len(some)
        indptr = np.concatenate([[0], np.cumsum([each.size for each in rows])]).astype(np.int64)
        nothing = np.zeros(0, dtype=np.int64)
        anchored = TrainingColumns(
            first, indptr, np.concatenate([*rows, nothing]), np.concatenate([*values, np.zeros(0)])
        )
        return anchored, np.concatenate([*duals, np.zeros((0, coef.shape[1]))])


def _anchored(columns: TrainingColumns, kernels: UnitKernels, k: int) -> tuple[np.ndarray, np.ndarray, Anchors]:
    """(rows, values of explicit columns at these rows, Anchors) of a unit; at all other rows they are zero."""
    kernel, gamma, places = kernels.kernel(k), float(kernels.gammas[k]), kernels.columns(np.array([k])).tolist()
    if len(places) == 1:
        rows, x = columns.column(places[0])
        points, group = np.unique(x, return_inverse=True)
    else:
        x = columns.array(places)
        rows = np.flatnonzero(x.any(axis=1))
        points, group = np.unique(x[rows], axis=0, return_inverse=True)
    found, pivots = factored(kernel, points, gamma, MOST_ANCHORS + 1)
    if len(found) > MOST_ANCHORS:
        raise InvalidDataError(
            f"a {kernel.name} kernel takes more than {MOST_ANCHORS} explicit columns, so that svm='linear' cannot use "
            "it: use kernel='rbf' of single columns, a smaller gamma, or svm=None"
        )
    anchors = points[pivots]
    return rows, found[:, group.ravel()], Anchors(anchors.reshape(len(pivots), len(places)), found[:, pivots].T)
