"""Explicit columns of kernels that new rows can be given, too: for linear SVMs, which need no n x n matrix.

The explicit columns of a kernel are made by Cholesky's factorisation with pivots, so that a linear function of them is
a sum of kernels with the pivots alone, its anchors: a few dozen values for a column, however many rows there are.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular

from thresher.errors import InvalidDataError
from thresher.features.kernels.column_kernel import FittedKernels
from thresher.features.kernels.explicit import Entries, pivoted_cholesky, write_columns
from thresher.features.kernels.sorted_columns import SortedColumns, joined

MOST_ANCHORS = 512  # explicit columns of one kernel


class Anchors(NamedTuple):
    """The pivots of a kernel, (anchors, columns of the kernel), and its explicit columns there: a lower triangle."""

    points: np.ndarray
    triangle: np.ndarray


class AnchoredColumns:
    """Explicit columns of the kernels of ``columns``, all written down, with the anchors of each kernel."""

    def __init__(self, columns: SortedColumns, kernels: FittedKernels, ended: Callable[[], bool] = lambda: False):
        self.columns, self.kernels = columns, kernels
        self.anchors: list[Anchors] = []
        self.written = write_columns(columns.n_rows, kernels, self._made, ended)

    def _made(self, k: int) -> list[Entries]:
        """The explicit columns of kernel ``k``, whose Anchors are kept."""
        kernel, places = self.kernels.kernel(k), self.kernels.columns(k)
        rows, x = self.columns.column(places[0])
        if len(places) > 1:
            x = self.columns.array(places)
            rows = np.flatnonzero(x.any(axis=1))
            x = x[rows]
        points, group = np.unique(x, axis=0, return_inverse=True)
        values, pivots = pivoted_cholesky(kernel, points, MOST_ANCHORS + 1)
        if len(values) > MOST_ANCHORS:
            raise InvalidDataError(
                f"a {kernel.name} kernel takes more than {MOST_ANCHORS} explicit columns, so that svm='linear' cannot "
                "use it: use kernel='rbf' of single columns, a smaller gamma, or svm=None"
            )
        anchors = points[pivots].reshape(len(pivots), len(places))
        self.anchors.append(Anchors(anchors, values[:, pivots].T))
        return [(rows, column) for column in values[:, group.ravel()]]

    def for_svm(self, shares: np.ndarray) -> Any:
        """Columns whose products are the sum of the kernels times ``shares``.

        Sparse ones are in CSR with 32-bit indices, which LIBLINEAR asks for.
        """
        columns = self.written.scaled(shares)
        if not self.written.dense:
            columns = sparse.csr_array(columns)
            columns.indices, columns.indptr = columns.indices.astype(np.int32), columns.indptr.astype(np.int32)
        return columns

    def expansion(self, coef: np.ndarray, shares: np.ndarray) -> tuple[SortedColumns, np.ndarray]:
        """(anchors as rows, dual): the linear function ``coef`` of ``for_svm`` as a sum of kernels with anchors.

        Each row is an anchor of one kernel, and zero in the columns of the others.
        """
        coefs = np.zeros((self.written.owner.size, coef.shape[1]))
        coefs[self.written.used(shares)] = coef
        begins = np.searchsorted(self.written.owner, np.arange(len(self.kernels) + 1))
        parts: list[Entries] = []
        duals = [np.zeros((0, coef.shape[1]))]
        n_anchors = 0
        for k, (points, triangle) in enumerate(self.anchors):
            share = float(shares[k])
            own = points if share > 0.0 else points[:0]
            parts += [_sorted_entries(n_anchors, column) for column in own.T]
            if len(own):
                own_coefs = coefs[begins[k] : begins[k + 1]]
                duals.append(solve_triangular(triangle, own_coefs, lower=True, trans=1) / np.sqrt(share))
            n_anchors += len(own)
        return joined(n_anchors, parts), np.concatenate(duals)


def _sorted_entries(first: int, values: np.ndarray) -> Entries:
    """(rows, values) of those that are not zero, by ascending value; rows are numbered from ``first``."""
    rows = np.flatnonzero(values)
    rows = rows[np.argsort(values[rows], kind="stable")]
    return first + rows, values[rows]
