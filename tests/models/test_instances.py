"""Training instances in model files: what does not fit together is refused."""

import numpy as np
import pytest

import thresher
from tests.models.damage import array, saved, with_features, write
from tests.models.zoo import BAGS, X, data_for, fitted
from thresher.errors import ModelFileError


def fields_of(document):
    """The fields of the training instances in a document."""
    return document["fitted_features"]["prototypes"]["value"]["fields"]


def changed(document, **parts):
    fields = fields_of(document) | parts
    return with_features(document, prototypes={"value": {"type": "Prototypes", "fields": fields}})


def damaged(tmp_path, kind, **parts):
    path, document, _ = saved(tmp_path, kind)
    write(path, changed(document, **parts))
    return path


@pytest.mark.parametrize(
    ("parts", "match"),
    [
        ({"rows": array([0])}, "values of the instances have another shape or type"),
        ({"rows": [0]}, "rows of the instances are not a list of integers"),
        ({"rows": array([1, 0])}, "rows of the instances are not sorted and unique"),
        ({"sigma": 0.0}, "sigma of the instances must be positive"),
        ({"sigma": {"float": "nan"}}, "sigma of the instances must be positive"),
        ({"sigma": {"float": "inf"}}, "sigma of the instances must be positive"),
        ({"sigma": "1"}, "sigma of the instances must be positive"),
        ({"n_rows": 0}, "n_rows of the instances is 0"),
        ({"n_rows": 3}, "rows of the instances must be between 0 and 2"),
        ({"n_bags": 0}, "n_bags of the instances is 0"),
        ({"n_bags": 91}, "n_bags of the instances is 91"),
        ({"values": None}, "values of the instances have another shape or type"),
        ({"values": [[1.0]]}, "values of the instances have another shape or type"),
        ({"factor": array([1.0])}, "factor of the instances is not an array of numbers of shape"),
        ({"factor": array([-1.0] * 40)}, "factor of the instances contains a number below 0"),
        ({"more": 1}, "has an unknown field, 'more'"),
    ],
)
def test_parts_that_do_not_fit(parts, match, tmp_path):
    with pytest.raises(ModelFileError, match=match):
        thresher.load(damaged(tmp_path, "bags", **parts))


@pytest.mark.parametrize(
    ("parts", "match"),
    [
        ({"n_candidates": 1}, "n_candidates is smaller than the number of features"),
        ({"n_candidates": 0}, "n_candidates is 0, not an integer in the allowed range"),
        ({"n_candidates": 91}, "n_candidates is 91, not an integer in the allowed range"),
        ({"prototypes": None}, "the training instances are missing"),
        ({"prototypes": {"value": {"type": "Groups", "fields": {"of": [0]}}}}, "the training instances are missing"),
        ({"more": 1}, "fitted_features has an unknown field, 'more'"),
    ],
)
def test_features_that_do_not_fit(parts, match, tmp_path):
    path, document, _ = saved(tmp_path, "bags")
    write(path, with_features(document, **parts))
    with pytest.raises(ModelFileError, match=match):
        thresher.load(path)


@pytest.mark.parametrize("missing", ["rows", "values", "sigma", "factor", "n_rows"])
def test_parts_that_are_missing(missing, tmp_path):
    path, document, _ = saved(tmp_path, "bags")
    fields = {name: part for name, part in fields_of(document).items() if name != missing}
    write(path, with_features(document, prototypes={"value": {"type": "Prototypes", "fields": fields}}))
    with pytest.raises(ModelFileError, match=missing):
        thresher.load(path)


def first(change):
    """A change of the numbers of an array in a document."""
    return lambda array: array | {"values": change(array["values"])}


@pytest.mark.parametrize(
    ("name", "change", "match"),
    [
        ("indptr", first(lambda begins: [1, *begins[1:]]), "is an invalid sparse matrix"),
        ("indptr", first(lambda begins: begins[:-1]), "is an invalid sparse matrix"),
        ("indices", first(lambda columns: [30, *columns[1:]]), "is an invalid sparse matrix"),
        ("data", first(lambda entries: entries[1:]), "is an invalid sparse matrix"),
        ("data", first(lambda entries: ["nan", *entries[1:]]), "contain NaN or infinity"),
        ("shape", lambda shape: [shape[0], 31], "values of the instances have another shape or type"),
        ("type", lambda name: "csc_array", "values of the instances have another shape or type|invalid sparse matrix"),
    ],
)
def test_sparse_rows_that_cannot_be(name, change, match, tmp_path):
    path, document, _ = saved(tmp_path, "bags_sparse")
    rows = fields_of(document)["values"]["sparse"]
    write(path, changed(document, values={"sparse": rows | {name: change(rows[name])}}))
    with pytest.raises(ModelFileError, match=match):
        thresher.load(path)


def test_dense_rows_must_be_finite(tmp_path):
    path, document, _ = saved(tmp_path, "bags")
    held = fields_of(document)["values"]["array"]
    write(path, changed(document, values={"array": held | {"values": ["inf", *held["values"][1:]]}}))
    with pytest.raises(ModelFileError, match="contain NaN or infinity"):
        thresher.load(path)


def test_an_instance_that_is_missing(tmp_path):
    path, document, _ = saved(tmp_path, "bags")
    known, chosen = fitted("bags").fitted_features_.prototypes, int(fitted("bags").selection_.features[0])
    kept = known.rows != chosen
    write(path, changed(document, rows=array(known.rows[kept]), values=array(known.values[kept])))
    with pytest.raises(ModelFileError, match="the fitted features lack a feature of the model or its path"):
        thresher.load(path)


@pytest.mark.parametrize(("kind", "other", "match"), [
    ("bags", "two", "fitted_features are of the kind 'columns', which MILESClassifier cannot have"),
    ("two", "bags", "fitted_features are of the kind 'instances', which FGMClassifier cannot have"),
])  # fmt: skip
def test_only_models_of_bags_have_instances(kind, other, match, tmp_path):
    path, document, _ = saved(tmp_path, kind)
    write(path, document | {"fitted_features": saved(tmp_path, other)[1]["fitted_features"]})
    with pytest.raises(ModelFileError, match=match):
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
