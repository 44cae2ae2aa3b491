"""Losses and measures in words: titles, what a model was fitted for, and the same as values."""

from typing import Any

import numpy as np

from thresher.optim.measures.base import Measure
from thresher.optim.measures.values import ErrorRate, FBeta, PrecisionAtK, RecallAtK
from thresher.targets.criteria import Criterion, MeasureCriterion

LITTLE = 0.85  # of the objective without features: models above hardly use what the measure says
TITLES = {"squared_hinge": "squared hinge", "error": "error rate", "f1": "F1", "prbep": "PRBEP",
          "auc": "area under the ROC curve"}  # fmt: skip


def measure_of(criterion: Criterion) -> Measure | None:
    """The measure of a criterion; None for others, and for the error rate: accuracy is always told."""
    if not isinstance(criterion, MeasureCriterion) or isinstance(criterion.measure, ErrorRate):
        return None
    return criterion.measure


def title_of(criterion: Criterion) -> str:
    """What the loss is called, for a line or the head of a column."""
    value: Any = criterion.value
    if isinstance(value, FBeta):
        return f"F-beta (beta = {value.beta:g})"
    if isinstance(value, (PrecisionAtK, RecallAtK)):
        k = value.k
        return f"{value.name.split('_')[0]} at {k if isinstance(k, int) else f'{k:g}p'}"
    return TITLES.get(value.name, value.name.replace("_", " "))


def in_words(criterion: Criterion, classes: np.ndarray) -> str:
    """What a model was fitted for."""
    title, measure = title_of(criterion), measure_of(criterion)
    if measure is None:
        return title
    title += " (precision where it equals recall)" * (measure.name == "prbep")
    title += " (p: the number of positives)" * isinstance(getattr(measure, "k", None), float)
    if classes.size > 2:
        return f"{title}, each class against all others"
    return f"{title}, class {classes[1]} against class {classes[0]}"


def facts_of(criterion: Criterion) -> dict[str, Any]:
    """The same for JSON: the name, and the parameters if there are some."""
    value = criterion.value
    parameters = getattr(value, "__dataclass_fields__", {})
    return {"loss": value.name} | {f"loss_{name}": getattr(value, name) for name in parameters}


def little_gained(criterion: Criterion, objective: float, at_zero: float) -> str:
    """A note where the loss of a measure is nearly what it is without features; else nothing."""
    if measure_of(criterion) is None or not objective / at_zero > LITTLE:
        return ""
    return (
        f"note: the objective is {objective / at_zero:.0%} of that without features, so this loss tells features apart "
        f"only roughly. --loss average_precision, auc or the default may give a better {title_of(criterion)}, too: "
        "compare them on other data"
    )
