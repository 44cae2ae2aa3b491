"""Small problems shared by the tests."""

import numpy as np


def problem(n=40, p=25, seed=0, *, noise=1.0, weighted=False, C=2.0):
    """(X, y, cost): a noisy linear problem with a shift."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = np.where(X[:, : max(1, p // 5)].sum(axis=1) + noise * rng.standard_normal(n) > 0.5, 1.0, -1.0)
    y[:2] = [1.0, -1.0]
    weights = rng.integers(0, 4, n).astype(float) if weighted else np.ones(n)
    weights[:2] = 1.0
    return X, y, C * weights
