"""What was learnt can be moved and asked about without harm: pickles, hashing, empty and weightless batches."""

import pathlib
import pickle
import signal
import subprocess
import sys
import zlib

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from thresher import StreamClassifier, load_checkpoint, save_checkpoint
from thresher.data.workers import unbroken
from thresher.estimators.shared.progress import StreamProgress
from thresher.families.online.learner import METHODS
from thresher.loops import averaging, descent

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 400)) * (RNG.random((400, 400)) < 0.1)
X[:200, 40:] = 0.0  # most features come late: tables grow after the move
y = np.where(X @ RNG.normal(size=400) > 0, 1, -1)
BOTH = [-1, 1]
CHILD = """
import pickle, sys
learnt, X, y = pickle.load(sys.stdin.buffer)
for clf in learnt:
    print(clf.coef_.toarray().tobytes().hex())
    print(clf.partial_fit(X, y).coef_.toarray().tobytes().hex())
"""


def bits(clf):
    return clf.coef_.toarray().tobytes().hex()


def test_a_pickle_goes_on_in_another_process():
    """Compiled loops are not the same objects there; all methods, with and without a budget."""
    kinds = [(7, method) for method in METHODS] + [(None, "l1-arda"), (None, "ada-fobos")]
    learnt = [StreamClassifier(*kind).partial_fit(X[:60], y[:60], classes=BOTH) for kind in kinds]
    sent = pickle.dumps((learnt, X[60:], y[60:]))
    expected = [each for clf in learnt for each in (bits(clf), bits(clf.partial_fit(X[60:], y[60:])))]
    done = subprocess.run([sys.executable, "-c", CHILD], input=sent, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().split() == expected


@pytest.mark.parametrize("method", ["b-arda", "l1-arda", "ofs"])
def test_joblib_may_tear_shared_arrays_apart(method, tmp_path):
    clf = StreamClassifier(7, method).partial_fit(X[:60], y[:60], classes=BOTH)
    joblib.dump(clf, tmp_path / "clf")
    other = joblib.load(tmp_path / "clf")
    for each in (clf, other):
        each.partial_fit(X[60:], y[60:])
    assert bits(clf) == bits(other)


def test_hashing_leaves_the_matrix_alone():
    given = sparse.csr_array(X)
    for array in (given.data, given.indices, given.indptr):
        array.flags.writeable = False
    clf = StreamClassifier(5, hash_bits=6, random_state=0).fit(given, y)
    dense = StreamClassifier(5, hash_bits=6, random_state=0).fit(X, y)
    np.testing.assert_array_equal(clf.decision_function(given), dense.decision_function(X))
    np.testing.assert_array_equal(given.toarray(), X)


@pytest.mark.parametrize("method", METHODS)
def test_a_first_batch_without_a_single_value_is_learnt_from(method):
    clf = StreamClassifier(5, method).partial_fit(np.zeros((3, 5)), [0, 1, 1], classes=[0, 1])
    assert clf.n_examples_ == 3
    assert clf.selection_.features.size == 0
    clf.partial_fit(np.eye(5), [0, 1, 1, 0, 1])
    assert clf.selection_.features.size > 0


@pytest.mark.parametrize("bad", ["weightless", "unknown label", "nan"])
def test_a_wider_batch_that_is_not_learnt_from_widens_nothing(bad):
    clf = StreamClassifier(5, open_ended=True).partial_fit(X[:, :20], y, classes=BOTH)
    wide, labels, weights = X.copy(), y.copy(), None
    if bad == "nan":
        wide[3, 3] = np.nan
    if bad == "unknown label":
        labels[3] = 7
    if bad == "weightless":
        clf.partial_fit(wide, labels, sample_weight=np.zeros(400))
    else:
        with pytest.raises(ValueError, match=r"NaN|not one of the classes"):
            clf.partial_fit(wide, labels, sample_weight=weights)
    assert clf.n_features_in_ == 20
    assert clf.n_examples_ == 400


def test_features_of_rows_without_weight_were_not_seen():
    weights = np.repeat([1.0, 0.0], 200)
    assert StreamClassifier(5).partial_fit(X, y, BOTH, weights).n_features_seen_ == 40


def test_transform_of_a_narrower_frame_has_zeros_for_columns_it_lacks():
    clf = StreamClassifier(5, open_ended=True, random_state=0).fit(X, y).set_output(transform="pandas")
    found = clf.transform(pd.DataFrame(X[:, :300]))
    assert found.columns.tolist() == clf.get_feature_names_out().tolist()
    np.testing.assert_array_equal(found.to_numpy(), np.c_[X[:, :300], np.zeros((400, 100))][:, clf.selection_.features])


def test_progress_counts_from_the_first_batch_and_verbose_is_checked(monkeypatch, capsys):
    monkeypatch.setattr(StreamProgress, "EVERY", 0.0)
    told = []
    StreamClassifier(7, verbose=lambda *given: told.append(given)).partial_fit(X, y, classes=BOTH)
    standing, speed = told[0]
    assert standing.examples == 400
    assert speed > 0
    StreamClassifier(7, verbose=1, random_state=0, n_passes=2).fit(X, y)
    assert "800/800 examples" in capsys.readouterr().err
    with pytest.raises(ValueError, match="verbose must be 0, 1, 2 or a callable"):
        StreamClassifier(5, verbose="a").fit(X, y)


def test_weights_whose_squares_would_overflow_are_refused():
    with pytest.raises(ValueError, match="weight 1e\\+200"):
        StreamClassifier(5).partial_fit(X, y, classes=BOTH, sample_weight=np.full(400, 1e200))


def test_a_stream_that_diverged_is_not_learnt_on_nor_saved(tmp_path):
    """OFS under the squared hinge has steps that grow with the loss: it says so, and an older checkpoint stays."""
    clf = StreamClassifier(3, "ofs", loss="squared_hinge", step_size=1.0, l2=0.0)
    clf.partial_fit(X[:60], y[:60], classes=BOTH)
    save_checkpoint(clf, tmp_path / "state.npz")
    with pytest.raises(ValueError, match="is not finite"):
        clf.partial_fit(np.tile(1e6 * X, (50, 1)), np.tile(y, 50))
    with pytest.raises(ValueError, match="diverged"):
        clf.partial_fit(X, y)
    with pytest.raises(ValueError, match="diverged"):
        save_checkpoint(clf, tmp_path / "state.npz")
    assert load_checkpoint(tmp_path / "state.npz").n_examples_ == 60


def test_an_endless_width_is_no_number_of_columns():
    wide = sparse.csr_array((np.ones(4), [0, 7, 2**62, 5], [0, 2, 4]), shape=(2, 2**63 - 1))
    clf = StreamClassifier(2, open_ended=True, n_passes="paper").fit(wide, [0, 1])
    assert clf.n_examples_ == 2 * 4  # 2 x (4 features seen) / 2 rows
    assert clf.get_support(indices=True).size == 2
    with pytest.raises(ValueError, match=r"get_support\(indices=True\)"):
        clf.get_support()


def test_limits_and_names_are_told_of():
    with pytest.raises(ValueError, match="at most 1000 settings"):
        StreamClassifier(step_size=[0.1] * 100, l2=[0.1] * 100).fit(X, y)
    with pytest.raises(ValueError, match="budget must be at most"):
        StreamClassifier(10**400).fit(X, y)
    with pytest.warns(UserWarning, match="by number, not by name"):
        StreamClassifier(5, open_ended=True).fit(pd.DataFrame(X), y)
    clf = StreamClassifier(5).fit(X, y)
    with pytest.raises(ValueError, match="n_passes"):
        clf.set_params(n_passes=0).fit(X, y)
    clf.set_params(n_passes=10)
    assert clf.n_examples_ == 4000  # still there
    clf.trace_.clear()
    assert clf.partial_fit(X, y).trace_


def test_ctrl_c_waits_for_what_belongs_together():
    done, before = [], signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it

    def work():
        with unbroken():
            signal.raise_signal(signal.SIGINT)
            done.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def test_loops_kept_on_disk_are_named_after_the_module_they_use():
    digest = f"{zlib.crc32(pathlib.Path(descent.__file__).read_bytes()):08x}"
    assert averaging.dual_averaging.py_func.__qualname__.endswith(digest)
