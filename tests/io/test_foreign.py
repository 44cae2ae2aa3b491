"""Files that are not what they seem: formats of others, other encodings, other ways to write numbers."""

import gzip
import io
import zipfile

import numpy as np
import pandas as pd
import pytest

from tests.cli.test_commands import thresh
from thresher.errors import InvalidDataError
from thresher.io import batches, read

SVMLIGHT = "1 1:0.5 3:2\n-1 2:1\n"
TABLE = "größe;b;label\n1;2;ja\n3;4;nein\n"


def zipped():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo("xl/workbook.xml"), "<x/>")  # of 1980: the same in every process
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("extension", "message"),
    [
        ("xlsx", r"an Excel workbook, .* save the sheet as CSV, or in Python: pandas\.read_excel"),
        ("XLS", "an Excel workbook"),
        ("h5ad", r"an AnnData file, .* anndata\.read_h5ad\(path\), then fit\(adata\.X, .*--labels y\.npy"),
        ("h5", r"an HDF5 file, .* h5py\.File"),
        ("bed", "a file of PLINK or of genome intervals"),
        ("rds", r"a file of R, .* write\.csv\(x, 'data\.csv', row\.names = FALSE\)"),
        ("mat", r"a MATLAB file, .* scipy\.io\.loadmat"),
        ("arff", r"an ARFF file, .*scipy\.io\.arff\.loadarff"),
        ("mtx", "a Matrix Market file"),
        ("dta", "a Stata file"),
        ("feather", "an Arrow or Feather file"),
        ("json", "a JSON file"),
        ("pkl", "a pickle"),
        ("zip", "an archive"),
        ("tar.gz", "an archive"),
        ("csv.xz", "compressed in a way that is not read"),
        ("vcf.gz", "a file of genetic variants"),
    ],
)
def test_extensions_of_other_formats(tmp_path, extension, message):
    path = tmp_path / f"data.{extension}"
    path.write_text(SVMLIGHT)
    with pytest.raises(
        InvalidDataError, match=rf"this is {message}.*It reads svmlight text.*kind='svmlight', .*--kind svmlight"
    ):
        read(path)
    assert read(path, kind="svmlight").X.shape == (2, 3)  # the user knows better


def test_other_extensions_and_none_are_svmlight_text(tmp_path):
    for name in ("data", "xlsx", "data.t", "data.fold1"):
        (tmp_path / name).write_text(SVMLIGHT)
        assert read(tmp_path / name).X.shape == (2, 3)


@pytest.mark.parametrize("kind", ["svmlight", "csv"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (zipped(), "this is a zip archive"),
        (b"\x89HDF\r\n\x1a\n" + bytes(100), "this is an HDF5 file, perhaps AnnData"),
        (b"l\x1b\x01" + bytes(range(100)), "this is a file of PLINK"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100), "this is an Excel workbook"),
        (b"X\n\x00\x00\x00\x03" + bytes(100), "this is a file of R"),
        (b"MATLAB 5.0 MAT-file, Platform: GLNXA64", "this is a MATLAB file"),
        (b"PAR1" + bytes(100), r"this is a Parquet file, not text: to read it set kind='parquet' \(--kind parquet\)"),
        (b"@relation iris\n@attribute a numeric\n", "this is an ARFF file"),
        (TABLE.encode("utf-16"), "it is UTF-16 text; convert it to UTF-8: iconv -f UTF-16"),
        (TABLE.encode("utf-16-be"), "it is UTF-16 text"),
        (SVMLIGHT.encode("utf-16-le"), "it is UTF-16 text"),
    ],
)
def test_first_bytes_of_other_formats(tmp_path, content, message, packed, kind):
    path = tmp_path / "data.txt"
    path.write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(InvalidDataError, match=message):
        read(path, kind=kind)
    with pytest.raises(InvalidDataError, match=message):
        next(batches(path))


def test_the_commands_name_the_format(tmp_path):
    (tmp_path / "genes.h5ad").write_bytes(b"\x89HDF\r\n\x1a\n")
    told = thresh("select", "genes.h5ad", folder=tmp_path, check=1).stderr
    assert "AnnData" in told
    (tmp_path / "train.svm").write_text(SVMLIGHT * 5)
    thresh("select", "train.svm", "-k", 1, "-o", "m.json", folder=tmp_path)
    assert "Excel" in thresh("predict", "m.json", "new.xlsx", folder=tmp_path, check=1).stderr
    (tmp_path / "wide.svm").write_bytes(SVMLIGHT.encode("utf-16"))
    assert "UTF-16" in thresh("stream", "wide.svm", folder=tmp_path, check=1).stderr


def csv(tmp_path, content):
    path = tmp_path / "data.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


LATIN = r"not valid UTF-8 text: byte 0xf6 after .*Latin-1 \(Windows-1252\).*iconv -f WINDOWS-1252 -t UTF-8"
POINTS = r"numbers must have a decimal point: .*decimal=','"
PLAIN = r"numbers must have no thousands separators: .*thousands=','"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (TABLE.encode("latin-1"), rf"line 1: {LATIN}"),
        ("a;label\n1;schön\n".encode("latin-1"), rf"line 2: {LATIN}"),
        ("a;b;label\n1,5;2;x\n", rf"line 2: column 'a': '1,5' has a decimal comma; {POINTS}"),
        ('a,b,label\n1,"2,5",x\n', rf"line 2: column 'b': '2,5' has a decimal comma; {POINTS}"),
        ("a;b;label\n1,5e-3;2;x\n", "'1,5e-3' has a decimal comma"),
        ("1,5;2,5;0\n2,5;1,0;1\n", rf"line 1: '1,5' has a decimal comma; {POINTS}"),
        ("1,5;2;0;1\n2,5;1;1;1\n", "line 1: '1,5' has a decimal comma"),
        ('a,b,label\n1,"12,345.5",x\n', rf"line 2: column 'b': '12,345\.5' has thousands separators; {PLAIN}"),
        ('a,b,label\n1,"1,234",x\n', rf"'1,234' has a decimal comma or a thousands separator; {POINTS}.*; {PLAIN}"),
        ("a;label\n1.234.567,8;x\n", r"'1\.234\.567,8' has thousands separators"),
        ("a;label\n1'234;x\n", "has thousands separators"),
        ("a;label\n1\xa0234;x\n", "has thousands separators"),
        ("a;label\n1\xa0234;x\n".encode("latin-1"), "has thousands separators"),
        ("a,b,label\n1,5,2,x\n", "got 4; text with ',' must be quoted, and numbers must have decimal points"),
        ("a;b;label\n1;2;3;x\n", "expected 3 fields as in the first line, got 4; text with ';' must be quoted$"),
        ('a,label\n1,"x"y\n', "line 2: text after the closing quote in column 'label', got 'x'"),
        ('a,label\n"1"2,y\n', "line 2: text after the closing quote in column 'a', got '1'"),
    ],
)
def test_csv_of_other_countries(tmp_path, content, message):
    with pytest.raises(InvalidDataError, match=message):
        read(csv(tmp_path, content))


def test_labels_and_names_in_other_encodings(tmp_path):
    path = csv(tmp_path, "a,label\n1,2\n")
    labels = tmp_path / "labels.txt"
    labels.write_bytes("schön\n".encode("latin-1"))
    with pytest.raises(InvalidDataError, match=rf"labels\.txt: {LATIN}"):
        read(path, labels=labels)


def test_the_ways_that_are_named_work(tmp_path):
    """What the messages say to do with pandas gives a file that is read."""
    path = csv(tmp_path, "a;b;label\n1,5;2;x\n2,5;3;y\n")
    pd.read_csv(path, sep=";", decimal=",").to_csv(path, index=False)
    np.testing.assert_array_equal(read(path).X, [[1.5, 2.0], [2.5, 3.0]])
    path = csv(tmp_path, 'a,b,label\n"1,234",2,x\n"2,500",3,y\n')
    pd.read_csv(path, thousands=",").to_csv(path, index=False)
    np.testing.assert_array_equal(read(path).X, [[1234.0, 2.0], [2500.0, 3.0]])


def test_a_truncated_array_says_so(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((1000, 100)))
    whole = (tmp_path / "x.npy").read_bytes()
    (tmp_path / "x.npy").write_bytes(whole[:5000])
    told = r"the file is truncated: an array of 1000 x 100 values of float64 takes 800,128 bytes .* has 5,000; copy it"
    with pytest.raises(InvalidDataError, match=told):
        read(tmp_path / "x.npy")
    (tmp_path / "x.npy").write_bytes(whole[:90])
    with pytest.raises(InvalidDataError, match="the file is truncated: it ends after 90 bytes"):
        read(tmp_path / "x.npy")


def test_a_ragged_row_is_told_by_its_line_and_its_fields(tmp_path):
    """Also where its first fields are no numbers."""
    with pytest.raises(InvalidDataError, match=r"line 3: expected 3 fields as in the first line, got 5; "):
        read(csv(tmp_path, "a,b,label\n1,2,x\n1,oops,7,9,y\n"))
    with pytest.raises(InvalidDataError, match=r"line 3: expected 3 fields as in the first line, got 2$"):
        read(csv(tmp_path, "a,b,label\n1,2,x\noops,y\n"))


def test_genotypes_as_the_message_says(tmp_path):
    """Missing genotypes are NaN, and labels are in a file of their own."""
    genotypes = np.array([[0, 1, 2], [np.nan, 2, 0], [2, 1, np.nan]], dtype=np.float32)
    np.save(tmp_path / "data.npy", genotypes)
    np.save(tmp_path / "y.npy", np.array(["1", "2", "1"]))
    (tmp_path / "cohort.bed").write_bytes(b"l\x1b\x01")
    told = thresh("select", "cohort.bed", folder=tmp_path, check=1).stderr
    assert "--labels y.npy" in told
    assert "--impute mean" in told
    thresh("select", "data.npy", "--labels", "y.npy", "--impute", "mean", "-k", 1, folder=tmp_path)


def test_a_stream_does_not_advise_what_it_does_not_take(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,label\n1,2,x\n")
    told = thresh("stream", "a.csv", folder=tmp_path, check=1).stderr
    assert "a stream must be svmlight text" in told
    assert "--kind" not in told
    assert "--kind csv" in thresh("select", "a.csv", "--kind", "svmlight", folder=tmp_path, check=1).stderr
