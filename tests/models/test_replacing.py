"""A model is replaced in one step: whatever fails, the old one or the new one is there, whole."""

import copy
import os
import shutil
from dataclasses import replace

import numpy as np
import pytest

import thresher
from tests.models.zoo import X, assert_same_model, fitted
from thresher.errors import ModelFileError
from thresher.models import files, storage
from thresher.state import arrays

OLD, NEW = "logistic", "two"


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A model whose arrays all lie in an .npz."""
    monkeypatch.setattr(arrays, "INLINE", 0)
    thresher.save(fitted(OLD), tmp_path / "model.json")
    return tmp_path / "model.json"


class Failure(OSError):
    """The disk is full."""


def failing(monkeypatch, name, at):
    """os.<name> fails when it is called for the ``at``-th time; returns the list of calls."""
    original, calls = getattr(os, name), []

    def counting(*args, **kwargs):
        calls.append(args)
        if len(calls) == at:
            raise Failure("no space left")
        return original(*args, **kwargs)

    monkeypatch.setattr(os, name, counting)
    return calls


def test_only_the_new_files_are_left(path):
    """The .npz of the old document goes last, and nothing else is touched."""
    (path.parent / "model.000000000000.npz").write_bytes(b"another's")
    thresher.save(fitted(NEW), path)
    assert_same_model(fitted(NEW), thresher.load(path), X)
    assert len(os.listdir(path.parent)) == 3
    assert (path.parent / "model.000000000000.npz").read_bytes() == b"another's"


def test_the_same_model_again_changes_nothing(path):
    """Equal arrays have equal names, so that the .npz in use is never taken away."""
    before = sorted(os.listdir(path.parent))
    thresher.save(fitted(OLD), path)
    assert sorted(os.listdir(path.parent)) == before
    assert_same_model(fitted(OLD), thresher.load(path), X)


def test_a_model_that_needs_no_npz_replaces_one_that_does(path, monkeypatch):
    """The old arrays are gone with the old document."""
    monkeypatch.setattr(arrays, "INLINE", 10**6)
    thresher.save(fitted(NEW), path)
    assert os.listdir(path.parent) == ["model.json"]


@pytest.mark.parametrize("new", [NEW, OLD])
@pytest.mark.parametrize(("name", "at"), [("replace", 1), ("replace", 2), ("fsync", 1), ("fsync", 2)])
def test_a_failure_leaves_the_old_model_and_no_scraps(name, at, new, path, monkeypatch):
    """At each step that can fail; also where the new arrays are those of the old model."""
    before = sorted(os.listdir(path.parent))
    with monkeypatch.context() as patch:
        calls = failing(patch, name, at)
        with pytest.raises(Failure):
            thresher.save(fitted(new), path)
        assert len(calls) >= at
    assert sorted(os.listdir(path.parent)) == before
    assert_same_model(fitted(OLD), thresher.load(path), X)


@pytest.mark.parametrize(("name", "at"), [("fsync", 3), ("fsync", 4), ("unlink", 1), ("unlink", 2), ("unlink", 3)])
def test_a_failure_that_does_not_matter_is_passed_over(name, at, path, monkeypatch):
    """Where a folder cannot be synced or an old file not deleted, the new model is there all the same."""
    with monkeypatch.context() as patch:
        assert len(failing(patch, name, at)) == 0
        thresher.save(fitted(NEW), path)
    assert_same_model(fitted(NEW), thresher.load(path), X)
    assert not [name for name in os.listdir(path.parent) if name.endswith(".tmp")]


@pytest.mark.parametrize("step", range(1, 8))
def test_power_loss_at_any_step_leaves_a_model(step, path, monkeypatch, tmp_path_factory):
    """The folder as it is before each change of a name is loaded: it holds the old model or the new one."""
    seen, crashes = [], tmp_path_factory.mktemp("crashes")
    with monkeypatch.context() as patch:
        for name in ("replace", "unlink", "fsync"):
            original = getattr(os, name)

            def copying(*args, original=original):
                seen.append(shutil.copytree(path.parent, crashes / str(len(seen))))
                return original(*args)

            patch.setattr(os, name, copying)
        thresher.save(fitted(NEW), path)
    assert len(seen) >= step
    model = thresher.load(seen[step - 1] / "model.json")
    assert_same_model(fitted(NEW if model.loss == "squared_hinge" else OLD), model, X)


def test_an_interrupt_right_after_the_last_step_keeps_the_new_model(path, monkeypatch):
    """Ctrl-C when the new document is already in place: its arrays are not cleaned up."""
    original, calls = storage.sync_folder, []

    def interrupted(folder):
        original(folder)
        calls.append(folder)
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(storage, "sync_folder", interrupted)
    with pytest.raises(KeyboardInterrupt):
        thresher.save(fitted(NEW), path)
    assert_same_model(fitted(NEW), thresher.load(path), X)


def test_a_reader_between_two_documents_looks_again(path, monkeypatch):
    """The .npz that the document named is gone since the model was just replaced."""
    stale = path.read_bytes()
    thresher.save(fitted(NEW), path)
    fresh, looks = path.read_bytes(), []
    original = files.parse_json

    def parsed(data):
        looks.append(1)
        return original(stale if len(looks) == 1 else fresh)

    monkeypatch.setattr(files, "parse_json", parsed)
    assert_same_model(fitted(NEW), thresher.load(path), X)
    assert len(looks) == 2


def test_a_renamed_document_does_not_own_the_arrays(path):
    """Saving over a renamed copy leaves the .npz to the original."""
    shutil.copy(path, path.parent / "other.json")
    thresher.save(fitted(NEW), path.parent / "other.json")
    assert_same_model(fitted(OLD), thresher.load(path), X)


def test_a_failure_leaves_arrays_that_a_renamed_document_needs(path, monkeypatch):
    """Arrays that were there before are not cleaned up, whoever uses them."""
    os.rename(path, path.parent / "other.json")
    failing(monkeypatch, "replace", 2)
    with pytest.raises(Failure):
        thresher.save(fitted(OLD), path)
    assert_same_model(fitted(OLD), thresher.load(path.parent / "other.json"), X)


def test_what_could_not_be_loaded_is_not_written(path):
    """A model that was broken by hand does not replace a sound one."""
    broken = copy.copy(fitted(NEW))
    broken.selection_ = replace(broken.selection_, weights=np.full(4, np.nan))
    with pytest.raises(ValueError, match="this model cannot be saved: weights"):
        thresher.save(broken, path)
    assert_same_model(fitted(OLD), thresher.load(path), X)
    assert len(os.listdir(path.parent)) == 2


def test_a_hostile_document_cannot_name_a_victim(path):
    """The .npz of a document that is replaced is deleted only if it is named after the document."""
    victim = path.parent / "thesis.0123456789ab.npz"
    victim.write_bytes(b"years of work")
    digest = "0123456789ab" + 52 * "0"
    path.write_text(f'{{"arrays": {{"file": "{victim.name}", "sha256": "{digest}"}}}}')
    thresher.save(fitted(NEW), path)
    assert victim.exists()


def test_links_are_followed_and_devices_left_alone(path):
    """A link stays a link; what is no file is not replaced."""
    link = path.parent / "latest"
    link.symlink_to(path)
    thresher.save(fitted(NEW), link)
    assert link.is_symlink()
    assert_same_model(fitted(NEW), thresher.load(link), X)
    assert_same_model(fitted(NEW), thresher.load(path), X)
    with pytest.raises(OSError, match="not a regular file"):
        thresher.save(fitted(NEW), os.devnull)
    with pytest.raises(OSError, match="not a regular file"):
        thresher.save(fitted(NEW), path.parent)


def test_a_folder_that_is_not_there_is_the_usual_error(tmp_path):
    """As open() has it."""
    with pytest.raises(FileNotFoundError):
        thresher.save(fitted(NEW), tmp_path / "no" / "model.json")
    with pytest.raises(FileNotFoundError):
        thresher.load(tmp_path / "model.json")


def test_strange_file_names_work(tmp_path, monkeypatch):
    """Names with spaces, dots, colons, no suffix."""
    monkeypatch.setattr(arrays, "INLINE", 0)
    for name in ("a b.json", ".hidden.json", "a:b", "x.y.txt", "größe.json"):
        thresher.save(fitted(NEW), tmp_path / name)
        thresher.save(fitted(OLD), tmp_path / name)
        assert_same_model(fitted(OLD), thresher.load(tmp_path / name), X)
    assert len(os.listdir(tmp_path)) == 10


@pytest.mark.parametrize("save", [thresher.save, thresher.save_checkpoint])
def test_a_folder_that_does_not_exist_is_named(save, tmp_path):
    clf = thresher.StreamClassifier(2).fit(X, np.arange(len(X)) % 2)
    with pytest.raises(FileNotFoundError, match=r"the folder does not exist: '.*/missing'$"):
        save(clf, tmp_path / "missing" / "m.json")


def test_a_data_file_is_no_model(tmp_path):
    np.savez(tmp_path / "data.npz", X=X)
    assert not files.is_checkpoint(tmp_path / "data.npz")
    with pytest.raises(ModelFileError, match=r"data\.npz is a data file \(npz\), not a model"):
        thresher.load(tmp_path / "data.npz")
