"""Checks of a StreamClassifier's parameters, and the settings that they ask for."""

import itertools
import math
import numbers

import numpy as np

from thresher.estimators import parameters as check
from thresher.families.online import METHODS, PLACES

MOST_BITS = 30
MOST_FEATURES = 2**30  # of a budget
RANGES = {"step_size": (1e-60, 1e10), "l2": (0.0, 1e10), "l1": (0.0, 1e10), "gamma": (1e-20, 1e60)}
MOST_SETTINGS = 1000


def learner_options(clf):
    """What the learners of a StreamClassifier are made of; ValueError for parameters that cannot be."""
    name = check.one_of("method", clf.method, tuple(METHODS))
    method = METHODS[name]
    if clf.budget is None and not method.endless:
        raise ValueError(f"budget must be a whole number with method={name!r}, got None")
    budget = None if clf.budget is None else check.whole("budget", clf.budget)
    if budget is not None and budget > MOST_FEATURES:
        raise ValueError(f"budget must be at most {MOST_FEATURES}")
    if clf.hash_bits is not None and check.whole("hash_bits", clf.hash_bits) > MOST_BITS:
        raise ValueError(f"hash_bits must be at most {MOST_BITS}, got {clf.hash_bits!r}")
    for each in ("fit_intercept", "open_ended"):
        if not isinstance(getattr(clf, each), (bool, np.bool_, numbers.Integral)):
            raise ValueError(f"{each} must be True or False, got {getattr(clf, each)!r}")
    if clf.class_weight not in (None, "balanced") and not isinstance(clf.class_weight, dict):
        raise ValueError(f"class_weight must be None, 'balanced' or a dict, got {clf.class_weight!r}")
    if not callable(clf.verbose) and not isinstance(clf.verbose, numbers.Integral):
        raise ValueError(f"verbose must be 0, 1, 2 or a function, got {clf.verbose!r}")
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
    for each in PLACES:
        given = getattr(clf, each)
        if each in method.parameters:
            default = method.parameters[each]
            values.append([(each, value) for value in check.several(each, given, default, *RANGES[each])])
        elif given is not None:
            takers = [key for key, other in METHODS.items() if each in other.parameters]
            raise ValueError(f"{each} is not used by method={name!r}, only by {', '.join(takers)}; leave it out")
    count = math.prod(map(len, values))
    if count > MOST_SETTINGS:
        raise ValueError(f"at most {MOST_SETTINGS} settings can learn side by side, got {count}")
    settings = [dict(each) for each in itertools.product(*values)]
    large = [each for each in settings if name == "ofs" and each["step_size"] * each["l2"] >= 1.0]
    if large:
        raise ValueError(f"step_size times l2 must be below 1 for method='ofs', got {large[0]}")
    return settings


def number_of_passes(n_passes, n_rows, n_columns):
    """``n_passes`` as a number; "paper" is ceil(2 columns / rows)."""
    if isinstance(n_passes, str):
        check.one_of("n_passes", n_passes, ("paper",))
        return math.ceil(2 * n_columns / n_rows)
    return check.whole("n_passes", n_passes)
