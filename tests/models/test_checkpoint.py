"""Checkpoints of a stream: resumed equals uninterrupted byte for byte; a bad file is refused, a good one never lost."""

import collections
import contextlib
import hashlib
import io
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import sys
import threading
import time
import tracemalloc
import warnings
import zipfile

import numpy as np
import pytest
from scipy import sparse

import thresher
from tests.models.make_fixtures import HERE, checkpointed
from tests.models.test_damaged import ODD, places
from thresher import StreamClassifier
from thresher.errors import InvalidDataError, ModelFileError
from thresher.models import read_checkpoint
from thresher.models.arrays import ArrayWriter

METHODS = ("b-arda", "b-amd", "ofs", "sofs", "l1-arda", "ada-fobos")
DIGITS = 64
AT_ROUNDS, AT_KEPT, AT_SHIFT, AT_LOSS = 0, 1, 4, 5  # places in the clock of format 1
SPREAD = 1  # column of a table: what steps are divided by
posix = pytest.mark.skipif(os.name == "nt", reason="signals and pipes of POSIX")


# -------------------------------------------------------------------------------- resumed = uninterrupted


def side_by_side(method):
    """Two settings of a method."""
    if method == "sofs":
        return {"gamma": [1.0, 10.0]}
    return {"step_size": [0.1, 1.0]} if method in ("l1-arda", "ada-fobos") else {"l2": [1e-4, 1e-2]}


def stream_of(n_classes, rows=200, width=60, seed=0):
    """(X, y, weights): sparse rows, labels that can be learnt, and weights of which some are zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, width)) * (rng.random((rows, width)) < 0.2)
    y = (X @ (rng.normal(size=(width, n_classes)) * (np.arange(width) < 12)[:, None])).argmax(axis=1)
    return X, y, rng.integers(0, 4, rows) / 2.0


VARIANTS = {
    "plain": {},
    "hashed": {"hash_bits": 4},
    "open-ended": {"open_ended": True},
    "weights": {},
    "balanced": {"class_weight": "balanced"},
}


def learnt(clf, X, y, weights, rows, variant):
    """Go on with some rows, in the form that the variant asks for."""
    part, given = X[rows], weights[rows] if variant == "weights" else None
    if variant in ("open-ended", "hashed"):
        part = sparse.csr_array(part)
        ids = (part.indices.astype(np.int64) * 10**15 + 7) if variant == "open-ended" else part.indices
        part = sparse.csr_array((part.data, ids, part.indptr), shape=(part.shape[0], int(ids.max(initial=0)) + 1))
    return clf.partial_fit(part, y[rows], classes=np.arange(int(y.max()) + 1), sample_weight=given)


def content(clf, path, **options):
    """The bytes of its checkpoint."""
    thresher.save_checkpoint(clf, path, **options)
    return path.read_bytes()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("method", METHODS)
def test_written_and_read_at_any_point_is_as_if_nothing_had_happened(method, n_classes, variant, tmp_path):
    """Two settings side by side; the files at the end are equal in every byte, and so are all attributes."""
    X, y, weights = stream_of(n_classes)
    options = {**side_by_side(method), **VARIANTS[variant]}
    straight, broken = StreamClassifier(7, method, **options), StreamClassifier(7, method, **options)
    rng, path, at = np.random.default_rng(1), tmp_path / "state.npz", 0
    learnt(straight, X, y, weights, slice(0, 200), variant)
    while at < 200:
        end = min(200, at + int(rng.integers(1, 60)))
        learnt(broken, X, y, weights, slice(at, end), variant)
        thresher.save_checkpoint(broken, path, position={"at": end})
        broken, position = read_checkpoint(path)
        assert position == {"at": end}
        at = end
    assert content(straight, tmp_path / "a.npz") == content(broken, tmp_path / "b.npz")
    assert straight.selection_.features.tobytes() == broken.selection_.features.tobytes()
    assert straight.selection_.weights.tobytes() == broken.selection_.weights.tobytes()
    for name in ("n_examples_", "n_features_in_", "n_features_seen_", "settings_", "setting_", "trace_", "classes_",
                 "progressive_loss_", "progressive_accuracy_"):  # fmt: skip
        assert np.array_equal(getattr(straight, name), getattr(broken, name)), name
    assert straight.n_examples_ == (np.count_nonzero(weights) if variant == "weights" else 200)
    assert straight.get_params() == broken.get_params()


@pytest.mark.parametrize("method", ["b-arda", "l1-arda", "b-amd"])
def test_features_far_below_the_budget_come_back_as_they_would_have(method, tmp_path):
    """Many features, a small budget and a long way: the order of those left out is found again."""
    rng = np.random.default_rng(2)
    X = sparse.random(3000, 2000, 0.01, format="csr", random_state=2, data_rvs=rng.standard_normal)
    y = np.where(X @ (rng.normal(size=2000) * (rng.random(2000) < 0.05)) > 0, 1, -1)
    given = {"l1": 1e-5} if method == "l1-arda" else {"l2": 1e-2}
    straight = StreamClassifier(20, method, **given).partial_fit(X, y, classes=[-1, 1])
    broken, path = StreamClassifier(20, method, **given), tmp_path / "b.npz"
    for begin, end in ((0, 1), (1, 700), (700, 1500), (1500, 1501), (1501, 2999), (2999, 3000)):
        broken.partial_fit(X[begin:end], y[begin:end], classes=[-1, 1])
        thresher.save_checkpoint(broken, path)
        broken = thresher.load_checkpoint(path)
    assert content(straight, tmp_path / "a.npz") == content(broken, path)
    assert straight.n_features_seen_ == 2000


OTHERS = {
    "logistic": {"loss": "logistic"},
    "no intercept": {"fit_intercept": False, "delta": 0.5},
    "no budget": {"budget": None, "method": "l1-arda", "l1": [1e-3, 1e-2]},
    "no budget, fobos": {"budget": None, "method": "ada-fobos", "l1": (1e-3, 1e-2)},
    "numpy's numbers": {"budget": np.int64(5), "step_size": np.array([0.1, 0.5]), "l2": np.float32(0.25)},
    "weights of classes": {"class_weight": {0: 2.0, 1: 0.5}},
    "random state": {"random_state": 3, "verbose": 0},
}


@pytest.mark.parametrize("case", OTHERS)
def test_other_options_come_back_and_go_on(case, tmp_path):
    """Every kind of parameter; also the state after fit."""
    X, y, _ = stream_of(2)
    straight = StreamClassifier(**OTHERS[case]).fit(X[:100], y[:100], passes=2)
    broken = thresher.load_checkpoint(tmp_path / "s.npz") if content(straight, tmp_path / "s.npz") else None
    straight.partial_fit(X[100:], y[100:])
    broken.partial_fit(X[100:], y[100:])
    assert content(straight, tmp_path / "a.npz") == content(broken, tmp_path / "b.npz")
    assert broken.decision_function(X).tobytes() == straight.decision_function(X).tobytes()


@pytest.mark.parametrize(
    "labels", [["no", "yes"], [False, True], [-1.5, 2.0], [-1, 1], np.array(["a", "b"], dtype=object)]
)
def test_labels_and_names_of_any_kind(labels, tmp_path):
    """Classes keep their dtype, columns of a data frame their names."""
    pandas = pytest.importorskip("pandas")
    X, y, _ = stream_of(2, width=4)
    frame, y = pandas.DataFrame(X, columns=["größe", "b", "c\n", "d"]), np.asarray(labels)[y]
    straight = StreamClassifier(2).partial_fit(frame[:90], y[:90], classes=labels)
    content(straight, tmp_path / "s.npz")
    broken = thresher.load_checkpoint(tmp_path / "s.npz")
    assert broken.classes_.dtype == straight.classes_.dtype
    assert broken.feature_names_in_.tolist() == frame.columns.tolist()
    straight.partial_fit(frame[90:], y[90:])
    broken.partial_fit(frame[90:], y[90:])
    assert content(straight, tmp_path / "a.npz") == content(broken, tmp_path / "b.npz")
    assert np.array_equal(straight.predict(frame), broken.predict(frame))


def test_the_same_state_gives_the_same_bytes_and_reading_changes_nothing(tmp_path):
    """Neither the time nor the file's name nor what was asked of the estimator is in it."""
    clf = small()
    first = content(clf, tmp_path / "a.npz", position={"at": [1, 2.5, None, "größe"]})
    again, position = read_checkpoint(tmp_path / "a.npz")
    assert position == {"at": [1, 2.5, None, "größe"]}
    again.predict(np.eye(6)), again.selection_, again.coef_, again.trace_
    os.utime(tmp_path / "a.npz", (0, 0))
    assert content(again, tmp_path / "other name", position=position) == first
    assert content(again, tmp_path / "b.npz", position={"at": np.int64(7)}) != first
    assert read_checkpoint(tmp_path / "b.npz")[1] == {"at": 7}
    assert read_checkpoint(saved(tmp_path))[1] == {}


def test_numpy_reads_the_file(tmp_path):
    """It is an .npz like any other, and needs no pickle."""
    with np.load(saved(tmp_path), allow_pickle=False) as found:
        document = json.loads(bytes(found["document"]))
        assert document["format"] == "thresher-checkpoint"
        assert document["examples"] == 40
        assert found["ids"].tolist() == [0, 1, 2, 3, 4, 5]
        assert found["setting0.class0.table"].shape == (6, 2)
        assert len(found["setting0.class0.kept"]) == 3


def test_the_fixture_of_version_1_is_read_and_goes_on():
    """A file of an earlier version ends where an uninterrupted run of this one does."""
    clf, position = read_checkpoint(HERE / "v1_checkpoint.npz")
    assert position == {"lines": 30, "bad": 0, "out": "model.json"}
    whole, X, y = checkpointed(rows=40)
    assert clf.n_examples_ == 30
    clf.partial_fit(X[30:], y[30:])
    assert clf.selection_.features.tolist() == whole.selection_.features.tolist()
    np.testing.assert_allclose(clf.selection_.weights, whole.selection_.weights, rtol=1e-12)
    np.testing.assert_allclose(clf.progressive_loss_, whole.progressive_loss_, rtol=1e-12)
    assert [each.examples for each in clf.trace_] == [each.examples for each in whole.trace_]


# -------------------------------------------------------------------------------- damage


def small(method="b-arda", **options):
    """Forty examples of six features."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6))
    return StreamClassifier(3, method, **options).partial_fit(X, np.where(X[:, 0] > 0, 1, -1), classes=[-1, 1])


def saved(folder, clf=None, **options):
    """The path of a small checkpoint."""
    thresher.save_checkpoint(clf or small(), folder / "state.npz", **options)
    return folder / "state.npz"


def refused(path, why=""):
    """The error's text, one line, which says ``why``."""
    with pytest.raises(ModelFileError) as told:
        read_checkpoint(path)
    assert str(told.value).isprintable()
    assert str(told.value).startswith(str(path))
    assert len(str(told.value)) < len(str(path)) + 400
    assert re.search(why, str(told.value).removeprefix(str(path))), told.value


def test_every_cut_is_seen(tmp_path):
    """Of any length, from nothing to all but one byte; also bytes missing at the beginning, and bytes too many."""
    path = saved(tmp_path)
    whole = path.read_bytes()
    assert len(whole) < 20_000
    for length in reversed(range(len(whole))):
        os.truncate(path, length)
        refused(path)
    for changed in (whole[1:], whole + b"\0", whole + b"\n", whole * 2, whole[:100] + whole[101:], b"\0" + whole):
        path.write_bytes(changed)
        refused(path, "checksum")
    path.write_bytes(whole)
    thresher.load_checkpoint(path)


def test_every_flipped_byte_is_seen(tmp_path):
    """One to three random bytes are others: a thousand times refused, with the checksum as the reason."""
    path, rng = saved(tmp_path), np.random.default_rng(0)
    whole = path.read_bytes()
    for _ in range(1000):
        data = bytearray(whole)
        for at in rng.integers(0, len(data), rng.integers(1, 4)):
            data[at] = rng.integers(0, 256)
        if bytes(data) != whole:
            path.write_bytes(data)
            refused(path, "checksum")


def sealed(body):
    """``body``, which has no digest, with the one that fits."""
    return body + hashlib.sha256(body).hexdigest().encode()


def parts(path):
    """(document, {name: content of each other member}) of a checkpoint."""
    with zipfile.ZipFile(path) as archive:
        members = {info.filename.removesuffix(".npy"): archive.read(info) for info in archive.infolist()}
    return json.loads(array_in(members.pop("document")).tobytes()), members


def array_in(data):
    return np.load(io.BytesIO(data))


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def header(text, body=b""):
    """A .npy member with that header."""
    text = text.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body


def rebuilt(path, document, members, compress=zipfile.ZIP_STORED):
    """Write a checkpoint of these parts, with a digest that fits; a document of bytes is a member as it is."""
    out = io.BytesIO()
    if not isinstance(document, bytes):
        document = npy(np.frombuffer(json.dumps(document).encode(), dtype=np.uint8))
    with zipfile.ZipFile(out, "w", compress) as archive:
        for name, data in (members | {"document": document}).items():
            archive.writestr(f"{name}.npy", data)
        archive.comment = b"0" * DIGITS
    path.write_bytes(sealed(out.getvalue()[:-DIGITS]))
    return path


TABLE, KEPT, CLOCK = (f"setting0.class0.{part}" for part in ("table", "kept", "clock"))


def entry(name, at, value):
    """A change of one number in an array."""

    def change(document, members):
        array = array_in(members[name]).copy()
        array[at] = value
        members[name] = npy(array)

    return change


def whole_array(name, value, declare=True):
    """Another array, which the document declares."""

    def change(document, members):
        members[name] = npy(np.asarray(value))
        if declare:
            place = {"ids": document, "totals": document}.get(name, document["learners"][0])
            place[name.rpartition(".")[2]] = {
                "npz": name, "dtype": np.asarray(value).dtype.str, "shape": list(np.shape(value))
            }  # fmt: skip

    return change


def said(*way, value=None, gone=False):
    """Another value at a place of the document."""

    def change(document, members):
        *first, last = way
        for key in first:
            document = document[key]
        document[last] = value
        if gone:
            del document[last]

    return change


REFUSED = {
    "kept too large": (entry(KEPT, 0, 6), "kept"),
    "kept far too large": (entry(KEPT, 0, 2**62), "kept"),
    "kept negative": (entry(KEPT, 0, -1), "kept"),
    "kept twice": (lambda d, m: entry(KEPT, 0, array_in(m[KEPT])[1])(d, m), "kept"),
    "kept more than the budget": (
        lambda d, m: [whole_array(KEPT, np.arange(4))(d, m), entry(CLOCK, AT_KEPT, 4.0)(d, m)], "too many"
    ),
    "kept too few for the clock": (whole_array(KEPT, np.arange(2)), "clock"),
    "kept are floats": (whole_array(KEPT, np.arange(3.0)), "dtype"),
    "an id twice": (entry("ids", 0, 1), "ids"),
    "an id too large": (entry("ids", 0, 6), "ids"),
    "an id negative": (entry("ids", 0, -3), "ids"),
    "an id too many": (whole_array("ids", np.arange(7)), "ids"),
    "an id too few": (whole_array("ids", np.arange(5)), "shape"),
    "ids in two dimensions": (whole_array("ids", np.arange(6).reshape(2, 3)), "shape"),
    "a wide table": (whole_array(TABLE, np.ones((6, 3))), "shape"),
    "a long table": (whole_array(TABLE, np.ones((7, 2))), "shape"),
    "a flat table": (whole_array(TABLE, np.ones(12)), "shape"),
    "an empty table": (whole_array(TABLE, np.ones((0, 2))), "shape"),
    "a table of another kind": (whole_array(TABLE, np.ones((6, 2), dtype="<f4")), "dtype"),
    "a table that is not declared": (whole_array(TABLE, np.ones((7, 2)), declare=False), "another array"),
    "a short clock": (whole_array(CLOCK, np.ones(6)), "shape"),
    "a root below zero": (entry(TABLE, (2, 1), -1e-9), "negative"),
    "a shift below zero": (entry(CLOCK, AT_SHIFT, -1.0), "negative"),
    "nan in a table": (entry(TABLE, (0, 0), np.nan), "finite"),
    "inf in a table": (entry(TABLE, (5, 1), np.inf), "finite"),
    "nan in a clock": (entry(CLOCK, AT_LOSS, np.nan), "finite"),
    "a clock of another round": (entry(CLOCK, AT_ROUNDS, 41.0), "clock"),
    "a clock of another budget": (entry(CLOCK, AT_KEPT, 2.0), "clock"),
    "another number of examples": (said("examples", value=39), "clock"),
    "no examples": (said("examples", value=0), "examples"),
    "examples below zero": (said("examples", value=-40), "examples"),
    "examples that are no number": (said("examples", value=True), "examples"),
    "totals below zero": (entry("totals", 0, -1.0), "totals"),
    "totals of zero": (entry("totals", 2, 0.0), "totals"),
    "totals of nan": (entry("totals", 3, np.nan), "finite"),
    "totals for three": (whole_array("totals", np.ones(5)), "shape"),
    "mistakes of two": (said("mistakes", value=[1.0, 2.0]), "mistakes"),
    "mistakes of none": (said("mistakes", value=[]), "mistakes"),
    "mistakes of words": (said("mistakes", value=["x"]), "mistakes"),
    "mistakes without end": (said("mistakes", value=["inf"]), "mistakes"),
    "no milestones": (said("milestones", value=[]), "milestones"),
    "milestones that are none": (said("milestones", value=[None]), "milestones"),
    "no learners": (said("learners", value=[]), "learners"),
    "learners are no list": (said("learners", value={}), "learners"),
    "a learner is none": (said("learners", 0, value=7), "learner"),
    "a learner knows more": (said("learners", 0, "more", value=7), "not known"),
    "a learner knows less": (said("learners", 0, "kept", gone=True), "lacks"),
    "more is said": (said("more", value=7), "not known"),
    "less is said": (said("totals", gone=True), "lacks"),
    "another format": (said("format", value="thresher-model"), "format"),
    "no version": (said("format_version", gone=True), "format_version"),
    "version 0": (said("format_version", value=0), "format_version"),
    "a newer version": (said("format_version", value=2), "newer thresher"),
    "a much newer version": (said("format_version", value=2**70), "format_version"),
    "one class": (said("classes", value={"dtype": "<i8", "values": [1]}), "classes"),
    "three classes": (said("classes", value={"dtype": "<i8", "values": [1, 2, 3]}), ""),
    "classes that fall": (said("classes", value={"dtype": "<i8", "values": [1, -1]}), "sorted"),
    "a method that is none": (said("parameters", "method", value="c-arda"), "method"),
    "another method": (said("parameters", "method", value="b-amd"), "shape"),
    "a parameter of another method": (said("parameters", "gamma", value=1.0), "gamma"),
    "a budget below": (said("parameters", "budget", value=2), "too many"),
    "a budget of zero": (said("parameters", "budget", value=0), "budget"),
    "a budget of a word": (said("parameters", "budget", value="x"), "budget"),
    "no budget": (said("parameters", "budget", value=None), "budget"),
    "a step of nan": (said("parameters", "step_size", value={"float": "nan"}), "step_size"),
    "two steps": (said("parameters", "step_size", value=[0.1, 0.2]), "do not fit"),
    "many bits": (said("parameters", "hash_bits", value=31), "hash_bits"),
    "few bits": (said("parameters", "hash_bits", value=2), "ids"),
    "a parameter more": (said("parameters", "more", value=1), "not known"),
    "a parameter less": (said("parameters", "delta", gone=True), "lacks"),
    "parameters are none": (said("parameters", value=[]), "parameters"),
    "fewer columns": (said("n_features_in", value=5), "ids"),
    "no columns": (said("n_features_in", value=0), "n_features_in"),
    "columns without end": (said("n_features_in", value=2**64), "n_features_in"),
    "names too few": (said("names", value=["a"]), "names"),
    "names that are none": (said("names", value=[1, 2, 3, 4, 5, 6]), "names"),
    "a place that is none": (said("position", value=[]), "position"),
    "an array that is not there": (said("ids", "npz", value="absent"), "where it is not"),
    "one array twice": (said("totals", value={"npz": "ids", "dtype": "<i8", "shape": [6]}), ""),
    "a member that nobody names": (lambda d, m: m.update(more=npy(np.ones(3))), "does not name"),
    "a member that is lost": (lambda d, m: m.pop("totals"), "where it is not"),
    "a member that is none": (lambda d, m: m.update(totals=b"x"), "not stored as an array"),
    "objects": (lambda d, m: m.update(totals=header("{'descr': '|O', 'fortran_order': False, 'shape': (4,), }")), ""),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_though_its_digest_is_right(case, tmp_path):
    """One rule is broken at a time; the message names it."""
    path = saved(tmp_path)
    document, members = parts(path)
    rebuilt(path, document, dict(members))
    thresher.load_checkpoint(path)  # the parts themselves are sound
    change, why = REFUSED[case]
    change(document, members)
    refused(rebuilt(path, document, members), why)


def peak_of(path):
    """Bytes that are asked for to refuse a file."""
    tracemalloc.start()
    try:
        refused(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


PLAIN = "{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}"
HEADERS = {
    "8 GiB": PLAIN.format("|u1", 2**33),
    "2^50 bytes": PLAIN.format("|u1", 2**50),
    "2^63 numbers": PLAIN.format("<f8", 2**63),
    "less than nothing": PLAIN.format("|u1", -5),
    "two dimensions": PLAIN.format("|u1", "5, 1"),
    "wide texts": PLAIN.format("|S999999999", 5),
    "objects": PLAIN.format("|O", 5),
    "no end": "{'descr': '|u1', 'fortran_order': False, 'shape': (5,",
    "no type": "{'descr': (), 'fortran_order': False, 'shape': (5,), }",
    "Python 2": "{'descr': '|u1', 'fortran_order': False, 'shape': (5L,), }",
    "no dict": "5",
    "deep": "(" * 99,
    "code": "__import__('os').abort()",
}


@pytest.mark.parametrize("case", HEADERS)
def test_a_document_whose_header_lies(case, tmp_path):
    """Refused as any other damage, and without the memory that it asks for."""
    path = saved(tmp_path)
    _, members = parts(path)
    rebuilt(path, header(HEADERS[case], b"12345"), members)
    assert peak_of(path) < 10_000_000


@pytest.mark.parametrize("count", [2**33, 2**50, 2**61, 2**63])
@pytest.mark.parametrize("name", ["ids", KEPT, "totals"])
def test_an_array_that_declares_more_than_there_is(name, count, tmp_path):
    """Refused at once, and without the memory that it asks for."""
    path = saved(tmp_path)
    document, members = parts(path)
    kind = "<f8" if name == "totals" else "<i8"
    members[name] = header(PLAIN.format(kind, count), bytes(32))
    place = document["learners"][0] if name == KEPT else document
    place[name.rpartition(".")[2]] = {"npz": name, "dtype": kind, "shape": [count]}
    rebuilt(path, document, members)
    assert peak_of(path) < 10_000_000


def test_settings_that_multiply_do_not_take_memory(tmp_path):
    """Two lists of 200 numbers are 40,000 settings: there are not as many learners in the file."""
    path = saved(tmp_path)
    document, members = parts(path)
    for name in ("step_size", "l2"):
        document["parameters"][name] = [0.1 + k / 1000 for k in range(200)]
    rebuilt(path, document, members)
    begun = time.perf_counter()
    assert peak_of(path) < 10_000_000
    assert time.perf_counter() - begun < 5.0


def test_classes_without_learners_do_not_take_memory(tmp_path):
    """100,000 labels ask for as many learners, which are not in the file."""
    path = saved(tmp_path)
    document, members = parts(path)
    document["classes"] = {"dtype": "<i8", "values": {"npz": "classes", "dtype": "<i8", "shape": [100_000]}}
    members["classes"] = npy(np.arange(100_000))
    rebuilt(path, document, members)
    assert peak_of(path) < 30_000_000


@pytest.mark.parametrize("data", [b"", b"x" * 100, b"PK\5\6" + bytes(18), bytes(1000), b"[" * 100_000])
def test_what_is_no_archive_is_refused_though_its_digest_is_right(data, tmp_path):
    """Also an empty one."""
    path = tmp_path / "s.npz"
    path.write_bytes(sealed(data))
    refused(path)


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"7", b"\xff", b'{"a": 1, "a": 2}', b'{"a": NaN}', b"[" * 100_000])
def test_documents_that_are_none(text, tmp_path):
    """As the documents of model files are."""
    path = saved(tmp_path)
    _, members = parts(path)
    refused(rebuilt(path, npy(np.frombuffer(text, dtype=np.uint8)), members))


def test_compressed_members_are_refused(tmp_path):
    """A zip bomb needs compression; checkpoints have none."""
    path = saved(tmp_path)
    document, members = parts(path)
    refused(rebuilt(path, document, members, zipfile.ZIP_DEFLATED), "")
    bomb = {"more": npy(np.zeros(10**7))}
    rebuilt(path, document, members | bomb, zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 100_000
    assert peak_of(path) < 10_000_000


def sound_or_refused(path):
    """Whether the file is read; what is read can be learnt on, or says that its numbers are absurd."""
    X = np.random.default_rng(4).normal(size=(20, 6))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            clf = thresher.load_checkpoint(path)
        except ModelFileError:
            return False
        if clf.n_features_in_ != X.shape[1]:
            return True
        with contextlib.suppress(InvalidDataError):
            clf.partial_fit(X, clf.classes_[(X[:, 0] > 0).astype(int)])
            assert clf.budget is None or clf.selection_.features.size <= clf.budget * clf.classes_.size
            clf.predict(X), repr(clf), clf.trace_
    return True


@pytest.mark.parametrize("method", ["b-arda", "ada-fobos", "sofs"])
def test_flipped_bytes_under_a_right_digest_are_refused_or_can_be_learnt_on(method, tmp_path):
    """Anywhere in the archive, or, with sums that fit, in its members: there is no crash, neither then nor later."""
    path, rng, passed = saved(tmp_path, small(method)), np.random.default_rng(3), 0
    whole, (document, members) = path.read_bytes()[:-DIGITS], parts(path)
    for trial in range(400):
        name = [None, "document", *members][trial % (len(members) + 2)]
        if name == "document":
            data = bytearray(json.dumps(document).encode())
        else:
            data = bytearray(whole if name is None else members[name])
        for at in rng.integers(0, len(data), rng.integers(1, 3)):
            data[at] = rng.integers(0, 256) if trial % 3 else data[at] ^ (1 << rng.integers(8))
        if name is None:
            path.write_bytes(sealed(bytes(data)))
        elif name == "document":
            rebuilt(path, npy(np.frombuffer(bytes(data), dtype=np.uint8)), members)
        else:
            rebuilt(path, document, members | {name: bytes(data)})
        passed += sound_or_refused(path)
    assert 0 < passed < 400


@pytest.mark.parametrize("method", ["b-arda", "sofs"])
def test_swapped_values_in_the_document(method, tmp_path):
    """At random places stands something else, is missing, or is there in addition."""
    path, rng, passed = saved(tmp_path, small(method)), np.random.default_rng(5), 0
    document, members = parts(path)
    everywhere, text = [place for place in places(document) if place], json.dumps(document)
    for trial in range(400):
        changed = json.loads(text)
        *way, last = everywhere[rng.integers(len(everywhere))]
        inside = changed
        for key in way:
            inside = inside[key]
        if trial % 7 == 0:
            del inside[last]
        else:
            inside[last] = ODD[rng.integers(len(ODD))]
        passed += sound_or_refused(rebuilt(path, changed, members))
    assert passed < 200


def test_a_variance_of_zero_does_not_end_in_a_division_by_it(tmp_path):
    """SOFS divides by variances; a file may say zero."""
    path = saved(tmp_path, small("sofs"))
    document, members = parts(path)
    entry(TABLE, (slice(None), SPREAD), 0.0)(document, members)
    entry(CLOCK, AT_SHIFT, 0.0)(document, members)
    rebuilt(path, document, members)
    X = np.random.default_rng(4).normal(size=(20, 6))
    try:
        clf = thresher.load_checkpoint(path)
    except ModelFileError:
        return
    assert clf.partial_fit(X, np.where(X[:, 0] > 0, 1, -1)).n_examples_ == 60


# -------------------------------------------------------------------------------- one step


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
            patch.setattr(ArrayWriter, "write_into", fails)
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


def test_numbers_that_ran_away_do_not_replace_a_sound_checkpoint(tmp_path):
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
        with pytest.raises(OSError, match="not a file that can be replaced"):
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
    with pytest.raises(TypeError, match="not loaded from a model file"):
        thresher.save_checkpoint(model, tmp_path / "s.npz")
    with pytest.raises(ValueError, match="take a checkpoint"):
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
    with pytest.raises(ModelFileError):
        thresher.load(tmp_path / "s.npz")
    with pytest.raises(ModelFileError):
        thresher.load_checkpoint(tmp_path / "model.json")


def test_what_was_begun_cannot_be_changed_afterwards(tmp_path):
    """Parameters and classes are those of the checkpoint."""
    clf = thresher.load_checkpoint(saved(tmp_path))
    X = np.random.default_rng(0).normal(size=(4, 6))
    with pytest.raises(ValueError, match="are not those of before"):
        clf.partial_fit(X, [0, 1, 0, 1], classes=[0, 1])
    with pytest.raises(ValueError, match="budget was 3"):
        clf.set_params(budget=4).partial_fit(X, [-1, 1, -1, 1])
    clf.set_params(budget=3).partial_fit(X, [-1, 1, -1, 1], sample_weight=np.zeros(4))
    assert content(clf, tmp_path / "again.npz") == (tmp_path / "state.npz").read_bytes()


# -------------------------------------------------------------------------------- SIGKILL


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
    path, rng, reached = tmp_path / "state.npz", np.random.default_rng(6), [0]
    for _ in range(kills):
        forked(path, X, y, rng.uniform(0.0, 0.06))
        if path.exists():
            reached.append(thresher.load_checkpoint(path).n_examples_)
            assert reached[-1] % 4 == 0
            assert reached[-1] >= reached[-2]
    assert len(set(reached)) > kills / 4  # it was killed at work
    assert forked(path, X, y, None)
    assert path.read_bytes() == content(straight, tmp_path / "straight.npz")
