"""Losses and measures in words: what a model was fitted for, and the same as values."""

import dataclasses
from typing import Any

import numpy as np

from thresher.optim.named_values import LossOrMeasure

LITTLE = 0.85  # of the objective without features: above, the measure hardly affects the model


def in_words(loss: LossOrMeasure, classes: np.ndarray) -> str:
    """What a model was fitted for."""
    if not loss.judges:
        return loss.title
    against = "each class against all others" if classes.size > 2 else f"class {classes[1]} against class {classes[0]}"
    return f"{loss.explained_title}, {against}"


def facts_of(loss: LossOrMeasure) -> dict[str, Any]:
    """The same for JSON: the name, and the parameters if there are some."""
    parameters: Any = dataclasses.fields(loss)  # type: ignore[arg-type]
    return {"loss": loss.name} | {f"loss_{field.name}": getattr(loss, field.name) for field in parameters}


def little_gained(loss: LossOrMeasure, objective: float, at_zero: float) -> str:
    """A note where the loss of a measure is nearly what it is without features; else nothing."""
    if not loss.judges or not objective / at_zero > LITTLE:
        return ""
    return (
        f"note: the objective is {objective / at_zero:.0%} of that without features, so this loss discriminates "
        f"poorly between features. --loss average_precision, auc or the default may give a better {loss.title}, too: "
        "compare them on other data"
    )
