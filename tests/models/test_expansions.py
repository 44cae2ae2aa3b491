"""Maps of kernels in model files: what does not fit together is refused."""

import numpy as np
import pytest

import thresher
from tests.models.damage import array, saved, with_features, write
from tests.models.zoo import data_for, fitted
from thresher.errors import ModelFileError


def with_maps(document, **parts):
    """The document with other parts of the maps."""
    fields = document["fitted_features"]["maps"]["value"]["fields"] | parts
    return with_features(document, maps={"value": {"type": "Inputs", "fields": fields}})


@pytest.mark.parametrize(
    ("parts", "match"),
    [
        ({"size": 9}, "size 9 of the inputs does not match their kernel"),
        ({"size": 7}, "names|features|units|inputs"),
        ({"size": "8"}, "size of the inputs is '8', not an integer"),
        ({"kernel": {"value": {"type": "AdditiveChi2", "fields": {}}}}, "size 8 of the inputs does not match"),
        ({"kernel": {"value": {"type": "Groups", "fields": {"of": [0]}}}}, "fitted_features are invalid .*'Groups'"),
        ({"kernel": "intersection"}, "fitted_features are invalid .*'str'"),
        ({"known": array([0])}, "factor of the inputs"),
        ({"known": [0]}, "columns of the inputs are not a list of integers"),
        ({"known": array([0.0])}, "columns of the inputs are not a list of integers"),
        ({"maps": None}, "the maps of the inputs are missing"),
        ({"maps": {"value": {"type": "Groups", "fields": {"of": [0]}}}}, "the maps of the inputs are missing"),
        ({"kind": "products"}, "fitted_features is missing the field 'factor'"),
        ({"more": 1}, "fitted_features has an unknown field, 'more'"),
    ],
)
def test_parts_that_do_not_fit(parts, match, tmp_path):
    path, document, _ = saved(tmp_path, "intersection")
    write(path, with_features(document, **parts))
    with pytest.raises(ModelFileError, match=match):
        thresher.load(path)


@pytest.mark.parametrize(
    ("parts", "match"),
    [
        ({"factor": array([-1.0] * 24)}, "factor of the inputs contains a number below 0"),
        ({"largest": array([-1.0] * 24)}, "largest of the inputs contains a number below 0"),
        ({"centre": array([np.inf] * 24)}, "centre of the inputs contains NaN or infinity"),
        ({"centre": array([1] * 24)}, "centre of the inputs is not an array of numbers"),
        ({"centre": "x"}, "centre of the inputs is not an array of numbers"),
        ({"factor": array([1.0])}, r"factor of the inputs is not an array of numbers of shape \(24,\)"),
        ({"edges": array([1.0])}, r"edges of the inputs is not an array of numbers of shape \(24, 9\)"),
        ({"edges": array(np.ones((24, 9)))}, "edges of the inputs must begin at 0 and not decrease"),
        ({"edges": array(-np.arange(216.0).reshape(24, 9) % 9)}, "edges of the inputs must begin at 0"),
        ({"more": 1}, "has an unknown field, 'more'"),
    ],
)
def test_maps_that_cannot_be(parts, match, tmp_path):
    path, document, _ = saved(tmp_path, "intersection")
    write(path, with_maps(document, **parts))
    with pytest.raises(ModelFileError, match=match):
        thresher.load(path)


def test_an_input_that_is_missing(tmp_path):
    path, document, _ = saved(tmp_path, "intersection")
    features, chosen = fitted("intersection").fitted_features_, int(fitted("intersection").selection_.groups[0])
    kept = features.known != chosen
    short = {name: array(getattr(features.maps, name)[kept]) for name in ("factor", "centre", "largest")}
    write(path, with_features(with_maps(document, **short), known=array(features.known[kept])))
    with pytest.raises(ModelFileError, match="the fitted features lack a feature of the model or its path"):
        thresher.load(path)


def test_a_file_without_its_features(tmp_path):
    path, document, _ = saved(tmp_path, "intersection")
    write(path, document | {"fitted_features": None})
    with pytest.raises(ModelFileError, match="fitted_features are null, which FGMClassifier cannot have"):
        thresher.load(path)
    write(path, document | {"fitted_features": {"kind": "columns"}})
    with pytest.raises(ModelFileError, match="features must be between 0 and 39"):
        thresher.load(path)


def test_a_file_is_the_model_and_needs_no_training_data(tmp_path):
    for kind in ("intersection", "exact", "chi2", "gaussian"):
        path, *_ = saved(tmp_path, kind)
        A = data_for(kind)
        np.testing.assert_array_equal(thresher.load(path).decision_function(A), fitted(kind).decision_function(A))
