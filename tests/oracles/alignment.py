"""Alignments of kernels of one column, literally: n x n matrices, centred, then divided by their trace."""

import numpy as np


def kernel_matrix(name, x, z, gamma=1.0, degree=3, coef0=1.0):
    """The kernel of two columns of values, (x.size, z.size)."""
    difference = x[:, None] - z[None]
    if name == "rbf":
        return np.exp(-gamma * difference**2)
    if name == "laplace":
        return np.exp(-gamma * np.abs(difference))
    if name == "linear":
        return np.outer(x, z)
    return (gamma * np.outer(x, z) + coef0) ** degree


def gamma_of(name, x, w):
    """gamma="scale": by the weighted variance of the column."""
    variance = np.average((x - np.average(x, weights=w)) ** 2, weights=w)
    if variance == 0.0:
        return 1.0
    return {"rbf": 0.5 / variance, "laplace": variance**-0.5, "polynomial": 1.0 / variance, "linear": 1.0}[name]


def centred(K, w):
    """HKH' with H = I - 1w'/sum(w)."""
    H = np.eye(len(w)) - np.outer(np.ones(len(w)), w) / w.sum()
    return H @ K @ H.T


def base_kernel(name, x, w, gamma=None, **options):
    """The centred kernel of a column, of unit trace (zero if the column is constant), and its trace before."""
    if np.unique(x[w > 0]).size < 2:
        return np.zeros((x.size, x.size)), 0.0
    K = centred(kernel_matrix(name, x, x, gamma_of(name, x, w) if gamma is None else gamma, **options), w)
    return K / (w @ np.diag(K)), w @ np.diag(K)


def alignment(name, x, y, w, gamma=None, **options):
    """(wy)'K(wy) of a column."""
    return (w * y) @ base_kernel(name, x, w, gamma, **options)[0] @ (w * y)
