"""svmlight text: equal to scikit-learn's reader where that reads, and a line number for everything else."""

import bz2
import gzip
import io
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from thresher.data.workers import Workers
from thresher.errors import InvalidDataError
from thresher.io import read
from thresher.io import text as text_module
from thresher.io.table import Layout
from thresher.io.text import parsed, pieces, svmlight_rows


def written(tmp_path, content, name="data.svm"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def same(ours, theirs):
    """Bit for bit: shape, structure, values."""
    assert ours.shape == theirs.shape
    assert np.array_equal(ours.indptr, theirs.indptr)
    assert np.array_equal(ours.indices, theirs.indices)
    assert ours.data.astype(np.float64).tobytes() == theirs.data.tobytes()


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_equal_to_scikit_learns_reader(tmp_path, seed, n_jobs, zero_based, monkeypatch):
    monkeypatch.setattr(text_module, "PIECE", 999)  # many pieces, cut inside lines
    rng = np.random.default_rng(seed)
    X = sparse.random(200, 40, 0.2, format="csr", random_state=seed)
    X.data = rng.standard_normal(X.nnz) * 10.0 ** rng.integers(-20, 20, X.nnz)
    path = tmp_path / "data.svm"
    dump_svmlight_file(X, rng.integers(0, 5, 200), str(path), zero_based=zero_based, comment="made\nhere")
    theirs, y = load_svmlight_file(str(path))
    table = read(path, n_jobs=n_jobs)
    same(table.X, theirs)
    assert np.array_equal(table.y, y)
    assert table.X.dtype == np.float64


AWKWARD = (
    "# a comment first\n\n"
    "+1 1:0.5 3:-1e-3 # and one here\r\n"
    "   \t\n"
    "-1 qid:7 2:1\t3:.25\n"
    "-1\n"
    "0.5 +1:1 7:5.\f\n"
    "1 4:0#glued"
)


def test_comments_blank_lines_query_numbers_and_line_ends(tmp_path):
    path = written(tmp_path, AWKWARD)
    theirs, y = load_svmlight_file(str(path))
    table = read(path)
    same(table.X, theirs)
    assert np.array_equal(table.y, y)


def test_narrow_types_only_where_every_value_is_exact(tmp_path):
    exact = read(written(tmp_path, "1 1:0.5 2:3\n-1 1:1e3\n"))
    assert exact.X.dtype == np.float32
    assert exact.X.indices.dtype == np.int32
    assert exact.y.dtype == np.int64
    assert read(written(tmp_path, "1 1:0.5 2:3\n-1 1:0.1\n")).X.dtype == np.float64
    assert read(written(tmp_path, "1 1:1e300\n-1 1:1\n")).X.dtype == np.float64
    assert read(written(tmp_path, "1.5 1:1\n-1 1:1\n")).y.dtype == np.float64


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_packed_files_by_what_they_hold_and_not_by_name(tmp_path, pack):
    plain = read(written(tmp_path, AWKWARD))
    packed = read(written(tmp_path, pack(AWKWARD.encode()), "data.svm"))
    same(packed.X, plain.X.astype(np.float64))


def test_standard_input(monkeypatch):
    class Stdin:
        buffer = io.BufferedReader(io.BytesIO(b"1 1:2\n-1 2:1\n"))

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert read("-").X.shape == (2, 2)


def test_unsorted_indices_are_sorted_and_repeated_ones_added_up(tmp_path):
    table = read(written(tmp_path, "1 3:1 1:2 3:0.5\n-1 2:1\n"))
    assert table.X.toarray().tolist() == [[2.0, 0.0, 1.5], [0.0, 1.0, 0.0]]
    assert table.X.has_canonical_format
    assert table.remarks == ["summed 1 duplicate entry (same row and feature)"]


def test_index_base(tmp_path):
    path = written(tmp_path, "1 1:1 4:1\n-1 2:1\n")
    assert read(path).index_base == 1
    assert read(path).X.shape == (2, 4)
    assert read(path, index_base=0).X.shape == (2, 5)
    assert read(written(tmp_path, "1 0:1 4:1\n-1 2:1\n")).index_base == 0
    with pytest.raises(InvalidDataError, match="found feature index 0, but indices start at 1"):
        read(written(tmp_path, "1 0:1\n-1 2:1\n"), index_base=1)


def test_new_data_keeps_the_columns_of_the_model(tmp_path):
    """A test file whose smallest index is larger, or whose largest is, must not shift or widen."""
    path = written(tmp_path, "1 2:1 9:1\n-1 3:1\n")
    one = read(path, layout=Layout(4, index_base=1))
    assert one.X.toarray().tolist() == [[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
    assert one.remarks == ["ignored 1 value of features that were not seen in fit"]
    zero = read(path, layout=Layout(4, index_base=0))
    assert zero.X.toarray().tolist() == [[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
    with pytest.raises(InvalidDataError, match="training file of the model; if this file counts from 0"):
        read(written(tmp_path, "1 0:1\n"), layout=Layout(4, index_base=1))
    path = written(tmp_path, "1 1:1 4:1\n")
    with pytest.raises(InvalidDataError, match="indices run from 1 to 4, but those of the model from 0 to 3"):
        read(path, layout=Layout(4, index_base=0))
    assert read(path, layout=Layout(4, index_base=0), index_base=1).X.toarray().tolist() == [[1.0, 0.0, 0.0, 1.0]]
    assert read(path, layout=Layout(4, index_base=0), index_base=0).X.toarray().tolist() == [[0.0, 1.0, 0.0, 0.0]]


def test_very_large_indices_cost_nothing(tmp_path):
    table = read(written(tmp_path, "1 1:1 400000000000000000:1\n-1 2:1\n"))
    assert table.X.shape == (2, 400000000000000000)
    assert table.X.indices.dtype == np.int64


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x 1:1", "line 3: expected a number as the label at the start of the row, got 'x'"),
        ("1,2 1:1", "line 3: expected a number as the label .* got '1,2'; multilabel rows are not supported"),
        ("1:1 2:1", "line 3: expected a number as the label .* got '1:1'"),
        ("1 1", "line 3: expected a feature as index:value, got '1'"),
        ("1 1 :2", "line 3: expected a feature as index:value, got '1'"),
        ("1 a:2", "line 3: the index of a feature must be an integer >= 0, got 'a:2'"),
        ("1 -1:2", "line 3: the index of a feature must be .* got '-1:2'"),
        ("1 1:2 qid:3", "line 3: the index of a feature must be .* got 'qid:3'"),
        (
            "1 9999999999999999999:2",
            "line 3: the index of a feature must be at most 9223372036854775806, got '9999999999999999999:2'",
        ),
        ("1 1:", "line 3: the value of a feature must be a finite number, got ''"),
        ("1 1:2:3", "line 3: the value of a feature must be a finite number, got '2:3'"),
        ("1 1:nan", "line 3: the value of a feature must be a finite number, got 'nan'"),
        ("1 1:inf", "line 3: the value of a feature must be a finite number, got 'inf'"),
        ("1 1:1e999", "line 3: the number '1e999' is too large"),
        ("1 1:" + "9" * 400, "line 3: the number '9999.*[.]{3}' is too large"),
        ("1 1:1\0", "line 3: the value of a feature must be a finite number"),
    ],
)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_bad_lines_are_named(tmp_path, line, message, n_jobs):
    path = written(tmp_path, f"1 1:1\n# comment\n{line}\n-1 1:1\n")
    with pytest.raises(InvalidDataError, match=message):
        read(path, n_jobs=n_jobs)


def test_the_number_of_a_bad_line_in_a_later_piece(tmp_path, monkeypatch):
    monkeypatch.setattr(text_module, "PIECE", 64)
    path = written(tmp_path, "1 1:1\n" * 1000 + "oops\n" + "1 1:1\n" * 1000)
    for n_jobs in (1, 3):
        with pytest.raises(InvalidDataError, match="line 1001: "):
            read(path, n_jobs=n_jobs)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"# nothing\n", b"\xef\xbb\xbf"])
def test_files_without_rows(tmp_path, content):
    with pytest.raises(InvalidDataError, match="no rows found" if content else "data.svm: the file is empty"):
        read(written(tmp_path, content))


def test_a_byte_order_mark_is_no_label(tmp_path):
    assert read(written(tmp_path, b"\xef\xbb\xbf1 1:2\n")).y.tolist() == [1]


def test_cut_off_packed_files(tmp_path):
    packed = gzip.compress(AWKWARD.encode() * 100)
    with pytest.raises(InvalidDataError, match=r"cannot be decompressed.*truncated or damaged"):
        read(written(tmp_path, packed[:-20]))


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(text_module, "LONGEST_LINE", 1000)
    monkeypatch.setattr(text_module, "PIECE", 64)
    with pytest.raises(InvalidDataError, match="line 2 is longer than 1,000 bytes"):
        read(written(tmp_path, "1 1:1\n1 " + "1:1 " * 1000))


@settings(deadline=None)
@given(st.binary(max_size=300), st.integers(1, 50))
def test_pieces_are_whole_lines_and_lose_nothing(content, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_module, "PIECE", size)
        found = list(pieces(io.BytesIO(content), "x"))
    assert b"".join(piece for _, piece in found) == content.removeprefix(b"\xef\xbb\xbf")[: len(content)]
    line = 1
    for number, piece in found:
        assert number == line
        line += piece.count(b"\n")


TOKENS = st.sampled_from(
    ["1", "-1", "+1", "0", "1:1", "2:0.5", "3:1e-400", "0:1", "7:", ":3", "qid:1", "#", "\n", "\r\n", " ", "\t", "nan",
     "9" * 30, "1:1e308", "1:1e309", "5:0.1234567890123456789012", "\0", "é", "1e5:1"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.binary(max_size=200), st.lists(TOKENS, max_size=40).map(" ".join).map(str.encode)))
def test_any_bytes_are_read_as_scikit_learn_does_or_refused(content):
    """What both read is equal; where we read and it does not, indices were not sorted."""
    try:
        jobs = ((line, piece, svmlight_rows) for line, piece in pieces(io.BytesIO(content), "x"))
        parts = list(parsed(jobs, "x", Workers(1)))
        theirs, y = load_svmlight_file(io.BytesIO(content.removeprefix(b"\xef\xbb\xbf")), zero_based=True)
    except (InvalidDataError, OverflowError):  # indices of scikit-learn have 32 bits
        return
    except ValueError as error:
        assert "sorted and unique" in str(error)  # noqa: PT017
        return
    assert np.array_equal(np.concatenate([part.labels for part in parts] or [y[:0]]), y)
    assert np.array_equal(np.concatenate([part.indices for part in parts] or [y[:0]]), theirs.indices)
    assert np.array_equal(np.concatenate([part.values.astype(float) for part in parts] or [y[:0]]), theirs.data)
