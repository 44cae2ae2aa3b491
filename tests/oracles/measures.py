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
    """All ranks of n rows."""
    for ranks in itertools.permutations(range(1, n + 1)):
        yield np.array(ranks)


def pairs(y):
    """All pairs of a positive and a negative row."""
    return [(i, j) for i in np.flatnonzero(y > 0) for j in np.flatnonzero(y < 0)]


def loss_of_ranks(name, y, ranks):
    """The share of pairs in wrong order, or 1 - average precision."""
    if name == "auc":
        return float(np.mean([ranks[i] > ranks[j] for i, j in pairs(y)]))
    precisions = [np.mean(y[ranks <= ranks[i]] > 0) for i in np.flatnonzero(y > 0)]
    return 1.0 - float(np.mean(precisions))


def psi(y, ranks, scores):
    """(1 / (2PN)) sum of y_ij (s_i - s_j), y_ij = 1 where i is above j and -1 otherwise."""
    return sum((1 if ranks[i] < ranks[j] else -1) * (scores[i] - scores[j]) for i, j in pairs(y)) / (2 * len(pairs(y)))


def largest_violation_of_ranks(name, y, scores):
    """Max over rankings of loss - (Psi(y) - Psi(y')); Psi(y) is that of a perfect ranking."""
    perfect = np.argsort(np.argsort(-y, kind="stable")) + 1
    return max(
        loss_of_ranks(name, y, ranks) + psi(y, ranks, scores) - psi(y, perfect, scores) for ranks in rankings(y.size)
    )


def pairwise_hinge(y, scores, weights):
    """The weighted mean over pairs of max(0, 1 - (s_i - s_j))."""
    total = sum(weights[i] * weights[j] for i, j in pairs(y))
    return sum(weights[i] * weights[j] * max(0.0, 1.0 - (scores[i] - scores[j])) for i, j in pairs(y)) / total
