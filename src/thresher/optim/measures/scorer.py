"""Measures as scorers in the sense of scikit-learn, of which nothing is needed for it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from thresher.errors import InvalidDataError, InvalidDataTypeError

if TYPE_CHECKING:
    from thresher.optim.measures.values import Measure


@dataclass(frozen=True)
class MeasureScorer:
    """A callable of (estimator, X, y): the measure of the estimator's ``decision_function``.

    With two classes, ``classes_[1]`` is the positive one. With more, the mean over the classes that occur in y is
    taken (macro average), each against all others by its own column of scores.

    Parameters
    ----------
    measure : Measure
        The measure, of which a greater value is better.
    """

    measure: "Measure"

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """The measure on X and y."""
        for needed in ("decision_function", "classes_"):
            if not hasattr(estimator, needed):
                raise InvalidDataTypeError(
                    f"{self.measure!r} needs a fitted classifier with decision_function and classes_; "
                    f"{type(estimator).__name__} has no {needed}"
                )
        classes, y = np.asarray(estimator.classes_), np.asarray(y)
        known = [label for label in classes if np.any(y == label)]
        if not known:
            raise InvalidDataError(f"no label in y is a class of the estimator: got {np.unique(y)}, expected {classes}")
        scores = np.asarray(estimator.decision_function(X))
        if scores.ndim == 1:
            return self._one(y == classes[-1], scores)
        return float(np.mean([self._one(y == label, scores[:, classes == label][:, 0]) for label in known]))

    def _one(self, positive: np.ndarray, scores: np.ndarray) -> float:
        return self.measure.score(np.where(positive, 1.0, -1.0), scores)
