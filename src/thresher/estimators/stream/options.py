"""Validation of a StreamClassifier's parameters, and the settings that they define."""

import itertools
import math
import numbers
from typing import Any

import numpy as np

from thresher.errors import InvalidDataError
from thresher.estimators.shared import parameters as check
from thresher.families.online.learner import METHODS, PLACES

MOST_BITS = 30
LARGEST_BUDGET = 2**30
RANGES = {"step_size": (1e-60, 1e10), "l2": (0.0, 1e10), "l1": (0.0, 1e10), "gamma": (1e-20, 1e60)}
MOST_SETTINGS = 1000
LIGHTEST, HEAVIEST = 1e-60, 1e20  # weights of an example that are supported


def learner_options(clf):
    """The options of the learners of a StreamClassifier; ValueError for invalid parameters."""
    name = check.one_of("method", clf.method, tuple(METHODS))
    method = METHODS[name]
    if clf.budget is None and not method.endless:
        raise ValueError(f"budget must be an integer with method={name!r}, got None")
    budget = None if clf.budget is None else check.integer("budget", clf.budget)
    if budget is not None and budget > LARGEST_BUDGET:
        raise ValueError(f"budget must be at most {LARGEST_BUDGET}, got {budget}")
    if clf.hash_bits is not None and check.integer("hash_bits", clf.hash_bits) > MOST_BITS:
        raise ValueError(f"hash_bits must be at most {MOST_BITS}, got {clf.hash_bits!r}")
    for flag in ("fit_intercept", "open_ended"):
        if not isinstance(getattr(clf, flag), (bool, np.bool_, numbers.Integral)):
            raise ValueError(f"{flag} must be True or False, got {getattr(clf, flag)!r}")
    if clf.class_weight not in (None, "balanced") and not isinstance(clf.class_weight, dict):
        raise ValueError(f"class_weight must be None, 'balanced' or a dict, got {clf.class_weight!r}")
    if not callable(clf.verbose) and not isinstance(clf.verbose, numbers.Integral):
        raise ValueError(f"verbose must be 0, 1, 2 or a callable, got {clf.verbose!r}")
    number_of_passes(clf.n_passes, 1, 1)
    return {
        "method": name,
        "settings": _settings(clf, name, method),
        "budget": budget,
        "delta": check.positive("delta", clf.delta),
        "loss": method.loss if clf.loss is None else check.one_of("loss", clf.loss, method.losses),
        "intercept": bool(clf.fit_intercept),
        "hash_bits": clf.hash_bits,
        "open_ended": bool(clf.open_ended),
    }


def _settings(clf, name, method):
    """Every combination of the values given for the parameters of the method."""
    values = []
    for parameter in PLACES:
        given = getattr(clf, parameter)
        if parameter in method.parameters:
            checked = check.one_or_more(parameter, given, method.parameters[parameter], *RANGES[parameter])
            values.append([(parameter, value) for value in checked])
        elif given is not None:
            users = [key for key, other in METHODS.items() if parameter in other.parameters]
            raise ValueError(f"{parameter} is not used by method={name!r}, only by {', '.join(users)}; set it to None")
    count = math.prod(map(len, values))
    if count > MOST_SETTINGS:
        raise ValueError(f"at most {MOST_SETTINGS} settings can be trained together, got {count}")
    settings = [dict(combination) for combination in itertools.product(*values)]
    large = [setting for setting in settings if name == "ofs" and setting["step_size"] * setting["l2"] >= 1.0]
    if large:
        raise ValueError(f"step_size times l2 must be less than 1 for method='ofs', got {large[0]}")
    return settings


def number_of_passes(n_passes, n_rows, n_columns):
    """``n_passes`` as an integer; "paper" is ceil(2 columns / rows)."""
    if isinstance(n_passes, str):
        check.one_of("n_passes", n_passes, ("paper",))
        return math.ceil(2 * n_columns / n_rows)
    return check.integer("n_passes", n_passes)


def class_factors(class_weight: Any, weights: np.ndarray, classes: np.ndarray) -> np.ndarray | str | None:
    """Class weights: a number for each, "balanced", or None. Weights of examples must be in range."""
    factors = class_weight
    if factors is None or isinstance(factors, str):
        check.one_of("class_weight", factors, (None, "balanced"))
    else:
        factors = check.class_weights(factors, classes)
    numeric = isinstance(factors, np.ndarray)
    largest = float(weights.max(initial=0.0)) * (float(factors.max()) if numeric else 1.0)
    positive = weights[weights > 0.0]
    least = float(positive.min(initial=np.inf)) * (float(factors.min()) if numeric else 1.0)
    for weight in (largest, least):
        if 0.0 < weight < LIGHTEST or HEAVIEST < weight < np.inf:
            raise InvalidDataError(
                f"an example has weight {weight:.3g}; it must be between {LIGHTEST:g} and {HEAVIEST:g}"
            )
    return factors
