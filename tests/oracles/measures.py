"""Measures by their definitions, and most violated labellings and rankings by trying all of them."""

import itertools

import numpy as np


def table(y, labels):
    """(true positives, false positives, misses, true negatives)."""
    return tuple(int(((y == a) & (labels == b)).sum()) for a, b in ((1, 1), (-1, 1), (1, -1), (-1, -1)))


def loss_of_table(name, y, labels, beta=None, k=None):
    """Delta, written out."""
    true, false, missed, _ = table(y, labels)
    if name == "error":
        return (false + missed) / y.size
    if name in ("f1", "fbeta"):
        square = 1.0 if name == "f1" else beta**2
        precision, recall = true / max(1, true + false), true / (true + missed)
        return 1.0 if true == 0 else 1.0 - (1 + square) * precision * recall / (square * precision + recall)
    return 1.0 - true / (k if name == "precision_at_k" else true + missed)


def labellings(n, k=None):
    """All labellings of n rows; only those with k positives where k is given."""
    for labels in itertools.product((-1.0, 1.0), repeat=n):
        if k is None or sum(each > 0 for each in labels) == k:
            yield np.array(labels)


def count_of(name, k, y):
    """How many rows are labelled positive; None where that is free."""
    positives = int((y > 0).sum())
    if name == "prbep":
        return positives
    if k is None or isinstance(k, int):
        return k
    return min(max(1, int(k * positives)), y.size)


def direction(y, labels, k=None):
    """(y - y') / (2n), less its mean where the number of positive labels is fixed and is not that of positives."""
    v = (y - labels) / (2 * y.size)
    return v - v.mean() if k is not None and k != (y > 0).sum() else v


def largest_violation(name, y, scores, beta=None, k=None):
    """Max over labellings of loss - v.s."""
    k = count_of(name, k, y)
    return max(
        loss_of_table(name, y, labels, beta, k) - direction(y, labels, k) @ scores for labels in labellings(y.size, k)
    )


def rankings(n):
    """All ranks of n rows, (n!, n)."""
    return np.array(list(itertools.permutations(range(1, n + 1))))


def pairs(y):
    """All pairs of a positive and a negative row."""
    return [(i, j) for i in np.flatnonzero(y > 0) for j in np.flatnonzero(y < 0)]


def loss_of_ranks(name, y, ranks):
    """The share of pairs in wrong order, or 1 - average precision; of one ranking, or of each row of many."""
    if name == "auc":
        return np.mean([ranks[..., i] > ranks[..., j] for i, j in pairs(y)], axis=0)
    precisions = []
    for i in np.flatnonzero(y > 0):
        reached = ranks <= ranks[..., i : i + 1]
        precisions.append((reached & (y > 0)).sum(axis=-1) / reached.sum(axis=-1))
    return 1.0 - np.mean(precisions, axis=0)


def psi(y, ranks, scores):
    """(1 / (2PN)) sum of y_ij (s_i - s_j), y_ij = 1 where i is above j and -1 otherwise."""
    signs = (np.where(ranks[..., i] < ranks[..., j], 1.0, -1.0) * (scores[i] - scores[j]) for i, j in pairs(y))
    return sum(signs) / (2 * len(pairs(y)))


def largest_violation_of_ranks(name, y, scores, ranks):
    """Max over ``ranks``, all there are, of loss - (Psi(y) - Psi(y')); Psi(y) is that of a perfect ranking."""
    perfect = np.argsort(np.argsort(-y, kind="stable")) + 1
    return float((loss_of_ranks(name, y, ranks) + psi(y, ranks, scores) - psi(y, perfect, scores)).max())


def pairwise_hinge(y, scores, weights):
    """The weighted mean over pairs of max(0, 1 - (s_i - s_j))."""
    total = sum(weights[i] * weights[j] for i, j in pairs(y))
    return sum(weights[i] * weights[j] * max(0.0, 1.0 - (scores[i] - scores[j])) for i, j in pairs(y)) / total


def largest_violation_by_counts(name, y, scores, beta=None, k=None):
    """As ``largest_violation``, over all numbers of true and false positives: the best rows of each class have them."""
    k, n = count_of(name, k, y), y.size
    best = [np.flatnonzero(y == sign)[np.argsort(-scores[y == sign], kind="stable")] for sign in (1, -1)]
    values = []
    for true, false in itertools.product(range(best[0].size + 1), range(best[1].size + 1)):
        if k is None or true + false == k:
            labels = -np.ones(n)
            labels[best[0][:true]] = labels[best[1][:false]] = 1.0
            values.append(loss_of_table(name, y, labels, beta, k) - direction(y, labels, k) @ scores)
    return max(values)


def largest_violation_by_merging(y, scores):
    """As ``largest_violation_of_ranks`` for the average precision, over all ways to merge the two sorted classes."""
    positives, negatives = (np.sort(scores[y == sign])[::-1] for sign in (1, -1))
    n_pairs = positives.size * negatives.size
    best = np.zeros(negatives.size + 1)  # by the number of negatives above the last positive placed
    for m, score in enumerate(positives, start=1):
        for c in range(negatives.size + 1):
            best[c] += (1.0 - m / (m + c)) / positives.size - sum(score - each for each in negatives[:c]) / n_pairs
        best = np.maximum.accumulate(best)  # the next positive has no fewer above it
    return float(best[-1])
