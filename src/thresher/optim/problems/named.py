"""The losses that users name: a string is short for a value."""

from typing import Any

from thresher.errors import did_you_mean
from thresher.optim.measures.base import Measure
from thresher.optim.measures.values import MEASURES, plain_names
from thresher.optim.problems.loss import Loss
from thresher.optim.problems.losses import LOSSES, Logistic

EXAMPLES = {
    "smoothed_hinge": "SmoothedHinge(0.5)",
    "fbeta": "FBeta(beta=2.0)",
    "precision_at_k": "PrecisionAtK(k=50)",
    "recall_at_k": "RecallAtK(k=50)",
}  # of what has a parameter


def as_loss(given: Any) -> Loss | Measure:
    """The loss or the measure of a name, or the value itself. ValueError for anything else."""
    if isinstance(given, (Loss, Measure)):
        return given
    names, hint = (*LOSSES, *plain_names()), ""
    if isinstance(given, str):
        if given in LOSSES:
            return LOSSES[given]
        if given in names:
            return MEASURES[given]()
        if given in EXAMPLES:
            raise ValueError(f"loss={given!r} has a parameter: pass a value, for example loss={EXAMPLES[given]}")
        hint = did_you_mean(given, names)
    elif isinstance(given, type):
        hint = f"; pass a value of the class, {given.__name__}(...)"
    raise ValueError(
        f"loss must be one of {', '.join(map(repr, names))}, a loss such as SmoothedHinge(0.5) or a measure such as "
        f"PrecisionAtK(k=50); got {given!r}{hint}"
    )


def is_logistic(given: Any) -> bool:
    """Whether models with this loss have probabilities."""
    return isinstance(given, Logistic) or (isinstance(given, str) and given == Logistic.name)
