"""A sparse set like kddb, made by script: many rows, millions of columns drawn log-uniformly, and planted pairs."""

from typing import NamedTuple

import numba
import numpy as np
from scipy import sparse

EACH = 29  # entries of a row
SHARE = 0.01  # of the rows that have both columns of a planted pair, one of them, and the other


class Made(NamedTuple):
    """X with unit rows, float32; labels; and the planted pairs (m, 2) of columns."""

    X: sparse.csr_array
    y: np.ndarray
    pairs: np.ndarray


@numba.njit(cache=True)
def _drawn(n, p, each, seed, out):
    """``each`` different columns for every row, each the floor of p^u with u uniform: frequencies fall as 1 / j."""
    np.random.seed(seed)  # noqa: NPY002 (Numba's own generator)
    for i in range(n):
        have = 0
        while have < each:
            j = int(p ** np.random.random()) - 1  # noqa: NPY002
            new = True
            for t in range(have):
                if out[i, t] == j:
                    new = False
            if new:
                out[i, have] = j
                have += 1


def made(n, p, planted, seed=0):
    """A Made. Rows with both columns of a planted pair are positive, rows with one of them negative, others random.

    So neither column of a pair says anything by itself.
    """
    columns = np.empty((n, EACH), dtype=np.int64)
    _drawn(n, p, EACH, seed, columns)
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], n)
    pairs = np.sort(rng.choice(np.arange(p // 1000, p // 10), (planted, 2), replace=False), axis=1)
    rows = rng.permutation(n)
    each = int(SHARE * n)
    for at, (i, j) in enumerate(pairs):
        both, first, second = np.split(rows[3 * at * each : 3 * (at + 1) * each], 3)
        columns[both, 0], columns[both, 1], y[both] = i, j, 1.0
        columns[first, 0], y[first] = i, -1.0
        columns[second, 0], y[second] = j, -1.0
    values = np.full(columns.size, 1.0 / np.sqrt(EACH), dtype=np.float32)
    X = sparse.csr_array((values, columns.ravel().astype(np.int32), np.arange(n + 1) * EACH), shape=(n, p))
    X.sum_duplicates()  # sorts the rows, too
    return Made(X, y, pairs)
