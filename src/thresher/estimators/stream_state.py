"""All that a StreamClassifier has learnt, as a value, and a StreamClassifier that goes on from it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from thresher.errors import InconsistentResultError
from thresher.estimators.stream import Frozen, StreamClassifier
from thresher.families.online_state import LearnersState
from thresher.results import consistent


@dataclass(frozen=True)
class StreamState:
    """Constructor parameters, columns (``feature_names_in`` may be None), labels, and what the learners have learnt."""

    parameters: dict[str, Any]
    n_features_in: int
    feature_names_in: np.ndarray | None
    classes: np.ndarray
    learners: LearnersState


def state_of(clf: StreamClassifier) -> StreamState:
    """The state of a fitted StreamClassifier, which does not change when more is learnt.

    ``random_state`` and ``verbose`` are left at their defaults: they are not for going on.
    """
    check_is_fitted(clf)
    if isinstance(clf._state, Frozen):
        raise TypeError("only a StreamClassifier that was not loaded from a model file has a state to write")
    if clf._state.diverged:
        raise ValueError("training of this StreamClassifier diverged (non-finite loss): there is nothing to go on from")
    parameters = clf.get_params(deep=False) | {"random_state": None, "verbose": 0}
    if isinstance(parameters["class_weight"], dict):
        parameters["class_weight"] = dict(parameters["class_weight"])
    names = getattr(clf, "feature_names_in_", None)
    return StreamState(parameters, int(clf.n_features_in_), names, clf.classes_, clf._state.state())


def classifier_of(state: StreamState) -> StreamClassifier:
    """A StreamClassifier that goes on from ``state``; InconsistentResultError where that cannot be."""
    clf = StreamClassifier(**state.parameters)
    problems = 1 if state.classes.size == 2 else state.classes.size
    # before as many learners are made
    expected = problems * len(_usable(clf._checked_options)["settings"])
    consistent(len(state.learners.learners) == expected, "learners do not fit the numbers of settings and classes")
    _usable(lambda: clf._checked_weights(np.ones(1), state.classes))
    clf.n_features_in_ = state.n_features_in
    if state.feature_names_in is not None:
        clf.feature_names_in_ = state.feature_names_in
    inside = bool((state.learners.ids < clf.space_.width).all())
    consistent(inside, "ids of features are larger than the number of columns")
    learners = clf._begun(state.classes)
    learners.restore(state.learners)
    clf._state = learners
    clf._set_learnt()
    return clf


def _usable(check: Callable[[], Any]) -> Any:
    """What a check of parameters returns; one that cannot be used does not fit the state."""
    try:
        return check()
    except (TypeError, ValueError) as error:
        raise InconsistentResultError(f"a parameter cannot be used ({error})") from error
