"""What StreamClassifier refuses, in words, and that nothing learnt is lost by it."""

import numpy as np
import pytest

from tests.estimators.test_stream_classifier import BOTH, EVERY_METHOD, X, state_of, y
from thresher import StreamClassifier

WRONG = [
    ({"method": "svm"}, "method must be one of 'b-arda', 'b-amd', 'ofs', 'sofs', 'l1-arda', 'ada-fobos'; got 'svm'"),
    ({"l1": 0.1}, "l1 is not used by method='b-arda', only by l1-arda, ada-fobos; set it to None"),
    ({"method": "sofs", "step_size": 0.1}, "step_size is not used by method='sofs'"),
    ({"gamma": 1.0}, "gamma is not used by method='b-arda', only by sofs"),
    ({"method": "ada-fobos", "l2": 0.1}, "l2 is not used by method='ada-fobos', only by b-arda, b-amd, ofs"),
    ({"budget": None}, "budget must be an integer with method='b-arda', got None"),
    ({"budget": 0}, "budget must be an integer >= 1, got 0"),
    ({"budget": 2.0}, "budget must be an integer"),
    ({"step_size": []}, "step_size is an empty list"),
    ({"step_size": [0.1, -1.0]}, "step_size must be a positive number, got -1.0"),
    ({"l2": np.nan}, "l2 must be a non-negative number, got nan"),
    ({"delta": 0.0}, "delta must be a positive number"),
    ({"loss": "square"}, "loss must be one of 'squared_hinge', 'hinge', 'logistic'; got 'square'"),
    ({"method": "sofs", "loss": "hinge"}, "loss must be one of 'squared_hinge'"),
    ({"hash_bits": 31}, "hash_bits must be at most 30, got 31"),
    ({"hash_bits": 0}, "hash_bits must be an integer >= 1"),
    ({"class_weight": "even"}, "class_weight must be None, 'balanced' or a dict, got 'even'"),
    ({"class_weight": 3}, "class_weight must be None, 'balanced' or a dict, got 3"),
    ({"class_weight": {5: 1.0}}, "class_weight contains 5, which is not one of the classes"),
    ({"n_passes": "all"}, "n_passes must be one of 'paper'; got 'all'"),
    ({"n_passes": 0}, "n_passes must be an integer >= 1, got 0"),
    ({"n_passes": 1.5}, "n_passes must be an integer"),
    ({"method": "ofs", "step_size": 10.0, "l2": 0.1}, "step_size times l2 must be less than 1 for method='ofs'"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_wrong_parameters_are_named(options, message):
    for learn in (lambda clf: clf.fit(X, y), lambda clf: clf.partial_fit(X, y, classes=BOTH)):
        with pytest.raises(ValueError) as caught:
            learn(StreamClassifier(**options))
        assert message in str(caught.value)


def test_what_fit_refuses():
    with pytest.raises(ValueError, match="all sample weights of class -1 are zero"):
        StreamClassifier().fit(X, y, sample_weight=np.zeros(120))
    with pytest.raises(ValueError, match="only one class"):
        StreamClassifier().fit(X, np.ones(120))


def spoilt(value):
    A = X[:9].copy()
    A[4, 3] = value
    return A


BAD = [
    (spoilt(np.nan), y[:9], {}, "NaN"),
    (spoilt(np.inf), y[:9], {}, "infinity"),
    (spoilt(1e61), y[:9], {}, "scale X"),
    (X[:9, :5], y[:9], {}, "5 features"),
    (
        X[:9],
        np.where(np.arange(9) == 2, 7, y[:9]),
        {},
        "y contains 7 \\(row 2 of the batch\\), which is not one of the classes",
    ),
    (X[:9], y[:8], {}, "inconsistent numbers of samples"),
    (X[:9], y[:9], {"classes": [0, 1]}, "is not the same as in earlier calls"),
    (X[:9], y[:9], {"classes": [1]}, "at least two labels"),
    (X[:9], y[:9], {"sample_weight": -np.ones(9)}, "Negative values"),
    (X[:9], y[:9], {"sample_weight": np.ones(8)}, "sample_weight has shape"),
]


@EVERY_METHOD
def test_after_a_refused_batch_all_is_as_before(method):
    clf = StreamClassifier(6, method).partial_fit(X[:60], y[:60], classes=BOTH)
    before, width = state_of(clf), clf.n_features_in_
    for A, labels, options, message in BAD:
        with pytest.raises(ValueError, match=message):
            clf.partial_fit(A, labels, **options)
        assert state_of(clf) == before, message
        assert clf.n_features_in_ == width
    for name, value in (("budget", 7), ("delta", 0.5), ("fit_intercept", False), ("hash_bits", 5)):
        old = getattr(clf, name)
        changed = f"{name.replace('fit_', '')} cannot be changed between calls to partial_fit .*: call fit"
        with pytest.raises(ValueError, match=changed):
            clf.set_params(**{name: value}).partial_fit(X, y)
        clf.set_params(**{name: old})
        assert state_of(clf) == before, name
    whole = StreamClassifier(6, method).partial_fit(X, y, classes=BOTH)
    clf.partial_fit(X[60:], y[60:])
    np.testing.assert_array_equal(clf.coef_.toarray(), whole.coef_.toarray())


def test_classes_are_needed_at_first():
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        StreamClassifier().partial_fit(X, y)
    with pytest.raises(ValueError, match="not one of the classes"):
        StreamClassifier().partial_fit(X, y, classes=[0, 1])


def test_scores_that_are_no_numbers_end_the_stream():
    clf = StreamClassifier(6, "ofs", loss="squared_hinge", step_size=50.0, l2=0.0)
    with pytest.raises(ValueError, match=r"training diverged with .*: the loss of example .* is not finite"):
        clf.fit(100 * X, y)
