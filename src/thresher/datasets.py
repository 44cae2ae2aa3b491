"""Synthetic data sets of the papers, in any size."""

from typing import NamedTuple

import numpy as np


class WideData(NamedTuple):
    """X, labels y = +-1, the indices of the relevant columns (sorted) and their weights."""

    X: np.ndarray
    y: np.ndarray
    relevant: np.ndarray
    weights: np.ndarray


def make_wide(
    n_samples=4096, n_features=4096, n_relevant=300, *, density=1.0, shift=0.0, dtype=np.float64, weights=None,
    relevant=None, random_state=0,
):  # fmt: skip
    """Gaussian X, y = sign(Xw - shift), w uniform on (0, 1) at ``n_relevant`` random columns (paper 1, section 8.2).

    ``density`` below 1 sets the other entries to zero. Pass ``relevant`` and ``weights`` of an earlier call, and
    another ``random_state``, for a test set of the same problem.

    >>> train = make_wide(100, 50, n_relevant=3, random_state=0)
    >>> test = make_wide(100, 50, relevant=train.relevant, weights=train.weights, random_state=1)
    >>> bool(np.array_equal(train.relevant, test.relevant))
    True
    """
    if not 0.0 < density <= 1.0:
        raise ValueError(f"density must be in (0, 1], got {density!r}")
    if relevant is None and not 0 < n_relevant <= n_features:
        raise ValueError(f"n_relevant must be between 1 and n_features={n_features}, got {n_relevant!r}")
    rng = np.random.default_rng(random_state)
    if relevant is None:
        relevant = np.sort(rng.choice(n_features, n_relevant, replace=False))
        weights = rng.uniform(0.0, 1.0, n_relevant)
    generate = np.float32 if np.dtype(dtype) == np.float32 else np.float64
    X = rng.standard_normal((n_samples, n_features), dtype=generate)
    if density < 1.0:
        for row in X:
            row[rng.random(n_features) >= density] = 0.0
    scores = X[:, relevant].astype(np.float64) @ weights - shift
    return WideData(X.astype(dtype, copy=False), np.where(scores > 0, 1, -1), relevant, weights)
