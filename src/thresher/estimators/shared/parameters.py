"""Validation of constructor parameters, labels and weights: clear errors before any work is done."""

import numbers
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from thresher.errors import ContinuousLabelsWarning, InvalidDataError, did_you_mean

SMALLEST, LARGEST = 1e-60, 1e60
MANY_CLASSES, CONTINUOUS_SHARE = 20, 0.1  # more classes than both, as a share of the samples, look continuous
# the documentation of this parameter in every estimator; a test compares
N_JOBS = """
    n_jobs : int, default=None
        Number of threads. None: as many as are worthwhile, at most all cores available to the process; -1: all of
        these, -2: all but one. The result does not depend on it.
"""


def is_integer(value: Any) -> bool:
    """Whether ``value`` is an integer, numpy's included, and not a boolean."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_real(value: Any) -> bool:
    """Whether ``value`` is a real number, and not a boolean."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def integer(name: str, value: Any, least: int = 1) -> int:
    """``value`` as an int, or an error that names the parameter."""
    if not is_integer(value) or value < least:
        raise ValueError(f"{name} must be an integer >= {least}, got {value!r}")
    return int(value)


def boolean(name: str, value: Any) -> bool:
    """``value`` as a bool, or an error that names the parameter."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def unless_auto(name: str, value: Any, checked: Callable[[str, Any], Any]) -> Any:
    """None for "auto", else ``checked(name, value)``."""
    return None if isinstance(value, str) and value == "auto" else checked(name, value)


def positive(name: str, value: Any, *, zero: bool = False) -> float:
    """``value`` as a float above zero (or zero), or an error that names the parameter."""
    finite = is_real(value) and np.isfinite(value)
    if not finite or value < 0 or (value == 0 and not zero):
        raise ValueError(f"{name} must be a {'non-negative' if zero else 'positive'} number, got {value!r}")
    return float(value)


def fraction(name: str, value: Any) -> float:
    """``value`` as a float between 0 and 1, both excluded."""
    if not 0.0 < positive(name, value) < 1.0:
        raise ValueError(f"{name} must be between 0 and 1 (exclusive), got {value!r}")
    return float(value)


def penalties(name: str, value: Any, dimensions: tuple[int, ...]) -> np.ndarray:
    """``value`` as a non-empty float64 array of positive numbers whose squares and inverses do not overflow."""
    try:
        strengths = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must contain numbers only: {error}") from error
    if strengths.ndim not in dimensions or strengths.size == 0 or isinstance(value, (bool, str)):
        shapes = {(0,): "a number", (1,): "a 1D array of numbers", (1, 2): "a 1D or 2D array of numbers"}
        raise ValueError(f"{name} must be {shapes[dimensions]}, got {value!r}")
    if not ((strengths >= SMALLEST) & (strengths <= LARGEST)).all():
        raise ValueError(f"{name} must be positive, between {SMALLEST:g} and {LARGEST:g}, got {value!r}")
    return strengths


def one_of(name: str, value: Any, options: Sequence[str | None]) -> Any:
    """``value`` if it is one of ``options``, or an error that lists them."""
    if not any(value is option or (isinstance(value, str) and value == option) for option in options):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}; got {value!r}")
    return value


def column_numbers(name: str, value: Any, n_features: int, names: np.ndarray | None) -> np.ndarray:
    """Column numbers or, for a data frame, names, as unique int64 numbers in the order given."""
    if value is None:
        return np.zeros(0, dtype=np.int64)
    given = np.atleast_1d(np.asarray(value))
    if given.size == 0:
        return np.zeros(0, dtype=np.int64)
    if given.dtype.kind in "UO" and all(isinstance(entry, str) for entry in given.tolist()):
        if names is None:
            raise ValueError(f"{name} contains names, but X has no column names: pass column numbers")
        place = {entry: j for j, entry in enumerate(names.tolist())}
        missing = [entry for entry in given.tolist() if entry not in place]
        if missing:
            raise ValueError(f"{name}: X has no column named {missing[0]!r}{did_you_mean(missing[0], place)}")
        given = np.array([place[entry] for entry in given.tolist()])
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise ValueError(f"{name} must be a list of column numbers or names, got {value!r}")
    if given.min() < 0 or given.max() >= n_features:
        raise ValueError(f"{name} must contain column numbers from 0 to {n_features - 1}, got {value!r}")
    return np.asarray(list(dict.fromkeys(given.tolist())), dtype=np.int64)


def classes_of(y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """(classes, number of the class of each sample)."""
    y = column_or_1d(y, warn=True)
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if classes.size < 2:
        raise ValueError(f"y must contain at least two classes, but contains only one class: {classes.tolist()[0]!r}")
    if classes.size > MANY_CLASSES and classes.size > CONTINUOUS_SHARE * codes.size:
        message = (
            f"y has {classes.size:,} classes in {codes.size:,} samples, so it looks continuous or like identifiers; "
            "thresher fits classifiers. Check that y is the right column, or bin it into a few classes"
        )
        warnings.warn(message, ContinuousLabelsWarning, stacklevel=3)
    return classes, codes


def sample_weights(sample_weight: ArrayLike | None, n_samples: int) -> np.ndarray:
    """One finite, non-negative float64 for each sample; a scalar applies to all samples, None means 1."""
    if sample_weight is None:
        return np.ones(n_samples)
    try:
        weights = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(f"sample_weight must contain numbers only: {error}") from error
    if weights.ndim == 0:
        weights = np.full(n_samples, weights)
    if weights.shape != (n_samples,):
        raise InvalidDataError(f"sample_weight has shape {weights.shape}, but there are {n_samples} samples")
    for wrong, what in ((~np.isfinite(weights), "NaN or infinite values"), (weights < 0, "Negative values")):
        if wrong.any():
            raise InvalidDataError(f"{what} in sample_weight, first at position {np.flatnonzero(wrong)[0]}")
    return weights


def row_weights(
    sample_weight: ArrayLike | None, class_weight: dict | str | None, codes: np.ndarray, classes: np.ndarray
) -> np.ndarray:
    """Sample weights times class weights. Every class must have a positive total."""
    weights = sample_weights(sample_weight, codes.size)
    totals = np.bincount(codes, weights, minlength=classes.size)
    if np.any(totals <= 0):
        empty = classes.tolist()[int(np.argmin(totals))]
        raise InvalidDataError(f"all sample weights of class {empty!r} are zero: every class needs a positive weight")
    if class_weight is None:
        return weights
    if isinstance(class_weight, str):
        one_of("class_weight", class_weight, (None, "balanced"))
        factors = totals.sum() / (classes.size * totals)
    else:
        factors = class_weights(class_weight, classes)
    return weights * factors[codes]


def class_weights(class_weight: Any, classes: np.ndarray) -> np.ndarray:
    """The weight of each class in a dict; 1 for classes that are not in it."""
    if not isinstance(class_weight, dict):
        raise ValueError(f"class_weight must be None, 'balanced' or a dict, got {class_weight!r}")
    unknown = [label for label in class_weight if label not in classes.tolist()]
    if unknown:
        raise ValueError(f"class_weight contains {unknown[0]!r}, which is not one of the classes {classes.tolist()}")
    return np.array([positive("class_weight", class_weight.get(label, 1.0)) for label in classes.tolist()])


def one_or_more(name: str, given: Any, default: float, least: float, most: float) -> list[float]:
    """The values of a parameter that is a number or a list of numbers from ``least`` to ``most``."""
    if given is None:
        return [default]
    values = list(given) if isinstance(given, (list, tuple, np.ndarray)) else [given]
    if not values:
        raise ValueError(f"{name} is an empty list: pass a number or a list of numbers")
    values = [positive(name, value, zero=least == 0.0) for value in values]
    if min(values) < least or max(values) > most:
        raise ValueError(f"{name} must be between {least:g} and {most:g}, got {given!r}")
    return values


def codes_of(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The number of the class of each label; InvalidDataError names the first unknown label."""
    codes = np.searchsorted(classes, y)
    codes[codes == classes.size] = 0
    wrong = np.flatnonzero(classes[codes] != y)
    if wrong.size:
        row = int(wrong[0])
        raise InvalidDataError(
            f"y contains {y.tolist()[row]!r} (row {row} of the batch), which is not one of the classes "
            f"{classes.tolist()}; pass all class labels as classes in the first call to partial_fit"
        )
    return codes


def with_weight(X: Any, codes: np.ndarray, weights: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
    """The rows whose weight is not zero."""
    kept = np.flatnonzero(weights)
    return (X, codes, weights) if kept.size == weights.size else (X[kept], codes[kept], weights[kept])
