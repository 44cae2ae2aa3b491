"""Selected columns of a matrix as the user gave it, for predict and transform; no compiled code."""

from typing import Any

import numpy as np
from scipy import sparse

CHUNK_ROWS = 65536


def take_columns(X: Any, ids: np.ndarray) -> Any:
    """X[:, ids] in the format of X (validated CSR, CSC or array), without arrays of size p; ``ids`` is sorted."""
    if not sparse.issparse(X) or X.format == "csc":
        return X[:, ids]
    positions = np.searchsorted(ids, X.indices)
    positions[positions == ids.size] = 0
    kept = ids[positions] == X.indices if ids.size else np.zeros(X.indices.size, dtype=bool)
    counts = np.concatenate([[0], np.cumsum(kept)])
    arrays = (X.data[kept], positions[kept], counts[X.indptr])
    return type(X)(arrays, shape=(X.shape[0], ids.size))


def scores(X: Any, ids: np.ndarray, weights: np.ndarray, intercept: float | np.ndarray) -> np.ndarray:
    """X[:, ids] weights + intercept in float64, by chunks of rows; (rows,), or (rows, classes) like the weights."""
    out = np.empty((X.shape[0], *weights.shape[1:]))
    if sparse.issparse(X):
        out[:] = take_columns(X, ids) @ weights
    else:
        for lo in range(0, X.shape[0], CHUNK_ROWS):
            out[lo : lo + CHUNK_ROWS] = X[lo : lo + CHUNK_ROWS, ids] @ weights
    return out + intercept


def put_columns(X: Any, ids: np.ndarray, n_features: int) -> Any:
    """The inverse of ``take_columns``: a matrix with ``n_features`` columns, zero except for ``ids``."""
    if sparse.issparse(X):
        X = X.tocsr()
        return type(X)((X.data, ids[X.indices], X.indptr), shape=(X.shape[0], n_features))
    out = np.zeros((X.shape[0], n_features), dtype=X.dtype)
    out[:, ids] = X
    return out
