"""The training instances of a model as a part of a document, and back."""

import numpy as np
from scipy import sparse

from thresher.data.prototypes import Prototypes
from thresher.models.checks import fields, increasing, integer, need, real, required

INSTANCES = required("rows", "sigma", "n_rows", "n_candidates") | {"values": None, "sparse": None, "factor": None}
PARTS = {"begins": "<i8", "columns": "<i8", "entries": "<f8"}  # of sparse rows
MOST_ROWS = 2**48


def put_instances(writer, instances):
    """Prototypes as a part of a document; None if there are none."""
    if instances is None:
        return None
    values = instances.values
    dense = None if sparse.issparse(values) else writer.put("instances.values", values, "<f8")
    return {
        "rows": writer.put("instances.rows", instances.rows, "<i8"),
        "sigma": float(instances.sigma),
        "n_rows": int(instances.n_rows),
        "n_candidates": int(instances.n_candidates),
        "factor": None if instances.factor is None else writer.put("instances.factor", instances.factor, "<f8"),
        "values": dense,
        "sparse": _put_sparse(writer, values) if dense is None else None,
    }


def _put_sparse(writer, values):
    arrays = zip(PARTS.items(), (values.indptr, values.indices, values.data), strict=True)
    return {name: writer.put(f"instances.{name}", array, dtype) for (name, dtype), array in arrays}


def get_instances(reader, value, n_columns):
    """The Prototypes that ``put_instances`` was given, checked; None if there are none."""
    if value is None:
        return None
    value = fields(value, INSTANCES, "instances")
    n_rows = integer(value["n_rows"], "n_rows of the instances", 1, MOST_ROWS)
    n_candidates = integer(value["n_candidates"], "n_candidates of the instances", 1, n_rows)
    sigma = real(value["sigma"], "sigma of the instances")
    need(sigma > 0.0, "sigma of the instances must be positive")
    rows = increasing(reader.get(value["rows"], "<i8", (None,), "rows of the instances"), "rows of the instances")
    need(rows.size == 0 or (rows[0] >= 0 and rows[-1] < n_rows), "a row of the instances is out of range")
    need(rows.size <= n_candidates, "n_candidates is smaller than the number of instances")
    need((value["values"] is None) != (value["sparse"] is None), "values of the instances must be there once")
    if value["sparse"] is None:
        values = reader.get(value["values"], "<f8", (rows.size, n_columns), "values of the instances")
    else:
        values = _sparse(reader, value["sparse"], rows.size, n_columns)
    factor = None
    if value["factor"] is not None:
        factor = reader.get(value["factor"], "<f8", (n_columns,), "factor of the instances")
        need(bool((factor >= 0.0).all()), "factors of the instances must not be negative")
    return Prototypes(rows, values, sigma, factor, n_rows, n_candidates)


def _sparse(reader, value, count, n_columns):
    value = fields(value, required(*PARTS), "sparse values of the instances")
    begins = reader.get(value["begins"], "<i8", (count + 1,), "begins of the instances")
    columns = reader.get(value["columns"], "<i8", (None,), "columns of the instances")
    entries = reader.get(value["entries"], "<f8", columns.shape, "entries of the instances")
    covered = begins[0] == 0 and begins[-1] == columns.size and bool((begins[1:] >= begins[:-1]).all())
    need(covered, "begins of the instances do not cover their entries")
    inside = columns.size == 0 or (columns.min() >= 0 and columns.max() < n_columns)
    need(bool(inside), "a column of the instances is out of range")
    rising = np.ones(max(columns.size - 1, 0), dtype=bool)
    rising[begins[1:-1][(begins[1:-1] > 0) & (begins[1:-1] < columns.size)] - 1] = False
    need(bool((columns[1:] > columns[:-1])[rising].all()), "columns of an instance are not sorted and unique")
    return sparse.csr_array((entries, columns, begins), shape=(count, n_columns))


def check_covered(instances, selection):
    """Raise Damaged if a model on the path needs an instance that is not there."""
    for features in (selection.features, *(station.features for station in selection.path)):
        need(bool(np.isin(features, instances.rows).all()), "an instance of the model is missing")
