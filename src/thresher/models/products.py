"""What products are made of as a part of a model document, and back."""

import numpy as np

from thresher.features.polynomial.numbers import MOST_INPUTS, Products, n_numbers, pairs_of
from thresher.models.checks import fields, increasing, integer, need, required

PRODUCTS = required("columns", "shift", "factor", "n_candidates")


def put_products(writer, products):
    """Products as a part of a document; None if there are none."""
    if products is None:
        return None
    return {
        "columns": writer.put("products.columns", products.columns, "<i8"),
        "shift": writer.put("products.shift", products.shift, "<f8"),
        "factor": writer.put("products.factor", products.factor, "<f8"),
        "n_candidates": int(products.n_candidates),
    }


def get_products(reader, value, n_columns):
    """The Products that ``put_products`` was given, checked; None if there are none."""
    if value is None:
        return None
    value = fields(value, PRODUCTS, "products")
    need(n_columns <= MOST_INPUTS, "there are too many columns for products")
    columns = increasing(reader.get(value["columns"], "<i8", (None,), "columns of the products"), "their columns")
    need(columns.size == 0 or (columns[0] >= 0 and columns[-1] < n_columns), "a column of the products is out of range")
    names = "shift", "factor"
    shift, factor = (reader.get(value[name], "<f8", columns.shape, f"{name} of the products") for name in names)
    need(bool((factor >= 0.0).all()), "factors of the products must not be negative")
    return Products(columns, shift, factor, integer(value["n_candidates"], "n_candidates", 1, n_numbers(n_columns)))


def check_covered(products, selection):
    """Raise Damaged if a model on the path has a column that is not among those of the products, or is too large."""
    for features in (selection.features, *(station.features for station in selection.path)):
        pairs = pairs_of(features)
        there = bool((features > 0).all()) and bool(np.isin(pairs[pairs >= 0], products.columns).all())
        need(there, "the products lack a column")
        need(features.size <= products.n_candidates, "n_candidates is smaller than the number of features")
