"""Products of columns as features: their numbers, and what they are made of.

With the constant as input 0 and column i as input i + 1, the product of inputs a <= b has number b (b + 1) / 2 + a,
however many columns there are. So linear terms have a = 0, and number 0, the constant, is no feature.
"""

import numpy as np

from thresher.data.scan.reducers import distinct

MOST_INPUTS = 4_294_967_000  # columns: more would have products whose numbers exceed 64 bits


def n_numbers(n_columns: int) -> int:
    """How many numbers the constant, linear terms, squares and products of so many columns have.

    Parameters
    ----------
    n_columns : int
        Number of columns.

    Returns
    -------
    int
        (n_columns + 1) (n_columns + 2) / 2.

    Raises
    ------
    ValueError
        If 64-bit integers cannot number them.
    """
    if n_columns > MOST_INPUTS:
        raise ValueError(
            f"X has {n_columns:,} columns, whose products cannot be numbered by 64-bit integers: products are possible "
            f"for at most {MOST_INPUTS:,} columns"
        )
    return (n_columns + 1) * (n_columns + 2) // 2


def numbers_of(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Numbers of products of columns.

    Parameters
    ----------
    first, second : ndarray of int64
        The two columns of each, in either order; -1 in one of them: a linear term.

    Returns
    -------
    ndarray of int64
        Numbers of the products.
    """
    a = np.minimum(first, second).astype(np.int64) + 1
    b = np.maximum(first, second).astype(np.int64) + 1
    return _before(b) + a


def pairs_of(numbers: np.ndarray) -> np.ndarray:
    """The columns of products, by their numbers.

    Parameters
    ----------
    numbers : ndarray of int64
        Numbers of products.

    Returns
    -------
    ndarray of int64 of shape (n_numbers, 2)
        The columns i <= j of each product, or (i, -1) of a linear term.
    """
    numbers = np.asarray(numbers, dtype=np.int64)
    b = np.floor((np.sqrt(8.0 * numbers.astype(np.float64) + 1.0) - 1.0) / 2.0).astype(np.int64)
    for _ in range(2):  # the root is rounded
        b = np.where(_before(b) > numbers, b - 1, b)
        b = np.where(_before(b + 1) <= numbers, b + 1, b)
    a = numbers - _before(b)
    return np.stack([np.where(a == 0, b, a) - 1, np.where(a == 0, 0, b) - 1], axis=-1)


def inputs_of(numbers: np.ndarray) -> np.ndarray:
    """The columns that products are made of, sorted.

    Parameters
    ----------
    numbers : ndarray of int64
        Numbers of products.

    Returns
    -------
    ndarray of int64
        Each column once.
    """
    pairs = pairs_of(numbers)
    return distinct(pairs[pairs >= 0])


def _before(b: np.ndarray) -> np.ndarray:
    """How many numbers are below those of input b: b (b + 1) / 2, where b (b + 1) may exceed 64 bits."""
    return np.where(b % 2 == 0, b // 2 * (b + 1), (b + 1) // 2 * b)
