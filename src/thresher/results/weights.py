"""Weights of the selected features as sparse rows over all features; nothing dense of size n_features is created."""

from typing import TypeAlias

import numpy as np
from scipy import sparse

SparseRows: TypeAlias = sparse.csr_array  # what ``sparse_rows`` returns


def sparse_rows(features: np.ndarray, weights: np.ndarray, width: int) -> SparseRows:
    """Weights (features,) or (features, classes) as (1, width) or (classes, width); zeros are left out."""
    rows = sparse.csr_array(weights[None] if weights.ndim == 1 else weights.T)
    rows.eliminate_zeros()
    return sparse.csr_array((rows.data, features[rows.indices], rows.indptr), shape=(rows.shape[0], width))


def sparse_points(begins: np.ndarray, ids: np.ndarray, values: np.ndarray, width: int) -> SparseRows:
    """Weights of many models as the rows of one sparse matrix: row k has ``ids`` from begins[k] on."""
    return sparse.csr_array((values, ids, begins), shape=(begins.size - 1, width))
