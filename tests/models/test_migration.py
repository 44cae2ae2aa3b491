"""Parameters of earlier versions are read under the names and with the values they have now."""

import json

import pytest

import thresher
from tests.models import damage
from tests.models.make_fixtures import HERE
from thresher.models.migration import CHANGES, renamed, with_current_parameters


def changed(path, file, **parameters):
    """A copy of a fixture at ``path``, with other parameters."""
    document = json.loads((HERE / f"{file}.json").read_text(encoding="utf-8"))
    damage.write(path, document | {"parameters": document["parameters"] | parameters})
    return path


@pytest.mark.parametrize("file", ["v1_svc", "v1_grid", "v2_svc", "v2_grid_three"])
def test_gamma_of_a_sparse_svm_is_smoothing(file, tmp_path):
    clf = thresher.load(changed(tmp_path / "model.json", file, gamma=0.25))
    assert clf.smoothing == 0.25
    assert "gamma" not in clf.get_params()
    thresher.save(clf, tmp_path / "again.json")
    assert thresher.load(tmp_path / "again.json").smoothing == 0.25


@pytest.mark.parametrize(
    ("given", "screening"),
    [
        ({"screening": "iss", "fit_intercept": True}, None),
        ({"screening": "iss", "fit_intercept": False}, "iss"),
        ({"screening": "sifs", "fit_intercept": True}, "sifs"),
    ],
)
def test_samples_were_never_tested_with_an_intercept(given, screening, tmp_path):
    """``screening="iss"`` did nothing then, and would be refused now."""
    assert thresher.load(changed(tmp_path / "model.json", "v2_svc", **given)).screening == screening


def test_this_version_has_no_old_names(tmp_path):
    thresher.save(thresher.load(HERE / "v2_svc.json"), tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    document["parameters"]["gamma"] = document["parameters"].pop("smoothing")
    damage.write(tmp_path / "model.json", document)
    damage.refused(tmp_path / "model.json", "SparseSVC has no parameter 'gamma'")


def test_renamed_keeps_the_order_and_does_not_change_what_it_is_given():
    given = {"a": 1, "b": 2, "c": 3}
    assert list(renamed(given, b="d").items()) == [("a", 1), ("d", 2), ("c", 3)]
    assert given == {"a": 1, "b": 2, "c": 3}


@pytest.mark.parametrize(
    "document", [{}, {"type": ["SparseSVC"]}, {"type": "x", "parameters": {}}, {"type": "SparseSVC"}]
)
def test_what_is_not_understood_is_left_unchanged(document):
    assert with_current_parameters(document) is document


def test_the_table_names_types_that_can_be_saved():
    assert set(CHANGES) <= set(thresher.models.registry.ESTIMATORS)
