"""Weights of the selected features as sparse rows over all features; nothing dense of size n_features is created."""

import numpy as np
from scipy import sparse


def sparse_rows(features: np.ndarray, weights: np.ndarray, width: int) -> sparse.csr_array:
    """Weights (features,) or (features, classes) as (1, width) or (classes, width); zeros are omitted."""
    rows = sparse.csr_array(weights[None] if weights.ndim == 1 else weights.T)
    rows.eliminate_zeros()
    return sparse.csr_array((rows.data, features[rows.indices], rows.indptr), shape=(rows.shape[0], width))
