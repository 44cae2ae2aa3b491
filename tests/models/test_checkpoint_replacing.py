"""Checkpoints are replaced in one step, whatever happens: failures, links, readers, SIGKILL."""

import collections
import itertools
import os
import pathlib
import shutil
import signal
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import thresher
from tests.models.checkpoints import (
    content,
    refused,
    saved,
    small,
    stream_of,
)
from thresher import StreamClassifier
from thresher.errors import InvalidDataError, ModelFileError
from thresher.models import checkpoint, read_checkpoint

posix = pytest.mark.skipif(os.name == "nt", reason="signals and pipes of POSIX")


class Failure(OSError):
    """The disk is full."""


@pytest.mark.parametrize("name", ["replace", "fsync", "write", "interrupt"])
def test_a_failure_leaves_the_old_checkpoint_and_no_scraps(name, tmp_path, monkeypatch):
    """At each step that can fail; Ctrl-C is no different."""
    path = saved(tmp_path, position={"old": True})
    before, kind = path.read_bytes(), KeyboardInterrupt if name == "interrupt" else Failure

    def fails(*_):
        raise kind("no space left")

    with monkeypatch.context() as patch:
        if name == "write":
            patch.setattr(checkpoint, "write_sealed", fails)
        else:
            patch.setattr(os, "replace" if name == "interrupt" else name, fails)
        with pytest.raises(kind):
            thresher.save_checkpoint(small("ofs"), path)
    assert os.listdir(tmp_path) == ["state.npz"]
    assert path.read_bytes() == before
    assert read_checkpoint(path)[1] == {"old": True}


def test_a_folder_that_cannot_be_synced_is_passed_over(tmp_path, monkeypatch):
    """The new checkpoint is in place by then."""
    path, calls, original = saved(tmp_path), [], os.fsync

    def second_fails(handle):
        calls.append(handle)
        if len(calls) == 2:
            raise Failure("not here")
        return original(handle)

    monkeypatch.setattr(os, "fsync", second_fails)
    thresher.save_checkpoint(small("ofs"), path)
    assert len(calls) == 2
    assert thresher.load_checkpoint(path).method == "ofs"
    assert os.listdir(tmp_path) == ["state.npz"]


def test_power_loss_at_any_step_leaves_a_checkpoint(tmp_path, monkeypatch, tmp_path_factory):
    """The folder as it is before each change of a name: the old checkpoint, or the new one."""
    path, seen, crashes = saved(tmp_path), [], tmp_path_factory.mktemp("crashes")
    for name in ("replace", "unlink", "fsync"):
        original = getattr(os, name)

        def copying(*args, original=original):
            seen.append(shutil.copytree(tmp_path, crashes / str(len(seen))))
            return original(*args)

        monkeypatch.setattr(os, name, copying)
    thresher.save_checkpoint(small("ofs"), path)
    monkeypatch.undo()
    methods = [thresher.load_checkpoint(pathlib.Path(each) / "state.npz").method for each in seen]
    assert methods == ["b-arda", "b-arda", "ofs", "ofs"]


def test_a_parameter_without_a_form_does_not_replace_a_sound_checkpoint(tmp_path):
    """What is written can be read, or nothing is written."""
    path = saved(tmp_path, position={"old": True})
    try:
        thresher.save_checkpoint(small(class_weight=collections.OrderedDict({-1: 2.0})), path)
    except (TypeError, ValueError):
        assert read_checkpoint(path)[1] == {"old": True}
    thresher.load_checkpoint(path)


def test_a_stream_that_diverged_does_not_replace_a_sound_checkpoint(tmp_path):
    """Weights that doubled until a score was not finite: the old checkpoint stays, or the new one can be read."""
    path = saved(tmp_path, position={"old": True})
    wild = StreamClassifier(3, "ofs", loss="squared_hinge", step_size=1.0, l2=0.0)
    X = np.random.default_rng(0).normal(size=(200, 6)) * 1e3
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        with pytest.raises(InvalidDataError, match="not finite"):
            wild.partial_fit(X, np.where(X[:, 0] > 0, 1, -1), classes=[-1, 1])
    try:
        thresher.save_checkpoint(wild, path)
    except (TypeError, ValueError):
        assert read_checkpoint(path)[1] == {"old": True}
    thresher.load_checkpoint(path)


def test_a_reader_sees_the_old_or_the_new_checkpoint_while_it_is_replaced(tmp_path):
    """Another process looks at the file all the time: it is sound at any moment."""
    path, done, turn = saved(tmp_path), threading.Event(), itertools.count()
    contents = [path.read_bytes(), content(small("ofs"), tmp_path / "other.npz")]

    def replaces():
        while not done.is_set():
            (tmp_path / "scratch").write_bytes(contents[next(turn) % 2])
            os.replace(tmp_path / "scratch", path)

    writer = threading.Thread(target=replaces)
    writer.start()
    try:
        methods = {thresher.load_checkpoint(path).method for _ in range(300)}
    finally:
        done.set()
        writer.join()
    assert methods == {"b-arda", "ofs"}


def test_links_are_followed_and_devices_left_alone(tmp_path):
    """A link stays a link; what is no file is neither replaced nor read."""
    path, link = saved(tmp_path), tmp_path / "latest"
    link.symlink_to(path)
    thresher.save_checkpoint(small("ofs"), link)
    assert link.is_symlink()
    assert thresher.load_checkpoint(link).method == thresher.load_checkpoint(path).method == "ofs"
    for each in (os.devnull, tmp_path):
        with pytest.raises(OSError, match="not a regular file"):
            thresher.save_checkpoint(small(), each)
    refused(os.devnull, "not a file")
    with pytest.raises((OSError, ModelFileError)):
        thresher.load_checkpoint(tmp_path)
    with pytest.raises(FileNotFoundError):
        thresher.load_checkpoint(tmp_path / "absent.npz")
    with pytest.raises(FileNotFoundError):
        thresher.save_checkpoint(small(), tmp_path / "no" / "state.npz")


@posix
def test_a_pipe_is_not_waited_for(tmp_path):
    """Refused at once, though nobody writes to it."""

    def late(*_):
        raise TimeoutError("it waits for a writer")

    os.mkfifo(tmp_path / "pipe")
    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 2.0)
    try:
        with pytest.raises((ModelFileError, IsADirectoryError)):
            thresher.load_checkpoint(tmp_path / "pipe")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def test_only_what_can_be_learnt_on_has_a_checkpoint(tmp_path):
    """A model file has no state; other estimators, none either; what is not fitted, nothing at all."""
    clf, X = small(), np.random.default_rng(0).normal(size=(40, 6))
    thresher.save(clf, tmp_path / "model.json")
    model = thresher.load(tmp_path / "model.json")
    with pytest.raises(TypeError, match="loaded from a model file has no training state"):
        thresher.save_checkpoint(model, tmp_path / "s.npz")
    with pytest.raises(ValueError, match="use a checkpoint"):
        model.partial_fit(X, np.ones(40), classes=[-1, 1])
    assert np.array_equal(model.predict(X), clf.predict(X))
    other = thresher.SparseSVC().fit(X, X[:, 0] > 0)
    with pytest.raises(TypeError, match="only a StreamClassifier"):
        thresher.save_checkpoint(other, tmp_path / "s.npz")
    with pytest.raises(ValueError, match="not fitted"):
        thresher.save_checkpoint(StreamClassifier(), tmp_path / "s.npz")
    for position in (5, [1], {"a": object()}, {"a": float("nan")}):
        with pytest.raises(TypeError):
            thresher.save_checkpoint(clf, tmp_path / "s.npz", position=position)
    assert not (tmp_path / "s.npz").exists()
    thresher.save_checkpoint(clf, tmp_path / "s.npz")
    assert np.array_equal(thresher.load(tmp_path / "s.npz").predict(X), clf.predict(X)), "it is a model, too"
    with pytest.raises(ModelFileError):
        thresher.load_checkpoint(tmp_path / "model.json")


def test_what_was_begun_cannot_be_changed_afterwards(tmp_path):
    """Parameters and classes are those of the checkpoint."""
    clf = thresher.load_checkpoint(saved(tmp_path))
    X = np.random.default_rng(0).normal(size=(4, 6))
    with pytest.raises(ValueError, match="is not the same as in earlier calls"):
        clf.partial_fit(X, [0, 1, 0, 1], classes=[0, 1])
    with pytest.raises(ValueError, match="budget was 3"):
        clf.set_params(budget=4).partial_fit(X, [-1, 1, -1, 1])
    clf.set_params(budget=3).partial_fit(X, [-1, 1, -1, 1], sample_weight=np.zeros(4))
    assert content(clf, tmp_path / "again.npz") == (tmp_path / "state.npz").read_bytes()


def go_on(path, X, y):
    """Learn the rest of the rows, four at a time, with a checkpoint after each four."""
    clf = thresher.load_checkpoint(path) if path.exists() else StreamClassifier(5, l2=[1e-4, 1e-2])
    for at in range(getattr(clf, "n_examples_", 0), len(y), 4):
        clf.partial_fit(X[at : at + 4], y[at : at + 4], classes=[0, 1])
        thresher.save_checkpoint(clf, path)


def forked(path, X, y, seconds):
    """``go_on`` in a child that is killed after so many seconds; whether it had done all."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some versions of Python do not like forks of processes with threads
        child = os.fork()
    if child == 0:
        code = 1
        try:
            go_on(path, X, y)
            code = 0
        finally:
            os._exit(code)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL)
    return status == 0


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
@pytest.mark.parametrize("kills", [20, pytest.param(300, marks=pytest.mark.slow)])
def test_killed_at_any_moment_nothing_is_damaged_and_the_end_is_the_same(kills, tmp_path):
    """SIGKILL while it learns and writes; each checkpoint is sound, and the last one that of a run without kills."""
    X, y, _ = stream_of(2, rows=20 * kills, seed=5)
    straight = StreamClassifier(5, l2=[1e-4, 1e-2]).partial_fit(X, y, classes=[0, 1])
    go_on(tmp_path / "warm.npz", X[:8], y[:8])
    path, rng, reached, patience = tmp_path / "state.npz", np.random.default_rng(6), [0], 0.06
    for _ in range(kills):
        forked(path, X, y, rng.uniform(0.0, patience))
        reached.append(thresher.load_checkpoint(path).n_examples_ if path.exists() else 0)
        assert reached[-1] % 4 == 0
        assert reached[-1] >= reached[-2]
        patience = 0.06 if reached[-1] > reached[-2] else min(1.3 * patience, 5.0)  # a busy machine takes longer
    assert len(set(reached)) > kills / 8  # it was killed at work
    assert forked(path, X, y, None)
    assert path.read_bytes() == content(straight, tmp_path / "straight.npz")
