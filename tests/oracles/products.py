"""Linear terms, squares and products of columns, literally: term by term, written out in the order of their numbers."""

import math

import numpy as np


def numbered(p):
    """(i, j) of each number: (-1, -1) the constant, (i, -1) a linear term, i <= j a square or a product."""
    return [(b - 1, -1) if a == 0 else (a - 1, b - 1) for b in range(p + 1) for a in range(b + 1)]


def factor(polynomial, i, j):
    """What the kernel (gamma x'z + coef0)^2 multiplies a term by."""
    if j < 0:
        return math.sqrt(2.0 * polynomial.gamma * polynomial.coef0)
    return polynomial.gamma * (1.0 if i == j else math.sqrt(2.0))


def existing(polynomial, X, exclude=()):
    """Whether each term of the columns of X is a feature: squares repeat linear terms where there are two values."""
    values = [0 if j in exclude else np.unique(column).size for j, column in enumerate(X.T)]
    there = []
    for i, j in numbered(X.shape[1]):
        if j < 0:
            there.append(i >= 0 and values[i] > 0 and polynomial.coef0 > 0.0)
        elif i == j:
            there.append(values[i] > 2 and not polynomial.interaction_only)
        else:
            there.append(values[i] > 1 and values[j] > 1)
    return np.array(there)


def written_out(polynomial, Z, X=None, exclude=()):
    """All terms of the scaled columns Z, times their factors; those that are no features are zero.

    ``X`` are the columns by which that is decided: those of Z in the rows that have weight.
    """
    there = existing(polynomial, Z if X is None else X, exclude)
    M = np.zeros((len(Z), there.size))
    for number, (i, j) in enumerate(numbered(Z.shape[1])):
        if there[number]:
            M[:, number] = Z[:, i] * (Z[:, j] if j >= 0 else 1.0) * factor(polynomial, i, j)
    return M


def best(scores, size, exclude=(), *, summed=False):
    """[(ids, squares)] of the largest squares of scores (features, k), best first, ties by id, for each column or all.

    Zeros are never among them.
    """
    squares = np.square(scores.T)
    if summed:
        total = np.zeros(squares.shape[1])
        for row in squares:
            total = total + row
        squares = total[None]
    lists = []
    for row in squares:
        row[list(exclude)] = 0.0
        ids = np.lexsort((np.arange(row.size), -row))[: min(size, np.count_nonzero(row))]
        lists.append((ids, row[ids]))
    return lists
