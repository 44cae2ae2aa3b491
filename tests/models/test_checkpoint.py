"""Checkpoints: what was learnt, written and read at any point, is as if nothing had happened."""

import json
import os

import numpy as np
import pytest
from scipy import sparse

import thresher
from tests.models.checkpoints import METHODS, VARIANTS, content, learnt, saved, side_by_side, small, stream_of
from tests.models.make_fixtures import HERE, checkpointed
from thresher import StreamClassifier
from thresher.models import read_checkpoint


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("method", METHODS)
def test_written_and_read_at_any_point_is_as_if_nothing_had_happened(method, n_classes, variant, tmp_path):
    """Two settings side by side; the files at the end are equal in every byte, and so are all attributes."""
    X, y, weights = stream_of(n_classes)
    options = {**side_by_side(method), **VARIANTS[variant]}
    straight, broken = StreamClassifier(7, method, **options), StreamClassifier(7, method, **options)
    rng, path, at = np.random.default_rng(1), tmp_path / "state.npz", 0
    learnt(straight, X, y, weights, slice(0, 200), variant)
    while at < 200:
        end = min(200, at + int(rng.integers(1, 60)))
        learnt(broken, X, y, weights, slice(at, end), variant)
        thresher.save_checkpoint(broken, path, position={"at": end})
        broken, position = read_checkpoint(path)
        assert position == {"at": end}
        at = end
    assert content(straight, tmp_path / "a.npz") == content(broken, tmp_path / "b.npz")
    assert straight.selection_.features.tobytes() == broken.selection_.features.tobytes()
    assert straight.selection_.weights.tobytes() == broken.selection_.weights.tobytes()
    for name in ("n_examples_", "n_features_in_", "n_features_seen_", "settings_", "setting_", "trace_", "classes_",
                 "progressive_loss_", "progressive_accuracy_"):  # fmt: skip
        assert np.array_equal(getattr(straight, name), getattr(broken, name)), name
    assert straight.n_examples_ == (np.count_nonzero(weights) if variant == "weights" else 200)
    assert straight.get_params() == broken.get_params()


@pytest.mark.parametrize("method", ["b-arda", "l1-arda", "b-amd"])
def test_features_far_below_the_budget_come_back_as_they_would_have(method, tmp_path):
    """Many features, a small budget and a long way: the order of those left out is found again."""
    rng = np.random.default_rng(2)
    X = sparse.random(3000, 2000, 0.01, format="csr", random_state=2, data_rvs=rng.standard_normal)
    y = np.where(X @ (rng.normal(size=2000) * (rng.random(2000) < 0.05)) > 0, 1, -1)
    given = {"l1": 1e-5} if method == "l1-arda" else {"l2": 1e-2}
    straight = StreamClassifier(20, method, **given).partial_fit(X, y, classes=[-1, 1])
    broken, path = StreamClassifier(20, method, **given), tmp_path / "b.npz"
    for begin, end in ((0, 1), (1, 700), (700, 1500), (1500, 1501), (1501, 2999), (2999, 3000)):
        broken.partial_fit(X[begin:end], y[begin:end], classes=[-1, 1])
        thresher.save_checkpoint(broken, path)
        broken = thresher.load_checkpoint(path)
    assert content(straight, tmp_path / "a.npz") == content(broken, path)
    assert straight.n_features_seen_ == 2000


OTHERS = {
    "logistic": {"loss": "logistic"},
    "no intercept": {"fit_intercept": False, "delta": 0.5},
    "no budget": {"budget": None, "method": "l1-arda", "l1": [1e-3, 1e-2]},
    "no budget, fobos": {"budget": None, "method": "ada-fobos", "l1": (1e-3, 1e-2)},
    "numpy's numbers": {"budget": np.int64(5), "step_size": np.array([0.1, 0.5]), "l2": np.float32(0.25)},
    "weights of classes": {"class_weight": {0: 2.0, 1: 0.5}},
    "random state": {"random_state": 3, "verbose": 0},
}


@pytest.mark.parametrize("case", OTHERS)
def test_other_options_come_back_and_go_on(case, tmp_path):
    """Every kind of parameter; also the state after fit."""
    X, y, _ = stream_of(2)
    straight = StreamClassifier(**OTHERS[case], n_passes=2).fit(X[:100], y[:100])
    broken = thresher.load_checkpoint(tmp_path / "s.npz") if content(straight, tmp_path / "s.npz") else None
    straight.partial_fit(X[100:], y[100:])
    broken.partial_fit(X[100:], y[100:])
    assert content(straight, tmp_path / "a.npz") == content(broken, tmp_path / "b.npz")
    assert broken.decision_function(X).tobytes() == straight.decision_function(X).tobytes()


@pytest.mark.parametrize(
    "labels", [["no", "yes"], [False, True], [-1.5, 2.0], [-1, 1], np.array(["a", "b"], dtype=object)]
)
def test_labels_and_names_of_any_kind(labels, tmp_path):
    """Classes keep their dtype, columns of a data frame their names."""
    pandas = pytest.importorskip("pandas")
    X, y, _ = stream_of(2, width=4)
    frame, y = pandas.DataFrame(X, columns=["größe", "b", "c\n", "d"]), np.asarray(labels)[y]
    straight = StreamClassifier(2).partial_fit(frame[:90], y[:90], classes=labels)
    content(straight, tmp_path / "s.npz")
    broken = thresher.load_checkpoint(tmp_path / "s.npz")
    assert broken.classes_.dtype == straight.classes_.dtype
    assert broken.feature_names_in_.tolist() == frame.columns.tolist()
    straight.partial_fit(frame[90:], y[90:])
    broken.partial_fit(frame[90:], y[90:])
    assert content(straight, tmp_path / "a.npz") == content(broken, tmp_path / "b.npz")
    assert np.array_equal(straight.predict(frame), broken.predict(frame))


def test_the_same_state_gives_the_same_bytes_and_reading_changes_nothing(tmp_path):
    """Neither the time nor the file's name nor what was asked of the estimator is in it."""
    clf = small()
    first = content(clf, tmp_path / "a.npz", position={"at": [1, 2.5, None, "größe"]})
    again, position = read_checkpoint(tmp_path / "a.npz")
    assert position == {"at": [1, 2.5, None, "größe"]}
    again.predict(np.eye(6)), again.selection_, again.coef_, again.trace_
    os.utime(tmp_path / "a.npz", (0, 0))
    assert content(again, tmp_path / "other name", position=position) == first
    assert content(again, tmp_path / "b.npz", position={"at": np.int64(7)}) != first
    assert read_checkpoint(tmp_path / "b.npz")[1] == {"at": 7}
    assert read_checkpoint(saved(tmp_path))[1] == {}


def test_numpy_reads_the_file(tmp_path):
    """It is an .npz like any other, and needs no pickle."""
    with np.load(saved(tmp_path), allow_pickle=False) as found:
        document = json.loads(bytes(found["document"]))
        assert document["format"] == "thresher-checkpoint"
        assert document["examples"] == 40
        assert found["ids"].tolist() == [0, 1, 2, 3, 4, 5]
        assert found["setting0.class0.table"].shape == (6, 2)
        assert len(found["setting0.class0.kept"]) == 3


def test_the_fixture_of_version_1_is_read_and_goes_on():
    """A file of an earlier version ends where an uninterrupted run of this one does."""
    clf, position = read_checkpoint(HERE / "v1_checkpoint.npz")
    assert position == {"lines": 30, "bad": 0, "out": "model.json"}
    whole, X, y = checkpointed(rows=40)
    assert clf.n_examples_ == 30
    clf.partial_fit(X[30:], y[30:])
    assert clf.selection_.features.tolist() == whole.selection_.features.tolist()
    np.testing.assert_allclose(clf.selection_.weights, whole.selection_.weights, rtol=1e-12)
    np.testing.assert_allclose(clf.progressive_loss_, whole.progressive_loss_, rtol=1e-12)
    assert [each.examples for each in clf.trace_] == [each.examples for each in whole.trace_]
