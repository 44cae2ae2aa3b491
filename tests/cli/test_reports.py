"""What commands report: features by importance, the proof in words, scores that are no estimates, a full disk."""

import errno
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import thresher
from tests.cli.test_commands import as_json, thresh
from tests.models.make_fixtures import HERE
from thresher.cli.commands import stream as stream_module
from thresher.models import checkpoint, files
from thresher.results.words import proof

TABLE = load_breast_cancer(as_frame=True)
NAMES = [name.replace(" ", "_") for name in TABLE.feature_names]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Columns in very different units."""
    folder = tmp_path_factory.mktemp("reports")
    frame = TABLE.frame.set_axis([*NAMES, "label"], axis=1)
    frame.to_csv(folder / "cells.csv", index=False)
    few = frame[[NAMES[0], NAMES[6], "label"]]
    lines = [f"{1 if y else -1} 1:{a} 2:{b}\n" for a, b, y in few.itertuples(index=False)]
    (folder / "cells.svm").write_text("".join(lines))
    return folder


@pytest.fixture(scope="module")
def selected(folder):
    """What select prints for model.json."""
    return thresh("select", "cells.csv", "-k", 3, "--C", "rule", "-o", "model.json", folder=folder).stdout


# ------------------------------------------------------------------------------------------------- importance


def test_features_are_ranked_by_importance_everywhere(folder, selected):
    """In select, inspect, --top, --names-only and JSON; weights are shown beside it."""
    selection = thresher.load(folder / "model.json").selection_
    best = selection.features[selection.ranking].tolist()
    assert best != selection.features[np.argsort(-np.abs(selection.weights))].tolist()
    names = [NAMES[j] for j in best]
    for shown in (selected, thresh("inspect", "model.json", folder=folder).stdout):
        rows = [line.split() for line in shown.splitlines() if line.startswith(("1  ", "2  ", "3  "))]
        assert [row[1] for row in rows] == names
        assert [float(row[2]) for row in rows] == [float(f"{x:.4g}") for x in np.sort(selection.importance)[::-1]]
        assert {float(row[3]) for row in rows} == {float(f"{weight:.6g}") for weight in selection.weights}
        assert "importance: |weight| x standard deviation of the column" in shown
    assert thresh("inspect", "model.json", "--names-only", "--top", 2, folder=folder).stdout.split() == names[:2]
    report = as_json("inspect", "model.json", "--top", 2, folder=folder)
    assert [each["column"] for each in report["features"]] == best[:2]
    assert [each["importance"] for each in report["features"]] == sorted(selection.importance, reverse=True)[:2]
    assert report["ranked_by"] == "importance"
    fewer = as_json("inspect", "model.json", "-k", 2, folder=folder)["features"]
    assert fewer[0]["importance"] >= fewer[1]["importance"]


def test_models_without_importance_say_what_they_are_ranked_by(folder):
    """Files of earlier versions, and streams."""
    shown = thresh("inspect", HERE / "v2_two.json").stdout
    assert "ranked by |weight|, which depends on the units of a column: the standard deviations of the" in shown
    report = as_json("inspect", HERE / "v2_two.json")
    weights = [abs(each["weight"]) for each in report["features"]]
    assert weights == sorted(weights, reverse=True)
    assert report["ranked_by"] == "weight"
    assert {each["importance"] for each in report["features"]} == {None}
    shown = thresh("stream", "cells.svm", "-o", "stream.json", folder=folder).stdout
    assert "a stream keeps no statistics of columns" in shown


# ------------------------------------------------------------------------------------------------- words


def test_the_proof_is_the_same_sentence_in_select_inspect_and_json(folder, selected):
    """Of a number of features, of a number for each class, and of penalties."""
    sentence = proof(thresher.load(folder / "model.json").selection_.certificate, 30, 3)
    assert f"certificate: {sentence}\n" in selected
    assert f"certificate: {sentence}\n" in thresh("inspect", "model.json", folder=folder).stdout
    assert as_json("inspect", "model.json", folder=folder)["proof"] == sentence
    at = as_json("inspect", "model.json", "-k", 2, folder=folder)["proof"]
    assert "no 2 of the 30 columns could" in at
    options = ("--always", NAMES[3], "-k", 3, "-o", "always.json")
    assert "no 3 of the 30 columns (1 always included)" in thresh("select", "cells.csv", *options, folder=folder).stdout


def test_the_proof_for_each_class(folder):
    """The number is that of a class, not that of the union."""
    X = TABLE.data.to_numpy()
    y = np.digitize(X[:, 0], np.quantile(X[:, 0], (0.3, 0.7)))
    np.savez(folder / "three.npz", X=X, y=y)
    report = as_json("select", "three.npz", "-k", 3, "--per-class", "-o", "each.json", folder=folder)
    assert report["n_features"] > 3
    assert "no 3 of the 30 columns (for each class) could" in report["proof"]


def test_a_score_that_was_chosen_by_is_said_to_be_no_estimate(folder):
    """Of C and elimination, and for a grid; not for models that were not chosen."""
    thresh("select", "cells.csv", "-k", 2, "-o", "auto.json", folder=folder)
    thresh("grid", "cells.svm", "--betas", 2, "--alphas", 3, "--cv", 2, "-o", "grid.json", folder=folder)
    shown = thresh("inspect", "auto.json", folder=folder).stdout
    score = thresher.load(folder / "auto.json").cv_results_["mean_test_score"].max()
    shown = " ".join(shown.split())
    assert f"cross-validation: accuracy {score:.4f}, the best of 7 combinations of C and elimination" in shown
    assert "not an estimate for new data" in shown
    report = as_json("inspect", "auto.json", folder=folder)
    assert report["compared"].startswith(
        f"accuracy {score:.4f}, the best of 7 combinations of C and elimination by 5 f"
    )
    assert report["by_rule"] is None
    shown = thresh("inspect", "grid.json", folder=folder).stdout
    grid = thresher.load(folder / "grid.json")
    n_points = grid.path_.n_features.size
    assert f"cross-validation: accuracy {grid.best_score_:.4f}, the best of {n_points} points" in shown
    assert "score samples that were not in the training data (thresher predict)" in shown
    assert "cross-validation" not in thresh("inspect", "grid.json", "--point", 1, 1, folder=folder).stdout
    assert "cross-validation" not in thresh("inspect", "model.json", folder=folder).stdout


def test_a_number_that_is_not_on_the_path_says_which_are(folder, selected):
    done = thresh("inspect", "model.json", "-k", 25, folder=folder, check=1)
    assert "no station of the path has 25 features; there are 1 to " in done.stderr
    assert "For another number fit again with n_features_to_select (--features)" in done.stderr


@pytest.mark.parametrize("arguments", [("--help",), ("select", "--help"), ("stream", "--help")])
def test_help_survives_an_interpreter_that_strips_docstrings(arguments):
    """``python -OO`` shows what ``python`` does."""
    how = {"capture_output": True, "text": True, "timeout": 120, "env": os.environ | {"COLUMNS": "100"}}
    done = subprocess.run([sys.executable, "-OO", "-m", "thresher", *arguments], **how)
    assert done.returncode == 0, done.stderr
    assert done.stdout == subprocess.run([sys.executable, "-m", "thresher", *arguments], **how).stdout
    assert "Learn from a stream" in done.stdout or "model file" in done.stdout


# ------------------------------------------------------------------------------------------------- a full disk


def full(monkeypatch, *modules, only=""):
    """Writing a file whose folder is ``only`` (any: "") fails as on a full disk."""

    def write(path, fill, really=files.write_synced):
        if str(path).startswith(str(only)):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        really(path, fill)

    for module in modules or (files,):
        monkeypatch.setattr(module, "write_synced", write)


COMMANDS = {
    "select": ("select", "cells.csv", "-k", 2),
    "grid": ("grid", "cells.svm", "--betas", 2, "--alphas", 3),
    "stream": ("stream", "cells.svm"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_does_not_take_the_report_with_it(folder, command, monkeypatch, tmp_path):
    """The error names the file and what to do; a model that was there stays as it was."""
    out = tmp_path / "full.json"
    thresh(*COMMANDS[command], "-o", out, folder=folder)
    before, listed = out.read_bytes(), sorted(os.listdir(tmp_path))
    full(monkeypatch)
    done = thresh(*COMMANDS[command], "-o", out, folder=folder, check=1)
    assert f"thresher: error: {out}: cannot be written: No space left on device; free some space" in done.stderr
    assert "--out, and run the command again" in done.stderr
    assert "stop reason: " in done.stdout
    assert " features\n" in done.stdout
    assert ("certificate: " in done.stdout) == (command != "stream")
    assert f"in {out}" not in done.stdout
    assert out.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == listed
    report = json.loads(thresh(*COMMANDS[command], "-o", out, "--json", folder=folder, check=1).stdout)
    assert report["model"] is None
    assert "No space left on device" in report["save_error"]
    assert report["features"]


def test_a_model_that_cannot_be_written_is_kept_among_temporary_files(folder, monkeypatch, tmp_path):
    """Where there is space; it is the model that was asked for."""
    (tmp_path / "full").mkdir()
    (tmp_path / "spare").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "spare"))
    full(monkeypatch, only=tmp_path / "full")
    out = tmp_path / "full" / "m.json"
    done = thresh("select", "cells.csv", "-k", 2, "-o", out, folder=folder, check=1)
    (kept,) = (tmp_path / "spare").glob("thresher-*/m.json")
    assert f"{out}: cannot be written: No space left on device; the model is in {kept} instead" in done.stderr
    assert thresher.load(kept).selection_.features.size == 2


def test_a_checkpoint_that_cannot_be_written_does_not_end_the_stream(folder, monkeypatch, tmp_path):
    """It is tried again, told once, and an error at the end; the model is written."""
    monkeypatch.setattr(stream_module, "CHECKPOINT_SECONDS", 0.0)
    full(monkeypatch, checkpoint)
    options = ("--checkpoint", tmp_path / "state.npz", "-o", tmp_path / "m.json")
    done = thresh("stream", "cells.svm", *options, folder=folder, check=1)
    assert done.stderr.count("thresher: warning: ") == done.stderr.count("thresher: error: ") == 1
    assert done.stderr.count("state.npz: cannot be written: No space left on device") == 2
    assert f"the model is in {tmp_path / 'm.json'}" in done.stdout
    assert thresher.load(tmp_path / "m.json").n_examples_ == 569


def test_predictions_that_cannot_be_written_name_the_file(folder, selected):
    """On a device that is always full."""
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    done = thresh("predict", "model.json", "cells.csv", "-o", "/dev/full", folder=folder, check=1)
    assert "/dev/full: cannot be written: No space left on device; free some space" in done.stderr


NOTICE = """
import logging
import sys
from thresher.cli import main, show
from thresher.cli.commands import fitting
from thresher.cli.commands import inspect
from thresher.cli.commands import predict
from thresher.cli.commands import stream
from thresher.loops.jit import NOTICE

class Compiling(show.Reporter):
    def __init__(self, *args):
        super().__init__(*args)
        logging.getLogger("thresher").warning(NOTICE)

for module in (fitting, inspect, predict, stream):
    module.Reporter = Compiling
commands = (
    ["select", "cells.csv", "-k", "2", "-o", "n.json"],
    ["grid", "cells.svm", "--betas", "2", "--alphas", "2", "-o", "g.json"],
    ["stream", "cells.svm", "-o", "s.json"], ["predict", "n.json", "cells.csv"], ["inspect", "n.json"],
)
for command in commands:
    for options in ([], ["--json"], ["--quiet"]):
        if command[0] != "inspect" or options != ["--quiet"]:
            sys.stderr.write(f"> {command[0]} {options}\\n")
            sys.stderr.flush()
            assert main(command + options) == 0
"""


def test_every_command_says_that_loops_are_compiled_unless_quiet(folder):
    """On standard error, without any setup of logging."""
    done = subprocess.run([sys.executable, "-c", NOTICE], capture_output=True, text=True, cwd=folder, timeout=300)
    assert done.returncode == 0, done.stderr
    parts = done.stderr.split("> ")[1:]
    assert len(parts) == 14
    for part in parts:
        assert ("thresher: compiling loops" in part) == ("quiet" not in part.splitlines()[0]), part
