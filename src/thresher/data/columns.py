"""Chosen columns of a matrix as the user gave it: for predict and transform, where nothing is compiled."""

from typing import Any

import numpy as np
from scipy import sparse

ROWS_AT_ONCE = 65536


def take_columns(X: Any, ids: np.ndarray) -> Any:
    """X[:, ids] in the storage of X, a checked CSR, CSC or array, without anything of size p; ``ids`` is sorted."""
    if not sparse.issparse(X) or X.format == "csc":
        return X[:, ids]
    at = np.searchsorted(ids, X.indices)
    at[at == ids.size] = 0
    kept = ids[at] == X.indices if ids.size else np.zeros(X.indices.size, dtype=bool)
    counts = np.concatenate([[0], np.cumsum(kept)])
    arrays = (X.data[kept], at[kept], counts[X.indptr])
    return type(X)(arrays, shape=(X.shape[0], ids.size))


def scores(X: Any, ids: np.ndarray, weights: np.ndarray, intercept: float | np.ndarray) -> np.ndarray:
    """X[:, ids] weights + intercept in float64, some rows at a time; (rows,), or (rows, classes) as the weights are."""
    out = np.empty((X.shape[0], *weights.shape[1:]))
    if sparse.issparse(X):
        out[:] = take_columns(X, ids) @ weights
    else:
        for lo in range(0, X.shape[0], ROWS_AT_ONCE):
            out[lo : lo + ROWS_AT_ONCE] = X[lo : lo + ROWS_AT_ONCE, ids] @ weights
    return out + intercept


def put_columns(X: Any, ids: np.ndarray, n_features: int) -> Any:
    """The inverse of ``take_columns``: a matrix with ``n_features`` columns, zero but for ``ids``."""
    if sparse.issparse(X):
        X = X.tocsr()
        return type(X)((X.data, ids[X.indices], X.indptr), shape=(X.shape[0], n_features))
    out = np.zeros((X.shape[0], n_features), dtype=X.dtype)
    out[:, ids] = X
    return out
