"""Values for missing entries: learnt from training data, kept, and filled into all data.

Whatever holds X by columns can use it: a table that was read, an array, or the pieces of a store.
"""

from typing import Any

import numpy as np

WAYS = ("mean", "median")
TOGETHER = 1 << 22  # entries that are looked at together


def fill_values(X: np.ndarray, how: str) -> np.ndarray:
    """The mean or the median of each column of an array, without its NaN; NaN for a column that has nothing else."""
    find: Any = {"mean": np.nanmean, "median": np.nanmedian}[how]
    values = np.full(X.shape[1], np.nan)
    for columns in _together(X):
        part = np.asarray(X[:, columns])
        known = ~np.isnan(part).all(axis=0) if part.dtype.kind == "f" else np.ones(part.shape[1], dtype=bool)
        part = part[:, known]
        with np.errstate(over="ignore"):  # the caller looks for infinite values
            values[columns][known] = find(part, axis=0, **({"dtype": np.float64} if how == "mean" else {}))
    return values


def first_infinite(X: np.ndarray) -> tuple[int, int] | None:
    """(row, column) of an infinite value of a dense array, in the first column that has one; None if there is none."""
    if X.dtype.kind != "f":
        return None
    for columns in _together(X):
        infinite = np.isinf(X[:, columns])
        if infinite.any():
            column = int(np.argmax(infinite.any(axis=0)))
            return int(np.argmax(infinite[:, column])), columns.start + column
    return None


def filled(X: Any, values: np.ndarray) -> Any:
    """X, a dense array, with ``values`` of its columns for NaN; a copy if it has some, and cannot hold or take them."""
    if X.dtype.kind != "f":
        return X
    for columns in _together(X):
        missing = np.isnan(X[:, columns])
        if missing.any():
            exact = np.array_equal(values.astype(X.dtype), values)
            if not (exact and X.flags.writeable):
                X = np.array(X, dtype=X.dtype if exact else values.dtype, order="K")
            rows, places = np.nonzero(missing)
            X[rows, places + columns.start] = values[columns][places]
    return X


def _together(X: np.ndarray) -> list[slice]:
    """Slices of columns that are looked at together."""
    width = max(1, TOGETHER // max(1, X.shape[0]))
    return [slice(first, min(first + width, X.shape[1])) for first in range(0, X.shape[1], width)]
