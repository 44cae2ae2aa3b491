"""Ctrl-C and max_time are heard within a second, whatever an SVM does; what is kept of X."""

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from thresher import AlignmentPathClassifier, KernelPath, load, save
from thresher.data.scan.pieces import OutOfTime
from thresher.estimators.alignment import cross_validation
from thresher.estimators.alignment import svm as svm_module
from thresher.estimators.alignment.cross_validation import Clock
from thresher.optim.solvers.kernel_svm import KernelSvmSolution
from thresher.optim.solvers.solution import out_of_time

rng = np.random.default_rng(0)
X = rng.standard_normal((120, 10))
y = X[:, 4] ** 2 + X[:, 7] ** 2 > 1.5
QUICK = {"path": KernelPath(step=0.1), "cv": 3}


def test_time_is_reserved_for_the_last_step():
    clock = Clock(time.perf_counter() + 5.0)
    assert not clock.ended()
    clock.reserve(6.0)
    clock.reserve(1.0)
    assert clock.ended()
    assert not clock.end_of_last_step()()  # it has the five seconds
    stopped = Clock(np.inf)
    stopped.interrupted = True
    begun, given_up = time.perf_counter(), stopped.end_of_last_step()
    while not given_up():
        time.sleep(0.01)
    assert 0.3 < time.perf_counter() - begun < 1.0


def slow(K, y, cost, tol, deadline):
    """An SVM that is not solved before its deadline."""
    while not out_of_time(deadline):
        time.sleep(0.01)
    return KernelSvmSolution(np.zeros(y.size), 0.0, np.inf, True)


def test_a_slow_svm_does_not_hold_up_max_time(monkeypatch):
    """No point is judged, and the SVM is not trained: the path is there, and at() trains."""
    AlignmentPathClassifier(**QUICK).fit(X, y)  # loops are compiled
    with monkeypatch.context() as context:
        context.setattr(svm_module, "solve_kernel_svm", slow)
        begun = time.perf_counter()
        with pytest.warns(ConvergenceWarning, match="max_time reached.*no time to train the SVM: at"):
            clf = AlignmentPathClassifier(**QUICK, max_time=1.0).fit(X, y)
        assert time.perf_counter() - begun < 2.5
    assert len(clf.path_) >= 1
    assert np.isnan(clf.path_.cv_score).all()
    assert not hasattr(clf, "svm_")
    with pytest.raises(NotFittedError, match=r"at\(k\) trains it"):
        clf.predict(X)
    assert clf.at(10).score(X, y) > 0.6
    assert not hasattr(clf, "svm_")


def test_a_model_without_its_svm_can_be_saved(monkeypatch, tmp_path):
    with monkeypatch.context() as context:
        context.setattr(svm_module, "solve_kernel_svm", slow)
        with pytest.warns(ConvergenceWarning, match="no time to train"):
            clf = AlignmentPathClassifier(**QUICK, max_time=1.0).fit(X, y)
    save(clf, tmp_path / "stopped.json")
    again = load(tmp_path / "stopped.json")
    assert np.array_equal(again.at(10).decision_function(X), clf.at(10).decision_function(X))


def test_a_slow_scan_does_not_hold_up_max_time(monkeypatch):
    """Alignments that are not known in time select nothing."""

    def late(self, trace, deadline):
        raise OutOfTime(0.5)

    monkeypatch.setattr(cross_validation.KernelData, "alignments", late)
    with pytest.warns(ConvergenceWarning, match="max_time reached"):
        clf = AlignmentPathClassifier(**QUICK, max_time=1e6).fit(X, y)
    assert not clf.selection_.features.size
    assert "no feature was selected" in clf.selection_.stop_reason
    assert len(set(clf.predict(X))) == 1


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals of Windows")
def test_ctrl_c_inside_of_a_slow_svm(tmp_path):
    """An SVM of 6000 noisy samples takes many seconds; a second after Ctrl-C the estimator has its path."""
    code = textwrap.dedent("""
        import sys, time, numpy as np
        from thresher import AlignmentPathClassifier, KernelPath
        rng = np.random.default_rng(0)
        X = rng.standard_normal((6000, 4))
        clf = AlignmentPathClassifier(path=KernelPath(p_end=1.5, step=0.25), cv=2, C=1e6, n_jobs=1)
        print("begun", flush=True)
        try:
            clf.fit(X, rng.random(6000) < 0.5)
        except KeyboardInterrupt:
            print("heard", len(clf.path_), hasattr(clf, "svm_"), clf.selection_.interrupted, flush=True)
    """)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "begun\n"
        time.sleep(4.0)
        begun = time.perf_counter()
        child.send_signal(signal.SIGINT)
        line = child.stdout.readline()
        seconds = time.perf_counter() - begun
        child.kill()
    assert line == "heard 3 False True\n"
    assert seconds < 2.5  # on a busy machine


def test_only_support_rows_are_kept(tmp_path):
    rows = rng.random(120) < 0.9
    whole = AlignmentPathClassifier(**QUICK).fit(X, y, sample_weight=rows)
    clf = AlignmentPathClassifier(**QUICK, store_training_columns=False).fit(X, y, sample_weight=rows)
    assert np.array_equal(clf.decision_function(X), whole.decision_function(X))
    assert whole.training_.columns.n_rows == np.count_nonzero(rows)
    n_support = clf.svm_.columns.n_rows
    assert n_support == np.count_nonzero(clf.svm_.dual) < np.count_nonzero(rows)
    assert len(clf.svm_.columns) == clf.selection_.features.size
    assert not hasattr(clf, "training_")
    save(clf, tmp_path / "support.json")
    save(whole, tmp_path / "path.json")
    sizes = [sum(os.path.getsize(each) for each in tmp_path.glob(f"{name}*")) for name in ("support", "path")]
    assert sizes[0] < sizes[1]
    for other in (load(tmp_path / "support.json"), pickle.loads(pickle.dumps(clf))):
        assert np.array_equal(other.decision_function(X), clf.decision_function(X))
        with pytest.raises(ValueError, match="fit again with store_training_columns=True"):
            other.at(3)
