"""``thresher path`` in a child process, and its files with predict and inspect."""

import os
import re
import signal
import subprocess
import threading

import numpy as np
import pytest

import thresher
from tests.cli.test_commands import COMMAND, as_json, heed_ctrl_c, in_child, thresh
from thresher.io import read

OPTIONS = ("--step", 0.1, "--cv", 3, "--max-features", 8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("path"), np.random.default_rng(0)
    X = np.round(rng.standard_normal((160, 20)), 2)
    y = np.where(X[:, 3] ** 2 + X[:, 8] ** 2 > 1.5, 1, -1)
    for part, rows in (("train", slice(110)), ("test", slice(110, None))):
        np.savez(folder / f"{part}.npz", X=X[rows], y=y[rows])
    return folder


@pytest.fixture(scope="module")
def report(folder):
    """What the command prints for path.json."""
    return in_child("path", "train.npz", *OPTIONS, "-o", "path.json", folder=folder).stdout


def test_the_report_and_the_file_are_those_of_the_estimator(folder, report):
    table = read(folder / "train.npz")
    clf = thresher.AlignmentPathClassifier(path=thresher.KernelPath(step=0.1), cv=3, max_features=8)
    clf.fit(table.X, table.y)
    loaded = thresher.load(folder / "path.json")
    np.testing.assert_array_equal(loaded.path_.cv_score, clf.path_.cv_score)
    np.testing.assert_array_equal(loaded.decision_function(table.X), clf.decision_function(table.X))
    assert loaded.verbose == 0
    lines = report.splitlines()
    assert lines[0].startswith("train.npz: 110 rows, 20 columns")
    assert "11 points of the path" in lines
    assert f"{clf.best_score_:.4f} *" in report
    assert f"{clf.selection_.features.size} of 20 features" in report
    assert "kernel weight" in report
    assert "ranked by the weight of the feature's kernel" in report
    assert "favours class" not in report
    assert "above its minimum" in report
    assert lines[-1] == "the path is in path.json"


def test_predict_with_other_numbers_of_features(folder, report):
    table = read(folder / "test.npz")
    loaded = thresher.load(folder / "path.json")
    for number in (None, 6, 3):
        options = () if number is None else ("--features", number)
        clf = loaded if number is None else loaded.at(number)
        found = as_json("predict", "path.json", "test.npz", *options, folder=folder)
        assert found["accuracy"] == pytest.approx(clf.score(table.X, table.y))
    thresh("predict", "path.json", "test.npz", "-k", 0, folder=folder, check=2)
    wrong = thresh("predict", "path.json", "test.npz", "--point", 0, 0, folder=folder, check=2)
    assert "for this model use --features" in wrong.stderr


def test_points_that_were_not_scored(folder):
    text = thresh("path", "train.npz", "-o", "few.json", *OPTIONS, "--lambda2", 0.03, folder=folder).stdout
    assert "nan" not in text
    assert re.search(r"\n *\S+ +20 +-\n", text)
    assert "\n-: not scored, since the point has too many features (--max-features)" in text


def test_inspect(folder, report):
    found = as_json("inspect", "path.json", folder=folder)
    loaded = thresher.load(folder / "path.json")
    assert found["best_score"] == loaded.best_score_
    assert found["p"] == loaded.path_.p[loaded.point_]
    assert found["path"]["n_features"] == loaded.path_.n_features.tolist()
    assert {each["column"] for each in found["features"]} == set(loaded.selection_.features.tolist())
    text = thresh("inspect", "path.json", "--features", 4, folder=folder).stdout
    assert f"{loaded.at(4).selection_.features.size} of 20 features" in text
    assert "from the path of a fit that stopped with" in text
    names = thresh("inspect", "path.json", "--names-only", "--top", 1, folder=folder).stdout
    assert names.split() in (["3"], ["8"], ["x3"], ["x8"])


def test_other_options(folder):
    found = as_json(
        "path", "train.npz", "--kernel", "laplace", "--divergence", "kl", "--gamma", 0.5, "--C", 3, "--step", 0.2,
        "--lambda2", 0.05, "-o", "other.json", folder=folder,
    )  # fmt: skip
    clf = thresher.load(folder / "other.json")
    assert (clf.kernel, clf.path.divergence, clf.cv) == ("laplace", "kl", None)
    assert (clf.gamma, clf.C_, clf.path.lambda2) == (0.5, 3.0, 0.05)
    assert "best_score" not in found
    assert found["n_features"] == clf.selection_.features.size


def test_a_linear_svm_and_a_small_file(folder):
    small = ("--svm", "linear", "--no-store-training-columns", "-o", "small.json")
    as_json("path", "train.npz", *OPTIONS, *small, folder=folder)
    table = read(folder / "test.npz")
    clf = thresher.load(folder / "small.json")
    assert (clf.svm, clf.store_training_columns) == ("linear", False)
    found = as_json("predict", "small.json", "test.npz", folder=folder)
    assert found["accuracy"] == pytest.approx(clf.score(table.X, table.y))
    wrong = thresh("predict", "small.json", "test.npz", "--features", 3, folder=folder, check=1)
    assert "fit again with store_training_columns=True" in wrong.stderr


def test_a_model_of_listed_kernels(folder):
    table = read(folder / "train.npz")
    kernels, path = [("rbf", [3, 8]), ("linear", 2), ("rbf", 5)], thresher.KernelPath(step=0.25)
    clf = thresher.AlignmentPathClassifier(kernels, cv=None, path=path)
    thresher.save(clf.fit(table.X, table.y), folder / "units.json")
    text = thresh("inspect", "units.json", folder=folder).stdout
    assert "rbf(3, 8)" in text
    assert "1 of 3 kernels" in text
    assert as_json("inspect", "units.json", folder=folder)["features"][0]["columns"] == [3, 8]
    found = as_json("predict", "units.json", "test.npz", folder=folder)
    assert found["accuracy"] == pytest.approx(clf.score(read(folder / "test.npz").X, read(folder / "test.npz").y))


def test_wrong_options(folder):
    for options in (("--kernel", "sigmoid"), ("--cv", 1), ("--step", 0), ("--max-features", 0), ("--gamma", -1)):
        thresh("path", "train.npz", *options, folder=folder, check=2)
    assert "eps must be below 1/e" in thresh("path", "train.npz", "--eps", 0.5, folder=folder, check=1).stderr


@pytest.mark.slow
def test_ctrl_c_keeps_the_best_point_so_far(folder):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((700, 60))
    np.savez(folder / "long.npz", X=X, y=np.sign(X[:, 0] * X[:, 1]))
    child = subprocess.Popen(
        [*COMMAND, "path", "long.npz", "--step", "0.005", "--cv", "5", "--json", "-o", "ended.json"], cwd=folder,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed_ctrl_c,
    )  # fmt: skip
    threading.Timer(12.0, lambda: os.kill(child.pid, signal.SIGINT)).start()
    out, err = child.communicate(timeout=120)
    assert child.returncode == 130, err
    assert thresher.load(folder / "ended.json").selection_.interrupted
    assert '"interrupted": true' in out


def test_fewer_folds_and_scores_of_two_classes(folder):
    """A warning, and what to use instead."""
    rng = np.random.default_rng(0)
    np.savez(folder / "three.npz", X=rng.standard_normal((30, 4)), y=np.minimum(np.arange(30) // 5, 2))
    told = as_json("path", "three.npz", "--step", 0.5, "--cv", 50, "-o", "three.json", folder=folder)
    assert "cv=50 is reduced to 5 folds: the smallest class has 5 different samples" in told["warnings"]
    done = thresh("path", "three.npz", "--cv", 3, "--scoring", "f1", folder=folder, check=1)
    assert "but y has 3 classes; use 'f1_macro'" in done.stderr
