"""The training instances of a model as a part of a document, and back."""

import numpy as np

from thresher.errors import InvalidDataError
from thresher.features.instances.prototypes import Prototypes, checked_values
from thresher.models.checks import Damaged, fields, in_one_line, increasing, integer, need, real, required
from thresher.models.parameters import get_parameter, put_parameter

INSTANCES = required("rows", "values", "sigma", "n_rows", "n_candidates") | {"factor": None, "n_bags": None}
MOST_ROWS = 2**48


def put_instances(writer, instances):
    """Prototypes as a part of a document; None if there are none."""
    if instances is None:
        return None
    return {
        "rows": writer.put("instances.rows", instances.rows, "<i8"),
        "sigma": float(instances.sigma),
        "n_rows": int(instances.n_rows),
        "n_candidates": int(instances.n_candidates),
        "n_bags": None if instances.n_bags is None else int(instances.n_bags),
        "factor": None if instances.factor is None else writer.put("instances.factor", instances.factor, "<f8"),
        "values": put_parameter(writer, "instances", instances.values),
    }


def get_instances(reader, value, n_columns):
    """The Prototypes that ``put_instances`` was given, checked; None if there are none."""
    if value is None:
        return None
    value = fields(value, INSTANCES, "instances")
    n_rows = integer(value["n_rows"], "n_rows of the instances", 1, MOST_ROWS)
    n_candidates = integer(value["n_candidates"], "n_candidates of the instances", 1, n_rows)
    n_bags = value["n_bags"]
    if n_bags is not None:
        n_bags = integer(n_bags, "n_bags of the instances", 1, n_rows)
    sigma = real(value["sigma"], "sigma of the instances")
    need(sigma > 0.0, "sigma of the instances must be positive")
    rows = increasing(reader.get(value["rows"], "<i8", (None,), "rows of the instances"), "rows of the instances")
    need(rows.size == 0 or (rows[0] >= 0 and rows[-1] < n_rows), "a row of the instances is out of range")
    need(rows.size <= n_candidates, "n_candidates is smaller than the number of instances")
    try:
        values = checked_values(get_parameter(reader, value["values"], "the instances"), (rows.size, n_columns))
    except InvalidDataError as error:
        raise Damaged(f"values of the instances are invalid ({in_one_line(error)})") from error
    factor = None
    if value["factor"] is not None:
        factor = reader.get(value["factor"], "<f8", (n_columns,), "factor of the instances")
        need(bool((factor >= 0.0).all()), "factors of the instances must not be negative")
    return Prototypes(rows, values, sigma, factor, n_rows, n_candidates, n_bags)


def check_covered(instances, selection):
    """Raise Damaged if a model on the path needs an instance that is not there."""
    for features in (selection.features, *(station.features for station in selection.path)):
        need(bool(np.isin(features, instances.rows).all()), "an instance of the model is missing")
