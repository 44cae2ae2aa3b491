"""Fits of paths that end early leave no thread behind: the process exits at once, with its exit code, in silence."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

ENDS = 10  # of each test, at moments of its own
TESTS = range(10)
LONGEST_EXIT = 20.0  # seconds, on a busy machine; what hung took minutes
SCRIPT = """
import sys, warnings
import numpy as np
from thresher import AlignmentPathClassifier
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.standard_normal((1500, 400)).astype(np.float32)
y = X[:, 0] ** 2 + X[:, 1] ** 2 + rng.standard_normal(1500) > 2.0
clf = AlignmentPathClassifier(cv=3, svm=sys.argv[2], max_time=float(sys.argv[1])).fit(X, y)
print("fitted", flush=True)
"""


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Loops are in the cache, so that no process says on standard error that it compiles."""
    for svm in ("kernel", "linear"):
        subprocess.run([sys.executable, "-c", SCRIPT, "3.0", svm], check=True, capture_output=True)


def exit_after(process, line):
    """(exit code, seconds from ``line`` on standard output until the process is gone, standard error)."""
    for text in process.stdout:
        if text.startswith(line):
            break
    begun = time.perf_counter()
    err = process.communicate(timeout=120)[1]
    return process.returncode, time.perf_counter() - begun, err


@pytest.mark.slow
@pytest.mark.parametrize("seed", TESTS)
def test_scripts_that_end_after_max_time(seed):
    for seconds in np.random.default_rng(seed).uniform(0.3, 4.0, ENDS):
        arguments = [sys.executable, "-c", SCRIPT, f"{seconds:.3f}", ("kernel", "linear")[seed % 2]]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            code, took, err = exit_after(process, "fitted")
        assert (code, err) == (0, ""), seconds
        assert took < LONGEST_EXIT, seconds


def computing_time(process):
    """Seconds that a process has computed for: how far it is, however busy the machine is."""
    user, system = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("seed", TESTS)
def test_commands_that_are_terminated(seed, tmp_path):
    """SIGTERM or Ctrl-C while points are judged, or before: the model or one line that says there is no model."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((1500, 400)).astype(np.float32)
    np.savez(tmp_path / "data.npz", X=X, y=X[:, 0] ** 2 + X[:, 1] ** 2 > 2.0)
    words = [sys.executable, "-m", "thresher", "path", "data.npz", "--cv", "3", "--quiet", "--out", "model.json"]
    before = os.times()
    subprocess.run([*words, "--max-time", "0.1"], cwd=tmp_path, capture_output=True, check=True)
    after = os.times()
    start = after.children_user + after.children_system - before.children_user - before.children_system
    for wait in start + rng.uniform(0.5, 6.0, ENDS):
        for file in tmp_path.glob("model*"):
            file.unlink()
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
        ) as process:
            while computing_time(process) < wait and process.poll() is None:
                time.sleep(0.05)
            process.send_signal((signal.SIGTERM, signal.SIGINT)[seed % 2])
            begun = time.perf_counter()
            err = process.communicate(timeout=120)[1]
        assert process.returncode == 130, (wait, err)
        assert err.count("\n") <= 2, err
        assert "Traceback" not in err, err
        assert (tmp_path / "model.json").exists() or "interrupted" in err, err
        assert time.perf_counter() - begun < LONGEST_EXIT, wait
