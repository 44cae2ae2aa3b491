"""How wide similarities to training instances are: the median distance between them."""

from typing import Any

import numpy as np
from scipy import sparse

from thresher.features.instances.bags import Bags
from thresher.features.instances.design import Instances, on_scale
from thresher.features.instances.fitted import squared_distances

IN_CACHE = 1 << 16  # entries of pairs of rows that are compared at a time
MOST_PAIRS = 1 << 21  # whose distances the median is taken of
SPARSE_COST = 4  # how many times as long it takes to compare an entry of a sparse row
MOST_WORK = 1 << 28  # entries of the rows of all these pairs: a second or so


def median_distance(X: Any, instances: Instances, bags: Bags, weights: np.ndarray, factor: np.ndarray | None) -> float:
    """The weighted median distance of two different training instances; 1 if all are equal.

    Pairs of the same bag, if each bag has two different rows, else all pairs. ``weights`` are those of the rows; rows
    without weight do not count. Beyond MOST_PAIRS or MOST_WORK a sample is looked at, the same for the same data.
    """
    rows = np.flatnonzero(weights > 0)
    width = max(1, (SPARSE_COST * X.nnz if sparse.issparse(X) else X.size) // X.shape[0])
    most, step = min(MOST_PAIRS, MOST_WORK // width), max(1, IN_CACHE // width)
    inside = _pairs_in_bags(rows, instances.owner, bags, most)
    if inside is None:
        total = np.bincount(instances.owner[rows], weights[rows])
        chosen = _sample(instances.rows.size, max(2, int(np.sqrt(2 * most))))
        first, second = (chosen[side] for side in np.triu_indices(chosen.size, 1))
        if sparse.issparse(X):
            squares = _squares_of_pairs(X, (instances.rows[first], instances.rows[second]), factor, step)
        else:
            squares = _squares_of_all(on_scale(X[instances.rows[chosen]], factor))
        sizes = total[first] * total[second]
    else:
        squares, sizes = _squares_of_pairs(X, inside, factor, step), weights[inside[0]]
    return (float(np.sqrt(_weighted_median(squares, sizes))) or 1.0) if squares.size else 1.0


def _squares_of_all(rows: np.ndarray) -> np.ndarray:
    """Squared distances of all pairs of the rows, in the order of ``np.triu_indices``."""
    parts = [squared_distances(rows[k + 1 :], row[None])[:, 0] for k, row in enumerate(rows)]
    return np.concatenate(parts)


def _squares_of_pairs(X: Any, pairs: tuple[np.ndarray, np.ndarray], factor: np.ndarray | None, step: int) -> np.ndarray:
    """Squared distances of these pairs of rows, ``step`` of them at a time."""
    squares = np.empty(pairs[0].size)
    for lo in range(0, squares.size, step):
        one, other = (X[side[lo : lo + step]].astype(np.float64) for side in pairs)
        difference = on_scale(one - other, factor)
        if sparse.issparse(difference):
            squares[lo : lo + step] = np.asarray(difference.multiply(difference).sum(axis=1)).ravel()
        else:
            squares[lo : lo + step] = np.einsum("ij,ij->i", difference, difference)
    return squares


def _pairs_in_bags(
    rows: np.ndarray, owner: np.ndarray, bags: Bags, most_pairs: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """All pairs, or some of them, of different rows of the same bag; None if a bag has no such pair."""
    order = rows[np.argsort(bags.codes[rows], kind="stable")]
    members = np.split(order, np.flatnonzero(np.diff(bags.codes[order])) + 1)
    most = max(2, int(np.sqrt(2 * most_pairs / max(1, len(members)))))
    pairs = []
    for own in members:
        chosen = own[_sample(own.size, most)]
        first, second = (chosen[side] for side in np.triu_indices(chosen.size, 1))
        different = owner[first] != owner[second]
        if not different.any() and np.unique(owner[own]).size < 2:
            return None
        pairs.append((first[different], second[different]))
    return np.concatenate([one for one, _ in pairs]), np.concatenate([other for _, other in pairs])


def _sample(count: int, most: int) -> np.ndarray:
    """At most ``most`` of the numbers below ``count``, sorted, and always the same ones."""
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, most, replace=False))


def _weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    """The mean of the lower and the upper weighted median."""
    order = np.argsort(values, kind="stable")
    values, below = values[order], np.cumsum(weights[order])
    half = 0.5 * below[-1]
    lower = values[np.searchsorted(below, half * (1.0 - 1e-12))]
    upper = values[min(np.searchsorted(below, half * (1.0 + 1e-12), side="right"), values.size - 1)]
    return 0.5 * float(lower + upper)
