"""``thresher grid`` in a child process, and its files with predict and inspect."""

import os
import signal
import subprocess
import threading

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

import thresher
from tests.cli.test_commands import COMMAND, as_json, heed_ctrl_c, read_all, thresh
from thresher.datasets import make_wide
from thresher.io import read

OPTIONS = ("--betas", 3, "--alphas", 4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("grid")
    made = make_wide(150, 60, n_relevant=4, random_state=0)
    for part, rows in (("train", slice(100)), ("test", slice(100, None))):
        dump_svmlight_file(np.round(made.X[rows], 3), made.y[rows], str(folder / f"{part}.svm"), zero_based=False)
    (folder / "bad.svm").write_text("1 1:1\n-1 x\n")
    return folder


@pytest.fixture(scope="module")
def report(folder):
    """What the command prints for grid.json."""
    return thresh("grid", "train.svm", *OPTIONS, "--cv", 3, "-o", "grid.json", folder=folder).stdout


def test_the_report_and_the_file_are_those_of_the_estimator(folder, report):
    table = read(folder / "train.svm")
    path = thresher.SparseSVCPath(3, 4, cv=3).fit(table.X, table.y)
    loaded = thresher.load(folder / "grid.json")
    np.testing.assert_array_equal(loaded.scores_, path.scores_)
    np.testing.assert_array_equal(loaded.decision_function(table.X), path.decision_function(table.X))
    assert loaded.verbose == 0
    lines = report.splitlines()
    assert lines[0].startswith("train.svm: 100 rows, 60 columns")
    assert f"{path.path_.alphas.size} points" in lines
    betas = {f"{beta:.4g}" for beta in path.path_.betas}
    rows = [line.split() for line in lines if line.split(" ")[0] in betas]
    assert len(rows) == 3
    assert [row[-2] for row in rows].count("*") == 1
    assert f"{path.best_score_:.4f} *" in report
    assert f"{path.selection_.features.size} of 60 features" in report
    assert "no weights of the 60 columns, with these penalties, could lower it further" in report
    assert lines[-1] == "the models of all points are in grid.json"
    assert "removed" not in report


def test_what_was_removed_is_shown_where_it_was_tested(folder):
    """Shares at points of which something was proven; with ISS and IFS that is not the first one of a row."""
    options = (*OPTIONS, "--screening", "sifs", "-o", "sifs.json")
    report = thresh("grid", "train.svm", *options, folder=folder).stdout
    grid = thresher.load(folder / "sifs.json").path_
    assert not grid.screened.all()
    assert "features removed" in report
    for i, beta in enumerate(grid.betas):
        share = grid.features_removed[i, grid.screened[i]].mean() / 60
        (row,) = (line for line in report.splitlines() if line.split(" ")[0] == f"{beta:.4g}")
        assert f" {share:.1%} " in row
    seen = as_json("inspect", "sifs.json", folder=folder)["grid"]
    assert seen["screened"] == grid.screened.tolist()
    at = thresh("inspect", "grid.json", "--point", 1, 2, folder=folder).stdout
    assert "removed: 0 features, 0 samples; no screening tests were run" in at


def test_as_json_without_folds_with_an_intercept_and_a_scale(folder):
    options = ("--scale", "std", "--smoothing", 0.3, "--balanced", "--screening", "sifs", "--jobs", 1)
    found = as_json("grid", "train.svm", *OPTIONS, *options, "-o", "plain.json", folder=folder)
    table = read(folder / "train.svm")
    given = {"fit_intercept": True, "scale": "std", "smoothing": 0.3, "class_weight": "balanced", "screening": "sifs"}
    path = thresher.SparseSVCPath(3, 4, **given).fit(table.X, table.y)
    assert found["point"] == [2, 3]
    assert found["interrupted"] is False
    assert found["model"] == "plain.json"
    assert found["alpha"] == path.path_.alphas[2, 3]
    assert found["grid"]["selected"] == path.path_.n_features.tolist()
    assert found["intercept"] == path.intercept_[0] != 0.0
    assert sorted(each["column"] for each in found["features"]) == path.selection_.features.tolist()
    assert found["certificate"]["gap"] <= 1e-6
    assert "scores" not in found


def test_max_time_and_quiet(folder):
    """Silent but for the warning that one point with w = 0 is a poor model."""
    done = thresh("grid", "train.svm", *OPTIONS, "--max-time", 1e-9, "-o", "q.json", "--quiet", folder=folder)
    assert done.stdout == ""
    assert done.stderr.count("thresher: warning: ") == done.stderr.count("\n") == 2
    assert thresher.load(folder / "q.json").path_.solved.sum() == 1


def test_predict_and_inspect_at_a_point(folder, report):
    path, test = thresher.load(folder / "grid.json"), read(folder / "test.svm")
    best = as_json("predict", "grid.json", "test.svm", folder=folder)
    assert best["accuracy"] == path.score(test.X, test.y) > 0.8
    at = as_json("predict", "grid.json", "test.svm", "--point", 1, 2, folder=folder)
    point = path.at(1, 2)
    assert at["accuracy"] == point.score(test.X, test.y)
    assert at["predicted"]["1"] == int((point.predict(test.X) == 1).sum())
    seen = as_json("inspect", "grid.json", "--point", 1, -1, folder=folder)
    last = path.at(1, -1)
    assert (seen["alpha"], seen["beta"]) == (last.alpha, last.beta)
    assert sorted(each["column"] for each in seen["features"]) == last.selection_.features.tolist()
    assert seen["features_removed"] == last.features_removed_
    shown = thresh("inspect", "grid.json", folder=folder).stdout
    i, j = path.best_index_
    assert f"{path.path_.alphas.size} points solved; features 0 to {path.path_.n_features.max()})" in shown
    assert f"chosen: point {i}, {j}" in shown


WRONG = {
    "no file": (("grid", "absent.svm"), 1, "absent.svm: no such file"),
    "a bad line": (("grid", "bad.svm"), 1, "bad.svm: line 2"),
    "smoothing": (("grid", "train.svm", "--smoothing", 2), 2, "--smoothing"),
    "samples": (("grid", "train.svm", "--screening", "iss"), 2, "tests samples, which needs --no-intercept"),
    "betas": (("grid", "train.svm", "--betas", 0), 2, "Must be >= 1."),
    "out is the data": (("grid", "train.svm", "-o", "train.svm"), 2, "--out train.svm is an input file"),
    "a point outside": (("predict", "grid.json", "test.svm", "--point", 9, 0), 1, "i=9 is outside the grid"),
    "half a point": (("inspect", "grid.json", "--point", 1), 2, "--point"),
    "features of a grid": (("inspect", "grid.json", "-k", 3), 2, "--features is for models of select"),
}


@pytest.mark.parametrize("case", WRONG)
def test_one_clear_line_for_what_is_wrong(folder, report, case):
    arguments, code, message = WRONG[case]
    done = thresh(*arguments, folder=folder, check=code)
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("thresher: error: ")
    assert message in done.stderr


def test_a_scoring_that_is_not_known_is_said(folder):
    options = ("--cv", 2, "--scoring", "acuracy", "-o", "s.json")
    done = thresh("grid", "train.svm", *OPTIONS, *options, folder=folder, check=1)
    assert "scoring='acuracy' is not the name of a scorer of scikit-learn; did you mean 'accuracy'" in done.stderr
    assert not (folder / "s.json").exists()


def test_one_fold_is_wrong_usage(folder):
    thresh("grid", "train.svm", "--cv", 1, folder=folder, check=2)


def test_a_scoring_that_needs_probabilities_is_refused(folder):
    options = ("--cv", 2, "--scoring", "neg_log_loss", "-o", "s.json")
    assert "scoring" in thresh("grid", "train.svm", *OPTIONS, *options, folder=folder, check=1).stderr


@pytest.mark.skipif(os.name == "nt", reason="signals and terminals of POSIX")
def test_ctrl_c_writes_the_points_reached_and_progress_is_shown(tmp_path):
    made = make_wide(400, 1000, n_relevant=50, random_state=0)
    np.savez(tmp_path / "long.npz", X=made.X, y=made.y)
    ours, theirs = os.openpty()
    child = subprocess.Popen(
        [*COMMAND, "grid", "long.npz", "-o", "m.json", "--betas", "100", "--alphas", "200"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=theirs, text=True,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "200"}, preexec_fn=heed_ctrl_c,
    )  # fmt: skip
    os.close(theirs)
    seen = ""
    while " of 20,000 points" not in seen:  # ends with an error if the child has ended
        seen += os.read(ours, 4096).decode(errors="replace")
    child.send_signal(signal.SIGINT)
    drain = threading.Thread(target=read_all, args=(ours,))
    drain.start()
    out, _ = child.communicate(timeout=120)
    drain.join()
    os.close(ours)
    assert child.returncode == 130
    assert "interrupted; the points solved so far are in m.json" in out
    path = thresher.load(tmp_path / "m.json")
    assert path.selection_.interrupted
    reached = path.path_.solved.ravel()
    assert 0 < reached.sum() < 20_000
    assert reached[: reached.sum()].all()
    assert path.predict(made.X).shape == (400,)
    for word in ("points", "features", "gap", "passes"):
        assert word in seen


@pytest.mark.skipif(os.name == "nt", reason="terminals of POSIX")
def test_progress_of_the_folds_is_shown_on_a_terminal_without_being_asked(folder, tmp_path):
    """A bar over the points of all folds; where standard error is no terminal, nothing."""
    command = [*COMMAND, "grid", str(folder / "train.svm"), *map(str, OPTIONS), "--cv", "3"]
    ours, theirs = os.openpty()
    child = subprocess.Popen(
        [*command, "-o", "m.json"], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=theirs,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "200"},
    )  # fmt: skip
    os.close(theirs)
    seen = []
    drain = threading.Thread(target=read_all, args=(ours, seen))
    drain.start()
    assert child.wait(timeout=120) == 0
    drain.join()
    os.close(ours)
    points = thresher.load(tmp_path / "m.json").path_.alphas.size
    assert f"{4 * points} of {4 * points} points" in b"".join(seen).decode()  # with all samples, and without each fold
    piped = subprocess.run([*command, "-o", "n.json"], cwd=tmp_path, capture_output=True, check=True)
    assert b"points" not in piped.stderr
