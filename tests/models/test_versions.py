"""Documents of other versions, and fields that come later: what is read, what is refused, and by what name."""

import copy
import json

import pytest

import thresher
from tests.models import damage
from tests.models.checkpoints import refused as checkpoint_refused
from tests.models.checkpoints import saved as saved_checkpoint
from tests.models.make_fixtures import HERE
from tests.models.test_checkpoint_damage import parts, rebuilt
from tests.models.zoo import X, assert_same_model, fitted
from thresher import FGMClassifier, Source
from thresher.estimators.shared.base import REAL
from thresher.models import checkpoint, document, files, read, read_checkpoint
from thresher.models.formats import CHECKPOINT, MODEL, Format
from thresher.state.checks import REQUIRED, Damaged, fields, required


@pytest.fixture
def saved(tmp_path):
    """(path, document) of a model of the present version."""
    return damage.saved(tmp_path)[:2]


def test_a_table_gives_defaults_and_refuses_by_name():
    """Required fields must be there, optional ones may be absent, all others are refused."""
    table = required("a") | {"b": [1]}
    assert fields({"a": 0}, table, "it") == {"a": 0, "b": [1]}
    assert fields({"a": 0, "b": None}, table, "it") == {"a": 0, "b": None}
    fields({"a": 0}, table, "it")["b"].append(2)
    assert table == {"a": REQUIRED, "b": [1]}
    missing = ({"b": 1}, "it is missing the field 'a'")
    for value, why in (missing, ({"a": 1, "c": 2}, "unknown field, 'c'"), ([], "must be an object")):
        with pytest.raises(Damaged, match=why):
            fields(value, table, "it")


def test_an_optional_field_that_is_absent_has_its_default(saved):
    """``source`` as a whole, and each field of it."""
    path, held = saved
    del held["source"]
    damage.write(path, held)
    assert read(path).source == Source()
    assert_same_model(fitted("two"), thresher.load(path), X)
    damage.write(path, held | {"source": {"index_base": 1}})
    assert read(path).source == Source(index_base=1)


def test_a_field_that_is_added_later_is_one_entry_with_a_default(saved, monkeypatch):
    """At the top, and in an object inside: files without it are read, files with it are read or refused by name."""
    path, held = saved
    monkeypatch.setitem(document.DOCUMENT, "weather", "fine")
    monkeypatch.setitem(document.FINGERPRINT_FIELDS, "tint", {"hue": 3})
    damage.write(path, held)
    model = read(path)
    assert model.document["weather"] == "fine"
    assert model.estimator.fingerprint_["tint"] == {"hue": 3}
    held["data"]["tint"] = {"hue": 4}
    damage.write(path, held | {"weather": "foul"})
    assert read(path).document["weather"] == "foul"
    assert read(path).estimator.fingerprint_["tint"] == {"hue": 4}
    monkeypatch.undo()
    damage.refused(path, "unknown field, 'weather'")
    damage.write(path, held)
    damage.refused(path, "data has an unknown field, 'tint'")


def test_an_attribute_of_fit_that_is_added_later_may_be_absent(saved, monkeypatch):
    """If it is optional; it is then not set."""
    path, _ = saved
    later = REAL._replace(optional=True)
    monkeypatch.setattr(FGMClassifier, "_saved", FGMClassifier._saved | {"later_": later})
    assert not hasattr(thresher.load(path), "later_")
    monkeypatch.setattr(FGMClassifier, "_saved", FGMClassifier._saved | {"later_": REAL})
    damage.refused(path, "fitted is missing the field 'later_'")


def renamed(old):
    """A step that a future version might need: a key has another name, and a value another form."""
    rest = {key: value for key, value in old.items() if key != "width"}
    return rest | {"n_features_in": old["width"]}


def test_a_step_is_run_before_fields_are_checked(saved, monkeypatch):
    """Version 3 calls ``n_features_in`` "width", and the present table does not know that."""
    path, held = saved
    held["width"] = held.pop("n_features_in")
    damage.write(path, held)
    damage.refused(path, "is missing the field 'n_features_in'")
    before = copy.deepcopy(held)
    longer = Format(MODEL.name, (*MODEL.steps, renamed))
    for module in (files, document):
        monkeypatch.setattr(module, "MODEL", longer)
    assert_same_model(fitted("two"), thresher.load(path), X)
    assert read(path).document["format_version"] == 4
    assert renamed(held)["n_features_in"] == 40
    assert held == before  # a step does not change what it is given
    thresher.save(fitted("two"), path)  # and version 4 is what is written
    assert json.loads(path.read_text())["format_version"] == 4
    assert_same_model(fitted("two"), thresher.load(path), X)


def test_steps_run_one_after_the_other_from_the_version_of_the_document():
    """Each is given what the one before made; none of an earlier version is run."""

    def step(n):
        return lambda old: old | {"seen": [*old["seen"], (n, old["format_version"])]}

    chain = Format("x", (step(1), step(2), step(3)))
    assert chain.version == 4
    for first in (1, 2, 3, 4):
        found = chain.migrated({"format": "x", "format_version": first, "seen": []})
        assert found["seen"] == [(n, n) for n in range(first, 4)]
        assert found["format_version"] == 4


def test_the_checksum_is_that_of_the_document_as_it_was_written(tmp_path):
    """A changed value in a file of version 1 is seen, though its document is brought to version 2."""
    held = json.loads((HERE / "v1_two.json").read_text(encoding="utf-8"))
    held["source"]["index_base"] = 0
    path = tmp_path / "model.json"
    path.write_text(json.dumps(held))
    damage.refused(path, "checksum mismatch: it was changed")
    damage.write(path, held)
    assert read(path).source.index_base == 0


SOURCES = {
    "nothing": ({}, Source()),
    "the command line": (
        {"kind": "csv", "file": "a.csv", "index_base": None, "label_column": "y"}, Source("a.csv", "csv", None, "y")
    ),
    "a stream": (
        {"kind": "svmlight", "file": None, "index_base": 0, "open_ended": True},
        Source(None, "svmlight", 0, open_ended=True),
    ),
    "own entries": ({"file": "a", "lab": {"room": [3]}}, Source("a", notes={"lab": {"room": [3]}})),
    "values that no field takes": (
        {"kind": "sql", "index_base": "zero", "file": ["a", "b"], "open_ended": 1},
        Source(notes={"kind": "sql", "index_base": "zero", "file": ["a", "b"], "open_ended": 1}),
    ),
    "notes of its own": ({"notes": {"a": 1}}, Source(notes={"notes": {"a": 1}})),
}  # fmt: skip


@pytest.mark.parametrize("case", SOURCES)
def test_a_source_of_version_1_is_not_lost(case, tmp_path):
    """What is a field of Source becomes one, everything else is in its notes; saved again, it stays so."""
    given, expected = SOURCES[case]
    held = json.loads((HERE / "v1_two.json").read_text(encoding="utf-8"))
    path = tmp_path / "model.json"
    damage.write(path, held | {"source": given})
    model = read(path)
    assert model.source == expected
    thresher.save(model.estimator, path, source=model.source)
    assert read(path).source == expected
    assert json.loads(path.read_text())["format_version"] == MODEL.version


@pytest.mark.parametrize("source", [None, 3, "x", [], [["file", "a"]], True])
def test_a_source_of_version_1_that_is_no_object_is_refused(source, tmp_path):
    """A step leaves alone what it does not understand."""
    held = json.loads((HERE / "v1_two.json").read_text(encoding="utf-8"))
    path = tmp_path / "model.json"
    damage.write(path, held | {"source": source})
    damage.refused(path, "source must be an object, got .*")


def test_checkpoints_grow_in_the_same_way(tmp_path, monkeypatch):
    """A field with a default, a parameter that came later, a step; without them the same file is refused."""
    path = saved_checkpoint(tmp_path)
    held, members = parts(path)
    del held["parameters"]["delta"]
    held["where"] = held.pop("position")
    rebuilt(path, held, members)
    checkpoint_refused(path, "is missing the field 'position'")
    step = Format(CHECKPOINT.name, (lambda old: {k: v for k, v in old.items() if k != "where"},))
    monkeypatch.setattr(checkpoint, "CHECKPOINT", step)
    monkeypatch.setitem(checkpoint.CHECKPOINT_FIELDS, "position", {"lines": 0})
    checkpoint_refused(path, "parameters is missing the field 'delta'")
    monkeypatch.delitem(checkpoint.PARAMETER_FIELDS, "delta")
    clf, position = read_checkpoint(path)
    assert (clf.delta, position) == (0.01, {"lines": 0})


def test_a_checkpoint_of_the_future_asks_for_a_newer_thresher(tmp_path):
    """Not "damaged": upgrade."""
    path = saved_checkpoint(tmp_path)
    held, members = parts(path)
    rebuilt(path, held | {"format_version": 2, "unheard": "of"}, members)
    checkpoint_refused(path, r"written by a newer thresher \(format 2\): upgrade thresher to read it$")
    versions = {"versions": {"thresher": "9.1"}}
    rebuilt(path, held | {"format_version": 2} | versions, members)
    checkpoint_refused(path, "written by thresher 9.1, which is newer")
