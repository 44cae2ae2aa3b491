"""StreamClassifier as a user meets it."""

import pickle
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.estimators.test_fgm_classifier import storages
from tests.problems import many_classes
from thresher import StreamClassifier
from thresher.data.rows.slots import hashed
from thresher.families.online.learner import METHODS
from thresher.results import Milestone

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(120, 40)) * (RNG.random((120, 40)) < 0.4) * 64) / 64  # exact in float32
y = np.where(X[:, 0] - X[:, 1] + X[:, 2:6].sum(axis=1) + 0.2 * RNG.normal(size=120) > 0, 1, -1)
Z, CODES, _, _ = many_classes(120, 20, classes=4, seed=8)
BOTH = [-1, 1]
EVERY_METHOD = pytest.mark.parametrize("method", METHODS)
ORDER = "the order of the examples, and how often each is seen, matter to an online learner"
WEIGHTS = {f"check_sample_weight_equivalence_on_{kind}_data": ORDER for kind in ("dense", "sparse")}


@parametrize_with_checks(
    [StreamClassifier(method=method) for method in METHODS], expected_failed_checks=lambda estimator: WEIGHTS
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def state_of(clf):
    """Everything that was learnt, as bytes and numbers."""
    state = clf._state
    each = [
        (one._table.tobytes(), one.clock.tobytes(), one.place.tobytes(), one.kept.tobytes())
        for learners in state.learners
        for one in learners
    ]
    return each, state.slots.ids.tobytes(), state.totals.tobytes(), deepcopy(state.records), state.examples


def assert_same(a, b):
    """Two estimators have learnt the same, bit for bit."""
    np.testing.assert_array_equal(a.selection_.features, b.selection_.features)
    np.testing.assert_array_equal(a.selection_.weights, b.selection_.weights)
    np.testing.assert_array_equal(a.intercept_, b.intercept_)
    assert len(a.trace_) == len(b.trace_)
    for one, two in zip(a.trace_, b.trace_, strict=True):  # what is cut off is summed in the order of first meeting
        assert one.truncation_error == pytest.approx(two.truncation_error, rel=1e-12, abs=1e-15)
        assert replace(one, truncation_error=0.0) == replace(two, truncation_error=0.0)
    assert a.settings_ == b.settings_
    assert a.n_examples_ == b.n_examples_


def learnt(clf, A=X, labels=y, classes=BOTH, chunk=17):
    for first in range(0, len(labels), chunk):
        clf.partial_fit(A[first : first + chunk], labels[first : first + chunk], classes=classes)
    return clf


# What goes in.


@EVERY_METHOD
def test_one_answer_from_every_storage(method, tmp_path):
    reference = StreamClassifier(6, method, random_state=0, n_passes=2).fit(X, y)
    assert 0 < reference.selection_.features.size <= 6
    batches = learnt(StreamClassifier(6, method))
    scores = batches.decision_function(X)
    np.save(tmp_path / "X.npy", X)
    fixed = sparse.csr_array(X)
    for part in (fixed.data, fixed.indices, fixed.indptr):
        part.flags.writeable = False
    rest = {"map": np.load(tmp_path / "X.npy", mmap_mode="r"), "fixed": fixed, "coo": sparse.coo_array(X)}
    for name, stored in (storages(X) | rest).items():
        if name == "pandas":
            stored.columns = [f"gene{j}" for j in stored.columns]
        assert_same(StreamClassifier(6, method, random_state=0, n_passes=2).fit(stored, y), reference)
        once = StreamClassifier(6, method).partial_fit(stored, y, classes=BOTH)
        np.testing.assert_allclose(once.decision_function(stored), scores, rtol=1e-6, atol=1e-6)
        assert_same(once, batches)


def test_stored_zeros_repeated_and_unsorted_columns_are_read_as_scipy_does():
    rng = np.random.default_rng(1)
    rows, columns = rng.integers(0, 120, 3000), rng.integers(0, 40, 3000)
    values = rng.integers(-2, 3, 3000).astype(float)
    order = np.argsort(rows, kind="stable")
    begins = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=120))])
    raw = sparse.csr_array((values[order], columns[order], begins), shape=(120, 40))
    kept = [part.copy() for part in (raw.data, raw.indices, raw.indptr)]
    dense = raw.toarray()
    assert raw.nnz > np.count_nonzero(dense)
    assert_same(StreamClassifier(5).partial_fit(raw, y, BOTH), StreamClassifier(5).partial_fit(dense, y, BOTH))
    clf = StreamClassifier(5, random_state=0).fit(raw, y)
    assert_same(clf, StreamClassifier(5, random_state=0).fit(dense, y))
    np.testing.assert_allclose(clf.decision_function(raw), clf.decision_function(dense), rtol=1e-12)
    for part, before in zip((raw.data, raw.indices, raw.indptr), kept, strict=True):
        np.testing.assert_array_equal(part, before)


@EVERY_METHOD
def test_open_ended_batches_may_grow_and_shrink(method):
    clf, whole = StreamClassifier(6, method, open_ended=True), StreamClassifier(6, method)
    for k, width in enumerate((10, 20, 15, 40, 3)):
        part = slice(20 * k, 20 * k + 20)
        padded = np.zeros((20, 40))
        padded[:, :width] = X[part, :width]
        batch = X[part, :width] if k % 2 else sparse.csr_array(X[part, :width])
        clf.partial_fit(batch, y[part], classes=BOTH)
        whole.partial_fit(padded, y[part], classes=BOTH)
        assert clf.n_features_in_ == max((10, 20, 15, 40, 3)[: k + 1])
        assert clf.coef_.shape == (1, clf.n_features_in_)
    assert_same(clf, whole)
    narrow = np.hstack([X[:, :7], np.zeros((120, 33))])
    np.testing.assert_allclose(clf.decision_function(X[:, :7]), whole.decision_function(narrow), rtol=1e-12, atol=1e-15)
    wide = sparse.csr_array(np.hstack([X, 100 * np.ones((120, 9))]))
    np.testing.assert_allclose(clf.decision_function(wide), whole.decision_function(X), rtol=1e-12, atol=1e-15)
    assert clf.n_features_in_ == 40
    assert clf.transform(wide).shape == (120, clf.selection_.features.size)


@EVERY_METHOD
@pytest.mark.parametrize("open_ended", [False, True])
def test_columns_are_told_apart_by_number_up_to_any_size(method, open_ended):
    far = np.sort(np.random.default_rng(2).choice(5 * 10**9, 40, replace=False))
    far[-1] = 5 * 10**9 - 1
    few = sparse.csr_array(X)
    wide = sparse.csr_array((few.data, far[few.indices], few.indptr.astype(np.int64)), shape=(120, 5 * 10**9))
    assert wide.indices.dtype == np.int64
    clf, short = StreamClassifier(6, method, open_ended=open_ended), StreamClassifier(6, method)
    clf.partial_fit(wide[:70], y[:70], classes=BOTH).partial_fit(wide[70:], y[70:])
    short.partial_fit(few, y, classes=BOTH)
    np.testing.assert_array_equal(clf.selection_.features, far[short.selection_.features])
    np.testing.assert_array_equal(clf.selection_.weights, short.selection_.weights)
    np.testing.assert_array_equal(clf.get_support(indices=True), far[short.get_support(indices=True)])
    np.testing.assert_allclose(clf.decision_function(wide), short.decision_function(few), rtol=1e-12, atol=1e-15)
    assert clf.coef_.shape == (1, 5 * 10**9)
    assert clf.n_features_seen_ == 40
    np.testing.assert_array_equal(clf.transform(wide).toarray(), short.transform(X))


def test_hashed_columns_are_those_of_the_hashed_matrix():
    short = np.zeros((120, 16))
    np.add.at(short.T, hashed(np.arange(40), 4), X.T)
    clf = StreamClassifier(6, hash_bits=4, random_state=0, n_passes=2).fit(X, y)
    other = StreamClassifier(6, random_state=0, n_passes=2).fit(short, y)
    assert_same(clf, other)
    np.testing.assert_allclose(clf.decision_function(X), other.decision_function(short), rtol=1e-12)
    assert clf.n_features_in_ == 40
    assert clf.coef_.shape == (1, 16)
    assert clf.get_feature_names_out().tolist() == [f"hash{j}" for j in clf.selection_.features]
    np.testing.assert_allclose(clf.transform(X), short[:, clf.selection_.features])


@pytest.mark.parametrize("labels", [np.array(["no", "yes"]), np.array([False, True]), np.array([3.0, 7.0])])
def test_labels_of_any_kind(labels):
    named = labels[(y > 0).astype(int)]
    reference = learnt(StreamClassifier(6))
    clf = learnt(StreamClassifier(6), X, named, classes=labels[::-1])
    assert_same(clf, reference)
    np.testing.assert_array_equal(clf.classes_, labels)
    np.testing.assert_array_equal(clf.predict(X), labels[(reference.predict(X) > 0).astype(int)])
    assert clf.predict(X).dtype == labels.dtype
    assert_same(StreamClassifier(6, random_state=1).fit(X, named), StreamClassifier(6, random_state=1).fit(X, y))


# Weights.


@EVERY_METHOD
def test_a_batch_without_weight_changes_nothing(method):
    clf = StreamClassifier(6, method)
    assert clf.partial_fit(X, y, classes=BOTH, sample_weight=np.zeros(120)) is clf
    assert vars(clf) == clf.get_params()
    clf.partial_fit(X[:60], y[:60], classes=BOTH)
    before, known = state_of(clf), {name: value for name, value in vars(clf).items() if name != "_state"}
    known = deepcopy(known)
    clf.partial_fit(X[60:], y[60:], sample_weight=np.zeros(60))
    assert state_of(clf) == before
    np.testing.assert_equal({name: value for name, value in vars(clf).items() if name != "_state"}, known)


@EVERY_METHOD
def test_rows_without_weight_are_not_there(method):
    weights = np.random.default_rng(3).choice([0.0, 0.5, 1.0], 120)
    clf = StreamClassifier(6, method, class_weight="balanced").partial_fit(X, y, BOTH, weights)
    there = weights > 0
    other = StreamClassifier(6, method, class_weight="balanced").partial_fit(X[there], y[there], BOTH, weights[there])
    assert_same(clf, other)
    assert clf.n_examples_ == there.sum()


def test_class_weights_multiply_those_of_the_samples():
    weights = np.random.default_rng(4).choice([0.5, 1.0], 120)
    clf = StreamClassifier(6, class_weight={1: 4.0}).partial_fit(X, y, BOTH, weights)
    other = StreamClassifier(6).partial_fit(X, y, BOTH, weights * np.where(y > 0, 4.0, 1.0))
    np.testing.assert_array_equal(clf.coef_.toarray(), other.coef_.toarray())
    assert clf.progressive_loss_ == pytest.approx(other.progressive_loss_, rel=1e-12)
    plain = StreamClassifier(6).partial_fit(X, y, BOTH, weights)
    assert not np.array_equal(clf.coef_.toarray(), plain.coef_.toarray())


def test_weights_are_routed_by_a_cross_validation():
    weights = np.repeat([1.0, 0.0], 60)
    with config_context(enable_metadata_routing=True):
        clf = (
            StreamClassifier(6, random_state=0)
            .set_fit_request(sample_weight=True)
            .set_score_request(sample_weight=True)
        )
        folds = [(np.arange(90), np.arange(90, 120))]
        found = cross_validate(
            clf, X, y, cv=folds, params={"sample_weight": weights + 1e-9}, return_estimator=True, error_score="raise"
        )
    expected = StreamClassifier(6, random_state=0).fit(X[:90], y[:90], weights[:90] + 1e-9)
    assert_same(found["estimator"][0], expected)


# Passes, records, settings.


def test_passes_of_fit():
    for passes, expected in ((1, 1), (3, 3), ("paper", 1), (10, 10)):
        clf = StreamClassifier(6, random_state=0, n_passes=passes).fit(X, y)
        assert clf.n_examples_ == expected * 120
    assert StreamClassifier(6, n_passes="paper").fit(X[:13], y[:13]).n_examples_ == 7 * 13  # ceil(2 * 40 / 13)
    assert StreamClassifier(6, n_passes="paper").fit(X[:20], y[:20]).n_examples_ == 4 * 20
    assert_same(*(StreamClassifier(6, random_state=3, n_passes=2).fit(X, y) for _ in range(2)))
    rng, clf = np.random.RandomState(3), StreamClassifier(6)
    for _ in range(2):
        order = rng.permutation(120)
        clf.partial_fit(X[order], y[order], classes=BOTH)
    assert_same(clf, StreamClassifier(6, random_state=3, n_passes=2).fit(X, y))
    other = StreamClassifier(6, random_state=4, n_passes=2).fit(X, y)
    assert other.trace_ != clf.trace_
    clf.set_params(n_passes=5).partial_fit(X, y)  # which goes through a batch once all the same
    assert clf.n_examples_ == 360


@EVERY_METHOD
@pytest.mark.parametrize("many", [False, True], ids=["two", "many"])
def test_every_example_is_judged_before_it_is_learnt_from(method, many):
    A, labels = (Z, CODES) if many else (X, y)
    classes, right = np.unique(labels), 0
    clf = StreamClassifier(6, method).partial_fit(A[:1], labels[:1], classes=classes)
    first = clf.progressive_accuracy_
    for i in range(1, 60):
        right += clf.predict(A[i : i + 1])[0] == labels[i]
        clf.partial_fit(A[i : i + 1], labels[i : i + 1])
    assert clf.progressive_accuracy_ == pytest.approx((right + first) / 60, abs=1e-12)
    assert_same(clf, StreamClassifier(6, method).partial_fit(A[:60], labels[:60], classes=classes))


def test_the_trace_is_a_list_of_milestones():
    clf = learnt(StreamClassifier(6))
    assert [mark.examples for mark in clf.trace_] == [1, 2, 3, 4, 6, 8, 12, 16, 23, 32, 46, 64, 91]
    assert all(isinstance(mark, Milestone) for mark in clf.trace_)
    short = StreamClassifier(6).partial_fit(X[:91], y[:91], classes=BOTH)
    last = clf.trace_[-1]
    assert (last.loss, last.accuracy) == (short.progressive_loss_, short.progressive_accuracy_)
    assert last.features == short.selection_.features.size == 6


def test_settings_are_tried_side_by_side_and_the_least_loss_chooses():
    clf = learnt(StreamClassifier(6, step_size=[1e-4, 0.1], l2=(0.0, 1.0)))
    alone = {}
    for found in clf.settings_:
        one = learnt(StreamClassifier(6, step_size=found["step_size"], l2=found["l2"]))
        assert found["progressive_loss"] == one.progressive_loss_
        assert found["progressive_accuracy"] == one.progressive_accuracy_
        alone[found["step_size"], found["l2"]] = one
    assert list(alone) == [(1e-4, 0.0), (1e-4, 1.0), (0.1, 0.0), (0.1, 1.0)]
    best = min(alone, key=lambda key: alone[key].progressive_loss_)
    assert clf.setting_ == {"step_size": best[0], "l2": best[1]}
    assert clf.progressive_loss_ == alone[best].progressive_loss_
    np.testing.assert_array_equal(clf.coef_.toarray(), alone[best].coef_.toarray())
    assert clf.trace_ == alone[best].trace_


@EVERY_METHOD
def test_a_pickle_or_copy_learns_on_as_if_nothing_had_happened(method):
    whole = learnt(StreamClassifier(6, method, l2=[0.0, 1e-3] if "l2" in METHODS[method].parameters else None))
    clf = clone(whole)
    assert not hasattr(clf, "classes_")
    clf.partial_fit(X[:50], y[:50], classes=BOTH)
    for copy in (pickle.loads(pickle.dumps(clf)), deepcopy(clf)):
        copy.partial_fit(X[50:], y[50:])
        assert_same(copy, whole)
    assert clf.n_examples_ == 50


# What comes out.


@EVERY_METHOD
def test_many_classes_have_a_budget_each(method):
    clf = StreamClassifier(4, method, random_state=0).fit(Z, CODES)
    features, weights = clf.selection_.features, clf.selection_.weights
    assert weights.shape == (features.size, 4)
    assert clf.coef_.shape == (4, 20)
    assert clf.intercept_.shape == (4,)
    assert (np.count_nonzero(clf.coef_.toarray(), axis=1) <= 4).all()
    np.testing.assert_array_equal(clf.coef_.toarray()[:, features], weights.T)
    found = clf.decision_function(Z)
    np.testing.assert_allclose(found, Z @ clf.coef_.toarray().T + clf.intercept_, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(clf.predict(Z), found.argmax(axis=1))
    assert clf.score(Z, CODES) > 0.3


def test_selected_columns_in_and_out():
    frame = pd.DataFrame(X, columns=[f"gene{j}" for j in range(40)])
    clf = StreamClassifier(6, random_state=0).fit(frame, y)
    chosen = clf.selection_.features
    assert chosen.size == 6
    assert (np.diff(chosen) > 0).all()
    assert np.flatnonzero(clf.get_support()).tolist() == clf.get_support(indices=True).tolist() == chosen.tolist()
    assert clf.get_feature_names_out().tolist() == [f"gene{j}" for j in chosen]
    np.testing.assert_array_equal(clf.transform(frame), X[:, chosen])
    back = clf.inverse_transform(X[:, chosen])
    np.testing.assert_array_equal(back, np.where(clf.get_support(), X, 0.0))
    pd.testing.assert_frame_equal(clf.set_output(transform="pandas").transform(frame), frame.iloc[:, chosen])
    pipe = make_pipeline(MaxAbsScaler(), StreamClassifier(6, random_state=0), LogisticRegression()).fit(X, y)
    assert pipe[-1].coef_.shape == (1, 6)
    assert pipe.score(X, y) > 0.7


def test_a_function_is_told_where_the_stream_stands(monkeypatch, capsys):
    monkeypatch.setattr("thresher.estimators.shared.progress.StreamProgress.EVERY", 0.0)
    told = []
    clf = StreamClassifier(6, n_passes=3, verbose=lambda mark, speed: told.append((mark, speed))).fit(X, y)
    assert [mark.examples for mark, _ in told] == [120, 240, 360]
    assert told[-1][0].loss == clf.progressive_loss_
    assert told[-1][1] > 0.0
    assert capsys.readouterr() == ("", "")
    StreamClassifier(6, verbose=2, n_passes=2).fit(X, y)
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 3  # the last says where it ended
    assert "240/240 examples" in err


def test_memory_of_the_state_is_constant_once_all_features_were_seen():
    for method in METHODS:
        clf, sizes = StreamClassifier(6, method), []
        for k in range(20):
            clf.partial_fit(X[np.roll(np.arange(120), k)], y[np.roll(np.arange(120), k)], classes=BOTH)
            one, slots = clf._state.learners[0][0], clf._state.slots
            arrays = [one._table, one.place, one._kept, one.clock, slots._ids, slots._cells]
            arrays += [part for tree in (one._trees or ())[:2] for part in tree]
            sizes.append(sum(array.nbytes for array in arrays))
        assert len(set(sizes[1:])) == 1, method
