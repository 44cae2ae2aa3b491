"""The commands on real files; what needs a process of its own runs in a child."""

import contextlib
import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import warnings
from unittest import mock

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

import thresher
from thresher.cli import main
from thresher.datasets import make_wide
from thresher.io import read

COMMAND = [sys.executable, "-m", "thresher"]


def heed_ctrl_c():
    """For children of a test run in the background, where shells have SIGINT ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def thresh(*arguments, given="", folder=".", check=0):
    """Run a command in this process; its exit code must be ``check``, and there must be no traceback."""
    out, err, stdin = io.StringIO(), io.StringIO(), io.TextIOWrapper(io.BufferedReader(io.BytesIO(given.encode())))
    before = signal.getsignal(signal.SIGTERM)
    with (
        contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err),
        mock.patch.object(sys, "stdin", stdin), warnings.catch_warnings(),
    ):  # fmt: skip
        warnings.simplefilter("default")
        code = main([str(each) for each in arguments])
    signal.signal(signal.SIGTERM, before)
    done = subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())
    assert "Traceback" not in done.stderr
    assert done.returncode == check, done.stderr
    return done


def in_child(*arguments, given=None, folder=None, check=0):
    """The same in a process of its own."""
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)], input=given, capture_output=True, text=True, cwd=folder, timeout=300
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == check, done.stderr
    return done


def as_json(*arguments, **options):
    return json.loads(thresh(*arguments, "--json", **options).stdout)


@pytest.fixture(scope="module")
def made():
    return make_wide(300, 400, n_relevant=5, random_state=0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, made):
    """The same data as every kind of file: the first 200 rows to train, the others to test."""
    folder = tmp_path_factory.mktemp("files")
    X, y = np.round(made.X, 3), made.y
    names = [f"gene {j}" for j in range(X.shape[1])]
    for part, rows in (("train", slice(200)), ("test", slice(200, None))):
        dump_svmlight_file(X[rows], y[rows], str(folder / f"{part}.svm"), zero_based=False)
        (folder / f"{part}.svm.gz").write_bytes(gzip.compress((folder / f"{part}.svm").read_bytes()))
        sparse.save_npz(folder / f"{part}_sparse.npz", sparse.csr_matrix(X[rows]))
        np.savez(folder / f"{part}_dense.npz", X=X[rows], y=y[rows])
        np.save(folder / f"{part}.npy", X[rows])
        np.save(folder / f"{part}_y.npy", y[rows])
        order = np.arange(X.shape[1]) if part == "train" else np.arange(X.shape[1])[::-1]
        lines = [",".join(["sample", *(f'"{names[j]}"' for j in order), "kind"])]
        words = np.where(y[rows] > 0, "ill", "well")
        for i, (row, word) in enumerate(zip(X[rows], words, strict=True)):
            lines.append(",".join([f"s{i}", *(repr(float(row[j])) for j in order), word]))
        (folder / f"{part}.csv").write_text("\n".join(lines) + "\n")
    np.savez(folder / "data.npz", X=X)
    (folder / "names.txt").write_text("\n".join(names) + "\n")
    return folder


@pytest.fixture(scope="module")
def model(folder):
    thresh("select", "train.svm", "--features", 5, "--out", "model.json", folder=folder)
    return folder / "model.json"


def test_select_finds_what_the_estimator_does(folder, made):
    report = as_json("select", "train.svm", "-k", 5, "-o", "a.json", folder=folder)
    table = read(folder / "train.svm")
    clf = thresher.FGMClassifier(5).fit(table.X, table.y)
    assert sorted(each["column"] for each in report["features"]) == clf.selection_.features.tolist()
    assert sorted(each["column"] for each in report["features"]) == made.relevant.tolist()
    assert all(int(each["name"]) == each["column"] + 1 for each in report["features"])
    assert report["certificate"]["gap"] >= 0.0
    assert report["interrupted"] is False
    loaded = thresher.load(folder / "a.json")
    assert np.array_equal(loaded.decision_function(table.X), clf.decision_function(table.X))
    assert (loaded.C_, loaded.elimination_) == (clf.C_, clf.elimination_) == (report["C"], report["elimination"])


@pytest.mark.parametrize(
    ("options", "C", "elimination", "chosen"),
    [
        ((), "auto", "auto", 7),
        (("--C", "auto", "--no-elimination"), "auto", False, 4),
        (("--elimination",), "auto", True, 4),
        (("--C", 0.5), 0.5, "auto", 2),
        (("--C", 0.5, "--elimination"), 0.5, True, 0),
        (("--C", "rule"), None, None, 0),
        (("--C", "rule", "--no-elimination"), None, False, 0),
    ],
)
def test_what_is_not_given_is_chosen(folder, options, C, elimination, chosen):
    thresh("select", "train.svm", "-k", 5, *options, "-o", "chosen.json", folder=folder)
    clf = thresher.load(folder / "chosen.json")
    assert (clf.C, clf.elimination) == (C, elimination)
    assert len(getattr(clf, "cv_results_", {"params": []})["params"]) == chosen


def test_without_a_number_of_features_nothing_is_chosen(folder):
    shown = thresh("select", "train.svm", "--tol", 0.1, "-o", "grown.json", folder=folder).stdout
    assert "cross-validation" not in shown
    shown = thresh("inspect", "grown.json", folder=folder).stdout
    assert "C = 1 and growth alone by rule: without a number of features nothing is compared" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("train", "test", "options"),
    [
        ("train.svm", "test.svm", ()),
        ("train.svm.gz", "test.svm.gz", ()),
        ("train_dense.npz", "test_dense.npz", ()),
        ("train.csv", "test.csv", ("--label-column", "kind", "--ignore", "sample")),
    ],
)
def test_every_kind_of_file_gives_the_same_features_and_accuracy(folder, made, train, test, options):
    report = as_json("select", train, "-k", 5, "--elimination", "-o", "b.json", "--test", test, *options, folder=folder)
    assert sorted(each["column"] for each in report["features"]) == made.relevant.tolist()
    assert report["path_numbers"][:10] == list(range(1, 11))
    scored = as_json("predict", "b.json", test, folder=folder)
    assert scored["accuracy"] == report["accuracy"] > 0.9
    assert set(scored["by_class"]) == ({"ill", "well"} if train == "train.csv" else {"-1", "1"})
    assert scored["roc_area"] > 0.95


@pytest.mark.parametrize(("train", "test"), [("train_sparse.npz", "test_sparse.npz"), ("train.npy", "test.npy")])
def test_labels_in_files_of_their_own(folder, made, train, test):
    report = as_json(
        "select", train, "--labels", "train_y.npy", "-k", 5, "-o", "c.json", "--names", "names.txt",
        "--test", test, "--test-labels", "test_y.npy", folder=folder,
    )  # fmt: skip
    assert {each["name"] for each in report["features"]} == {f"gene {j}" for j in made.relevant}
    scored = as_json("predict", "c.json", test, "--labels", "test_y.npy", folder=folder)
    assert scored["accuracy"] == report["accuracy"]
    unlabelled = thresh("predict", "c.json", test, folder=folder)
    assert "without known labels" in unlabelled.stdout


def test_parquet(folder, made):
    pandas = pytest.importorskip("pandas")
    for part in ("train", "test"):
        frame = pandas.read_csv(folder / f"{part}.csv").drop(columns="sample")
        frame.to_parquet(folder / f"{part}.parquet")
    report = as_json(
        "select", "train.parquet", "--label-column", "kind", "-k", 5, "-o", "d.json", "--test", "test.parquet",
        folder=folder,
    )  # fmt: skip
    assert sorted(each["column"] for each in report["features"]) == made.relevant.tolist()
    assert as_json("predict", "d.json", "test.csv", folder=folder)["accuracy"] == report["accuracy"]


def test_standard_input_and_output(folder, model):
    text = (folder / "test.svm").read_text()
    done = in_child("predict", model, "-", "--out", "-", "--scores", given=text)
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    table = read(folder / "test.svm")
    clf = thresher.load(model)
    assert [int(label) for label, _ in lines] == clf.predict(table.X).tolist()
    assert [float(score) for _, score in lines] == clf.decision_function(table.X).tolist()


def test_a_test_file_cannot_shift(folder, model, made):
    """The smallest and the largest index of the test rows are other than those of the training rows."""
    table = read(folder / "test.svm")
    rows = [
        f"{label} " + " ".join(f"{j + 1}:{float(x)!r}" for j, x in zip(row.indices, row.data, strict=True) if j > 0)
        for label, row in zip(table.y, table.X, strict=True)
    ]
    path = folder / "shifted.svm"
    path.write_text("\n".join(row + " 999:1" for row in rows))
    done = thresh("predict", model, path, "--json")
    assert "ignored 100 values of features that were not seen in fit" in done.stderr
    clf, X = thresher.load(model), table.X.tolil()
    X[:, 0] = 0.0
    assert json.loads(done.stdout)["accuracy"] == clf.score(X.tocsr(), table.y)
    path.write_text("1 0:1 5:2\n")
    done = thresh("predict", model, path, check=1)
    assert "found feature index 0, but indices start at 1, as in the training file of the model" in done.stderr


def test_many_classes_C_auto_and_the_path(folder):
    X = np.random.default_rng(0).standard_normal((150, 60))
    y = np.array(["a", "b", "c"])[X[:, :3].argmax(axis=1)]
    np.savez(folder / "three.npz", X=X, y=y)
    report = as_json("select", "three.npz", "-k", 3, "--C", "auto", "--loss", "logistic", "-o", "e.json", folder=folder)
    assert sorted(each["column"] for each in report["features"]) == [0, 1, 2]
    assert len(report["features"][0]["weight"]) == 3
    assert report["C"] in (0.01, 0.1, 1.0, 10.0, 100.0)
    scored = as_json("predict", "e.json", "three.npz", "-k", 2, folder=folder)
    assert set(scored["by_class"]) == {"a", "b", "c"}
    shown = thresh("inspect", "e.json", folder=folder).stdout
    assert "stop reason: 3 features selected, as requested" in shown


def test_a_file_that_counts_from_one_is_not_read_as_one_that_counts_from_zero(folder):
    """All indices would be off by one; told explicitly, it is read right."""
    one, zero = (folder / "test.svm").read_text(), folder / "zero.svm"
    table = read(folder / "train.svm")
    dump_svmlight_file(table.X, table.y, str(zero), zero_based=True)
    thresh("select", "zero.svm", "-k", 5, "-o", "zero.json", folder=folder)
    done = thresh("predict", "zero.json", "test.svm", folder=folder, check=1)
    assert "indices run from 1 to 400, but those of the model from 0 to 399" in done.stderr
    assert "--index-base 1" in done.stderr
    told = as_json("predict", "zero.json", "-", "--index-base", 1, given=one, folder=folder)
    assert told["accuracy"] > 0.9


def test_what_a_model_does_not_look_at_may_be_missing_or_broken(folder, made):
    """Empty labels, missing values and words in columns that are not in the model."""
    options = ("--label-column", "kind", "--ignore", "sample", "-k", 5, "-o", "u.json")
    thresh("select", "train.csv", *options, folder=folder)
    expected = as_json("predict", "u.json", "test.csv", folder=folder)["predicted"]
    lines = [line.split(",") for line in (folder / "test.csv").read_text().splitlines()]
    idle = lines[0].index(f'"gene {next(j for j in range(400) if j not in made.relevant)}"')
    for row in lines[1:]:
        row[idle], row[-1] = "NA", ""
    (folder / "holes.csv").write_text("\n".join(map(",".join, lines)) + "\n")
    found = as_json("predict", "u.json", "holes.csv", folder=folder)
    assert found["predicted"] == expected
    assert "accuracy" not in found
    lines[3][-1] = "ill"
    (folder / "holes.csv").write_text("\n".join(map(",".join, lines)) + "\n")
    assert "missing label" in thresh("predict", "u.json", "holes.csv", folder=folder, check=1).stderr


def test_a_test_file_that_fails_does_not_take_the_report_with_it(folder):
    (folder / "strange.svm").write_text("7 1:1\n8 2:1\n")
    (folder / "broken.svm").write_text("1 x\n")
    done = thresh(
        "select", "train.svm", "-k", 5, "-o", "t.json", "--test", "broken.svm", "--json", folder=folder, check=1
    )
    assert json.loads(done.stdout)["test_error"].startswith("broken.svm: line 1")
    assert thresher.load(folder / "t.json").selection_.features.size == 5
    done = thresh("select", "train.svm", "-k", 5, "-o", "t.json", "--test", "strange.svm", folder=folder, check=1)
    assert "2 of 2 labels were not seen in fit: 7, 8" in done.stderr
    assert "the model is in t.json" in done.stdout


def test_a_word_among_labels_that_are_numbers(folder, model):
    """It makes words of all labels of that file; those that name a class still count."""
    np.savez(folder / "n.npz", X=np.load(folder / "test.npy"), y=np.load(folder / "test_y.npy"))
    thresh("select", "train_dense.npz", "-k", 5, "-o", "n.json", folder=folder)
    expected = as_json("predict", "n.json", "n.npz", folder=folder)
    words = [str(label) for label in np.load(folder / "test_y.npy")]
    (folder / "words.txt").write_text("\n".join(["unsure", *words[1:]]) + "\n")
    done = thresh("predict", "n.json", "test.npy", "--labels", "words.txt", "--json", folder=folder)
    assert "1 of 100 labels were not seen in fit: unsure" in done.stderr
    assert abs(json.loads(done.stdout)["accuracy"] - expected["accuracy"]) <= 0.0100001
    options = ("--test", "test.npy", "--test-labels", "words.txt")
    report = as_json("select", "train_dense.npz", "-k", 5, "-o", "n.json", *options, folder=folder)
    assert report["accuracy"] == json.loads(done.stdout)["accuracy"]


def test_probabilities_and_names_only(folder):
    thresh("select", "train.svm", "-k", 3, "--loss", "logistic", "-o", "p.json", folder=folder)
    thresh("predict", "p.json", "test.svm", "-o", "p.txt", "--probabilities", folder=folder)
    rows = np.array([line.split("\t") for line in (folder / "p.txt").read_text().splitlines()], dtype=float)
    assert np.allclose(rows[:, 1:].sum(axis=1), 1.0)
    assert np.array_equal(rows[:, 0] > 0, rows[:, 2] > 0.5)
    names = thresh("inspect", "p.json", "--names-only", folder=folder).stdout.split()
    listed = as_json("inspect", "p.json", folder=folder)["features"]
    assert names == [each["name"] for each in listed]


def test_no_feature_at_all(folder):
    (folder / "flat.csv").write_text("a,b,label\n1,2,x\n1,2,y\n1,2,x\n")
    done = thresh("select", "flat.csv", "-k", 1, "-o", "flat.json", folder=folder)
    assert "0 of 2 features" in done.stdout
    assert "selected 0 features instead of the requested" in done.stderr
    assert as_json("predict", "flat.json", "flat.csv", folder=folder)["predicted"] == {"x": 3, "y": 0}


def test_a_reader_that_has_seen_enough(model):
    script = f"set -o pipefail; {sys.executable} -m thresher inspect {model} | head -1"
    assert subprocess.run(["bash", "-c", script], capture_output=True).returncode == 0


def test_inspect(model, made):
    shown = thresh("inspect", model, "--top", 2).stdout
    assert "5 of 400 features" in shown
    assert "... and 3 more" in shown
    assert re.search(
        r"certificate: The training objective is within [\d.]+ % of the best of its size: no 5 of the", shown
    )
    assert "fingerprint" in shown
    fewer = as_json("inspect", model, "-k", 2)
    assert fewer["n_features"] == 2
    assert "from the path" in fewer["stop_reason"]


def test_quiet_says_nothing_and_warnings_are_told(folder):
    assert thresh("select", "train.svm", "-k", 5, "-o", "f.json", "--quiet", folder=folder).stdout == ""
    (folder / "few.svm").write_text("1 1:1\n-1 2:1\n" * 5)
    done = thresh("select", "few.svm", "-k", 2, "-o", "f.json", "--json", "--always", "2", folder=folder)
    report = json.loads(done.stdout)
    assert len(report["warnings"]) == done.stderr.count("thresher: warning: ")
    assert 1 in [each["column"] for each in report["features"]]


def test_columns_are_excluded_by_index_or_name(folder):
    """The model still expects them: the test file has them, too."""
    asked = ("select", "train.svm", "-k", 5, "-o", "x.json", "--json")
    first = [feature["column"] for feature in json.loads(thresh(*asked, folder=folder).stdout)["features"]]
    excluded = [part for column in first[:2] for part in ("--exclude", column + 1)]
    report = json.loads(thresh(*asked, *excluded, "--test", "test.svm", folder=folder).stdout)
    assert len(report["features"]) == 5
    assert not set(first[:2]) & {feature["column"] for feature in report["features"]}
    assert report["accuracy"] > 0.5


def test_version_and_help_answer_without_heavy_imports():
    assert thresh("--version").stdout.strip() == thresher.__version__
    code = (
        "import sys; from thresher.cli import main; main(['select', '--help']); "
        "sys.exit(any(name in sys.modules for name in ('numpy', 'numba', 'sklearn', 'scipy')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0
    assert "thresher select train.svm --features 300" in done.stdout


def options_in(*arguments):
    """Names of the options that the help of a command lists."""
    return set(re.findall(r"--[A-Za-z][\w-]*(?:\.\w[\w-]*)?", thresh(*arguments, "--help").stdout))


@pytest.mark.parametrize("command", ["select", "grid", "stream", "predict"])
def test_options_that_commands_share_have_plain_names(command):
    """Those of the commands that read a training file, and of all that report; no group shows as a prefix or a flag."""
    reading = {"--kind", "--labels", "--label-column", "--ignore", "--names", "--index-base", "--jobs", "--balanced"}
    shared = {"--quiet", "--json"} | (reading if command in ("select", "grid") else set())
    listed = options_in(command)
    assert shared <= listed
    assert not [name for name in listed if "." in name or name in ("--reading", "--fitting", "--reporting")]
    assert not {name for name in listed if name.startswith(("--no-", "--empty-"))} - {
        "--no-intercept",
        "--no-elimination",
    }


BAD_FILES = {
    "no file": (("select", "absent.svm"), 1, "absent.svm: no such file"),
    "a folder": (("select", "."), 1, ".: is a directory, expected a file"),
    "a bad line": (("select", "bad.svm"), 1, "bad.svm: line 2: expected a feature as index:value, got 'x'"),
    "nothing in it": (("select", "empty.svm"), 1, "empty.svm: the file is empty"),
    "an empty table": (("select", "empty.csv"), 1, "empty.csv: the file is empty"),
    "an empty archive": (("select", "empty.npz"), 1, "empty.npz: the file is empty"),
    "a letter": (("select", "letter.txt"), 1, "got 'Dear'; the file was read as svmlight text: name another format"),
    "one class": (("select", "one.svm"), 1, "one class"),
    "a picture": (("select", "picture.npz"), 1, "picture.npz: cannot read the .npz file"),
    "a bad field": (("select", "bad.csv"), 1, "bad.csv: line 3: column 'a' must be numeric, got 'high'"),
    "an empty field": (("select", "hole.csv"), 1, "hole.csv: line 2: missing value in column 'b'"),
    "no label column": (("select", "nolabel.csv"), 1, "with label_column (--label-column): one of 'b', 'a'"),
    "no labels": (("select", "train.npy"), 1, "train.npy: missing labels; name a file of labels"),
    "other length": (("select", "train.npy", "--labels", "test_y.npy"), 1, "100 labels, but X has 200 rows"),
    "no such folder": (("select", "train.svm", "--out", "nowhere/m.json"), 1, "nowhere/m.json: cannot be written"),
    "too many": (("select", "train.svm", "-k", "1000"), 1, "n_features_to_select=1000 (--features) must be"),
    "damaged packing": (("select", "cut.svm.gz"), 1, "cannot be decompressed"),
    "no such feature": (("select", "train.svm", "--always", "x"), 1, "no feature named 'x'"),
    "names too few": (("select", "train.svm", "--names", "two.txt"), 1, "two.txt: 2 names, but X has 400 features"),
    "no model": (("predict", "train.svm", "test.svm"), 1, "train.svm"),
    "damaged model": (("predict", "damaged.json", "test.svm"), 1, "damaged.json"),
    "other width": (("predict", "model.json", "three.npy"), 1, "X has 3 features, but the model expects 400"),
    "not on the path": (("inspect", "model.json", "-k", "399"), 1, "has 399 features; there are 1 to "),
    "out is the data": (("select", "train.csv", "-o", "train.csv"), 2, "--out train.csv is an input file"),
    "out is data": (("select", "train.svm", "-o", "data.npz"), 2, "--out data.npz exists and is not a model file"),
    "data is no model": (("inspect", "data.npz"), 1, "data.npz is a data file (npz), not a model"),
    "out is no model": (("select", "train.svm", "-o", "two.txt"), 2, "--out two.txt exists and is not a model file"),
    "out is the model": (("predict", "model.json", "test.svm", "-o", "model.json"), 2, "is an input file"),
    "a model to standard output": (("select", "train.svm", "-o", "-"), 2, "cannot be written to standard output"),
    "no test file": (("select", "train.svm", "--test", "absent.svm"), 1, "absent.svm: no such file"),
    "a fraction": (("select", "train.svm", "-k", "3.5"), 2, "must be an integer, got '3.5'"),
    "no features": (("select", "train.svm", "-k", "0"), 2, "Must be >= 1."),
    "no weight": (("select", "train.svm", "--C", "nan"), 2, "must be a positive finite number, got nan"),
    "not for text": (("select", "train.svm", "--ignore", "5"), 2, "--ignore needs a csv or Parquet file, got svmlight"),
    "not for tables": (("select", "train.csv", "--index-base", "0"), 2, "--index-base needs svmlight text, got csv"),
    "two outputs": (("predict", "model.json", "test.svm", "-o", "-", "--json"), 2, "both write to standard output"),
    "scores for nobody": (("predict", "model.json", "test.svm", "--scores"), 2, "--probabilities need --out"),
    "no probabilities": (("predict", "model.json", "test.svm", "--probabilities", "-o", "p"), 1, "--loss logistic"),
    "swapped": (("predict", "test.svm", "model.json"), 1, "the model must come first, then the data"),
    "excluded and always": (("select", "train.svm", "--exclude", "3", "--always", "3"), 1, "remove it from one of"),
    "nothing to exclude": (("select", "train.svm", "--exclude", "x"), 1, "no feature named 'x'"),
    "index out of range": (("select", "train.svm", "--always", "0"), 1, "expected a number from 1 to 400"),
    "wrong option": (("select", "train.svm", "--featurs", "3"), 2, 'Did you mean --features?'),
    "wrong number": (("select", "train.svm", "--features", "many"), 2, "many"),
    "wrong command": (("selct", "train.svm"), 2, "select"),
    "nothing given": (("select",), 2, "FILE"),
}  # fmt: skip


@pytest.fixture(scope="module")
def bad(folder, model):
    contents = {
        "bad.svm": "1 1:1\n-1 x\n", "empty.svm": "", "one.svm": "1 1:1\n1 2:1\n", "picture.npz": "not a zip",
        "bad.csv": "a,b,label\n1,2,x\nhigh,2,y\n", "hole.csv": "a,b,label\n1,,x\n", "nolabel.csv": "a,b\n1,2\n",
        "two.txt": "a\nb\n", "empty.csv": "", "empty.npz": "", "letter.txt": "Dear reader,\nhere it is\n",
    }  # fmt: skip
    for name, content in contents.items():
        (folder / name).write_text(content)
    (folder / "cut.svm.gz").write_bytes((folder / "train.svm.gz").read_bytes()[:-30])
    (folder / "damaged.json").write_text(model.read_text()[:-100])
    np.save(folder / "three.npy", np.zeros((4, 3)))
    return folder


@pytest.mark.parametrize("case", BAD_FILES)
def test_one_clear_line_for_what_is_wrong(bad, case):
    arguments, code, message = BAD_FILES[case]
    line, *works = thresh(*arguments, folder=bad, check=code).stderr.splitlines()
    assert line.startswith("thresher: error: ")
    assert message in line
    assert not works or (len(works) == 1 and works[0].startswith("This works: thresher select "))


@pytest.mark.skipif(os.name == "nt", reason="signals and terminals of POSIX")
def test_ctrl_c_writes_the_best_model_so_far_and_progress_is_shown(tmp_path):
    made = make_wide(2000, 20_000, n_relevant=200, random_state=0)
    np.savez(tmp_path / "long.npz", X=made.X, y=made.y)
    ours, theirs = os.openpty()
    child = subprocess.Popen(
        [*COMMAND, "select", "long.npz", "-o", "m.json", "--tol", "1e-12"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=theirs, text=True,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "200"}, preexec_fn=heed_ctrl_c,
    )  # fmt: skip
    os.close(theirs)
    seen = ""
    while "turn 3" not in seen:  # ends with an error if the child has ended
        seen += os.read(ours, 4096).decode(errors="replace")
    child.send_signal(signal.SIGINT)
    drain = threading.Thread(target=read_all, args=(ours,))
    drain.start()
    out, _ = child.communicate(timeout=120)
    drain.join()
    os.close(ours)
    assert child.returncode == 130
    assert "interrupted; the best model so far is in m.json" in out
    assert thresher.load(tmp_path / "m.json").selection_.interrupted
    for word in ("columns", "in the model", "objective", "gap", "passes"):
        assert word in seen


def read_all(terminal, seen=None):
    """Take what a terminal shows, into a list ``seen``, until it is closed at the other end."""
    try:
        while part := os.read(terminal, 4096):
            if seen is not None:
                seen.append(part)
    except OSError:
        pass
