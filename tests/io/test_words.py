"""Tables that nobody prepared: text, booleans and missing values; what is learnt of them is kept for other files."""

import re

import numpy as np
import pandas as pd
import pytest

from tests.rule import fgm_by_rule
from thresher import Source, load, models, save
from thresher.data.input.encoding import MOST_LEVELS, Encoding
from thresher.data.input.imputing import fill_values, filled
from thresher.errors import InvalidDataError, UnseenLevelsWarning, UnusableColumnsError
from thresher.io import delimited_rows, read
from thresher.io import text as text_module
from thresher.io.table import Layout

RNG = np.random.default_rng(0)
ROWS = 60
FRAME = pd.DataFrame(
    {
        "age": np.where(np.arange(ROWS) % 7 == 3, np.nan, RNG.integers(20, 80, ROWS)),
        "city": RNG.choice(["Köln", "Ulm", "Bonn, Rhein"], ROWS),
        "smoker": RNG.choice(["true", "false"], ROWS),
        "size": RNG.standard_normal(ROWS).round(3),
        "label": RNG.choice(["sick", "well"], ROWS),
    }
)
CITIES = ["Bonn, Rhein", "Köln", "Ulm"]


def written(tmp_path, kind, frame=FRAME):
    path = tmp_path / f"data.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.assign(smoker=frame["smoker"] == "true").to_parquet(path)
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("piece", [200, 1 << 22])
@pytest.mark.parametrize("wide", [0, 1000])
@pytest.mark.parametrize("how", ["mean", "median"])
def test_text_booleans_and_missing_values(tmp_path, kind, piece, wide, how, monkeypatch):
    monkeypatch.setattr(text_module, "PIECE", piece)
    monkeypatch.setattr(delimited_rows, "BY_COLUMNS_MOST", wide)
    table = read(written(tmp_path, kind), one_hot=True, impute=how)
    assert table.names == ("age", *(f"city={city}" for city in CITIES), "smoker", "size")
    assert table.origins == ("age", "city", "city", "city", "smoker", "size")
    np.testing.assert_allclose(table.X[:, 0], FRAME["age"].fillna(getattr(FRAME["age"], how)()))
    np.testing.assert_array_equal(table.X[:, 1:4], FRAME["city"].to_numpy()[:, None] == CITIES)
    np.testing.assert_array_equal(table.X[:, 4], FRAME["smoker"] == "true")
    np.testing.assert_array_equal(table.X[:, 5], FRAME["size"])
    assert table.encoding.levels == {"city": CITIES}
    assert table.encoding.fills[0] == pytest.approx(getattr(FRAME["age"], how)())


def test_booleans_need_no_option_and_yes_is_text(tmp_path):
    path = tmp_path / "b.csv"
    path.write_text("a,b,c,d,label\ntrue,True,TRUE,1,x\nfalse,False,FALSE,true,y\n")
    assert read(path).X.tolist() == [[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0]]
    path.write_text("a,label\nyes,x\nno,y\n")
    with pytest.raises(UnusableColumnsError, match="'a' must be numeric, got 'yes'"):
        read(path)
    path.write_text("a,label\ntrue,x\n2.5,y\n")
    with pytest.raises(UnusableColumnsError, match="'a' must be numeric, got 'true'"):
        read(path)


def test_levels_may_look_like_numbers(tmp_path):
    path = tmp_path / "l.csv"
    path.write_text("stage,label\n1,x\n2a,y\n3a,x\n,y\n1.0,x\n")
    table = read(path, one_hot=True)
    assert table.names == ("stage=", "stage=1", "stage=2a", "stage=3a")
    assert table.X.argmax(axis=1).tolist() == [1, 2, 3, 0, 1]
    path.write_text("stage,label\n2,x\n1,y\n")  # nothing but numbers here
    with pytest.warns(UnseenLevelsWarning, match="column 'stage' has 1 text that the training data did not have, '2'"):
        found = read(path, layout=Layout(4, table.names, used=(1, 2), encoding=table.encoding))
    assert found.X.tolist() == [[0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]


@pytest.mark.parametrize("numbers", ["7", "5", "NA"])
def test_columns_that_have_only_numbers_now_have_unseen_levels(tmp_path, numbers):
    path = tmp_path / "l.csv"
    path.write_text("City,label\nUlm,x\nBonn,y\n5,x\n")
    table = read(path, one_hot=True)
    path.write_text(f"City,label\n{numbers},x\n{numbers},y\n")
    layout = Layout(3, table.names, used=(0, 1, 2), encoding=table.encoding)
    if numbers == "5":
        assert read(path, layout=layout).X.tolist() == [[1.0, 0.0, 0.0]] * 2
        return
    with pytest.warns(UnseenLevelsWarning, match=f"'City' has 1 text .*, '{numbers}'"):
        assert not read(path, layout=layout).X.any()


def test_levels_do_not_take_the_names_of_other_columns(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("City,City=Ulm,label\nUlm,1,x\nBonn,0,y\n")
    message = r"two columns named 'City=Ulm', of columns 'City' and 'City=Ulm': rename or ignore one of them"
    with pytest.raises(InvalidDataError, match=message):
        read(path, one_hot=True)
    assert read(path, one_hot=True, ignore=["City=Ulm"]).names == ("City=Bonn", "City=Ulm")


@pytest.mark.parametrize("options", [{}, {"one_hot": True}, {"one_hot": True, "impute": "mean"}])
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ([f"{i % 34},{i % 10}" for i in range(40)], r"line 2: column 'a': '0,0' has a decimal comma; numbers must"),
        ([*("7", "unknown") * 3, *("7,3", "8,1") * 9], "line 8: column 'a': '7,3' has a decimal comma"),
        (["1,234,567", *"abc"], "line 2: column 'a': '1,234,567' has thousands separators"),
        ([*map(str, range(20, 60)), "unknown"], r"line 42: column 'a' must be numeric, got 'unknown' \(text in 1 row, "
         r"but numbers in 40\): correct it, or clear the field and read with impute"),
        ([*"4444", "", "yes"], "line 7: column 'a' must be numeric, got 'yes'"),
    ],
)  # fmt: skip
def test_numbers_with_mistakes_are_no_levels(tmp_path, fields, message, options):
    path = tmp_path / "n.csv"
    path.write_text("a;b;label\n" + "".join(f"{text};{i * i};{'xy'[i % 2]}\n" for i, text in enumerate(fields)))
    with pytest.raises(UnusableColumnsError, match=message) as caught:
        read(path, **options)
    assert caught.value.options == []


@pytest.mark.parametrize("text", ["192.168.100.200", "10.100.200.255"])
def test_addresses_are_no_numbers_with_thousands(tmp_path, text):
    path = tmp_path / "a.csv"
    path.write_text(f"a,label\n{text},x\n1.2.3.4,y\n{text},x\n")
    with pytest.raises(UnusableColumnsError, match="must be numeric, got") as caught:
        read(path)
    assert caught.value.options == ["--one-hot"]
    assert read(path, one_hot=True).names == ("a=1.2.3.4", f"a={text}")
    path.write_text("a,label\n192.168.300.400,x\n")
    with pytest.raises(UnusableColumnsError, match="has thousands separators"):
        read(path)


def test_all_complaints_in_one_message(tmp_path):
    frame = FRAME.assign(
        name=[f"P{i}" for i in range(ROWS)], weight=np.r_[np.inf, np.ones(ROWS - 1)], nothing=np.nan, id=range(ROWS)
    )
    with pytest.raises(UnusableColumnsError) as caught:
        read(written(tmp_path, "csv", frame))
    error = caught.value
    for what in (
        "data.csv: 5 columns cannot be used as they are: line 5: missing value in column 'age' (9 rows); line 2: ",
        "column 'city' must be numeric, got", "'name' must be numeric, got 'P0' (text in 60 rows)",
        "line 2: infinite value in column 'weight' (1 row)", "column 'nothing' (it has no values)",
        "left out column 'id': its values rise by one",
    ):  # fmt: skip
        assert what in error.complaints
    assert "smoker" not in error.complaints
    assert error.options == ["--ignore", "name,weight,nothing", "--one-hot", "--impute", "median"]
    assert "ignore=['name', 'weight', 'nothing'], one_hot=True, impute='median'" in str(error)
    with pytest.warns(UserWarning, match="left out"):
        table = read(tmp_path / "data.csv", ignore=["name,weight,nothing"], one_hot=True, impute="median")
    assert table.X.shape == (ROWS, 6)


def test_complaints_that_options_cannot_mend(tmp_path):
    path = tmp_path / "c.csv"
    path.write_text('a,b,label\n"1,5",u,x\n"2,5",,y\n')
    with pytest.raises(UnusableColumnsError, match=r"'1,5' has a decimal comma.*'b' must be numeric") as caught:
        read(path)
    assert caught.value.options == []
    many = pd.DataFrame({"a": [f"t{i % (MOST_LEVELS + 1)}" for i in range(200)], "b": 1.5, "label": ["x", "y"] * 100})
    with pytest.raises(UnusableColumnsError, match=rf"51 different values: one_hot \(--one-hot\) takes {MOST_LEVELS}"):
        read(written(tmp_path, "csv", many), one_hot=True)
    with pytest.raises(ValueError, match="impute must be one of mean, median or None, got 'mode'"):
        read(path, impute="mode")


def test_many_complaints_are_told_in_short(tmp_path):
    frame = pd.DataFrame({f"c{j}": [np.nan, 1.5, 2.5] for j in range(30)} | {"label": ["x", "y", "x"]})
    told = r"30 columns.*and the same of 'c8', .* and 17 more; read it"
    with pytest.raises(UnusableColumnsError, match=told) as caught:
        read(written(tmp_path, "csv", frame))
    assert len(str(caught.value)) < 1000


def test_a_model_reads_other_files_alike(tmp_path):
    """With the values and texts of the training data: in files of other columns, too."""
    table = read(written(tmp_path, "csv"), one_hot=True, impute="median")
    clf = fgm_by_rule(6).fit(table.X, table.y)
    save(clf, tmp_path / "m.json", names=table.names, source=Source(encoding=table.encoding))
    source, names = models.read(tmp_path / "m.json").source, models.read(tmp_path / "m.json").names
    assert source.encoding.levels == {"city": CITIES}
    np.testing.assert_array_equal(source.encoding.fills, table.encoding.fills)
    assert load(tmp_path / "m.json").score(table.X, table.y) == clf.score(table.X, table.y)
    new = FRAME.assign(city=["Ulm"] * 59 + ["Jena"], size=np.nan)[["size", "city", "smoker", "age"]]
    layout = Layout(6, names, used=tuple(range(6)), encoding=source.encoding)
    with pytest.warns(UnseenLevelsWarning, match="'city' has 1 text that the training data did not have, 'Jena'"):
        found = read(written(tmp_path, "csv", new), layout=layout)
    assert found.X[-1, 1:4].tolist() == [0.0, 0.0, 0.0]
    assert found.X[0, 1:4].tolist() == [0.0, 0.0, 1.0]
    assert (found.X[:, 5] == FRAME["size"].median()).all()
    layout = Layout(6, names, used=(0, 1), encoding=source.encoding)
    with pytest.raises(InvalidDataError, match="missing columns that the model uses: 'city="):
        read(written(tmp_path, "csv", new.drop(columns="city")), layout=layout)
    layout = Layout(2, ("age", "size"), used=(0, 1))
    with pytest.raises(UnusableColumnsError, match=r"missing value in column 'age'.*fit the model with impute"):
        read(tmp_path / "data.csv", layout=layout)


def test_arrays_are_imputed_too(tmp_path):
    X = FRAME[["age", "size"]].to_numpy().copy()
    np.save(tmp_path / "x.npy", X)
    table = read(tmp_path / "x.npy", impute="mean")
    np.testing.assert_allclose(table.X[3, 0], np.nanmean(X[:, 0]))
    assert np.isnan(X).sum() == np.isnan(np.load(tmp_path / "x.npy")).sum()  # the file is as it was
    X[:, 1] = np.nan
    np.savez(tmp_path / "x.npz", X=X)
    with pytest.raises(InvalidDataError, match="column '1' has no values: nothing to impute from"):
        read(tmp_path / "x.npz", impute="mean")
    again = read(tmp_path / "x.npz", layout=Layout(2, encoding=table.encoding))
    assert (again.X[:, 1] == table.encoding.fills[1]).all()
    with pytest.raises(InvalidDataError, match="X has 2 features, but the model expects 3"):
        read(tmp_path / "x.npz", layout=Layout(3, encoding=table.encoding))
    hostile = Encoding(fills=np.zeros(5), impute="mean")
    with pytest.raises(InvalidDataError, match="X has 2 columns, but the model has values for missing entries of 5"):
        read(tmp_path / "x.npz", layout=Layout(2, encoding=hostile))
    (tmp_path / "x.svm").write_text("1 1:2\n")
    with pytest.raises(InvalidDataError, match=r"impute \(--impute\) needs an array or a table"):
        read(tmp_path / "x.svm", impute="mean")


@pytest.mark.parametrize("kind", ["npy", "npz"])
@pytest.mark.parametrize("how", ["mean", "median"])
def test_infinite_values_are_not_imputed_from(tmp_path, kind, how):
    X = np.array([[1.0, 2.0, 3.0], [np.nan, 5.0, -np.inf], [3.0, np.nan, np.inf]])
    (tmp_path / "names").write_text("a\nb\nc\n")

    def write():
        np.save(tmp_path / "x.npy", X)
        np.savez(tmp_path / "x.npz", X=X)

    write()
    path, known = tmp_path / f"x.{kind}", Encoding(fills=np.ones(3), impute=how)
    for options, column in (
        ({"impute": how}, "2"), ({"impute": how, "names": tmp_path / "names"}, "c"),
        ({"layout": Layout(3, encoding=known)}, "2"),
    ):  # fmt: skip
        with pytest.raises(
            InvalidDataError, match=rf"x\.{kind}: infinite value in row 1 \(from 0\), column '{column}'"
        ):
            read(path, **options)
    X[:, 2] = 1.7e308
    write()
    with pytest.raises(InvalidDataError, match=rf"x\.{kind}: column '2' has values that are too large for a {how}"):
        read(path, impute=how)


@pytest.mark.parametrize("order", ["C", "F"])
def test_filling_looks_at_some_columns_at_a_time(order, monkeypatch):
    X = np.array(RNG.standard_normal((20, 9)), order=order)
    X[RNG.random(X.shape) < 0.3] = np.nan
    values = fill_values(X, "median")
    monkeypatch.setattr("thresher.data.input.imputing.TOGETHER", 40)
    np.testing.assert_array_equal(fill_values(X, "median"), values)
    np.testing.assert_array_equal(filled(X.copy(), values), np.where(np.isnan(X), values, X))
    np.testing.assert_array_equal(values, np.nanmedian(X, axis=0))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"levels": ["a"]}, "lists of strings"),
        ({"levels": {"a": [1]}}, "lists of strings"),
        ({"fills": np.zeros(2)}, "together"),
        ({"fills": np.array([np.nan]), "impute": "mean"}, "must be finite"),
        ({"fills": [1.0], "impute": "mean"}, "1D array of floats"),
        ({"fills": np.zeros(1), "impute": "mode"}, re.escape("one of mean, median or None, got 'mode'")),
    ],
)
def test_an_encoding_is_checked(wrong, message):
    with pytest.raises(ValueError, match=message):
        Encoding(**wrong)
