"""Training instances in model files: what does not fit together is refused."""

import numpy as np
import pytest

import thresher
from tests.models.damage import saved, write
from tests.models.zoo import BAGS, X, data_for, fitted
from thresher.errors import ModelFileError


def changed(document, **parts):
    return document | {"instances": document["instances"] | parts}


def damaged(tmp_path, kind, **parts):
    path, document, _ = saved(tmp_path, kind)
    write(path, changed(document, **parts))
    return path


@pytest.mark.parametrize(
    ("parts", "match"),
    [
        ({"rows": [0]}, r"values of the instances are invalid \(they are float64 of shape"),
        ({"sigma": 0.0}, "sigma of the instances must be positive"),
        ({"sigma": "nan"}, "sigma of the instances is 'nan', not a finite number"),
        ({"n_rows": 0}, "n_rows of the instances is 0"),
        ({"n_rows": 3}, "n_candidates of the instances is 90, not an integer in the allowed range"),
        ({"n_candidates": 1}, "n_candidates is smaller than the number of instances"),
        ({"values": None}, "they must be an array or a sparse matrix"),
        ({"values": [[1.0]]}, "they must be an array or a sparse matrix"),
        ({"factor": [1.0]}, "factor of the instances has shape"),
        ({"factor": [-1.0] * 40}, "factors of the instances must not be negative"),
        ({"more": 1}, "instances has an unknown field, 'more'"),
    ],
)
def test_parts_that_do_not_fit(parts, match, tmp_path):
    with pytest.raises(ModelFileError, match=match):
        thresher.load(damaged(tmp_path, "bags", **parts))


@pytest.mark.parametrize("missing", ["rows", "values", "sigma", "n_rows", "n_candidates"])
def test_parts_that_are_missing(missing, tmp_path):
    path, document, _ = saved(tmp_path, "bags")
    kept = {name: part for name, part in document["instances"].items() if name != missing}
    write(path, document | {"instances": kept})
    with pytest.raises(ModelFileError, match=missing):
        thresher.load(path)


def first(change):
    """A change of the numbers of an array in a document."""
    return lambda array: array | {"values": change(array["values"])}


@pytest.mark.parametrize(
    ("name", "change", "match"),
    [
        ("indptr", first(lambda begins: [1, *begins[1:]]), "the instances is invalid"),
        ("indptr", first(lambda begins: begins[:-1]), "the instances is invalid"),
        ("indices", first(lambda columns: [30, *columns[1:]]), "the instances is invalid"),
        ("data", first(lambda entries: entries[1:]), "the instances is invalid"),
        ("data", first(lambda entries: ["nan", *entries[1:]]), "contain NaN or infinity"),
        ("shape", lambda shape: [shape[0], 31], "expected float64 of shape"),
    ],
)
def test_sparse_rows_that_cannot_be(name, change, match, tmp_path):
    path, document, _ = saved(tmp_path, "bags_sparse")
    rows = document["instances"]["values"]["sparse"]
    write(path, changed(document, values={"sparse": rows | {name: change(rows[name])}}))
    with pytest.raises(ModelFileError, match=match):
        thresher.load(path)


def test_dense_rows_must_be_finite(tmp_path):
    path, document, _ = saved(tmp_path, "bags")
    array = document["instances"]["values"]["array"]
    write(path, changed(document, values={"array": array | {"values": ["inf", *array["values"][1:]]}}))
    with pytest.raises(ModelFileError, match="contain NaN or infinity"):
        thresher.load(path)


def test_an_instance_that_is_missing(tmp_path):
    path, document, _ = saved(tmp_path, "bags")
    rows, chosen = document["instances"]["rows"], int(fitted("bags").selection_.features[0])
    kept = [place for place, row in enumerate(rows) if row != chosen]
    values = thresher.load(path).instances_.values[kept]
    array = {"dtype": "<f8", "values": values.ravel().tolist(), "shape": list(values.shape)}
    write(path, changed(document, rows=[rows[place] for place in kept], values={"array": array}))
    with pytest.raises(ModelFileError, match="an instance of the model is missing"):
        thresher.load(path)


@pytest.mark.parametrize(("kind", "has"), [("bags", False), ("two", True)])
def test_only_models_of_bags_have_instances(kind, has, tmp_path):
    path, document, _ = saved(tmp_path, kind)
    instances = saved(tmp_path, "bags")[1]["instances"] if has else None
    write(path, document | {"instances": instances})
    with pytest.raises(ModelFileError, match="and its instances do not agree"):
        thresher.load(path)


def test_scores_need_what_was_tried(tmp_path):
    path, document, _ = saved(tmp_path, "bags_chosen")
    write(path, document | {"fitted": document["fitted"] | {"sigmas_": None}})
    with pytest.raises(ModelFileError, match="scores_ is there, but not what was tried"):
        thresher.load(path)


def test_what_is_read_explains_bags_as_before(tmp_path):
    for kind in ("bags", "bags_chosen"):
        clf = fitted(kind)
        thresher.save(clf, tmp_path / "model.json")
        read = thresher.load(tmp_path / "model.json")
        for method in ("predict_instances", "decision_function"):
            one, other = (getattr(each, method)(data_for(kind), bags=BAGS) for each in (clf, read))
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(read.prototypes_, X[read.selection_.features])
        assert read.proof() == clf.proof()
