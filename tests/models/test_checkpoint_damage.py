"""Checkpoints that are cut, flipped or forged are refused, with little memory and never a crash."""

import contextlib
import hashlib
import io
import json
import os
import time
import tracemalloc
import warnings
import zipfile

import numpy as np
import pytest

import thresher
from tests.models.checkpoints import DIGITS, SPREAD, refused, saved, small
from tests.models.test_damaged import ODD, places
from thresher.errors import InvalidDataError, ModelFileError

AT_ROUNDS, AT_KEPT, AT_SHIFT, AT_LOSS = 0, 1, 4, 5  # places in the clock of format 1


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
        refused(path, "checksum|it is not a checkpoint")
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
            refused(path, "checksum|it is not a checkpoint")


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
    "a table that is not declared": (whole_array(TABLE, np.ones((7, 2)), declare=False), "match its dtype and shape"),
    "a short clock": (whole_array(CLOCK, np.ones(6)), "shape"),
    "a root below zero": (entry(TABLE, (2, 1), -1e-9), "negative"),
    "a shift below zero": (entry(CLOCK, AT_SHIFT, -1.0), "negative"),
    "nan in a table": (entry(TABLE, (0, 0), np.nan), "NaN or infinity"),
    "inf in a table": (entry(TABLE, (5, 1), np.inf), "NaN or infinity"),
    "nan in a clock": (entry(CLOCK, AT_LOSS, np.nan), "NaN or infinity"),
    "a clock of another round": (entry(CLOCK, AT_ROUNDS, 41.0), "clock"),
    "a clock of another budget": (entry(CLOCK, AT_KEPT, 2.0), "clock"),
    "another number of examples": (said("examples", value=39), "clock"),
    "no examples": (said("examples", value=0), "examples"),
    "examples below zero": (said("examples", value=-40), "examples"),
    "examples that are no number": (said("examples", value=True), "examples"),
    "totals below zero": (entry("totals", 0, -1.0), "totals"),
    "totals of zero": (entry("totals", 2, 0.0), "totals"),
    "totals of nan": (entry("totals", 3, np.nan), "NaN or infinity"),
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
    "a learner knows more": (said("learners", 0, "more", value=7), "unknown field, 'more'"),
    "a learner knows less": (said("learners", 0, "kept", gone=True), "is missing the field"),
    "more is said": (said("more", value=7), "unknown field, 'more'"),
    "less is said": (said("totals", gone=True), "is missing the field"),
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
    "two steps": (said("parameters", "step_size", value=[0.1, 0.2]), "learners does not match"),
    "many bits": (said("parameters", "hash_bits", value=31), "hash_bits"),
    "few bits": (said("parameters", "hash_bits", value=2), "ids"),
    "a parameter more": (said("parameters", "more", value=1), "unknown field, 'more'"),
    "a parameter less": (said("parameters", "delta", gone=True), "is missing the field"),
    "parameters are none": (said("parameters", value=[]), "parameters"),
    "fewer columns": (said("n_features_in", value=5), "ids"),
    "no columns": (said("n_features_in", value=0), "n_features_in"),
    "columns without end": (said("n_features_in", value=2**64), "n_features_in"),
    "names too few": (said("names", value=["a"]), "names"),
    "names that are none": (said("names", value=[1, 2, 3, 4, 5, 6]), "names"),
    "a place that is none": (said("position", value=[]), "position"),
    "an array that is not there": (said("ids", "npz", value="absent"), "is missing from the .npz"),
    "one array twice": (said("totals", value={"npz": "ids", "dtype": "<i8", "shape": [6]}), ""),
    "a member that nobody names": (lambda d, m: m.update(more=npy(np.ones(3))), "unknown to the document"),
    "a member that is lost": (lambda d, m: m.pop("totals"), "is missing from the .npz"),
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
