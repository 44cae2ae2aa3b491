"""``thresher stream``: the command and the estimator learn the same, whatever happens on the way."""

import gzip
import io
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import types

import numpy as np
import pytest

import thresher
from tests.cli.test_commands import COMMAND, as_json, heed_ctrl_c, thresh
from thresher import Source, StreamClassifier
from thresher.cli import main, show
from thresher.cli.commands import stream as stream_module
from thresher.errors import ModelFileError
from thresher.estimators.shared import StreamProgress
from thresher.io import read
from thresher.io import text as text_module
from thresher.models import read as read_model
from thresher.models import read_checkpoint

posix = pytest.mark.skipif(os.name == "nt", reason="signals and terminals of POSIX")
FAR = 10**12  # the step between two indices


def lines_of(rows, labels=(-1, 1), seed=0, width=60):
    """Lines whose labels can be learnt from a few indices, which are far apart."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(rows):
        ids = np.sort(rng.choice(width, 8, replace=False))
        values = np.round(rng.normal(size=8), 3)
        score = values[ids < 20].sum() + 0.3 * rng.normal()
        place = int(np.searchsorted([0.0] if len(labels) == 2 else [-0.7, 0.7], score))
        pairs = " ".join(f"{j * FAR}:{x}" for j, x in zip(ids, values, strict=True))
        found.append(f"{labels[place]} {pairs}\n")
    return found


TWO, THREE, ZERO = lines_of(600), lines_of(300, (0, 1, 2)), lines_of(200, (0, 1))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to work in, with some streams."""
    texts = {
        "train.svm": TWO[:500], "rest.svm": TWO[400:500], "test.svm": TWO[500:], "three.svm": THREE, "zero.svm": ZERO,
        "bad.svm": [*TWO[:100], "1 x:1\n", *TWO[100:200], "1 5:nan\n", *TWO[200:300]],
        "strange.svm": [*TWO[:100], "7 1:1\n", *TWO[100:200], "7 1:1\n"],
        "three_bad.svm": [*THREE[:200], "1 x:1\n", *THREE[200:]],
        "empty.svm": ["# nothing\n", "\n"],
    }  # fmt: skip
    for name, lines in texts.items():
        (tmp_path / name).write_text("".join(lines))
    (tmp_path / "train.svm.gz").write_bytes(gzip.compress("".join(TWO[:500]).encode()))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def inside(capsys, monkeypatch):
    """Runs a command in this process: an object with stdout, stderr, and found, its JSON."""

    def one(*arguments, given=None, check=0):
        if given is not None:
            buffer = io.BufferedReader(io.BytesIO(given.encode()))
            monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=buffer))
        before = signal.getsignal(signal.SIGTERM)
        capsys.readouterr()
        try:
            code = main([str(each) for each in arguments])
        finally:
            signal.signal(signal.SIGTERM, before)
        done = capsys.readouterr()
        assert "Traceback" not in done.err
        assert code == check, done.err
        found = json.loads(done.out) if "--json" in arguments and done.out else None
        return types.SimpleNamespace(stdout=done.out, stderr=done.err, found=found)

    return one


def straight(lines, classes=(-1, 1), budget=10, **options):
    """The estimator after all of these lines at once."""
    path = f"straight.{os.getpid()}.svm"
    with open(path, "w") as file:
        file.writelines(lines)
    table = read(path, index_base=0)
    os.unlink(path)
    clf = StreamClassifier(budget, open_ended=True, **options)
    return clf.partial_fit(table.X, table.y, classes=list(classes))


def same_weights(ours, theirs):
    assert ours.selection_.features.tolist() == theirs.selection_.features.tolist()
    assert ours.selection_.weights.tobytes() == theirs.selection_.weights.tobytes()
    assert np.array_equal(ours.intercept_, theirs.intercept_)
    assert ours.n_examples_ == theirs.n_examples_


def same_checkpoint(path, clf, **position):
    """The file is, byte for byte, the one that the estimator writes."""
    thresher.save_checkpoint(clf, "expected.npz", position=position)
    with open(path, "rb") as ours, open("expected.npz", "rb") as theirs:
        assert ours.read() == theirs.read()


WATCHED = """
import contextlib
import sys
from numba.core.dispatcher import Dispatcher
from thresher.cli import main, show
from thresher.cli.commands import stream

def compiled():
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("thresher.")]
    loops = [part for module in modules for part in vars(module).values() if isinstance(part, Dispatcher)]
    return sum(len(loop.signatures) for loop in loops)

@contextlib.contextmanager
def watched():
    before = compiled()
    yield
    print(before, compiled())

class Watched(stream.TextStream):
    def __iter__(self):
        for batch in super().__iter__():
            print(self.before, compiled())
            yield batch
            self.before = compiled()

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.before = compiled()

stream.unbroken, stream.TextStream = watched, Watched
sys.exit(main(["stream", "train.svm", "--quiet", *sys.argv[1:]]))
"""


@pytest.mark.parametrize("options", [(), ("--hash-bits", "10", "--balanced"), ("--method", "ofs")])
def test_loops_are_compiled_neither_while_lines_are_awaited_nor_while_time_is_taken(folder, options):
    """Else compiling would be called waiting, and count in the examples per second."""
    (folder / "train.svm").write_text("".join([*TWO[:200], "1 1:1\n"]))
    done = subprocess.run([sys.executable, "-c", WATCHED, *options], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    first, *counts = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert first[1] > first[0]  # the reader, on a line of its own
    assert len(counts) > 1
    assert all(before == after for before, after in counts), counts


# ------------------------------------------------------------------------------------------ a whole stream


def test_the_report_the_model_and_the_checkpoint_are_those_of_the_estimator(folder, inside):
    """And predict works with the model."""
    given = ("--budget", 10, "--progressive", "--checkpoint", "state.npz", "--out", "m.json")
    report = thresh("stream", "train.svm", *given, folder=folder).stdout
    clf = straight(TWO[:500])
    model = read_model("m.json")
    same_weights(model.estimator, clf)
    assert model.source == Source("train.svm", "svmlight", index_base=0, open_ended=True)
    same_checkpoint("state.npz", clf, lines=500, bad=0, out="m.json")
    lines = report.splitlines()
    after = lines[lines.index("") + 1]
    assert after.startswith("train.svm: 500 examples, ")
    assert after.endswith(" per second; 500 in total, 60 features seen")
    assert lines[-1] == "the model is in m.json"
    assert "\n10 features\n" in report
    assert "stop reason: learned from 500 examples" in report
    accuracy, loss = clf.progressive_accuracy_, clf.progressive_loss_
    assert f"progressive accuracy {accuracy:.4f}, progressive loss {loss:.4g}" in report
    assert lines[0] == "Progressive results"
    trace = [line.split() for line in lines[2 : lines.index("")]]
    for row, each in zip(trace, [*clf.trace_, clf.standing()], strict=True):
        assert row[:4] == [f"{each.examples:,}", f"{each.loss:.4g}", f"{each.accuracy:.4f}", str(each.features)]
    heaviest = clf.selection_.features[np.argmax(np.abs(clf.selection_.weights))]
    assert heaviest % FAR == 0
    assert re.search(rf"\n1 +{heaviest} ", report)
    table = read("test.svm", index_base=0)
    found = inside("predict", "m.json", "test.svm", "--json").found
    assert found["accuracy"] == clf.score(table.X, table.y) > 0.6


@pytest.mark.parametrize("given", [(), ("--hash-bits", 20)])
def test_a_checkpoint_is_a_model(given, folder, inside):
    """It can be predicted with and looked at, and is not overwritten by another model."""
    inside("stream", "train.svm", "--budget", 10, *given, "--checkpoint", "state.npz", "--quiet")
    reports = [inside("predict", model, "test.svm", "--json").found for model in ("model.json", "state.npz")]
    assert reports[0] | {"model": ""} == reports[1] | {"model": ""}
    facts = [inside("inspect", model, "--json").found for model in ("model.json", "state.npz")]
    assert facts[0]["features"] == facts[1]["features"]
    assert re.search(r"\nwritten: 2\d{3}-\d\d-\S+\n", inside("inspect", "state.npz").stdout)
    clf = thresher.load("state.npz")
    same_weights(clf, straight(TWO[:500], **({"hash_bits": 20} if given else {})))
    clf.partial_fit(np.ones((2, 3)), [-1, 1])
    before = (folder / "state.npz").read_bytes()
    error = inside("select", "zero.svm", "--out", "state.npz", check=2).stderr
    assert "--out state.npz is a checkpoint of a stream and would be overwritten" in error
    (folder / "state.npz").write_bytes(before[:-1])
    assert (
        "state.npz is not a valid checkpoint: checksum mismatch"
        in inside("predict", "state.npz", "test.svm", check=1).stderr
    )


@pytest.mark.parametrize("given", [(), ("--hash-bits", 20)])
def test_indices_that_were_never_seen_are_no_trouble_for_predict(given, folder, inside):
    """No warning, no error, and the scores of decision_function: those without them, unless a hash has them meet."""
    inside("stream", "train.svm", "--budget", 10, *given, "--quiet")
    beyond = [line.rstrip() + f" {99 * FAR}:5 {2**61}:1\n" for line in TWO[500:]]
    (folder / "beyond.svm").write_text("".join(beyond))
    done = inside("predict", "model.json", "beyond.svm", "--out", "p.txt", "--scores", "--json")
    assert done.stderr == ""
    clf = straight(TWO[:500], **({"hash_bits": 20} if given else {}))
    table, plain = read("beyond.svm", index_base=0), read("test.svm", index_base=0)
    scores = clf.decision_function(table.X)
    found = [line.split("\t") for line in (folder / "p.txt").read_text().splitlines()]
    assert [float(score) for _, score in found] == scores.tolist()
    assert [int(label) for label, _ in found] == clf.predict(table.X).tolist()
    assert scores.tolist() == clf.decision_function(plain.X).tolist()
    assert done.found["accuracy"] == clf.score(plain.X, plain.y)


def test_as_json_of_a_packed_file_with_settings_side_by_side(folder, inside):
    """The progressive loss chooses; inspect shows the same facts."""
    settings = ("--step-size", 0.001, "--step-size", 0.1, "--l2", 1e-4, "--l2", 10)
    found = as_json("stream", "train.svm.gz", "--budget", 10, *settings, "--progressive", "-o", "s.json", folder=folder)
    clf = straight(TWO[:500], step_size=[0.001, 0.1], l2=[1e-4, 10.0])
    assert found["setting"] == clf.setting_ == {"step_size": 0.1, "l2": 1e-4}
    assert found["settings"] == clf.settings_
    assert len(found["settings"]) == 4
    losses = [each["progressive_loss"] for each in found["settings"]]
    assert found["progressive_loss"] == min(losses) == clf.progressive_loss_
    assert found["progressive_accuracy"] == clf.progressive_accuracy_
    assert found["trace"][:-1] == [vars(each) for each in clf.trace_]
    assert found["trace"][-1]["examples"] == 500  # and where it ended
    assert (found["lines"], found["bad_lines"], found["n_examples"], found["features_seen"]) == (500, 0, 500, 60)
    assert (found["model"], found["classes"], found["warnings"]) == ("s.json", [-1, 1], [])
    assert found["examples_a_second"] > 0
    assert "checkpoint" not in found
    weights = {each["column"]: each["weight"] for each in found["features"]}
    assert weights == dict(zip(clf.selection_.features.tolist(), clf.selection_.weights.tolist(), strict=True))
    seen = inside("inspect", "s.json", "--json").found
    assert all(seen[key] == found[key] for key in ("features", "setting", "settings", "intercept", "n_examples"))


def test_features_are_known_by_their_indices_and_files_without_such_are_refused(folder, inside):
    """A table has column numbers, which may be off by one without a sign."""
    inside("stream", "train.svm", "--budget", 5, "--quiet")
    np.savez("table.npz", X=np.eye(3), y=[0, 1, 0])
    assert "expected svmlight text, got npz" in inside("predict", "model.json", "table.npz", check=1).stderr
    assert (
        "indices are used as they are" in inside("predict", "model.json", "test.svm", "--index-base", 1, check=2).stderr
    )


def test_inspect_in_words(folder, inside):
    """Settings and examples are in it."""
    inside("stream", "train.svm", "--budget", 5, "--l2", 0.01, "--l2", 1, "-o", "w.json", "--quiet")
    shown = inside("inspect", "w.json").stdout
    assert "type: StreamClassifier; classes: -1, 1" in shown
    assert shown.count("setting: step_size 0.1, l2 ") == 2
    assert "data: train.svm, 500 examples" in shown
    names = inside("inspect", "w.json", "--names-only", "--top", 3).stdout.split()
    assert len(names) == 3
    assert all(int(name) % FAR == 0 for name in names)


@pytest.mark.parametrize("given", [(), ("-",)])
def test_standard_input(given, folder, inside):
    """With and without a name for it; the model does not name a file."""
    found = inside("stream", *given, "--budget", 10, "--json", given="".join(TWO[:500])).found
    same_weights(thresher.load("model.json"), straight(TWO[:500]))
    assert found["source"]["file"] is None
    assert found["model"] == "model.json"


OPTIONS = {
    "b-amd": (("--method", "b-amd", "--loss", "logistic"), {"method": "b-amd", "loss": "logistic"}),
    "ofs": (("--method", "ofs", "--l2", 0.1), {"method": "ofs", "l2": 0.1}),
    "sofs": (("--method", "sofs", "--gamma", 3, "--gamma", 1), {"method": "sofs", "gamma": [3.0, 1.0]}),
    "l1-arda": (("--method", "l1-arda", "--l1", 1e-2, "--delta", 1), {"method": "l1-arda", "l1": 0.01, "delta": 1.0}),
    "ada-fobos": (("--method", "ada-fobos", "--no-intercept"), {"method": "ada-fobos", "fit_intercept": False}),
    "balanced": (("--balanced",), {"class_weight": "balanced"}),
    "hashed": (("--hash-bits", 5), {"hash_bits": 5}),
}


@pytest.mark.parametrize("case", OPTIONS)
def test_every_option_reaches_the_estimator(case, folder, inside, monkeypatch):
    """In many batches; the model file and the checkpoint tell."""
    monkeypatch.setattr(text_module, "PIECE", 3000)
    given, options = OPTIONS[case]
    inside("stream", "train.svm", "--budget", 10, *given, "--checkpoint", "s.npz", "--quiet")
    clf = straight(TWO[:500], **options)
    same_checkpoint("s.npz", clf, lines=500, bad=0, out="model.json")
    same_weights(thresher.load("model.json"), clf)
    table = read("test.svm", index_base=0)
    found = inside("predict", "model.json", "test.svm", "--json").found
    assert found["accuracy"] == clf.score(table.X, table.y)


def test_quiet_says_nothing(folder, inside):
    """Unless there is something to warn of."""
    done = inside("stream", "train.svm", "--quiet")
    assert done.stdout == done.stderr == ""


# ------------------------------------------------------------------------------------------ labels


LABELS = {
    "-1 and 1": (["1 1:1\n", "-1 2:1\n"], (), [-1, 1]),
    "0 and 1": (["1 1:1\n", "0 2:1\n"], (), [0, 1]),
    "only 1": (["1 1:1\n", "1 2:1\n"], (), [-1, 1]),
    "only 0": (["0 1:1\n", "0 2:1\n"], (), [0, 1]),
    "three": (["2 1:1\n", "0 2:1\n", "1 2:1\n"], (), [0, 1, 2]),
    "two odd ones": (["7 1:1\n", "3 2:1\n"], (), [3, 7]),
    "fractions": (["0.5 1:1\n", "-2.5 2:1\n"], (), [-2.5, 0.5]),
    "named": (["1 1:1\n", "1 2:1\n"], ("--classes", "-1,1"), [-1, 1]),
    "named out of order": (["5 1:1\n", "5 2:1\n"], ("--classes", "5,2,-3"), [-3, 2, 5]),
    "named with an equals sign": (["0 1:1\n"], ("--classes=-1,0"), [-1, 0]),
}


@pytest.mark.parametrize("case", LABELS)
def test_labels_are_found_or_named(case, folder, inside, monkeypatch):
    """Those of the usual pairs at once, others at the end of the input; in one batch or one for each line."""
    lines, given, expected = LABELS[case]
    given = (given,) if isinstance(given, str) else given
    (folder / "few.svm").write_text("".join(lines))
    for piece in (1 << 22, 5):
        monkeypatch.setattr(text_module, "PIECE", piece)
        found = inside("stream", "few.svm", *given, "--json").found
        assert found["classes"] == expected
        assert found["n_examples"] == found["lines"] == len(lines)
        same_weights(thresher.load("model.json"), straight(lines, expected, budget=100))


def test_three_classes_in_many_batches(folder, inside, monkeypatch):
    """They wait until it is known which there are; then none is forgotten."""
    monkeypatch.setattr(text_module, "PIECE", 2000)
    inside("stream", "three.svm", "--budget", 10, "--quiet", "--checkpoint", "s.npz")
    same_checkpoint("s.npz", straight(THREE, (0, 1, 2)), lines=300, bad=0, out="model.json")
    monkeypatch.setattr(stream_module, "EXAMPLES_FOR_CLASSES", 100)
    inside("stream", "three.svm", "--budget", 10, "--quiet")
    same_weights(thresher.load("model.json"), straight(THREE, (0, 1, 2)))


@pytest.mark.parametrize("piece", [1 << 22, 1000])
def test_a_label_that_is_none_of_the_classes_stops_with_its_line(piece, folder, inside, monkeypatch):
    """Or is left out and counted; what was learnt before is written."""
    monkeypatch.setattr(text_module, "PIECE", piece)
    given = ("stream", "strange.svm", "--budget", 10, "--classes", "-1,1", "--checkpoint", "s.npz")
    told = inside(*given, "--quiet", check=1).stderr
    assert told.count("\n") == 1
    assert "strange.svm: line 101: label 7 is not one of the classes -1, 1; list all labels with --classes" in told
    same_weights(thresher.load("model.json"), straight(TWO[:100]))
    same_checkpoint("s.npz", straight(TWO[:100]), lines=100, bad=0, out="model.json")
    os.unlink("s.npz")
    done = inside(*given, "--json", "--skip-bad")
    assert done.found["bad_lines"] == 2
    assert done.found["lines"] == 202
    assert [each.split(": ")[2] for each in done.found["warnings"]] == ["line 101", "line 202"]
    same_checkpoint("s.npz", straight(TWO[:200]), lines=202, bad=2, out="model.json")


def test_a_label_that_comes_late(folder, inside, monkeypatch):
    """The first lines had two others."""
    monkeypatch.setattr(text_module, "PIECE", 1000)
    (folder / "late.svm").write_text("".join([*ZERO[:100], "2 1:1\n"]))
    told = inside("stream", "late.svm", "--budget", 10, check=1).stderr
    assert "late.svm: line 101: label 2 is not one of the classes 0, 1" in told
    same_weights(thresher.load("model.json"), straight(ZERO[:100], (0, 1)))


# ------------------------------------------------------------------------------------------ bad lines


@pytest.mark.parametrize("piece", [1 << 22, 700])
def test_a_bad_line_stops_with_its_number_and_nothing_is_lost(piece, folder, inside, monkeypatch):
    """Exit code 1; model and checkpoint hold what stands before it; after a repair it goes on from there."""
    monkeypatch.setattr(text_module, "PIECE", piece)
    done = inside("stream", "bad.svm", "--budget", 10, "--checkpoint", "s.npz", check=1)
    assert "bad.svm: line 101: the index of a feature must be an integer" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "100 in total" in done.stdout
    same_weights(thresher.load("model.json"), straight(TWO[:100]))
    same_checkpoint("s.npz", straight(TWO[:100]), lines=100, bad=0, out="model.json")
    again = inside("stream", "--resume", "s.npz", "--skip-seen", "bad.svm", "--skip-bad", "--json").found
    assert (again["bad_lines"], again["lines"], again["n_examples"]) == (2, 302, 300)
    same_checkpoint("s.npz", straight(TWO[:300]), lines=302, bad=2, out="model.json")


def test_bad_lines_are_left_out_and_counted(folder, inside):
    """The first five are told as warnings, in words and in the JSON."""
    text = [*TWO[:50], *(f"1 x{k}:1\n" for k in range(7)), *TWO[50:100]]
    done = inside("stream", "--skip-bad", "--budget", 10, given="".join(text))
    assert "7 bad lines skipped" in done.stdout
    assert done.stderr.count("thresher: warning: skipped: standard input: line ") == done.stderr.count("\n") == 5
    same_weights(thresher.load("model.json"), straight(TWO[:100]))


@pytest.mark.parametrize("piece", [1 << 22, 700])
def test_a_bad_line_while_labels_are_still_awaited_loses_nothing(piece, folder, inside, monkeypatch):
    """Three classes are known for sure at the end of the input only; a bad line is an end, too."""
    monkeypatch.setattr(text_module, "PIECE", piece)
    done = inside("stream", "three_bad.svm", "--budget", 10, "--checkpoint", "s.npz", "--quiet", check=1)
    assert "three_bad.svm: line 201: " in done.stderr
    same_weights(thresher.load("model.json"), straight(THREE[:200], (0, 1, 2)))
    same_checkpoint("s.npz", straight(THREE[:200], (0, 1, 2)), lines=200, bad=0, out="model.json")


def test_numbers_that_run_away_leave_a_checkpoint_that_can_be_read(folder, inside, monkeypatch):
    """Values a thousand times larger all at once: the message says so, and the last sound state is kept."""
    monkeypatch.setattr(text_module, "PIECE", 1000)
    wild = [re.sub(r":(-?)", r":\g<1>1000", line) for line in lines_of(300, seed=3)]
    (folder / "wild.svm").write_text("".join([*TWO[:100], *wild]))
    given = ("--method", "ofs", "--loss", "squared_hinge", "--step-size", 0.01, "--l2", 0)
    done = inside("stream", "wild.svm", *given, "--budget", 10, "--checkpoint", "s.npz", "--every", 20, check=1)
    assert "not finite" in done.stderr
    clf, position = read_checkpoint("s.npz")
    assert clf.n_examples_ == position["lines"] >= 100


@pytest.mark.parametrize("cut", [30, 3000])
def test_a_packed_stream_that_is_cut_off(cut, folder, inside):
    """What could be decompressed is learnt, then there is an error."""
    packed = (folder / "train.svm.gz").read_bytes()
    (folder / "cut.svm.gz").write_bytes(packed[:-cut])
    told = inside("stream", "cut.svm.gz", "--budget", 10, "--quiet", check=1).stderr
    assert "cut.svm.gz: cannot be decompressed" in told
    clf = thresher.load("model.json")
    same_weights(clf, straight(TWO[: clf.n_examples_]))
    assert clf.n_examples_ > 100


# ------------------------------------------------------------------------------------------ going on


def test_resumed_with_more_lines_is_as_if_they_had_come_at_once(folder, inside, monkeypatch):
    """Options, labels and the name of the model come out of the checkpoint; another checkpoint may be named."""
    monkeypatch.setattr(text_module, "PIECE", 5000)
    given = ("--budget", 10, "--method", "b-amd", "--l2", 0.1, "--l2", 0.01, "--checkpoint", "a.npz", "-o", "mine.json")
    inside("stream", *given, "--quiet", given="".join(TWO[:123]))
    first = (folder / "a.npz").read_bytes()
    found = inside("stream", "--resume", "a.npz", "--checkpoint", "b.npz", "--json", given="".join(TWO[123:400])).found
    assert (found["model"], found["checkpoint"], found["lines"]) == ("mine.json", "b.npz", 400)
    assert (folder / "a.npz").read_bytes() == first
    inside("stream", "--resume", "b.npz", "rest.svm", "--quiet")
    clf = straight(TWO[:500], method="b-amd", l2=[0.1, 0.01])
    same_checkpoint("b.npz", clf, lines=500, bad=0, out="mine.json")
    same_weights(thresher.load("mine.json"), clf)
    assert not (folder / "model.json").exists()


def test_the_same_stream_again_changes_nothing(folder, inside):
    """All lines were seen."""
    inside("stream", "train.svm", "--budget", 10, "--checkpoint", "s.npz", "--quiet")
    before = (folder / "s.npz").read_bytes()
    found = inside("stream", "train.svm", "--resume", "s.npz", "--skip-seen", "--json").found
    assert found["n_examples"] == found["lines"] == 500
    assert (folder / "s.npz").read_bytes() == before


def test_now_and_then_there_is_a_checkpoint(folder, inside, monkeypatch):
    """After so many examples, and after a minute; the model is written at the end alone."""
    monkeypatch.setattr(text_module, "PIECE", 1500)
    seen, original = [], stream_module.save_checkpoint

    def noting(clf, path, *, position):
        seen.append((clf.n_examples_, position["lines"], os.path.exists("model.json")))
        original(clf, path, position=position)

    monkeypatch.setattr(stream_module, "save_checkpoint", noting)
    inside("stream", "train.svm", "--checkpoint", "s.npz", "--every", 100, "--quiet")
    reached = [examples for examples, _, _ in seen]
    assert all(b - a >= 100 for a, b in itertools.pairwise([0, *reached[:-1]]))
    assert len(seen) >= 4
    assert reached[-1] == 500
    assert all(examples == lines for examples, lines, _ in seen)
    assert not any(there for _, _, there in seen)
    os.unlink("s.npz")
    seen.clear()
    monkeypatch.setattr(stream_module, "CHECKPOINT_SECONDS", 0.0)
    inside("stream", "train.svm", "--checkpoint", "s.npz", "--quiet")
    assert len(seen) > 10


# ------------------------------------------------------------------------------------------ wrong usage


WRONG = {
    "no file": (("absent.svm",), 1, "absent.svm: no such file"),
    "a folder": ((".",), 1, ""),
    "no rows": (("empty.svm",), 1, "empty.svm: no rows found"),
    "one odd label": (("five.svm",), 1, "the only label so far is 5; list all labels with --classes"),
    "a damaged checkpoint": (("train.svm", "--resume", "cut.npz"), 1, "cut.npz is not a valid checkpoint"),
    "a model is no checkpoint": (("train.svm", "--resume", "m.json"), 1, "m.json is not a valid checkpoint"),
    "no checkpoint": (("train.svm", "--resume", "absent.npz"), 1, "absent.npz"),
    "no such folder": (("train.svm", "--checkpoint", "no/s.npz"), 1, "no/s.npz: cannot be written"),
    "a checkpoint that is there": (("train.svm", "--checkpoint", "s.npz"), 2, "continue from it with --resume"),
    "another checkpoint that is there": (
        ("train.svm", "--resume", "s.npz", "--checkpoint", "t.npz"), 2, "t.npz already exists"
    ),
    "the data as checkpoint": (("train.svm", "--checkpoint", "train.svm"), 2, "train.svm"),
    "the data as model": (("train.svm", "-o", "train.svm"), 2, "train.svm is an input file"),
    "model and checkpoint in one": (("train.svm", "--checkpoint", "x", "-o", "./x"), 2, "both the model and the check"),
    "the checkpoint as model": (("train.svm", "--resume", "s.npz", "-o", "s.npz"), 2, "s.npz"),
    "a model to standard output": (("train.svm", "-o", "-"), 2, "cannot be written to standard output"),
    "another budget": (("train.svm", "--resume", "s.npz", "--budget", 10), 2, "--budget cannot be combined with"),
    "another step": (("train.svm", "--resume", "s.npz", "--step-size", 1), 2, "--step-size cannot be combined"),
    "no intercept later": (("train.svm", "--resume", "s.npz", "--no-intercept"), 2, "cannot be combined with --resume"),
    "other classes": (("train.svm", "--resume", "s.npz", "--classes", "0,1"), 2, "--classes cannot be combined"),
    "nothing to skip": (("train.svm", "--skip-seen"), 2, "--skip-seen needs --resume"),
    "budget": (("train.svm", "--budget", 0), 2, "Must be >= 1."),
    "half a feature": (("train.svm", "--budget", "1.5"), 2, "must be an integer, got"),
    "every": (("train.svm", "--every", 0), 2, "Must be >= 1."),
    "step": (("train.svm", "--step-size", -1), 2, "--step-size"),
    "no step": (("train.svm", "--step-size", 0), 2, "step_size"),
    "l2 of nan": (("train.svm", "--l2", "nan"), 2, "--l2"),
    "bits": (("train.svm", "--hash-bits", 31), 2, "hash_bits must be at most 30"),
    "method": (("train.svm", "--method", "arda"), 2, "--method"),
    "not of this method": (("train.svm", "--method", "sofs", "--l2", 1), 2, "l2 is not used by method='sofs'"),
    "loss of sofs": (("train.svm", "--method", "sofs", "--loss", "hinge"), 2, "loss"),
    "one class": (("train.svm", "--classes", "1"), 2, "--classes must contain at least two labels"),
    "one class twice": (("train.svm", "--classes", "1,1.0"), 2, "--classes must contain at least two labels"),
    "classes of words": (("train.svm", "--classes", "a,b"), 2, "--classes must be numbers separated by commas"),
    "no classes": (("train.svm", "--classes", ""), 2, "--classes"),
    "classes of nan": (("train.svm", "--classes", "nan,1"), 2, "--classes"),
    "classes without end": (("train.svm", "--classes", "inf,1"), 2, "--classes"),
    "two files": (("train.svm", "test.svm"), 2, ""),
}  # fmt: skip


@pytest.fixture
def states(folder):
    """Checkpoints s.npz, t.npz and cut.npz, and a model m.json."""
    clf = straight(TWO[:50])
    thresher.save_checkpoint(clf, "s.npz", position={"lines": 50, "bad": 0, "out": "m.json"})
    shutil.copy("s.npz", "t.npz")
    (folder / "cut.npz").write_bytes((folder / "s.npz").read_bytes()[:-100])
    thresher.save(clf, "m.json")
    (folder / "five.svm").write_text("5 1:1\n5 2:1\n")
    return folder


@pytest.mark.parametrize("case", WRONG)
def test_one_clear_line_for_what_is_wrong(case, states, inside):
    """And nothing that was there is touched, nor anything else written."""
    before = {path.name: path.read_bytes() for path in states.iterdir()}
    arguments, code, message = WRONG[case]
    done = inside("stream", *arguments, check=code)
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("thresher: error: ")
    assert message in done.stderr
    assert {path.name: path.read_bytes() for path in states.iterdir()} == before


def test_a_checkpoint_may_say_odd_things_about_where_it_was(states, inside):
    """A position is checked like the rest: one line, no traceback."""
    clf = thresher.load_checkpoint("s.npz")
    for position in (
        {"lines": "x"},
        {"lines": []},
        {"out": 7},
        {"out": ["a"]},
        {"bad": None},
        {"lines": -5, "bad": -1},
    ):
        thresher.save_checkpoint(clf, "odd.npz", position=position)
        before = signal.getsignal(signal.SIGTERM)
        try:
            assert main(["stream", "train.svm", "--resume", "odd.npz", "--skip-seen", "--quiet"]) in (0, 1)
        finally:
            signal.signal(signal.SIGTERM, before)


# ------------------------------------------------------------------------------------------ signals, in children


@pytest.fixture
def child(folder):
    """Starts the command; with ``piece``, text is read in pieces of so many bytes. None is left at the end."""
    begun = []

    def one(*arguments, piece=None, **options):
        command = COMMAND
        if piece is not None:
            code = f"import sys; from thresher.io import text; text.PIECE = {piece}; from thresher.cli import main; "
            command = [sys.executable, "-c", code + "sys.exit(main())"]
        begun.append(subprocess.Popen([*command, *map(str, arguments)], cwd=folder, preexec_fn=heed_ctrl_c, **options))
        return begun[-1]

    yield one
    for process in begun:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def lines_in(path):
    """How many lines a checkpoint has seen; None while there is none, or while it is just being replaced."""
    try:
        return read_checkpoint(path)[1]["lines"]
    except (FileNotFoundError, ModelFileError):
        return None


def wait_for(there, process, seconds=60.0):
    """Until ``there()``; it must not end before."""
    until = time.monotonic() + seconds
    while not there():
        assert process.poll() is None, "it has ended"
        assert time.monotonic() < until, "it takes too long"
        time.sleep(0.002)


@posix
def test_ctrl_c_writes_what_was_learnt_and_progress_is_shown(folder, child):
    """A pipe that stays open: rows are learnt as they come, then SIGINT: exit code 130, model and checkpoint."""
    ours, theirs = os.openpty()
    process = child(
        "stream", "--budget", 10, "--checkpoint", "s.npz", "--every", 1, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=theirs, text=True, env=os.environ | {"TERM": "xterm", "COLUMNS": "200"},
    )  # fmt: skip
    os.close(theirs)
    shown, sent = [], 0

    def listen():
        try:
            while part := os.read(ours, 4096):
                shown.append(part.decode(errors="replace"))
        except OSError:
            pass

    listener = threading.Thread(target=listen)
    listener.start()

    def moves():
        nonlocal sent
        if sent < 500:
            process.stdin.write(TWO[sent])
            process.stdin.flush()
            sent += 1
            time.sleep(0.005)
        return " per second, accuracy " in "".join(shown)

    wait_for(moves, process)
    wait_for(lambda: lines_in("s.npz") == sent, process)
    process.send_signal(signal.SIGINT)
    out = process.stdout.read()
    assert process.wait(60) == 130
    listener.join(10)
    os.close(ours)
    assert "interrupted; the model learnt so far is in model.json" in out
    same_weights(thresher.load("model.json"), straight(TWO[:sent]))
    same_checkpoint("s.npz", straight(TWO[:sent]), lines=sent, bad=0, out="model.json")
    for word in (" examples", " per second, accuracy ", " features"):
        assert word in "".join(shown)


@posix
def test_progressive_results_come_as_they_are_known_where_there_is_no_terminal(folder, child):
    """Redirected to a file: its readers have the first lines before the stream ends."""
    with open("out.txt", "w") as out, open("err.txt", "w") as err:
        process = child("stream", "--progressive", stdin=subprocess.PIPE, stdout=out, stderr=err, text=True)
        process.stdin.write("".join(TWO[:100]))
        process.stdin.flush()
        wait_for(lambda: (folder / "out.txt").read_text().count("\n") > 4, process)
        process.stdin.close()
        assert process.wait(60) == 0
    lines = [line.split() for line in (folder / "out.txt").read_text().splitlines()]
    assert lines[0] == ["Progressive", "results"]
    assert lines[1] == ["examples", "loss", "accuracy", "features", "truncation", "error"]
    assert [row[0] for row in lines[2:6]] == ["1", "2", "3", "4"]
    assert lines[-1][-2:] == ["in", "model.json"]
    assert (folder / "err.txt").read_text() == ""


def test_a_bar_is_a_line_a_minute_where_there_is_no_terminal(folder, inside, monkeypatch):
    monkeypatch.setattr(stream_module, "CHECKPOINT_SECONDS", 1e9)
    monkeypatch.setattr(StreamProgress, "EVERY", 0.0)
    assert inside("stream", "train.svm").stderr == ""  # it takes less than a minute
    monkeypatch.setattr(show, "LOG_SECONDS", 0.0)
    written = inside("stream", "train.svm").stderr
    assert re.fullmatch(r"(\d+ examples: \S+ per second, accuracy 0\.\d+, \d+ features\n)+", written)
    assert inside("stream", "train.svm", "--quiet").stderr == ""
    written = inside("select", "zero.svm", "-k", 3).stderr.splitlines()
    assert all(re.match(r"turn \d+: \d+ of \d+ columns, ", line) for line in written)
    assert len(written) > 2


@posix
def test_sigterm_is_the_same(folder, child):
    """A batch system ends a job: exit code 130, model and checkpoint."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = child("stream", "--budget", 10, "--checkpoint", "s.npz", "--every", 1, **pipes)
    process.stdin.write("".join(TWO[:50]))
    process.stdin.flush()
    wait_for(lambda: lines_in("s.npz") == 50, process)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert not [line for line in err.splitlines() if "compiling loops" not in line]  # the cache may be empty
    assert "interrupted; the model learnt so far is in model.json" in out
    same_checkpoint("s.npz", straight(TWO[:50]), lines=50, bad=0, out="model.json")


@pytest.mark.parametrize("lines", [[], ["# only a comment\n"]])
def test_interrupted_before_the_first_row_there_is_nothing_to_keep(lines, folder, inside, monkeypatch):
    """Exit code 130, and no file is written."""

    class Interrupted(io.BytesIO):
        """Lines, and then Ctrl-C."""

        def peek(self, count):
            return b"# on"

        def read1(self, size=-1):
            if found := super().read1(size):
                return found
            raise KeyboardInterrupt

    stdin = types.SimpleNamespace(buffer=Interrupted("".join(lines).encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    before = sorted(os.listdir())
    told = inside("stream", "--checkpoint", "t.npz", check=130).stderr
    assert told == "thresher: error: interrupted before there was a model to save\n"
    assert sorted(os.listdir()) == before


@posix
@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_at_any_moment_and_resumed_is_uninterrupted(kills, folder, child):
    """SIGKILL while it learns or writes; the last checkpoint and the model are those of a run without kills."""
    lines, rng = lines_of(1500 * (kills + 1), seed=7), np.random.default_rng(kills)
    (folder / "long.svm").write_text("".join(lines))
    reached = [0]
    for turn in range(kills + 1):
        given = ("--resume", "s.npz", "--skip-seen") if reached[-1] else ("--budget", 10, "--checkpoint", "s.npz")
        process = child("stream", "long.svm", *given, "--every", 200, "--quiet", piece=500)
        if turn < kills:
            old = os.stat("s.npz").st_ino if reached[-1] else None
            wait_for(lambda old=old: os.path.exists("s.npz") and os.stat("s.npz").st_ino != old, process)
            time.sleep(rng.uniform(0.0, 0.1))
            process.kill()
            process.wait(60)
            clf, position = read_checkpoint("s.npz")  # never damaged
            assert clf.n_examples_ == position["lines"] > reached[-1]
            reached.append(clf.n_examples_)
    assert process.wait(120) == 0
    assert reached[-1] < len(lines)
    clf = straight(lines)
    same_checkpoint("s.npz", clf, lines=len(lines), bad=0, out="model.json")
    same_weights(thresher.load("model.json"), clf)
