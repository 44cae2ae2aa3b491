"""Bags by plain loops over instances, for comparison: nothing here is shared with the library."""

import math

import numpy as np


def similarity(instance, other, sigma):
    """exp(-||x - c||^2 / (2 sigma^2)), entry by entry."""
    total = 0.0
    for a, b in zip(instance, other, strict=True):
        total += (float(a) - float(b)) ** 2
    return math.exp(-total / (2.0 * sigma**2))


def embedding(X, bags, instances, sigma):
    """s(x_k, B_i) = max_j exp(-||x_ij - x_k||^2 / (2 sigma^2)), (bags, instances), bags in the order of np.unique."""
    names = np.unique(bags)
    out = np.zeros((names.size, len(instances)))
    for i, name in enumerate(names):
        for k, instance in enumerate(instances):
            out[i, k] = max(similarity(X[row], instance, sigma) for row in np.flatnonzero(bags == name))
    return out


def attained(X, bags, instances, sigma):
    """The row of each bag that attains each similarity, of equals the first, (bags, instances)."""
    names = np.unique(bags)
    out = np.zeros((names.size, len(instances)), dtype=int)
    for i, name in enumerate(names):
        for k, instance in enumerate(instances):
            rows = np.flatnonzero(bags == name)
            out[i, k] = rows[np.argmax([similarity(X[row], instance, sigma) for row in rows])]
    return out


def contributions(X, bags, instances, sigma, weights):
    """What each row adds to the decision of its bag, (rows, classes)."""
    S, rows = embedding(X, bags, instances, sigma), attained(X, bags, instances, sigma)
    out = np.zeros((len(X), weights.shape[1]))
    for i in range(S.shape[0]):
        for k in range(S.shape[1]):
            out[rows[i, k]] += weights[k] * S[i, k]
    return out


def candidates(X, weights):
    """Rows of a positive weight that are not equal to one before them."""
    found, seen = [], set()
    for row, content in enumerate(map(tuple, np.asarray(X, dtype=float).tolist())):
        if weights[row] > 0 and content not in seen:
            seen.add(content)
            found.append(row)
    return np.array(found)


def on_scale(X, weights, scale):
    """X scaled as "std" does, centred, with weights; or as it is."""
    if scale is None:
        return X
    mean = weights @ X / weights.sum()
    spread = np.sqrt(weights @ (X - mean) ** 2 / weights.sum())
    return (X - mean) / np.where(spread > 0, spread, np.inf)
