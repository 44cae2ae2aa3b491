"""Measures of performance as values: as losses of ``FGMClassifier(loss=...)``, scores and scorers; base classes.

A measure of your own is a value of a subclass of ``ConfusionMeasure``, which says what the loss is for given numbers of
true and false positives, or of ``Measure``, with a search of its own. ``thresher.testing.check_measure`` checks it.
"""

from thresher.optim.measures.base import ConfusionMeasure, Measure
from thresher.optim.measures.values import (
    F1,
    PRBEP,
    AveragePrecision,
    ErrorRate,
    FBeta,
    PrecisionAtK,
    RecallAtK,
    RocArea,
)

__all__ = [  # noqa: RUF022 - F1 and PRBEP are classes, too
    "AveragePrecision",
    "ConfusionMeasure",
    "ErrorRate",
    "F1",
    "FBeta",
    "Measure",
    "PRBEP",
    "PrecisionAtK",
    "RecallAtK",
    "RocArea",
]
