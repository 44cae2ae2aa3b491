"""An index that was written with a table is left out, with a warning; it can be kept; models remember."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

import thresher
from tests.cli.test_commands import as_json, thresh
from tests.rule import fgm_by_rule
from thresher import Source
from thresher.errors import ColumnsLeftOutWarning, InvalidDataError
from thresher.io import read
from thresher.io import text as text_module
from thresher.io.table import Layout

ROWS = 40
RNG = np.random.default_rng(0)
NOISE = RNG.normal(size=(ROWS, 3)).round(4)
SORTED = np.repeat([0, 1], ROWS // 2)  # by class, so that an index separates them
FRAME = pd.DataFrame(NOISE, columns=["a", "b", "c"]).assign(label=SORTED)
NUMBERS = np.arange(ROWS)


def quiet(path, **options):
    """Read without any warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return read(path, **options)


def written(tmp_path, kind, frame, **options):
    path = tmp_path / f"data.{kind}"
    frame.to_csv(path, **options) if kind == "csv" else frame.to_parquet(path, **options)
    return path


@pytest.mark.parametrize("piece", [30, 1 << 22])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_an_index_without_a_name_in_csv(tmp_path, piece, n_jobs, monkeypatch):
    monkeypatch.setattr(text_module, "PIECE", piece)
    path = written(tmp_path, "csv", FRAME)
    told = r"left out column 'Unnamed: 0': it has no name and looks like an index; to keep .* keep \(--keep NAME\)"
    with pytest.warns(ColumnsLeftOutWarning, match=told):
        table = read(path, n_jobs=n_jobs)
    assert table.names == ("a", "b", "c")
    assert table.left_out == ("Unnamed: 0",)
    np.testing.assert_array_equal(table.X, NOISE)
    for keep in (["Unnamed: 0"], [""]):
        kept = quiet(path, keep=keep)
        assert kept.names == ("Unnamed: 0", "a", "b", "c")
        np.testing.assert_array_equal(kept.X[:, 0], NUMBERS)
    assert quiet(path, ignore=[""]).names == ("a", "b", "c")


def test_names_of_samples_without_a_header_are_left_out_too(tmp_path):
    path = written(tmp_path, "csv", FRAME.set_index(pd.Index([f"sample {i}" for i in range(ROWS)])))
    with pytest.warns(ColumnsLeftOutWarning, match="Unnamed: 0"):
        assert read(path).names == ("a", "b", "c")


def test_a_table_that_was_read_and_written_twice(tmp_path):
    once = written(tmp_path, "csv", FRAME)
    twice = written(tmp_path, "csv", pd.read_csv(once))
    assert twice.read_text().startswith(",Unnamed: 0,a,b,c,label\n")
    with pytest.warns(ColumnsLeftOutWarning, match=r"'Unnamed: 0\.1', 'Unnamed: 0': they have no names"):
        table = read(twice)
    assert table.names == ("a", "b", "c")
    assert table.left_out == ("Unnamed: 0.1", "Unnamed: 0")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("start", [0, 1, -7, 10**6])
def test_rows_that_are_counted(tmp_path, kind, start, monkeypatch):
    monkeypatch.setattr(text_module, "PIECE", 40)
    frame = FRAME.assign(id=NUMBERS + start)[["a", "id", "b", "c", "label"]]
    path = written(tmp_path, kind, frame, index=False)
    told = r"left out column 'id': its values rise by one in each row, so it looks like an index; to keep"
    with pytest.warns(ColumnsLeftOutWarning, match=told):
        table = read(path)
    assert (table.names, table.left_out) == (("a", "b", "c"), ("id",))
    np.testing.assert_array_equal(table.X, NOISE)
    assert table.X.flags.c_contiguous or table.X.flags.f_contiguous
    kept = quiet(path, keep=["id"])
    assert (kept.names, kept.left_out) == (("a", "id", "b", "c"), ())
    np.testing.assert_array_equal(kept.X[:, 1], NUMBERS + start)
    assert quiet(path, ignore=["id"]).left_out == ()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_what_only_looks_similar_is_kept(tmp_path, kind):
    frame = FRAME.assign(
        late=np.r_[NUMBERS[:-1], 99], even=2 * NUMBERS, down=-NUMBERS, half=NUMBERS + 0.5, early=np.r_[1, NUMBERS[1:]],
    )  # fmt: skip
    assert len(quiet(written(tmp_path, kind, frame, index=False)).names) == 8
    few = FRAME.assign(id=NUMBERS)[:9]
    assert "id" in quiet(written(tmp_path, kind, few, index=False)).names


def test_an_index_in_parquet(tmp_path):
    shuffled = FRAME.sample(frac=1.0, random_state=0)
    path = written(tmp_path, "parquet", shuffled)
    with pytest.warns(ColumnsLeftOutWarning, match="'__index_level_0__': it has no name"):
        table = read(path)
    assert table.names == ("a", "b", "c")
    assert quiet(path, keep=["__index_level_0__"]).names == ("a", "b", "c", "__index_level_0__")


def test_the_label_is_no_index(tmp_path):
    path = written(tmp_path, "csv", FRAME.assign(id=NUMBERS), index=False)
    table = quiet(path, label_column="id")
    assert table.names == ("a", "b", "c", "label")
    assert table.y.tolist() == NUMBERS.tolist()


def test_mistakes(tmp_path):
    path = written(tmp_path, "csv", FRAME.assign(id=NUMBERS)[["id", "label"]], index=False)
    with pytest.raises(InvalidDataError, match=r"no feature columns left: left out column 'id'.* keep \(--keep NAME\)"):
        read(path)
    with pytest.raises(InvalidDataError, match=r"keep \(--keep\): no column named 'x'"):
        read(path, keep=["x"])
    with pytest.raises(InvalidDataError, match=r"'id' cannot be in both ignore \(--ignore\) and keep \(--keep\)"):
        read(path, keep=["id"], ignore=["id"])
    path.write_text(",label\n1,2\n3,4\n")
    with pytest.raises(InvalidDataError, match="no feature columns left; to keep a column"):
        read(path)


def test_a_model_decides_for_later_files(tmp_path):
    """Without a header columns are known by number, so what was left out must be left out again."""
    path = written(tmp_path, "csv", FRAME.assign(id=NUMBERS)[["id", "a", "b", "c", "label"]], index=False, header=False)
    with pytest.warns(ColumnsLeftOutWarning, match=r"'0' \(columns are numbered from 0\): its values rise"):
        table = read(path, label_column=-1)
    assert table.left_out == ("0",)
    layout = Layout(3, None, used=(0, 1), label_column="-1", left_out=table.left_out)
    path.write_text("7,1,2,3,0\n9,4,5,6,1\n")
    found = quiet(path, layout=layout)
    assert found.X.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    assert found.remarks == []


def test_a_model_of_an_earlier_version_may_use_a_column_without_a_name(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text(",a,label\n5,1,0\n6,2,1\n")
    assert quiet(path, layout=Layout(2, ("", "a"), used=(0, 1))).X.tolist() == [[5.0, 1.0], [6.0, 2.0]]


def test_a_model_without_names_reads_no_index(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text(",a,b,label\n5,1,3,0\n6,2,4,1\n")
    found = quiet(path, layout=Layout(2, None, used=(0, 1)))
    assert found.X.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert "left out column 'Unnamed: 0'" in found.remarks[0]


def test_the_commands(tmp_path):
    """An index that separates the classes is not selected, --keep selects it, and predict reads as select did."""
    written(tmp_path, "csv", FRAME)
    done = thresh("select", "data.csv", "-k", 1, "-o", "m.json", "--json", folder=tmp_path)
    assert done.stderr.count("left out column 'Unnamed: 0'") == 1
    assert "--keep NAME" in done.stderr
    assert thresher.models.read(tmp_path / "m.json").source.left_out == ["Unnamed: 0"]
    names = thresh("inspect", "m.json", "--names-only", folder=tmp_path).stdout.split()
    assert names[0] in {"a", "b", "c"}
    assert as_json("predict", "m.json", "data.csv", folder=tmp_path)["accuracy"] < 1.0
    done = thresh("select", "data.csv", "-k", 1, "-o", "k.json", "--keep", "Unnamed: 0", folder=tmp_path)
    assert "left out" not in done.stderr
    assert thresh("inspect", "k.json", "--names-only", folder=tmp_path).stdout.strip() == "Unnamed: 0"
    assert as_json("predict", "k.json", "data.csv", folder=tmp_path)["accuracy"] > 0.9
    wrong = thresh("select", "data.npz", "--keep", "a", folder=tmp_path, check=1)
    assert "no such file" in wrong.stderr


@pytest.mark.parametrize("header", [True, False])
def test_predict_reads_other_files_as_select_did(tmp_path, header):
    order = RNG.permutation(ROWS)
    frame = FRAME.assign(id=NUMBERS)[["id", "a", "b", "c", "label"]]
    frame.to_csv(tmp_path / "train.csv", index=False, header=header)
    frame.iloc[order].to_csv(tmp_path / "new.csv", index=False, header=header)
    label = () if header else ("--label-column", "-1")
    thresh("select", "train.csv", "-k", 2, "--C", "rule", "-o", "m.json", *label, folder=tmp_path)
    assert json.loads((tmp_path / "m.json").read_text())["source"]["left_out"] == ["id" if header else "0"]
    found = as_json("predict", "m.json", "new.csv", folder=tmp_path)
    clf = fgm_by_rule(2).fit(NOISE, SORTED)
    assert found["accuracy"] == clf.score(NOISE[order], SORTED[order])


def test_a_source_has_names_only():
    assert Source(left_out=("a",)).left_out == ["a"]
    with pytest.raises(TypeError, match="left_out of a Source must be a list of strings, got 'a'"):
        Source(left_out="a")
    assert not Source.takes("left_out", [1])
