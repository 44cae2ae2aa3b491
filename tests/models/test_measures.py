"""Measures as the parameter ``loss`` in model files."""

import json
from dataclasses import fields

import pytest
from sklearn.base import clone

import thresher
from tests.models.damage import refused, write
from tests.models.zoo import fitted
from thresher.optim.measures.values import MEASURES

PARAMETERS = {"fbeta": [0.5, 2.0], "precision_at_k": [5, 1.0], "recall_at_k": [5, 2.0, 0.1]}
VALUES = [kind(value) for name, kind in MEASURES.items() for value in PARAMETERS.get(name, ()) if fields(kind)]
VALUES += [kind() for kind in MEASURES.values() if not fields(kind)]


def written(loss, path):
    """The document of a model with this loss; what it was fitted with does not matter here."""
    clf = clone(fitted("two"))
    clf.__dict__.update(vars(fitted("two")) | {"loss": loss})
    thresher.save(clf, path)
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("measure", VALUES, ids=repr)
def test_every_measure_comes_back_as_the_same_value(measure, tmp_path):
    """Also k = 5, a number of samples, and k = 1.0, a multiple of the positives: types count."""
    document = written(measure, tmp_path / "model.json")
    assert document["format_version"] == 3
    loaded = thresher.load(tmp_path / "model.json").loss
    assert type(loaded) is type(measure)
    assert repr(loaded) == repr(measure)
    assert loaded == measure


def test_every_measure_is_in_the_list():
    assert {type(value) for value in VALUES} == set(MEASURES.values())


def test_a_measure_is_its_name_and_its_parameter(tmp_path):
    document = written(thresher.RecallAtK(2.0), tmp_path / "model.json")
    assert document["parameters"]["loss"] == {"value": {"type": "RecallAtK", "fields": {"k": 2.0}}}
    document = written(thresher.F1(), tmp_path / "model.json")
    assert document["parameters"]["loss"] == {"value": {"type": "F1", "fields": {}}}


WRONG = {
    "k of zero": ({"type": "RecallAtK", "fields": {"k": 0}}, "not a valid RecallAtK .k must be an integer of at least"),
    "a word": ({"type": "PrecisionAtK", "fields": {"k": "2p"}}, "not a valid PrecisionAtK"),
    "true": ({"type": "PrecisionAtK", "fields": {"k": True}}, "not a valid PrecisionAtK"),
    "not finite": ({"type": "RecallAtK", "fields": {"k": {"float": "inf"}}}, "not a valid RecallAtK"),
    "a beta too large": ({"type": "FBeta", "fields": {"beta": 1e9}}, "not a valid FBeta .beta must be a number from"),
    "no parameter": ({"type": "FBeta", "fields": {}}, "FBeta of parameter loss is missing the field 'beta'"),
    "one too many": ({"type": "F1", "fields": {"beta": 1.0}}, "unknown field, 'beta'"),
    "what is no measure": ({"type": "Intersection", "fields": {}}, "loss must be one of .* or a measure"),
    "a base class": ({"type": "Measure", "fields": {}}, "has the unknown type 'Measure'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_measures_that_cannot_be_are_refused(case, tmp_path):
    """One line that says why, though the checksum is right."""
    path = tmp_path / "model.json"
    document = written("f1", path)
    held, why = WRONG[case]
    document["parameters"]["loss"] = {"value": held}
    write(path, document)
    refused(path, why)


def test_unknown_names_are_refused(tmp_path):
    """A name that needs a parameter is none either."""
    path = tmp_path / "model.json"
    document = written("f1", path)
    for name in ("f3", "fbeta"):
        document["parameters"]["loss"] = name
        write(path, document)
        refused(path, "invalid parameter .loss(=.fbeta. has a parameter| must be one of)")
