"""Source: what a model file keeps of the file a model was fitted to, and how the commands use it."""

import numpy as np
import pytest

import thresher
from tests.cli.test_commands import as_json, thresh
from tests.models.make_fixtures import HERE, data
from tests.rule import fgm_by_rule
from thresher import Source
from thresher.io.reading import KINDS
from thresher.io.table import FILE_KINDS
from thresher.models import read

X, TWO, _ = data()


def test_a_source_is_plain_and_cannot_be_changed():
    """Fields have defaults; numpy's integers become Python's."""
    assert vars(Source()) == {
        "file": None, "kind": None, "index_base": None, "label_column": None, "open_ended": False, "left_out": [],
        "notes": {}, "bag_column": None, "encoding": None,
    }  # fmt: skip
    assert type(Source(index_base=np.int32(1)).index_base) is int
    assert Source("a", notes={"x": 1}) == Source(file="a", notes={"x": 1})
    with pytest.raises(AttributeError):
        Source().file = "b"
    assert Source().notes is not Source().notes


def test_kinds_are_those_that_are_read():
    """A kind that ``read`` learns can be said of a source."""
    assert set(KINDS.values()) == set(FILE_KINDS)


@pytest.mark.parametrize(("given", "why"), [
    ({"file": 3}, "file of a Source must be a string or None, got 3"),
    ({"label_column": b"y"}, "label_column"),
    ({"bag_column": 3}, "bag_column"),
    ({"kind": "sql"}, "kind of a Source must be one of svmlight, npz, npy, csv, parquet or None, got 'sql'"),
    ({"kind": []}, "kind"),
    ({"index_base": 2}, "index_base of a Source must be 0, 1 or None, got 2"),
    ({"index_base": True}, "index_base"),
    ({"index_base": 1.0}, "index_base"),
    ({"index_base": "1"}, "index_base"),
    ({"open_ended": 1}, "open_ended of a Source must be True or False, got 1"),
    ({"notes": None}, "notes of a Source must be a dict, got None"),
])  # fmt: skip
def test_what_a_field_cannot_be_is_said(given, why):
    """What was given, and what is expected."""
    with pytest.raises((TypeError, ValueError), match=why):
        Source(**given)
    assert not Source.takes(*next(iter(given.items())))
    assert not Source.takes("weather", "fine")
    assert Source.takes("index_base", 1)


def svmlight(base):
    """X and its labels as text whose first index is ``base``."""
    rows = (" ".join(f"{j + base}:{value!r}" for j, value in enumerate(row)) for row in X.tolist())
    return "".join(f"{int(y)} {row}\n" for row, y in zip(rows, TWO, strict=True))


def csv():
    """X under the names g0, g1, .. and its labels under "ill"."""
    rows = "".join(",".join(map(repr, row)) + f",{int(y)}\n" for row, y in zip(X.tolist(), TWO, strict=True))
    return ",".join([*(f"g{j}" for j in range(12)), "ill"]) + "\n" + rows


@pytest.mark.parametrize("base", [0, 1])
def test_a_model_saved_from_python_says_how_to_read_text(base, tmp_path):
    """With an index base in its source, ``thresher predict`` needs none; without, it asks for one."""
    (tmp_path / "x.svm").write_text(svmlight(base))
    clf = fgm_by_rule(3).fit(X, TWO.astype(int))
    thresher.save(clf, tmp_path / "m.json", source=Source(kind="svmlight", index_base=base, notes={"a": 1}))
    found = as_json("predict", "m.json", "x.svm", folder=tmp_path)
    assert found["accuracy"] == clf.score(X, TWO.astype(int))
    shown = as_json("inspect", "m.json", folder=tmp_path)
    assert shown["source"] == vars(Source(kind="svmlight", index_base=base, notes={"a": 1}))
    assert [int(each["name"]) - base for each in shown["features"]] == [each["column"] for each in shown["features"]]
    thresher.save(clf, tmp_path / "m.json")
    done = thresh("predict", "m.json", "x.svm", folder=tmp_path, check=1)
    assert "set the index of the first column with --index-base" in done.stderr


def test_a_model_saved_from_python_names_the_column_of_labels(tmp_path):
    """``label_column`` of its source is where ``thresher predict`` looks for labels in a csv file."""
    names = [f"g{j}" for j in range(12)]
    (tmp_path / "x.csv").write_text(csv())
    clf = fgm_by_rule(3).fit(X, TWO.astype(int))
    thresher.save(clf, tmp_path / "m.json", names=names, source=Source("x.csv", "csv", label_column="ill"))
    assert as_json("predict", "m.json", "x.csv", folder=tmp_path)["accuracy"] == clf.score(X, TWO.astype(int))
    thresher.save(clf, tmp_path / "m.json", names=names)
    assert "accuracy" not in as_json("predict", "m.json", "x.csv", folder=tmp_path)


def test_files_of_version_1_are_read_by_their_index_base(tmp_path):
    """Its source was a dict; the commands see no difference."""
    model = read(HERE / "v1_two.json")
    (tmp_path / "x.svm").write_text(svmlight(1))
    done = thresh("predict", HERE / "v1_two.json", "x.svm", "--out", "p.txt", folder=tmp_path)
    assert "Traceback" not in done.stderr
    assert (tmp_path / "p.txt").read_text().split() == [str(each) for each in model.estimator.predict(X)]


def test_the_commands_write_a_source(tmp_path):
    """All that ``select`` knows of the file it has read."""
    (tmp_path / "x.csv").write_text(csv())
    thresh("select", "x.csv", "--features", "3", "--label-column", "ill", "--out", "m.json", folder=tmp_path)
    assert read(tmp_path / "m.json").source == Source("x.csv", "csv", None, "ill")
