"""Parameters of a StreamClassifier, checked; the settings that they define; attributes that model files have."""

import functools
import itertools
import math
import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

from thresher.errors import InvalidDataError
from thresher.estimators.shared import INTEGER, REAL, Attribute, check
from thresher.families.online.learner import METHODS, PLACES, LearnerOptions, Method
from thresher.results import Milestone
from thresher.results.trace import get_milestones
from thresher.state import ArrayReader, need, put_records, real, string

MOST_BITS = 30
LARGEST_BUDGET = 2**30
RANGES = {"step_size": (1e-60, 1e10), "l2": (0.0, 1e10), "l1": (0.0, 1e10), "gamma": (1e-20, 1e60)}
MOST_SETTINGS = 1000
LIGHTEST, HEAVIEST = 1e-60, 1e20  # weights of an example that are supported


def as_flag(name: str, value: Any) -> bool:
    """``value`` as a bool; 0 and 1 count as such."""
    if not isinstance(value, (bool, np.bool_, numbers.Integral)):
        raise ValueError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def as_class_weight(name: str, value: Any) -> Any:
    """A dict, "balanced" or None; the classes are not known yet."""
    if value not in (None, "balanced") and not isinstance(value, dict):
        raise ValueError(f"{name} must be None, 'balanced' or a dict, got {value!r}")
    return value


def as_passes(name: str, value: Any) -> int | str:
    """An int of at least 1, or "paper"."""
    return check.one_of(name, value, ("paper",)) if isinstance(value, str) else check.as_integer(name, value)


STREAM_CHECKS: dict[str, check.Check] = {
    "method": functools.partial(check.one_of, options=tuple(METHODS)),
    "budget": check.either({None: None}, functools.partial(check.as_integer, most=LARGEST_BUDGET)),
    "delta": check.as_positive,
    "fit_intercept": as_flag,
    "hash_bits": check.either({None: None}, functools.partial(check.as_integer, most=MOST_BITS)),
    "open_ended": as_flag,
    "class_weight": as_class_weight,
    "n_passes": as_passes,
    "verbose": check.as_verbosity,
}


@dataclass(frozen=True, kw_only=True)
class StreamOptions(LearnerOptions):
    """All that must stay the same from batch to batch: what is learnt, and how columns are identified."""

    hash_bits: int | None
    open_ended: bool


def stream_options(clf: Any, given: Any) -> StreamOptions:
    """The options of a StreamClassifier; ``given`` are its parameters, checked one by one."""
    method = METHODS[given.method]
    if given.budget is None and not method.endless:
        raise ValueError(f"budget must be an integer with method={given.method!r}, got None")
    return StreamOptions(
        method=given.method,
        settings=_settings(clf, given.method, method),
        budget=given.budget,
        delta=given.delta,
        loss=method.loss if clf.loss is None else check.one_of("loss", clf.loss, method.losses),
        intercept=given.fit_intercept,
        hash_bits=given.hash_bits,
        open_ended=given.open_ended,
    )


def _settings(clf: Any, name: str, method: Method) -> list[dict[str, float]]:
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


def class_factors(class_weight: Any, weights: np.ndarray, classes: np.ndarray) -> np.ndarray | str | None:
    """Class weights: a number for each, "balanced", or None. Weights of examples must be in range."""
    factors = check.class_weights(class_weight, classes) if isinstance(class_weight, dict) else class_weight
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


def get_setting(reader: ArrayReader, part: Any, name: str, stream: Any) -> dict[str, float]:
    """A setting: numbers by name."""
    need(isinstance(part, dict), f"{name} must be an object")
    return {string(key, name, 40): real(value, name) for key, value in part.items()}


def get_settings(reader: ArrayReader, part: Any, name: str, stream: Any) -> list[dict[str, float]]:
    """All settings."""
    need(isinstance(part, list), f"{name} must be a list")
    return [get_setting(reader, setting, name, stream) for setting in part]


STREAM_ATTRIBUTES = {
    "n_examples_": INTEGER,
    "progressive_loss_": REAL,
    "progressive_accuracy_": REAL,
    "setting_": Attribute(lambda writer, name, value: {key: float(part) for key, part in value.items()}, get_setting),
    "settings_": Attribute(lambda writer, name, value: [dict(setting) for setting in value], get_settings),
    "trace_": Attribute(
        lambda writer, name, value: put_records(writer, name, Milestone, value),
        lambda reader, part, name, stream: get_milestones(reader, part, name),
    ),
}
