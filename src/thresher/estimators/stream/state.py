"""The training state of a StreamClassifier as a value, and a StreamClassifier that continues from it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from thresher.errors import InconsistentResultError
from thresher.estimators.stream.classifier import StreamClassifier
from thresher.estimators.stream.options import class_factors
from thresher.families.online.state import LearnersState
from thresher.results import Selection, consistent


@dataclass(frozen=True)
class StreamState:
    """Constructor parameters, columns (``feature_names_in`` may be None), labels, and what the learners have learnt."""

    parameters: dict[str, Any]
    n_features_in: int
    feature_names_in: np.ndarray | None
    classes: np.ndarray
    learners: LearnersState


def state_of(clf: StreamClassifier) -> StreamState:
    """The state of a fitted StreamClassifier, which further training does not change.

    ``random_state`` and ``verbose`` are set to their defaults: they are not part of the state.
    """
    check_is_fitted(clf)
    if isinstance(clf._state, Selection):
        raise TypeError("a StreamClassifier that was loaded from a model file has no training state to save")
    if clf._state.diverged:
        raise ValueError("training of this StreamClassifier diverged (non-finite loss): there is no state to save")
    parameters = clf.get_params(deep=False) | {"random_state": 0, "verbose": 0}
    if isinstance(parameters["class_weight"], dict):
        parameters["class_weight"] = dict(parameters["class_weight"])
    names = getattr(clf, "feature_names_in_", None)
    return StreamState(parameters, int(clf.n_features_in_), names, clf.classes_, clf._state.state())


def classifier_of(state: StreamState) -> StreamClassifier:
    """A StreamClassifier that continues from ``state``; InconsistentResultError if the state is invalid."""
    clf = StreamClassifier(**state.parameters)
    problems = 1 if state.classes.size == 2 else state.classes.size
    # checked before as many learners are created
    options = _usable(clf._checked_options)
    expected = problems * len(options.settings)
    consistent(len(state.learners.learners) == expected, "number of learners does not match settings and classes")
    _usable(lambda: class_factors(clf.class_weight, np.ones(1), state.classes))
    clf.n_features_in_ = state.n_features_in
    if state.feature_names_in is not None:
        clf.feature_names_in_ = state.feature_names_in
    inside = bool((state.learners.ids < clf.fitted_features_.width).all())
    consistent(inside, "feature ids are larger than the number of columns")
    clf._state = clf._untrained(options, state.classes)
    clf._state.restore(state.learners)
    clf._set_learnt()
    return clf


def _usable(check: Callable[[], Any]) -> Any:
    """What a check of parameters returns; an invalid parameter makes the state inconsistent."""
    try:
        return check()
    except (TypeError, ValueError) as error:
        raise InconsistentResultError(f"invalid parameter ({error})") from error
