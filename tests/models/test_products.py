"""Products in model files: what does not fit together is refused."""

import numpy as np
import pytest

import thresher
from tests.models.damage import saved, write
from tests.models.zoo import data_for, fitted
from thresher.errors import ModelFileError
from thresher.features.polynomial.numbers import n_numbers


def changed(document, **parts):
    return document | {"products": document["products"] | parts}


@pytest.mark.parametrize(
    ("parts", "match"),
    [
        ({"columns": [0]}, r"shift of the products has shape \(40,\), expected \(1,\)"),
        ({"factor": []}, "factor of the products has shape"),
        ({"n_candidates": 0}, "n_candidates is 0, not an integer in the allowed range"),
        ({"n_candidates": n_numbers(40) + 1}, "n_candidates is 862, not an integer in the allowed range"),
        ({"n_candidates": 3.5}, "n_candidates is 3.5"),
        ({"n_candidates": 3}, "n_candidates is smaller than the number of features"),
        ({"more": 1}, "products has an unknown field, 'more'"),
        ({"shift": "0"}, "shift of the products"),
    ],
)
def test_parts_that_do_not_fit(parts, match, tmp_path):
    path, document, _ = saved(tmp_path, "products")
    write(path, changed(document, **parts))
    with pytest.raises(ModelFileError, match=match):
        thresher.load(path)


@pytest.mark.parametrize("missing", ["columns", "shift", "factor", "n_candidates"])
def test_parts_that_are_missing(missing, tmp_path):
    path, document, _ = saved(tmp_path, "products")
    write(path, document | {"products": {name: part for name, part in document["products"].items() if name != missing}})
    with pytest.raises(ModelFileError, match=missing):
        thresher.load(path)


@pytest.mark.parametrize(
    ("name", "change", "match"),
    [
        ("columns", lambda columns: columns[::-1], "columns are not sorted and unique"),
        ("columns", lambda columns: [-1, *columns[1:]], "a column of the products is out of range"),
        ("columns", lambda columns: [*columns[:-1], 40], "a column of the products is out of range"),
        ("columns", lambda columns: [columns[0], *columns[:-1]], "columns are not sorted and unique"),
        ("factor", lambda factor: [-1.0, *factor[1:]], "factors of the products must not be negative"),
        ("factor", lambda factor: [None, *factor[1:]], "factor of the products"),
        ("shift", lambda shift: ["nan", *shift[1:]], "shift of the products is 'nan', not a finite number"),
    ],
)
def test_values_that_cannot_be(name, change, match, tmp_path):
    path, document, _ = saved(tmp_path, "products")
    write(path, changed(document, **{name: change(document["products"][name])}))
    with pytest.raises(ModelFileError, match=match):
        thresher.load(path)


def test_a_column_that_is_missing(tmp_path):
    path, document, _ = saved(tmp_path, "products")
    products, chosen = document["products"], int(fitted("products").get_support(indices=True)[0])
    kept = [place for place, column in enumerate(products["columns"]) if column != chosen]
    write(
        path, changed(document, **{name: [products[name][k] for k in kept] for name in ("columns", "shift", "factor")})
    )
    with pytest.raises(ModelFileError, match="the products lack a column"):
        thresher.load(path)


def test_the_constant_is_no_feature(tmp_path):
    path, document, _ = saved(tmp_path, "products")
    write(path, document | {"features": [0, *document["features"][1:]], "spread": None})
    with pytest.raises(ModelFileError, match="the products lack a column"):
        thresher.load(path)


def test_a_file_without_its_products(tmp_path):
    path, document, _ = saved(tmp_path, "products")
    write(path, document | {"products": None})
    with pytest.raises(ModelFileError, match="features must be between 0 and 39"):
        thresher.load(path)


@pytest.mark.parametrize("kind", ["svc", "stream", "grid"])
def test_products_of_other_types_are_refused(kind, tmp_path):
    _, document, _ = saved(tmp_path, "products")
    path, other, _ = saved(tmp_path, kind)
    write(path, other | {"products": document["products"]})
    with pytest.raises(ModelFileError, match="cannot have products"):
        thresher.load(path)


def test_products_of_a_kernel_are_refused(tmp_path):
    _, document, _ = saved(tmp_path, "products")
    path, other, _ = saved(tmp_path, "intersection")
    write(path, other | {"products": document["products"]})
    with pytest.raises(ModelFileError, match="cannot have products"):
        thresher.load(path)


def test_products_that_the_parameters_do_not_ask_for(tmp_path):
    """A model of columns with products, and the other way round: the parameter says what the features are."""
    path, document, _ = saved(tmp_path, "products")
    clf = thresher.load(path)
    assert clf.features == "polynomial"
    write(path, document | {"parameters": document["parameters"] | {"feature_map": "linear"}})
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
