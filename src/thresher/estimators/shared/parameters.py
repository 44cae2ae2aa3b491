"""Validation of constructor parameters, labels and weights: clear errors before any work is done."""

import functools
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from thresher.data.input.scaling import SCALES
from thresher.errors import ContinuousLabelsWarning, InvalidDataError, brief, did_you_mean, warn
from thresher.features.samples import are_missing

MOST_ROWS_NAMED = 5  # in one message
Check = Callable[[str, Any], Any]  # of (name, value): the value as a fit uses it; ValueError if it is invalid

SMALLEST, LARGEST = 1e-60, 1e60
MANY_CLASSES, CONTINUOUS_SHARE = 20, 0.1  # more classes than both, as a share of the samples, look continuous


def ensure(valid: object, message: str) -> None:
    """Raise ValueError with ``message`` unless ``valid``."""
    if not valid:
        raise ValueError(message)


def is_integer(value: Any) -> bool:
    """Whether ``value`` is an integer, numpy's included, and not a boolean."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_real(value: Any) -> bool:
    """Whether ``value`` is a real number, and not a boolean."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def as_integer(name: str, value: Any, least: int = 1, most: float = np.inf) -> int:
    """``value`` as an int from ``least`` to ``most``."""
    if not is_integer(value) or value < least:
        raise ValueError(f"{name} must be an integer >= {least}, got {brief(value)}")
    if value > most:
        raise ValueError(f"{name} must be at most {most}, got {brief(value)}")
    return int(value)


def as_boolean(name: str, value: Any) -> bool:
    """``value`` as a bool."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {brief(value)}")
    return bool(value)


def as_positive(name: str, value: Any, *, zero: bool = False) -> float:
    """``value`` as a finite float above zero or, with ``zero``, not below it."""
    finite = is_real(value) and np.isfinite(value)
    if not finite or value < 0 or (value == 0 and not zero):
        raise ValueError(f"{name} must be a {'non-negative' if zero else 'positive'} number, got {brief(value)}")
    return float(value)


def as_non_negative(name: str, value: Any) -> float:
    """``value`` as a finite float that is not below zero."""
    return as_positive(name, value, zero=True)


def as_fraction(name: str, value: Any) -> float:
    """``value`` as a float between 0 and 1, both excluded."""
    if as_positive(name, value) >= 1.0:
        raise ValueError(f"{name} must be between 0 and 1 (exclusive), got {brief(value)}")
    return float(value)


def as_verbosity(name: str, value: Any) -> Any:
    """``value`` if it is a callable or an integer that is not negative; a bool counts as one."""
    if not callable(value) and not (isinstance(value, numbers.Integral) and int(value) >= 0):
        raise ValueError(f"{name} must be 0, 1, 2 or a callable, got {brief(value)}")
    return value


def count_or_ratio(name: str, value: Any, ratios: tuple[float, float], expected: str) -> float:
    """An integer of at least 1 as an int, or a float between ``ratios``; errors say what is ``expected``."""
    if is_integer(value) and value >= 1:
        return int(value)
    if is_real(value) and not is_integer(value) and ratios[0] <= value <= ratios[1]:
        return float(value)
    raise ValueError(f"{name} must be {expected}, got {brief(value)}")


def either(words: Mapping[str | None, Any], check: Check) -> Check:
    """The check of a parameter that may also be None or a word, which stands for a value of ``words``."""

    def checked(name: str, value: Any) -> Any:
        if (value is None or isinstance(value, str)) and value in words:
            return words[value]
        try:
            return check(name, value)
        except ValueError as error:
            if is_real(value):  # which is out of range: words would not help
                raise
            return refuse_also(error, name, words)

    return checked


def refuse_also(error: ValueError, name: str, words: Mapping[str | None, Any]) -> NoReturn:
    """Raise the error of a value that is no word either: what it must be, with the words that it does not name."""
    start, expected, rest = str(error).partition(f"{name} must be ")
    unnamed = [repr(word) for word in words if word is not None and repr(word) not in rest]
    if start or not expected or not unnamed:
        raise error
    raise type(error)(f"{expected}{', '.join(unnamed)} or {rest}") from None


def penalties(name: str, value: Any, dimensions: tuple[int, ...]) -> np.ndarray:
    """``value`` as a non-empty float64 array of positive numbers whose squares and inverses do not overflow."""
    try:
        strengths = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must contain numbers only: {error}") from error
    if strengths.ndim not in dimensions or strengths.size == 0 or isinstance(value, (bool, str)):
        shapes = {(0,): "a number", (1,): "a 1D array of numbers", (1, 2): "a 1D or 2D array of numbers"}
        raise ValueError(f"{name} must be {shapes[dimensions]}, got {brief(value)}")
    if not ((strengths >= SMALLEST) & (strengths <= LARGEST)).all():
        raise ValueError(f"{name} must be positive, between {SMALLEST:g} and {LARGEST:g}, got {brief(value)}")
    return strengths


def as_penalty(name: str, value: Any) -> float:
    """``value`` as a positive float whose square and inverse do not overflow."""
    return float(penalties(name, value, (0,)))


def one_of(name: str, value: Any, options: Sequence[str | None]) -> Any:
    """``value`` if it is one of ``options``, which an error lists."""
    if not any(value is option or (isinstance(value, str) and value == option) for option in options):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}; got {brief(value)}")
    return value


OPTIONAL_POSITIVE = either({None: None}, as_positive)
SCALE = functools.partial(one_of, options=SCALES)


def column_numbers(name: str, value: Any, n_features: int, places: Mapping[str, int] | None) -> np.ndarray:
    """Column numbers or names as unique int64 numbers in the order given; ``places`` has the number of each name."""
    if value is None:
        return np.zeros(0, dtype=np.int64)
    entries = [value] if isinstance(value, str) or np.ndim(value) == 0 else list(value)
    known = [(places or {}).get(entry, entry) if isinstance(entry, str) else entry for entry in entries]
    unknown = next((entry for entry in known if isinstance(entry, str)), None)
    if unknown is not None:
        if places is None:
            raise ValueError(f"{name} contains names, but X has no column names: pass column numbers")
        raise ValueError(f"{name}: X has no column named {unknown!r}{did_you_mean(unknown, places)}")
    columns = np.asarray(known, dtype=None if known else np.int64)
    if columns.ndim != 1 or columns.dtype.kind not in "iu":
        raise ValueError(f"{name} must be a list of column numbers or names, got {brief(value)}")
    if columns.size and not 0 <= columns.min() <= columns.max() < n_features:
        raise ValueError(f"{name} must contain column numbers from 0 to {n_features - 1}, got {brief(value)}")
    return np.array(list(dict.fromkeys(columns.tolist())), dtype=np.int64)


def check_labels(y: ArrayLike) -> None:
    """Raise InvalidDataError for labels that are missing, or not one for each sample, with what to do."""
    labels = np.asarray(y, dtype=object if isinstance(y, (list, tuple)) else None)
    if labels.ndim == 0:  # None, or a sparse matrix: scikit-learn's message is clear
        return
    if labels.dtype.names:
        names = labels.dtype.names
        raise InvalidDataError(
            f"y is a structured array with the fields {', '.join(map(repr, names))}, as scikit-survival has it; "
            "expected one class label for each sample. thresher fits classifiers, not times of events: pass one of the "
            f"fields, for example y[{names[0]!r}]"
        )
    if labels.ndim == 2 and labels.shape[1] > 1:
        raise InvalidDataError(
            f"y should be a 1d array, got an array of shape {labels.shape} instead: one class label for each sample. "
            "To predict several labels fit a classifier for each, sklearn.multioutput.MultiOutputClassifier(clf)"
        )
    missing = np.flatnonzero(are_missing(labels.ravel()))
    if missing.size:
        rows = ", ".join(map(str, missing[:MOST_ROWS_NAMED])) + (", ..." if missing.size > MOST_ROWS_NAMED else "")
        s = "" if missing.size == 1 else "s"
        raise InvalidDataError(
            f"Input y contains NaN. {missing.size:,} of {labels.size:,} labels are missing (NaN or None), in row{s} "
            f"{rows} (from 0): drop these samples, or give them a label"
        )


def classes_of(y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """(classes, number of the class of each sample)."""
    y = column_or_1d(y, warn=True)
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if classes.size < 2:
        only = brief(classes.tolist()[0])
        raise ValueError(f"y must contain at least two classes, but contains only one class: {only}")
    if classes.size > MANY_CLASSES and classes.size > CONTINUOUS_SHARE * codes.size:
        message = (
            f"y has {classes.size:,} classes in {codes.size:,} samples, so it looks continuous or like identifiers; "
            "thresher fits classifiers. Check that y is the right column, or bin it into a few classes"
        )
        warn(message, ContinuousLabelsWarning)
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
        raise ValueError(f"class_weight must be None, 'balanced' or a dict, got {brief(class_weight)}")
    unknown = [label for label in class_weight if label not in classes.tolist()]
    if unknown:
        known = brief(classes.tolist())
        raise ValueError(f"class_weight contains {brief(unknown[0])}, which is not one of the classes {known}")
    return np.array([as_positive("class_weight", class_weight.get(label, 1.0)) for label in classes.tolist()])


def one_or_more(name: str, given: Any, default: float, least: float, most: float) -> list[float]:
    """The values of a parameter that is a number or a list of numbers from ``least`` to ``most``."""
    if given is None:
        return [default]
    values = list(given) if isinstance(given, (list, tuple, np.ndarray)) else [given]
    if not values:
        raise ValueError(f"{name} is an empty list: pass a number or a list of numbers")
    values = [as_positive(name, value, zero=least == 0.0) for value in values]
    if min(values) < least or max(values) > most:
        raise ValueError(f"{name} must be between {least:g} and {most:g}, got {brief(given)}")
    return values


def codes_of(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The number of the class of each label; InvalidDataError names the first unknown label."""
    codes = np.minimum(np.searchsorted(classes, y), classes.size - 1)
    wrong = np.flatnonzero(classes[codes] != y)
    if wrong.size:
        raise InvalidDataError(
            f"y contains {brief(y.tolist()[wrong[0]])} (row {wrong[0]} of the batch), which is not one of the classes "
            f"{classes.tolist()}; pass all class labels as classes in the first call to partial_fit"
        )
    return codes


def with_weight(X: Any, codes: np.ndarray, weights: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
    """The rows whose weight is not zero."""
    kept = np.flatnonzero(weights)
    return (X, codes, weights) if kept.size == weights.size else (X[kept], codes[kept], weights[kept])
