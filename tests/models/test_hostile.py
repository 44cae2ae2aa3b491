"""Files made to do harm, and files that break one rule: each is refused with one line that says why."""

import io
import os
import pickle
import re
import subprocess
import sys
import textwrap
import zipfile

import numpy as np
import pytest

from tests.models.damage import refused, resealed, saved, write
from thresher.models import files, storage
from thresher.state import arrays
from thresher.state.checks import Damaged


def with_member(tmp_path, array_bytes, name="features", document_says=None, compress=zipfile.ZIP_STORED):
    """A model whose .npz holds ``array_bytes`` as the member ``name``."""
    path, document, beside = saved(tmp_path, "two", 0)
    out = io.BytesIO()
    with zipfile.ZipFile(beside) as old, zipfile.ZipFile(out, "w", compress) as new:
        for info in old.infolist():
            new.writestr(info.filename, array_bytes if info.filename == f"{name}.npy" else old.read(info.filename))
    document[name] = document_says or document[name]
    resealed(path, document, out.getvalue())
    return path


def npy(header, body=b""):
    """A .npy member with that header."""
    header = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + body


@pytest.mark.parametrize("count", [10**12, 2**61, 2**63, 2**64 + 4])
def test_a_member_that_declares_more_than_there_is(count, tmp_path):
    """Refused at once, and without the memory that it asks for."""
    data = npy(f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({count},), }}", bytes(32))
    path = with_member(tmp_path, data, document_says={"npz": "features", "dtype": "<i8", "shape": [count]})
    refused(path, "length of features does not match its shape|not an integer in the allowed range")


def test_a_pickle_inside_is_refused(tmp_path):
    """Object arrays are not known, and nothing in them is run."""

    class Harm:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "harm"),)

    header = "{'descr': '|O', 'fortran_order': False, 'shape': (4,), }"
    path = with_member(tmp_path, npy(header, pickle.dumps([Harm()] * 4)))
    refused(path, "invalid .npy header")
    path = with_member(tmp_path, pickle.dumps(Harm()))
    refused(path, "not stored as an array")
    path = with_member(tmp_path, npy(header), document_says={"npz": "features", "dtype": "|O", "shape": [4]})
    refused(path, "dtype")
    assert not (tmp_path / "harm").exists()


def test_compressed_members_are_refused(tmp_path):
    """A zip bomb needs compression; model files have none."""
    out = io.BytesIO()
    np.save(out, np.zeros(4, dtype=np.int64))
    refused(with_member(tmp_path, out.getvalue(), compress=zipfile.ZIP_DEFLATED), "compressed")


def test_members_that_overlap_are_refused(tmp_path):
    """All members together are never larger than the file, though each points to the same bytes."""
    _, document, beside = saved(tmp_path, "two", 0)
    with zipfile.ZipFile(beside) as archive:
        size = sum(info.file_size for info in archive.infolist())
    with open(beside, "rb") as file:
        reader = arrays.ArrayReader(storage.Container(file))
        reader.container.left = size - 1
        with pytest.raises(Damaged, match=r"larger than the \.npz"):
            files.get_model(reader, document)


def test_a_member_that_nobody_names_is_refused(tmp_path):
    """Nothing rides along."""
    path, document, beside = saved(tmp_path, "two", 0)
    out = io.BytesIO(beside.read_bytes())
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("more.npy", b"")
    resealed(path, document, out.getvalue())
    refused(path, "more.npy")


@pytest.mark.parametrize("name", [
    "../{}", "/etc/{}", "a/{}", "a\\{}", "\0{}", "{}.json", "", ".", "..", "x" * 300 + "{}", 7, None,
])  # fmt: skip
def test_the_npz_lies_beside_the_document_or_nowhere(name, tmp_path):
    """No name with a folder in it is followed, not even to a file that is there."""
    path, document, beside = saved(tmp_path, "two", 0)
    name = name.format(beside.name) if isinstance(name, str) else name
    write(path, document | {"arrays": {"file": name, "sha256": document["arrays"]["sha256"]}})
    refused(path, "npz")


def test_a_missing_or_odd_npz_is_told(tmp_path):
    """The file's name is in the message; a pipe or folder in its place is not waited for."""
    path, _, beside = saved(tmp_path, "two", 0)
    beside.unlink()
    assert beside.name in refused(path, "is missing")
    os.mkfifo(beside)
    refused(path, "is not a file")


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000, "[" * 40 + "]" * 40])
def test_deep_nesting(text, tmp_path):
    """10^5 levels end in the same error as 40."""
    path = tmp_path / "deep.json"
    path.write_text(text)
    refused(path, "nested too deep")


def test_sizes(tmp_path, monkeypatch):
    """Too many bytes are not read, too many parts not built."""
    path, _, _ = saved(tmp_path)
    monkeypatch.setattr(storage, "MOST_BYTES", 1000)
    refused(path, "larger than")
    monkeypatch.undo()
    path.write_text("[" + "[],{}," * 1_100_000 + "0]")
    refused(path, "too many parts")
    path.write_text("1" * 5000)
    refused(path, "too many digits")


def test_a_device_without_end_is_not_read_to_its_end():
    """/dev/zero has no size; reading stops at the limit."""
    refused("/dev/zero", "larger than 64 MB")


@pytest.mark.parametrize(("text", "why"), [
    ("", "not JSON"),
    ("null", "does not contain"),
    ("[]", "does not contain"),
    ('{"format": "thresher-model"}', "format_version"),
    ('{"format": "thresher-model", "format_version": 1}', "checksum is missing"),
    ('{"format": 1, "format": 2}', "a duplicate key"),
    ('{"format": NaN}', "NaN"),
    ('{"format": -Infinity}', "Infinity"),
    ('{"format": "thresher-model", "format_version": true}', "format_version"),
])  # fmt: skip
def test_other_json(text, why, tmp_path):
    """What is no model says so, with the file's name and what to do."""
    path = tmp_path / "m.json"
    path.write_text(text)
    assert "save the model again or use another copy" in refused(path, why)


def test_other_files(tmp_path):
    """A pickle, an .npz, bytes that are no text."""
    path = tmp_path / "m.json"
    for data in (pickle.dumps([1]), b"PK\x03\x04\xff\xfe", b"\xff\xfe{\x00}\x00", b"\xef\xbb\xbf{}"):
        path.write_bytes(data)
        refused(path, "not UTF-8|not JSON|not a valid checkpoint")


def test_a_newer_file_asks_for_a_newer_thresher(tmp_path):
    """Not "damaged": upgrade."""
    path, document, _ = saved(tmp_path)
    document["versions"]["thresher"] = "9.1"
    write(path, document | {"format_version": 4, "unheard": "of"})
    told = refused(path, re.escape("written by thresher 9.1, which is newer (format 4): upgrade"))
    assert "valid" not in told


def of_classes(dtype, values):
    """A change of the class labels."""
    return {"target": {"kind": "classes", "classes": {"dtype": dtype, "values": values}}}


def of_columns(**spread):
    """A change of the standard deviations."""
    return {"fitted_features": {"kind": "columns", "spread": spread}}


@pytest.mark.parametrize(("change", "why"), [
    ({"features": [3, 2, 5, 8]}, "features are not sorted"),
    ({"features": [1, 1, 5, 8]}, "features are not sorted"),
    ({"features": [1, 2, 5, 40]}, "between 0 and 39"),
    ({"features": [-1, 2, 5, 8]}, "between 0 and 39"),
    ({"features": [1, 2, 5]}, "weights has shape"),
    ({"weights": [1.0, 2.0, "nan", 3.0]}, "not a finite number"),
    ({"weights": [1.0, 2.0, 1e999, 3.0]}, "not finite|NaN|Infinity"),
    ({"weights": [1.0, 2.0, 0.0, 3.0]}, "has no weight"),
    ({"n_features_in": 2**62 + 1}, "n_features_in"),
    ({"n_features_in": 0}, "n_features_in"),
    (of_classes("<i8", [1, 1]), "classes are not sorted and unique"),
    (of_classes("<i8", [0, 1, 2]), "weights"),
    (of_classes("<f8", [0, "nan"]), "classes are not sorted and unique"),
    (of_classes("<f8", [0]), "at least two"),
    (of_classes("<i1", [0, 257]), "values that do not fit its dtype"),
    (of_classes("|b1", [0, 2]), "values that do not fit its dtype"),
    (of_classes("<U1", ["a", "bc"]), "longer than its dtype"),
    (of_classes("<M8[s]", [0, 1]), "dtype"),
    ({"target": {"kind": "numbers"}}, "unknown kind 'numbers' of target"),
    ({"target": {"classes": []}}, "the kind of target is missing"),
    ({"target": of_classes("<i8", [0, 1])["target"] | {"more": 1}}, "target has an unknown field, 'more'"),
    ({"intercept": "inf"}, "intercept"),
    ({"type": "Pipeline"}, "type"),
    ({"parameters": {"shell": "rm"}}, "no parameter"),
    ({"parameters": {"loss": "rm"}}, "invalid parameter"),
    ({"forced": [39]}, "forced feature is missing"),
    ({"names": ["a", "b", "c", "d"]}, "names"),
    ({"named_in_fit": True}, "names"),
    ({"budget": -1}, "budget"),
    ({"more": 1}, "unknown field, 'more'"),
    ({"source": {"index_base": 2}}, "index_base of a Source must be 0, 1 or None"),
    ({"source": {"index_base": True}}, "index_base"),
    ({"source": {"kind": "sql"}}, "kind of a Source must be one of svmlight"),
    ({"source": {"file": 3}}, "file"),
    ({"source": {"notes": []}}, "notes"),
    ({"source": {"open_ended": 1}}, "open_ended"),
    ({"source": {"weather": "fine"}}, "source has an unknown field, 'weather'"),
    ({"source": None}, "source must be an object, got None"),
    ({"written": 3}, "written"),
    (of_columns(columns=[0], std=[1.0]), "the spread lacks a column of the path"),
    (of_columns(columns=list(range(40)), std=[-1.0] * 40), "negative standard deviation"),
    (of_columns(columns=list(range(40)), std=["nan"] * 40), "finite"),
    (of_columns(columns=list(range(40)), std=[1.0]), "std of the spread has shape"),
    (of_columns(columns=[1, 0], std=[1.0, 1.0]), "not sorted and unique"),
    (of_columns(columns=list(range(41)), std=[1.0] * 41), "columns of the spread must be between 0 and 39"),
    (of_columns(columns=[0]), "spread is missing the field 'std'"),
])  # fmt: skip
def test_what_is_wrong_is_said(change, why, tmp_path):
    """Each rule of docs/model-files.md, broken."""
    path, document, _ = saved(tmp_path)
    write(path, document | change)
    refused(path, why)


@pytest.mark.parametrize(("key", "at", "value", "why"), [
    ("features", 1, 39, "not sorted and unique"),
    ("features", 0, -1, "out of range"),
    ("features", -1, 40, "out of range"),
    ("begins", 0, 1, "begins of the features of the path do not cover all of them"),
    ("begins", -1, 2**62, "begins of the features of the path do not cover all of them"),
    ("begins", 1, 0, "a part of the features of the path is empty"),
    ("begins", 1, 2**62, "the begins of the features of the path decrease"),
    ("begins", 1, -(2**63), "the begins of the features of the path decrease"),
    ("number", 0, 41, "a number of the path"),
    ("number", 0, 0, "a number of the path"),
    ("weights", 0, "nan", "finite"),
    ("intercept", 0, "inf", "finite"),
    ("phase", 0, "rest", "phase"),
])  # fmt: skip
def test_what_is_wrong_with_a_path_is_said(key, at, value, why, tmp_path):
    """Each station is checked as the model itself is."""
    path, document, _ = saved(tmp_path)
    document["path"][key][at] = value
    write(path, document)
    refused(path, why)


def put(*way):
    """A change of a document: at the place that all but the last lead to stands the last."""

    def change(document):
        *keys, last, value = way
        inside = document["fitted"]
        for key in keys:
            inside = inside[key]
        inside[last] = value

    return change


def popped(*way):
    """A change of a document: the list or the rows of the table there are one shorter."""

    def change(document):
        inside = document["fitted"]
        for key in way[:-1]:
            inside = inside[key]
        inside[way[-1]] = inside[way[-1]][:-1] if way[-1] != "scores_" else [row[:-1] for row in inside[way[-1]]]

    return change


def the_best_unsolved(document):
    """The grid's best point has no gap."""
    i, j = document["fitted"]["best_index_"]
    put("path_", "gap", i, j, "nan")(document)


WRONG_GRIDS = {
    "begins falls": (put("path_", "begins", 6, 10), "begins of the features of the grid decrease"),
    "begins is negative": (put("path_", "begins", 3, -1), "begins of the features of the grid decrease"),
    "begins late": (put("path_", "begins", 0, 1), "begins of the features of the grid do not cover"),
    "begins ends early": (
        put("path_", "begins", -1, 1),
        "begins of the features of the grid do not cover",
    ),
    "begins is short": (popped("path_", "begins"), "the begins of the features of the grid has shape"),
    "ids too large": (put("path_", "ids", 16, 40), "out of range"),
    "ids negative": (put("path_", "ids", 0, -1), "out of range"),
    "ids twice": (put("path_", "ids", 1, 0), "not sorted and unique"),
    "weights nan": (put("path_", "weights", 0, "nan"), "not a finite number"),
    "weights short": (popped("path_", "weights"), "weights of the grid has shape"),
    "intercepts short": (popped("path_", "intercepts"), "intercepts of the grid has shape"),
    "unknown rule": (put("path_", "tests", 0, 0, 4), "the grid contains an unknown test"),
    "negative rule": (put("path_", "tests", 0, 0, -1), "the grid contains an unknown test"),
    "tests of two": (put("path_", "tests", [[0, 0]]), "tests of the grid has shape"),
    "test_begins falls": (put("path_", "test_begins", 2, 50), "begins of the tests of the grid decrease"),
    "alphas short": (popped("path_", "alphas"), "alphas has shape"),
    "alphas zero": (put("path_", "alphas", 0, 0, 0.0), "must be positive and not empty"),
    "betas negative": (put("path_", "betas", 0, -1.0), "must be positive and not empty"),
    "nothing in it": (put("path_", "betas", []), "shape|must be positive and not empty"),
    "counts negative": (put("path_", "features_removed", 1, 1, -1), "the grid contains a negative count"),
    "no samples": (put("path_", "n_samples", 0), "n_samples"),
    "the best was not reached": (the_best_unsolved, "its parts are inconsistent"),
    "scores short": (popped("scores_"), "scores_ has shape"),
    "best outside": (put("best_index_", [3, 0]), "its parts are inconsistent"),
    "best of three": (put("best_index_", [1, 0, 0]), "must be a pair"),
    "supports out of range": (put("supports_", 0, "ids", 0, 40), "out of range"),
    "spread short": (put("path_", "spread", {"columns": [0], "std": [1.0]}), "the spread of the grid lacks a feature"),
    "no grid": (put("path_", None), "path_ must be an object, got None"),
}


@pytest.mark.parametrize("case", WRONG_GRIDS)
def test_what_is_wrong_with_a_grid_is_said(case, tmp_path):
    path, document, _ = saved(tmp_path, "grid_cv")
    change, why = WRONG_GRIDS[case]
    change(document)
    write(path, document)
    refused(path, why)


NOT_FITTING = {
    "scores without a best point": put("best_index_", None),
    "scores without a best score": put("best_score_", None),
    "scores without supports": put("supports_", None),
    "supports of fewer folds": popped("supports_"),
    "no folds": put("scores_", []),
    "more features removed than there are": put("path_", "features_removed", 1, 1, 41),
    "more samples removed than there are": put("path_", "samples_removed", 1, 1, 91),
}


@pytest.mark.parametrize("case", NOT_FITTING)
def test_parts_of_a_grid_that_do_not_fit_are_refused(case, tmp_path):
    path, document, _ = saved(tmp_path, "grid_cv")
    NOT_FITTING[case](document)
    write(path, document)
    refused(path, "")


def test_a_grid_without_a_point_reached_is_refused(tmp_path):
    path, document, _ = saved(tmp_path, "grid")
    put("path_", "gap", [["nan"] * 4] * 3)(document)
    write(path, document)
    refused(path, "")


def test_small_files_stay_small_in_memory(tmp_path):
    """4 KB that declare 10^12 elements, a very wide dtype or 10^5 levels: under 50 MB in a fresh process."""
    members = npy("{'descr': '<i8', 'fortran_order': False, 'shape': (1000000000000,), }", bytes(32))
    says = {"npz": "features", "dtype": "<i8", "shape": [10**12]}
    (tmp_path / "npz").mkdir()
    paths = [with_member(tmp_path / "npz", members, document_says=says)]
    for number, change in enumerate([
        {"target": {"kind": "classes", "classes": {"dtype": "<U999999", "values": ["a", "b"] * 100}}},
        {"n_features_in": 2**62, "named_in_fit": True},
        {"path": {"begins": [0, 2**62]}},
    ]):  # fmt: skip
        _, document, _ = saved(tmp_path)
        paths.append(tmp_path / f"bomb{number}.json")
        write(paths[-1], document | change)
    paths.append(tmp_path / "deep.json")
    paths[-1].write_text("[" * 10**5)
    code = f"""
        import resource, thresher
        from thresher.errors import ModelFileError
        thresher.load
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for path in {[str(path) for path in paths]!r}:
            try:
                thresher.load(path)
                raise SystemExit(path + " was loaded")
            except ModelFileError:
                pass
        print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr + done.stdout
    assert int(done.stdout) < 50
