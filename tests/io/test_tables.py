"""csv, Parquet and numpy's files: values as written, columns by name, and clear refusals."""

import gzip
import io
import json
import sys
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from thresher.errors import InvalidDataError
from thresher.io import delimited, delimited_rows, frames, read
from thresher.io import text as text_module
from thresher.io.table import Layout

X = np.round(np.random.default_rng(0).standard_normal((30, 4)), 6)
WORDS = np.where(X[:, 0] > 0, "yes", "no")


def csv_text(delimiter=",", end="\n", quote=""):
    lines = [delimiter.join(["a", "b", "id", "c", "label", "d"])]
    for i, row in enumerate(X):
        a, b, c, d = (f"{quote}{value!r}{quote}" for value in row.tolist())
        lines.append(delimiter.join([a, b, f's"{i}' if not quote else f'"s,{i}"', c, WORDS[i], d]))
    return end.join(lines) + end


@pytest.mark.parametrize("delimiter", [",", "\t", ";", " , "])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_csv(tmp_path, delimiter, end, n_jobs, monkeypatch):
    monkeypatch.setattr(text_module, "PIECE", 100)
    path = tmp_path / "data.csv"
    path.write_text(csv_text(delimiter, end))
    table = read(path, ignore=["id"], n_jobs=n_jobs)
    assert np.array_equal(table.X, X)
    assert table.names == ("a", "b", "c", "d")
    assert table.y.tolist() == WORDS.tolist()


def test_quotes_packing_and_marks(tmp_path):
    path = tmp_path / "data.csv.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + csv_text(quote='"').encode()))
    assert np.array_equal(read(path, ignore=["id"]).X, X)


def test_labels_become_numbers_where_they_are(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("x,label\n1,3\n2,-1\n")
    assert read(path).y.tolist() == [3, -1]
    assert read(path).X.dtype == np.float32  # exact there
    path.write_text("x,label\n0.1,1.5\n2,-1\n")
    assert read(path).y.tolist() == [1.5, -1.0]
    assert read(path).X.dtype == np.float64
    path.write_text('x,label\n1,"say ""yes"""\n2,nan\n')
    assert read(path).y.tolist() == ['say "yes"', "nan"]


def test_no_header(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("1,2,0\n3,4,1\n")
    table = read(path, label_column=-1)
    assert table.names is None
    assert table.X.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert table.y.tolist() == [0, 1]
    with pytest.raises(InvalidDataError, match="a number from 0, since there is no header"):
        read(path)


def test_columns_are_found_by_name(tmp_path):
    """In any order, with columns the model has never seen, without columns that it does not look at."""
    path = tmp_path / "new.csv"
    path.write_text("d,note,b,label\n4,x,2,1\n40,y,20,0\n")
    table = read(path, layout=Layout(4, names=("a", "b", "c", "d"), used=(1, 3)))
    assert table.X.tolist() == [[0.0, 2.0, 0.0, 4.0], [0.0, 20.0, 0.0, 40.0]]
    assert table.y.tolist() == [1, 0]
    with pytest.raises(InvalidDataError, match="missing columns that the model uses: 'a'"):
        read(path, layout=Layout(4, names=("a", "b", "c", "d"), used=(0, 1)))


def test_new_data_may_have_no_labels(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("a,b\n1,2\n")
    layout = Layout(2, names=("a", "b"), used=(0,), label_column="kind")
    assert read(path, layout=layout).y is None
    with pytest.raises(InvalidDataError, match="no column named 'sort'"):
        read(path, layout=layout, label_column="sort")
    path.write_text("a,kind,b\n1,x,2\n")
    assert read(path, layout=layout).y.tolist() == ["x"]
    assert read(path, layout=layout, ignore=["kind"]).y is None
    path.write_text("a,kind,b\n1,,2\n3,,4\n")
    assert read(path, layout=layout).y is None
    assert read(path, layout=layout).X.tolist() == [[1.0, 0.0], [3.0, 0.0]]  # b is not looked at


def test_labels_that_are_empty_in_one_piece_alone_are_not_overlooked(tmp_path, monkeypatch):
    monkeypatch.setattr(text_module, "PIECE", 40)
    path = tmp_path / "new.csv"
    path.write_text("a,label\n" + "1,\n" * 40 + "1,x\n" * 40)
    with pytest.raises(InvalidDataError, match=r"40 of 80 labels are missing|missing label"):
        read(path, layout=Layout(1, names=("a",), used=(0,)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("\n", "line 1: missing header with column names"),
        ("a,label\n", "no rows found"),
        ("a,a,label\n1,2,3\n", "line 1: duplicate column name 'a' in the header"),
        ("a,b,label\n1,2,x\n\n1,2\n", "line 4: expected 3 fields as in the first line, got 2"),
        ("a,b,label\n1,2,x,9\n", "line 2: expected 3 fields as in the first line, got 4"),
        (
            "a,b,label\n1,NA,x\n",
            "line 2: missing value \\('NA'\\) in column 'b' .it has no values.; read it with ignore",
        ),
        ("a,b,label\n1,NA,x\n1,2,x\n", "line 2: missing value \\('NA'\\) in column 'b' .*fill in or drop"),
        ("a,b,label\n1,2 3,x\n", "line 2: column 'b' must be numeric, got '2 3'"),
        ("a,b,label\n1,,x\n", "line 2: missing value in column 'b'"),
        ("a,b,label\n1,2,\n", "line 2: missing label"),
        ('a,b,label\n1,"2,x\n', "line 2: unclosed quote in column 'b'"),
        ("a,b,label\n1,1e999,x\n", "line 2: the number '1e999' in column 'b' is too large"),
        ("label\nx\n", "no feature columns left"),
        (
            "a,b\n1,2\n",
            r"'label'; set the label column with label_column \(--label-column\): one of 'b'",
        ),
        ("é\0,b\n1,2\n", "no column named 'label'"),
    ],
)
def test_bad_csv(tmp_path, text, message):
    path = tmp_path / "data.csv"
    path.write_text(text)
    with pytest.raises(InvalidDataError, match=message):
        read(path)


def test_blank_lines_below_a_wide_header_take_no_memory(tmp_path):
    path = tmp_path / "blank.csv"
    path.write_text(",".join(map("c{}".format, range(20_000))) + ",label\n" + "\n" * 4_000_000)
    tracemalloc.start()
    try:
        with pytest.raises(InvalidDataError, match="no rows found"):
            read(path, n_jobs=1)
        assert tracemalloc.get_traced_memory()[1] < 2e8
    finally:
        tracemalloc.stop()


def test_ignored_columns_must_be_there(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a,label\n1,2\n")
    with pytest.raises(InvalidDataError, match=r"ignore \(--ignore\): no column named 'b'"):
        read(path, ignore=["b"])


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.binary(max_size=200), st.text('ab1.,"\n\r\t -e', max_size=80).map(str.encode)))
def test_any_bytes_as_csv_are_read_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(b"a,b,label\n" + content)
    try:
        table = read(path)
    except InvalidDataError:
        return
    assert table.X.shape == (table.y.size, 2)
    assert np.isfinite(table.X).all()


FIELDS = st.sampled_from(
    ["1", "-2.5", "+3e2", " 4", "5 ", '"6"', '" 7"', '"8"9', "", "nan", "inf", "1e999", "x", '"a,b"', '"a\nb"', '""',
     '"""c"""', '""x', 'd"', ' "e"', '"f" ', '"', "1\r", "a\rb", "\ufeff1", "\xa0", '"t\x1f\nu"']
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.lists(FIELDS, min_size=2, max_size=4).map(",".join), max_size=5).map("\n".join),
    st.sampled_from([0, 10]),
    st.booleans(),
)
def test_pyarrow_reads_what_is_read_field_by_field(text, wide, may_lack_labels):
    """The same numbers and labels, and nothing that is refused there; by columns and by fields."""
    table = delimited.DelimitedText(io.BytesIO(b"a,b,label\n" + text.encode()), "x")
    columns = frames.file_columns(table.header, frames.ColumnOptions(), "x")
    reader = delimited_rows.RowReader(table, columns, may_lack_labels=may_lack_labels)
    for _, piece, plain in table.pieces():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(delimited_rows, "BY_COLUMNS_MOST", wide)
            outcomes = [outcome(read_piece, piece) for read_piece in (reader.read_serially, reader.read)[: 1 + plain]]
        assert outcomes[0] == outcomes[-1]


def test_pieces_with_words_are_no_trouble_for_pieces_that_are_read_meanwhile(monkeypatch):
    table = delimited.DelimitedText(io.BytesIO(b"a,b,label\n"), "x")
    columns = frames.file_columns(table.header, frames.ColumnOptions(), "x")
    reader = delimited_rows.RowReader(table, columns, may_lack_labels=False)
    plain = reader._by_columns

    def slow(piece, kind):
        """In the meantime another thread reads words."""
        monkeypatch.setattr(reader, "_by_columns", plain)
        assert reader.read(b"u,4,x\n").words.texts == ["u"]
        return plain(piece, kind)

    monkeypatch.setattr(reader, "_by_columns", slow)
    assert reader.read(b"1,2,x\n3,4,y\n").X.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert len(reader.kinds) == 1


def outcome(read_piece, piece):
    try:
        rows = read_piece(piece)
    except text_module.BadText as error:
        return str(error), error.byte
    texts = [rows.words.texts[code] for code in rows.words.codes]
    words = sorted(zip(rows.words.rows.tolist(), rows.words.columns.tolist(), texts, strict=True))
    return rows.X.dtype, rows.X.tolist(), rows.labels.tolist(), rows.missing, words


@pytest.mark.parametrize("name", ["x.csv", "x.parquet"])
def test_without_pyarrow(tmp_path, name, monkeypatch):
    (tmp_path / name).write_text("a,label\n1,2\n")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InvalidDataError, match=rf"{name}: .* pip install 'thresher\[tables\]'"):
        read(tmp_path / name)


def test_npz_and_npy(tmp_path):
    y = (X[:, 0] > 0).astype(int)
    for form in ("csr", "csc", "coo"):
        sparse.save_npz(tmp_path / "s.npz", sparse.coo_matrix(X).asformat(form))
        assert np.array_equal(read(tmp_path / "s.npz").X.toarray(), X)
    np.savez(tmp_path / "d.npz", X=X, y=y)
    table = read(tmp_path / "d.npz")
    assert np.array_equal(table.X, X)
    assert np.array_equal(table.y, y)
    np.save(tmp_path / "d.npy", np.asfortranarray(X))
    table = read(tmp_path / "d.npy")
    assert isinstance(table.X, np.memmap)
    assert np.array_equal(table.X, X)
    (tmp_path / "y.txt").write_text("\n".join(map(str, y)) + "\n\n")
    assert np.array_equal(read(tmp_path / "d.npy", labels=tmp_path / "y.txt").y, y)


def npz(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return path


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def header(shape, descr="<f8"):
    """An .npy file that says it has this shape, and holds nothing."""
    text = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    text += b" " * (63 - (len(text) + 10) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"X": header((10**6, 10**6))}, "declares 8000000000000 bytes, but has 0"),
        ({"X": npy(np.array([{"a": 1}], dtype=object))}, r"contains Python objects; save .* labels.astype\(str\)"),
        ({"X": npy(X)[:-8]}, "declares 960 bytes, but has 952"),
        ({"X": b"nonsense"}, "cannot read the .npz file"),
        ({"X": npy(X[0])}, "X must be a 2D array of numbers, got float64 of shape"),
        ({"X": npy(np.array([["a"]]))}, "X must be a 2D array of numbers"),
        ({"Z": npy(X)}, "expected a sparse matrix of scipy or an array named X; arrays: Z"),
        ({"X": npy(X), "y": npy(X)}, "labels must be a 1D array"),
        ({"X": npy(X), "y": npy(X[:5, 0])}, "5 labels, but X has 30 rows"),
        ({"format": npy(np.array(b"dia")), "shape": npy(np.array([2, 2])), "data": npy(X)}, "or coo format, got 'dia'"),
        (
            {
                "format": npy(np.array(b"csr")), "shape": npy(np.array([1, 2])), "data": npy(np.ones(1)),
                "indices": npy(np.zeros(1, dtype=int)), "indptr": npy(np.zeros(9, dtype=int)),
            },
            "invalid sparse matrix",
        ),
    ],
)  # fmt: skip
def test_hostile_npz(tmp_path, members, message):
    with pytest.raises(InvalidDataError, match=message):
        read(npz(tmp_path / "x.npz", **members))


def test_an_archive_that_claims_far_more_than_it_can_hold(tmp_path):
    path = npz(tmp_path / "bomb.npz", X=bytes(50_000_000))
    content = bytearray(path.read_bytes())
    assert len(content) < 60_000
    at = content.rfind((50_000_000).to_bytes(4, "little"))
    content[at : at + 4] = (4_000_000_000).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(InvalidDataError, match=r"would take 3\.73 GiB, but the file has"):
        read(path)


@pytest.mark.parametrize(
    "content", [b"", b"\x93NUMPY", header((10**6, 10**6)), b"PK\x03\x04", json.dumps([1]).encode()]
)
@pytest.mark.parametrize("name", ["x.npy", "x.npz", "x.parquet"])
def test_broken_files(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidDataError, match=name):
        read(tmp_path / name)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_flipped_bytes_in_npz_files_are_read_or_refused(tmp_path_factory, data):
    """The checksums of zip find nearly all of it; what is left must still be a matrix."""
    path = tmp_path_factory.getbasetemp() / "flipped.npz"
    sparse.save_npz(path, sparse.csr_matrix(X))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))] if data.draw(st.booleans()) else content)
    try:
        table = read(path)
    except InvalidDataError:
        return
    assert len(table.X.shape) == 2


def test_parquet(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X.astype(np.float32), columns=list("abcd")).assign(label=WORDS, word="x")
    frame.to_parquet(tmp_path / "x.parquet")
    table = read(tmp_path / "x.parquet", ignore=["word"])
    assert np.array_equal(table.X, X.astype(np.float32))
    assert table.X.dtype == np.float32
    assert table.y.tolist() == WORDS.tolist()
    with pytest.raises(InvalidDataError, match="'word' must be numeric"):
        read(tmp_path / "x.parquet")
    frame.loc[3, "a"] = np.nan
    frame["a"] = frame["a"].astype("Float32")
    frame.to_parquet(tmp_path / "x.parquet")
    with pytest.raises(InvalidDataError, match=r"row 3 \(from 0\): missing value in column 'a' \(1 row\)"):
        read(tmp_path / "x.parquet", ignore=["word"])


def test_names_and_kinds(tmp_path):
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "names.txt").write_text("a\nb\nc\nd\n")
    assert read(tmp_path / "x.npy", names=tmp_path / "names.txt").names == ("a", "b", "c", "d")
    with pytest.raises(ValueError, match="kind must be one of"):
        read(tmp_path / "x.npy", kind="excel")
    with pytest.raises(FileNotFoundError, match="no such file"):
        read(tmp_path / "y.npy")
    with pytest.raises(InvalidDataError, match="is a directory"):
        read(tmp_path)
    (tmp_path / "names.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidDataError, match="not valid UTF-8 text"):
        read(tmp_path / "x.npy", names=tmp_path / "names.txt")


@pytest.mark.parametrize("kind", ["csv", "parquet", "csv.gz"])
def test_likely_columns_of_labels_are_offered(tmp_path, kind):
    rows = np.arange(60)
    frame = pd.DataFrame({"patient": [f"P{row}" for row in rows], "grade": rows % 3, "city": rows % 5})
    frame["city"] = frame["city"].map(dict(enumerate(["Ulm", "Bonn", "Jena", "Hof", None])))
    frame = frame.assign(sick=np.where(rows % 2, "yes", "no"), **{f"g{j}": rows * 0.5 for j in range(30)})
    path = tmp_path / f"data.{kind}"
    frame.to_parquet(path) if kind == "parquet" else frame.to_csv(path)
    wanted = r"\(--label-column\): one of 'sick', 'city', 'g29', 'patient', 'grade' and 29 more$"
    with pytest.raises(InvalidDataError, match=wanted):
        read(path)


def test_damage_after_the_header_does_not_hide_that_there_is_no_label(tmp_path):
    (tmp_path / "data.csv.gz").write_bytes(gzip.compress(b"a,b\n" + np.random.default_rng(0).bytes(9000))[:-4000])
    with pytest.raises(InvalidDataError, match=r"no column named 'label'; set .*: one of 'b', 'a'"):
        read(tmp_path / "data.csv.gz")


@pytest.mark.parametrize(
    ("lines", "advice"),
    [
        ("label 0 1 0", "; line 1 is the text 'label', which no other line has: remove it if it is a header"),
        ("class a b b", "; line 1 is the text 'class', which no other line has: remove it if it is a header"),
        ("a a b b", ""), ("2 0 1 0", ""), ("label 0 1 0 1", ""),
    ],
)  # fmt: skip
def test_a_header_of_labels(tmp_path, lines, advice):
    np.save(tmp_path / "x.npy", np.eye(3))
    (tmp_path / "y.txt").write_text("\n".join(lines.split()) + "\n")
    count = len(lines.split())
    with pytest.raises(InvalidDataError, match=f"y.txt: {count} labels, but X has 3 rows{advice}$"):
        read(tmp_path / "x.npy", labels=tmp_path / "y.txt")


def test_labels_that_are_python_objects(tmp_path):
    np.save(tmp_path / "y.npy", np.array(["a", "b"], dtype=object))
    np.savez(tmp_path / "X.npz", X=np.eye(2))
    with pytest.raises(InvalidDataError, match=r"y.npy: .* contains Python objects; save .* labels.astype\(str\)"):
        read(tmp_path / "X.npz", labels=tmp_path / "y.npy")
