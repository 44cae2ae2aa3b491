"""Products in model files: what does not fit together is refused."""

import numpy as np
import pytest

import thresher
from tests.models.damage import array, saved, with_features, write
from tests.models.zoo import data_for, fitted
from thresher.errors import ModelFileError
from thresher.features.polynomial.terms import n_numbers


@pytest.mark.parametrize(
    ("parts", "match"),
    [
        ({"known": array([0])}, r"shift of the products is not an array of numbers of shape \(1,\)"),
        ({"factor": []}, "factor of the products is not an array of numbers"),
        ({"n_candidates": 0}, "n_candidates is 0, not an integer in the allowed range"),
        ({"n_candidates": n_numbers(40) + 1}, "n_candidates is 862, not an integer in the allowed range"),
        ({"n_candidates": 3.5}, "n_candidates is 3.5"),
        ({"n_candidates": 3}, "n_candidates is smaller than the number of features"),
        ({"more": 1}, "fitted_features has an unknown field, 'more'"),
        ({"shift": "0"}, "shift of the products is not an array of numbers"),
        ({"kind": "terms"}, "unknown kind 'terms' of fitted_features;"),
        ({"kind": ["products"]}, "the kind of fitted_features is"),
        ({"kind": "pairs.of.Terms"}, "'pairs.of.Terms' of fitted_features; if .* import the module that defines it"),
        ({"kind": "thresher.features.fitted.FittedFeatures"}, "fitted_features has an unknown field"),
    ],
)
def test_parts_that_do_not_fit(parts, match, tmp_path):
    path, document, _ = saved(tmp_path, "products")
    write(path, with_features(document, **parts))
    with pytest.raises(ModelFileError, match=match):
        thresher.load(path)


@pytest.mark.parametrize("missing", ["kind", "known", "shift", "factor"])
def test_parts_that_are_missing(missing, tmp_path):
    path, document, _ = saved(tmp_path, "products")
    kept = {name: part for name, part in document["fitted_features"].items() if name != missing}
    write(path, document | {"fitted_features": kept})
    with pytest.raises(ModelFileError, match=missing):
        thresher.load(path)


@pytest.mark.parametrize(
    ("name", "change", "match"),
    [
        ("known", lambda columns: columns[::-1], "columns of the products are not sorted and unique"),
        ("known", lambda columns: [-1, *columns[1:]], "columns of the products must be between 0 and 39"),
        ("known", lambda columns: [*columns[:-1], 40], "columns of the products must be between 0 and 39"),
        ("known", lambda columns: [columns[0], *columns[:-1]], "columns of the products are not sorted and unique"),
        ("factor", lambda factor: [-1.0, *factor[1:]], "factor of the products contains a number below 0"),
        ("factor", lambda factor: [None, *factor[1:]], "factor of fitted_features is None, not a finite number"),
        ("shift", lambda shift: ["nan", *shift[1:]], "shift of the products contains NaN or infinity"),
    ],
)
def test_values_that_cannot_be(name, change, match, tmp_path):
    path, document, _ = saved(tmp_path, "products")
    held = document["fitted_features"][name]["array"]
    write(path, with_features(document, **{name: {"array": held | {"values": change(held["values"])}}}))
    with pytest.raises(ModelFileError, match=match):
        thresher.load(path)


def test_a_column_that_is_missing(tmp_path):
    path, document, _ = saved(tmp_path, "products")
    features, chosen = fitted("products").fitted_features_, int(fitted("products").get_support(indices=True)[0])
    kept = features.known != chosen
    parts = {name: array(getattr(features, name)[kept]) for name in ("known", "shift", "factor")}
    write(path, with_features(document, **parts))
    with pytest.raises(ModelFileError, match="the fitted features lack a feature of the model or its path"):
        thresher.load(path)


def test_the_constant_is_no_feature(tmp_path):
    path, document, _ = saved(tmp_path, "products")
    write(path, with_features(document, spread=None) | {"features": [0, *document["features"][1:]]})
    with pytest.raises(ModelFileError, match="the fitted features lack a feature of the model or its path"):
        thresher.load(path)


def test_a_file_without_its_products(tmp_path):
    path, document, _ = saved(tmp_path, "products")
    write(path, document | {"fitted_features": {"kind": "columns"}})
    with pytest.raises(ModelFileError, match="features must be between 0 and 39"):
        thresher.load(path)


@pytest.mark.parametrize("kind", ["svc", "stream", "grid", "kernels_units", "bags"])
def test_products_of_other_types_are_refused(kind, tmp_path):
    _, document, _ = saved(tmp_path, "products")
    path, other, _ = saved(tmp_path, kind)
    write(path, other | {"fitted_features": document["fitted_features"]})
    with pytest.raises(ModelFileError, match=r"are of the kind 'products', which \w+ cannot have"):
        thresher.load(path)


def test_products_with_parts_of_a_kernel_are_refused(tmp_path):
    _, document, _ = saved(tmp_path, "intersection")
    path, other, _ = saved(tmp_path, "products")
    write(path, with_features(other, maps=document["fitted_features"]["maps"]))
    with pytest.raises(ModelFileError, match="fitted_features has an unknown field, 'maps'"):
        thresher.load(path)


def test_products_that_the_parameters_do_not_ask_for(tmp_path):
    """A model of columns with products, and the other way round: the parameter says what the features are."""
    path, document, _ = saved(tmp_path, "products")
    clf = thresher.load(path)
    assert clf.feature_map == "polynomial"
    write(path, document | {"parameters": document["parameters"] | {"feature_map": "columns"}})
    loaded = thresher.load(path)  # refitting would select columns; predictions are those of the file
    np.testing.assert_array_equal(
        loaded.decision_function(data_for("products")), clf.decision_function(data_for("products"))
    )


@pytest.mark.parametrize("kind", ["products", "interactions", "product_names"])
@pytest.mark.parametrize("limit", [0, 10**9])
def test_a_file_is_the_model_and_needs_no_training_data(kind, limit, tmp_path):
    path, *_ = saved(tmp_path, kind, limit)
    A = data_for(kind)
    loaded = thresher.load(path)
    np.testing.assert_array_equal(loaded.decision_function(A), fitted(kind).decision_function(A))
    np.testing.assert_array_equal(loaded.selection_.pairs, fitted(kind).selection_.pairs)
    assert loaded.get_feature_names_out().tolist() == fitted(kind).get_feature_names_out().tolist()
    assert loaded.proof() == fitted(kind).proof()
