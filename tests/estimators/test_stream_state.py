"""A StreamClassifier as a value: given, taken, and refused where it contradicts itself."""

import collections
from dataclasses import replace

import numpy as np
import pytest

import thresher
from tests.models.checkpoints import small
from thresher import StreamClassifier
from thresher.errors import InconsistentResultError
from thresher.estimators.stream.state import classifier_of, state_of


def test_a_classifier_goes_on_from_its_state():
    """What it then learns is what it would have learnt; verbose and random_state do not come along."""
    X = np.random.default_rng(1).normal(size=(40, 6))
    y = np.where(X[:, 0] > 0, 1, -1)
    weights = collections.OrderedDict({-1: 2.0})
    clf = small(class_weight=weights, random_state=3)
    state = state_of(clf)
    other = classifier_of(state)
    assert (other.random_state, other.verbose, type(other.class_weight)) == (0, 0, dict)
    clf.partial_fit(X, y)
    other.partial_fit(X, y)
    assert clf.selection_.weights.tobytes() == other.selection_.weights.tobytes()
    assert (clf.settings_, clf.trace_) == (other.settings_, other.trace_)
    assert classifier_of(state).n_examples_ == 40  # the state is as it was


def test_what_has_no_state_says_so(tmp_path):
    """Not fitted, out of a model file, or diverged."""
    with pytest.raises(ValueError, match="not fitted"):
        state_of(StreamClassifier())
    thresher.save(small(), tmp_path / "model.json")
    with pytest.raises(TypeError, match="loaded from a model file has no training state"):
        state_of(thresher.load(tmp_path / "model.json"))
    clf = small()
    clf._state.diverged = True
    with pytest.raises(ValueError, match="diverged"):
        state_of(clf)


WRONG = {
    "another method": (lambda s: replace(s, parameters=s.parameters | {"method": "ofs"}), "shape"),
    "an unknown method": (
        lambda s: replace(s, parameters=s.parameters | {"method": "x"}),
        "invalid parameter",
    ),
    "two settings": (lambda s: replace(s, parameters=s.parameters | {"l2": [0.1, 0.2]}), "learners does not match"),
    "class weights": (lambda s: replace(s, parameters=s.parameters | {"class_weight": {-1: -2.0}}), "class_weight"),
    "three classes": (lambda s: replace(s, classes=np.arange(3)), "learners does not match"),
    "fewer columns": (lambda s: replace(s, n_features_in=5), "larger than the number of columns"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_state_that_contradicts_itself_is_refused(case):
    """Before any learner is made where there would be too many."""
    change, why = WRONG[case]
    with pytest.raises(InconsistentResultError, match=why):
        classifier_of(change(state_of(small())))
