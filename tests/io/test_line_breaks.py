"""Line breaks in quoted fields of csv: read as Python's csv module does, wherever the text is cut into pieces."""

import csv
import gzip
import io
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.errors import InvalidDataError
from thresher.io import delimited, read
from thresher.io import text as text_module

NOTES = ["plain", "two\nlines", 'a "quote"\nand, a comma', "\n\n", "", "ends\n", '"\n"', "ü\r\nß"]


def made(count, seed=0):
    """(rows, text): a number, a note, another number, a label, some with line breaks."""
    rng = np.random.default_rng(seed)
    rows = [
        [repr(round(float(rng.normal()), 4)), NOTES[rng.integers(len(NOTES))], str(i), f"class\n{i % 3}"]
        for i in rng.permutation(count)
    ]
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([["x", "note", "i", "label"], *rows])
    return rows, buffer.getvalue()


def check(table, rows):
    assert table.names == ("x", "i")
    np.testing.assert_array_equal(table.X, [[float(x), float(i)] for x, _, i, _ in rows])
    assert table.y.tolist() == [label for *_, label in rows]


@pytest.mark.parametrize("piece", [1, 7, 20, 64, 150, 1 << 22])
@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_wherever_the_text_is_cut(tmp_path, piece, n_jobs, monkeypatch):
    monkeypatch.setattr(text_module, "PIECE", piece)
    rows, text = made(120)
    path = tmp_path / "data.csv"
    path.write_text(text, newline="")
    check(read(path, ignore=["note"], n_jobs=n_jobs), rows)
    packed = tmp_path / "data.csv.gz"
    packed.write_bytes(gzip.compress(text.replace("\n1", "\r\n1").encode()))
    assert read(packed, ignore=["note"], n_jobs=n_jobs).X.shape == (120, 2)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text('ab",\n ', max_size=8), min_size=2, max_size=30), st.integers(1, 80))
def test_any_text_in_quotes(tmp_path_factory, notes, piece):
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows([["x", "note", "label"], *([str(7 * i), note, f"c{i % 2}"] for i, note in enumerate(notes))])
    path = tmp_path_factory.getbasetemp() / "quoted.csv"
    path.write_text(buffer.getvalue(), newline="")
    before, text_module.PIECE = text_module.PIECE, piece
    try:
        table = read(path, ignore=["note"], n_jobs=1)
    finally:
        text_module.PIECE = before
    assert table.X[:, 0].tolist() == [7.0 * i for i in range(len(notes))]


def test_names_with_line_breaks(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text('"height\n(cm)","weight, kg",label\n1,2,a\n3,x,b\n')
    with pytest.raises(InvalidDataError, match="line 4: column 'weight, kg' must be numeric, got 'x'"):
        read(path)
    path.write_text('"height\n(cm)","weight, kg",label\n1,2,a\n3,4,b\n')
    assert read(path).names == ("height\n(cm)", "weight, kg")


@pytest.mark.parametrize("piece", [10, 30, 1 << 22])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_line_numbers_count_lines_of_the_file(tmp_path, piece, n_jobs, monkeypatch):
    monkeypatch.setattr(text_module, "PIECE", piece)
    path = tmp_path / "data.csv"
    path.write_text('x,note,label\n1,"two\nlines",a\n2,"three\n\nlines",b\nbad,c,d\n5,"e",f\n')
    with pytest.raises(InvalidDataError, match="line 7: column 'x' must be numeric, got 'bad'"):
        read(path, ignore=["note"], n_jobs=n_jobs)


@pytest.mark.parametrize("piece", [10, 1 << 22])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('x,label\n1,a\n2,"b\n3,c\n4,d\n', "line 3: unclosed quote in column 'label'"),
        ('x,label\n1,a\n"2,b\n3,c\n', "line 3: unclosed quote in column 'x'"),
        ('x,label\n1,a\n2,"b\n3,"c"\n', "line 3: text after the closing quote in column 'label'"),
        ('x,label\n1,a\n"2,b\n3","c"\n', "line 3: column 'x'.* must be numeric; is a quote not closed"),
        ('x,"label\n1,a\n', "line 1: unclosed quote in the header"),
    ],
)
def test_quotes_that_are_not_closed(tmp_path, text, message, piece, monkeypatch):
    monkeypatch.setattr(text_module, "PIECE", piece)
    path = tmp_path / "data.csv"
    path.write_text(text)
    for n_jobs in (1, 3):
        with pytest.raises(InvalidDataError, match=message):
            read(path, n_jobs=n_jobs)


def test_a_quote_that_is_never_closed_does_not_take_the_rest_of_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(text_module, "PIECE", 1000)
    monkeypatch.setattr(delimited, "LONGEST_QUOTE", 5000)
    path = tmp_path / "data.csv"
    path.write_text('x,label\n1,"a\n' + "1,a\n" * 500_000)
    begun = time.perf_counter()
    with pytest.raises(InvalidDataError, match="line 2: unclosed quote in column 'label'"):
        read(path)
    assert time.perf_counter() - begun < 1.0
