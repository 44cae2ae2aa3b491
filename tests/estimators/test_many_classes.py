"""FGMClassifier with more than two classes, and with probabilities."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from tests.problems import fold_scores, many_classes
from tests.rule import fgm_by_rule
from thresher.errors import FewerFeaturesWarning

NAMES = np.array(["ash", "beech", "cedar"])
X, CODES, Y, _ = many_classes(90, 40, seed=11)
X = np.round(X * 64) / 64  # exact in float32
FEW = np.where(np.random.default_rng(9).random(X.shape) < 0.25, X, 0.0)
y = NAMES[CODES]
LOSSES = ["squared_hinge", "logistic"]
FITTED = {}


def fitted(per_class=False, loss="squared_hinge", k=6):
    """A fit on the data above, made once."""
    key = per_class, loss, k
    if key not in FITTED:
        FITTED[key] = fgm_by_rule(k, per_class=per_class, loss=loss).fit(X, y)
    return FITTED[key]


def assert_same(one, other, *, rtol=1e-8, atol=1e-9):
    np.testing.assert_array_equal(one.selection_.features, other.selection_.features)
    np.testing.assert_allclose(one.coef_.toarray(), other.coef_.toarray(), rtol=rtol, atol=atol)
    np.testing.assert_allclose(one.intercept_, other.intercept_, rtol=rtol, atol=atol)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("per_class", [False, True])
def test_shapes(per_class, loss):
    clf = fitted(per_class, loss)
    number = clf.selection_.features.size
    assert clf.classes_.tolist() == NAMES.tolist()
    assert clf.selection_.weights.shape == (number, 3)
    assert clf.selection_.intercept.shape == clf.intercept_.shape == (3,)
    assert sparse.issparse(clf.coef_)
    assert clf.coef_.shape == (3, 40)
    assert clf.coef_.has_sorted_indices
    np.testing.assert_array_equal(clf.coef_.toarray()[:, clf.selection_.features], clf.selection_.weights.T)
    assert clf.decision_function(X).shape == (90, 3)
    assert clf.get_support().sum() == number
    assert clf.n_iter_ >= 1
    clf.selection_.check()


@pytest.mark.parametrize("loss", LOSSES)
def test_a_shared_support_has_k_columns_and_one_for_each_class_has_k_each(loss):
    shared, apart = fitted(False, loss), fitted(True, loss)
    assert shared.selection_.features.size == 6
    assert (shared.coef_.toarray() != 0.0).sum(axis=1).tolist() == [6, 6, 6]
    assert (apart.coef_.toarray() != 0.0).sum(axis=1).tolist() == [6, 6, 6]
    union = np.flatnonzero((apart.coef_.toarray() != 0.0).any(axis=0))
    np.testing.assert_array_equal(apart.selection_.features, union)
    for clf in (shared, apart):
        np.testing.assert_array_equal(clf.transform(X), X[:, clf.selection_.features])
        np.testing.assert_array_equal(clf.inverse_transform(clf.transform(X)), X * clf.get_support())
        assert clf.get_feature_names_out().size == clf.selection_.features.size


@pytest.mark.parametrize("per_class", [False, True])
def test_predict_is_the_class_with_the_highest_score(per_class):
    clf = fitted(per_class)
    scores = X[:, clf.selection_.features] @ clf.selection_.weights + clf.intercept_
    np.testing.assert_allclose(clf.decision_function(X), scores, atol=1e-12)
    np.testing.assert_array_equal(clf.predict(X), NAMES[scores.argmax(axis=1)])
    assert clf.score(X, y) > 0.7
    assert cross_val_score(fgm_by_rule(6, per_class=per_class, n_candidates=2.0), X, y, cv=2).mean() > 0.5


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("scale", ["auto", None])
def test_per_class_equals_one_against_the_rest(loss, scale):
    clf = fgm_by_rule(5, per_class=True, loss=loss, scale=scale).fit(X, y)
    for c, name in enumerate(NAMES):
        one = fgm_by_rule(5, loss=loss, scale=scale).fit(X, y == name)
        np.testing.assert_array_equal(np.flatnonzero(clf.coef_.toarray()[c]), one.selection_.features)
        np.testing.assert_allclose(clf.coef_.toarray()[c], one.coef_.toarray()[0], rtol=1e-9, atol=1e-12)
        assert clf.intercept_[c] == pytest.approx(one.intercept_[0], rel=1e-9)
        np.testing.assert_allclose(clf.decision_function(X)[:, c], one.decision_function(X), atol=1e-10)


def test_a_shared_support_of_columns_that_all_classes_lean_on_beats_none_of_them_alone():
    """The objective is a sum over the classes, each ridge regression on the same columns."""
    clf = fitted(False)
    found = clf.selection_.certificate
    assert found.pick_bound <= found.pick_objective < found.at_zero
    apart = fitted(True).selection_.certificate
    assert apart.pick_objective <= found.pick_objective, "each class's own six columns cannot be worse"
    assert apart.at_zero == pytest.approx(found.at_zero)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("per_class", [False, True])
def test_predict_proba(classes, per_class):
    labels = y if classes == 3 else np.where(y == "ash", "ash", "beech")
    clf = fgm_by_rule(6, loss="logistic", per_class=per_class, n_candidates=2.0).fit(X, labels)
    found = clf.predict_proba(X)
    assert found.shape == (90, classes)
    assert found.min() >= 0.0
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(clf.classes_[found.argmax(axis=1)], clf.predict(X))
    scores = expit(clf.decision_function(X))
    if classes == 2:
        np.testing.assert_allclose(found[:, 1], scores)
    else:
        np.testing.assert_allclose(found, scores / scores.sum(axis=1, keepdims=True))
    assert cross_val_score(clf, X, labels, scoring="neg_log_loss", cv=2).mean() > -1.1


def test_predict_proba_of_samples_that_no_class_wants():
    """Scores so low that every class's probability is zero: all classes alike, and no division by zero."""
    clf = fgm_by_rule(6, loss="logistic").fit(X, y)
    clf.selection_.intercept[:] = -1e6
    found = clf.predict_proba(X)
    np.testing.assert_allclose(found, 1 / 3)


def test_there_are_no_probabilities_with_the_squared_hinge():
    for clf in (fgm_by_rule(6), fitted()):
        assert not hasattr(clf, "predict_proba")
        with pytest.raises(AttributeError, match="predict_proba"):
            clf.predict_proba(X)
    assert hasattr(fgm_by_rule(loss="logistic"), "predict_proba")


STORAGES = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "float32": lambda A: A.astype(np.float32),
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "csr_float32": lambda A: sparse.csr_matrix(A.astype(np.float32)),
    "pandas": lambda A: pd.DataFrame(A, columns=[f"gene{j}" for j in range(A.shape[1])]),
}


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_one_answer_from_every_storage(storage, per_class, loss, kind):
    A = X if kind == "dense" else FEW
    key = per_class, loss, kind
    if key not in FITTED:
        FITTED[key] = fgm_by_rule(5, per_class=per_class, loss=loss, n_candidates=3.0).fit(A, y)
    reference, B = FITTED[key], STORAGES[storage](A)
    found = fgm_by_rule(5, per_class=per_class, loss=loss, n_candidates=3.0).fit(B, y)
    assert_same(found, reference)
    np.testing.assert_array_equal(found.predict(B), reference.predict(A))
    assert found.transform(B).shape == (90, reference.selection_.features.size)


@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("C", [1.0, "auto"])
def test_any_number_of_threads_gives_the_same_bits(per_class, C, monkeypatch):
    monkeypatch.setattr("thresher.data.workers.SMALL", 0)  # threads are used however small the work
    clf = fgm_by_rule(3, C=C, cv=2, per_class=per_class, n_candidates=2.0)
    one, two = (clone(clf).set_params(n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.coef_.toarray(), two.coef_.toarray())
    np.testing.assert_array_equal(one.intercept_, two.intercept_)
    for a, b in zip(one.path_, two.path_, strict=True):
        np.testing.assert_array_equal(a.weights, b.weights)
    if C == "auto":
        np.testing.assert_array_equal(fold_scores(one), fold_scores(two))


@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("options", [{}, {"class_weight": "balanced"}, {"fit_intercept": False}, {"scale": "max"}])
def test_integer_weights_equal_repeated_rows(per_class, options):
    weights = np.random.default_rng(1).integers(0, 4, 90)
    clf = fgm_by_rule(5, per_class=per_class, n_candidates=3.0, **options)
    weighed = clone(clf).fit(X, y, sample_weight=weights)
    repeated = clone(clf).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert_same(weighed, repeated, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("per_class", [False, True])
def test_balanced_classes_count_alike(per_class):
    keep = np.flatnonzero((y != "ash") | (np.arange(90) % 3 == 0))
    names, counts = np.unique(y[keep], return_counts=True)
    by_hand = dict(zip(names.tolist(), keep.size / (3 * counts), strict=True))
    balanced, given = (
        fgm_by_rule(5, per_class=per_class, class_weight=weight).fit(X[keep], y[keep])
        for weight in ("balanced", by_hand)
    )
    assert_same(balanced, given)
    plain = fgm_by_rule(5, per_class=per_class).fit(X[keep], y[keep])
    assert not np.allclose(plain.coef_.toarray(), balanced.coef_.toarray())


def test_a_class_without_weight_is_refused():
    with pytest.raises(ValueError, match="all sample weights of class 'cedar' are zero"):
        fgm_by_rule(5).fit(X, y, sample_weight=(y != "cedar").astype(float))


@pytest.mark.parametrize("per_class", [False, True])
def test_warm_start_from_the_answer_finds_it_again(per_class):
    clf = fgm_by_rule(5, per_class=per_class, warm_start=True).fit(X, y)
    first = clone(clf).fit(X, y)
    clf.fit(X, y)
    assert_same(clf, first, rtol=1e-5, atol=1e-6)
    assert len(clf.selection_.trace.turns) <= len(first.selection_.trace.turns)


def test_warm_start_with_another_number_of_classes_is_refused():
    two = np.where(y == "ash", "ash", "beech")
    for before, after, message in ((y, two, "y has 2 classes and the last fit saw 3"), (two, y, "saw 2")):
        clf = fgm_by_rule(5, warm_start=True).fit(X, before)
        coef = clf.coef_.copy()
        for _ in range(2):
            with pytest.raises(ValueError, match=message):
                clf.fit(X, after)
        np.testing.assert_array_equal(clf.coef_.toarray(), coef.toarray())
        clf.set_params(warm_start=False).fit(X, after)
        assert clf.classes_.size == np.unique(after).size


@pytest.mark.parametrize("labels", [(2, 5, 9), (-1.0, 0.0, 1.0), ("a", "bb", "ccc"), (False, 7, 9)])
def test_labels_of_any_kind(labels):
    named = np.array(labels, dtype=object if isinstance(labels[0], bool) else None)[CODES]
    clf = fgm_by_rule(6).fit(X, named.astype(int) if named.dtype == object else named)
    assert clf.classes_.tolist() == [type(clf.classes_.tolist()[0])(label) for label in labels]
    np.testing.assert_array_equal(clf.coef_.toarray(), fitted().coef_.toarray())


def test_two_classes_named_by_words():
    two = np.where(y == "ash", "no", "yes")
    words, numbers = fgm_by_rule(6).fit(X, two), fgm_by_rule(6).fit(X, (two == "yes").astype(int))
    np.testing.assert_array_equal(words.coef_.toarray(), numbers.coef_.toarray())
    assert words.coef_.shape == (1, 40)
    assert words.selection_.weights.shape == (6,)
    assert words.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(words.predict(X), np.where(words.decision_function(X) > 0, "yes", "no"))


@pytest.mark.parametrize("loss", LOSSES)
def test_per_class_does_not_matter_with_two_classes(loss):
    two = y == "ash"
    one, other = (fgm_by_rule(6, per_class=per_class, loss=loss).fit(X, two) for per_class in (False, True))
    np.testing.assert_array_equal(one.coef_.toarray(), other.coef_.toarray())


@pytest.mark.parametrize("per_class", [False, True])
def test_many_small_classes(per_class):
    A, codes, _, _ = many_classes(70, 30, classes=7, seed=5)
    clf = fgm_by_rule(4, per_class=per_class, n_candidates=2.0).fit(A, codes)
    assert clf.coef_.shape == (7, 30)
    assert clf.decision_function(A).shape == (70, 7)
    assert (clf.predict(A) == codes).mean() > 0.4


def test_always_include_with_classes():
    for per_class in (False, True):
        clf = fgm_by_rule(5, per_class=per_class, always_include=[39, 38]).fit(X, y)
        assert {38, 39} <= set(clf.selection_.features.tolist())
        assert np.all(clf.coef_.toarray()[:, [38, 39]] != 0.0)
        assert (clf.coef_.toarray() != 0.0).sum(axis=1).tolist() == [5, 5, 5]


def test_per_class_must_be_a_bool():
    with pytest.raises(ValueError, match="per_class must be True or False, got 'union'"):
        fgm_by_rule(5, per_class="union").fit(X, y)


@pytest.mark.parametrize("elimination", [True, False])
def test_a_class_with_fewer_columns_than_asked_is_told(elimination):
    """Ten columns tell ash from beech alone; for cedar they sum to nothing, and one column is left."""
    A = np.zeros((60, 11))
    for j in range(10):
        A[j, j], A[20 + j, j] = 1.0, -1.0
    A[40:, 10] = 1.0
    clf = fgm_by_rule(6, per_class=True, scale=None, elimination=elimination)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf.fit(A, np.repeat(NAMES, 20))
    assert (clf.coef_.toarray() != 0.0).sum(axis=1).tolist() == [6, 6, 1]
    assert [each.category for each in caught] == [FewerFeaturesWarning]


@pytest.mark.parametrize("per_class", [False, True])
def test_a_copy_survives_pickling(per_class):
    clf = fitted(per_class, "logistic")
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    np.testing.assert_array_equal(again.at(3).predict(X), clf.at(3).predict(X))
