"""Additive kernels and their maps, literally: column by column, written out."""

import itertools

import numpy as np


def values_of(kernel, x, z):
    """The kernel of two columns of values, (x.size, z.size)."""
    x, z = x[:, None], z[None]
    if kernel.word == "intersection":
        return np.minimum(x**kernel.power, z**kernel.power)
    if kernel.word == "additive_chi2":
        return np.divide(2.0 * x * z, x + z, out=np.zeros(np.broadcast_shapes(x.shape, z.shape)), where=x + z > 0.0)
    return np.exp(-kernel.gamma * (x - z) ** 2)


def written_out(kernel, X, factor, mean, largest):
    """phi(x) - phi(0) of every column of X, side by side; X is the training data."""
    columns = [one_column(kernel, *each) for each in zip(X.T, factor, mean, largest, strict=True)]
    return np.concatenate(columns, axis=1)


def one_column(kernel, x, factor, mean, largest):
    """The numbers of one column, (rows, D)."""
    if kernel.word == "intersection":
        return _steps(kernel, x * factor, largest * factor)
    if kernel.word == "additive_chi2":
        return _homogeneous(kernel, np.minimum(x, largest) * factor)
    return _waves(kernel, x, factor, mean) - _waves(kernel, np.zeros(1), factor, mean)


def _steps(kernel, x, largest):
    if x.size <= kernel.levels:
        edges = np.sort(np.minimum(x, largest)) ** kernel.power
        edges = np.concatenate([[0.0], edges])
    else:
        edges = largest**kernel.power * np.arange(kernel.levels + 1) / kernel.levels
    u = x**kernel.power
    return np.stack([np.sqrt(b - a) * (u > a * (1 + 1e-14)) for a, b in itertools.pairwise(edges)], axis=1)


def _homogeneous(kernel, x):
    step = {2: 0.51, 3: 0.445, 4: 0.4075, 5: 0.3775, 6: 0.3525, 7: 0.3325}[kernel.order]
    numbers = [np.sqrt(step * x)]
    for k in range(1, kernel.order + 1):
        root = np.sqrt(2.0 * x * step / np.cosh(np.pi * k * step))
        phase = k * step * np.log(np.where(x > 0.0, x, 1.0))
        numbers += [root * np.cos(phase), root * np.sin(phase)]
    return np.stack(numbers, axis=1)


def _waves(kernel, x, factor, mean):
    sigma, period = 1.0 / np.sqrt(2.0 * kernel.gamma), 1.8 * kernel.frequencies
    reach = (period - 3.5) / 2.0
    s, numbers = np.clip((x - mean) * factor / sigma, -reach, reach), []
    for k in range(1, kernel.frequencies + 1):
        w = 2.0 * np.pi * k / period
        root = np.sqrt(2.0 * np.sqrt(2.0 * np.pi) / period * np.exp(-(w**2) / 2.0))
        numbers += [root * np.cos(w * s), root * np.sin(w * s)]
    return np.stack(numbers, axis=1)
