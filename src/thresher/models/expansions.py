"""The maps of a kernel as a part of a model document, and back."""

import numpy as np

from thresher.features.additive.design import Expansion
from thresher.features.additive.maps import Inputs, maps_of
from thresher.features.additive.spec import Kernel
from thresher.models.checks import fields, increasing, integer, need, required
from thresher.models.parameters import get_parameter, put_parameter

MOST_FEATURES = 2**63 - 1
PER_INPUT = ("factor", "centre", "largest")
EXPANSION = required("kernel", "size", "columns", *PER_INPUT) | {"edges": None}


def put_expansion(writer, expansion):
    """An Expansion as a part of a document; None if there is none."""
    if expansion is None:
        return None
    inputs = expansion.inputs
    return {
        "kernel": put_parameter(writer, "expansion.kernel", expansion.kernel),
        "size": int(expansion.size),
        "columns": writer.put("expansion.columns", expansion.columns, "<i8"),
        **{name: writer.put(f"expansion.{name}", getattr(inputs, name), "<f8") for name in PER_INPUT},
        "edges": None if inputs.edges is None else writer.put("expansion.edges", inputs.edges, "<f8"),
    }


def get_expansion(reader, value, n_columns):
    """The Expansion that ``put_expansion`` was given, checked; None if there is none."""
    if value is None:
        return None
    value = fields(value, EXPANSION, "expansion")
    kernel = get_parameter(reader, value["kernel"], "the kernel")
    need(isinstance(kernel, Kernel), "the kernel of the expansion is none")
    size = integer(value["size"], "size of the expansion", 1)
    need(n_columns * size <= MOST_FEATURES, "the expansion has too many features")
    need(size in maps_of(kernel).sizes(), f"size {size} of the expansion does not match its kernel")
    columns = increasing(reader.get(value["columns"], "<i8", (None,), "columns of the expansion"), "its columns")
    inside = columns.size == 0 or (columns[0] >= 0 and columns[-1] < n_columns)
    need(inside, "a column of the expansion is out of range")
    parts = {name: reader.get(value[name], "<f8", columns.shape, f"{name} of the expansion") for name in PER_INPUT}
    positive = all(bool((parts[name] >= 0.0).all()) for name in ("factor", "largest"))
    need(positive, "factor and largest of the expansion must not be negative")
    edges = None
    if value["edges"] is not None:
        edges = reader.get(value["edges"], "<f8", (columns.size, size + 1), "edges of the expansion")
        rising = bool((edges[:, 0] == 0.0).all()) and bool((np.diff(edges, axis=1) >= 0.0).all())
        need(rising, "edges of the expansion must begin at 0 and not decrease")
    return Expansion(kernel, size, columns, Inputs(**parts, edges=edges))


def check_covered(expansion, selection):
    """Raise Damaged if a model on the path needs an input that the expansion lacks."""
    for features in (selection.features, *(station.features for station in selection.path)):
        need(bool(np.isin(features // expansion.size, expansion.columns).all()), "the expansion lacks an input")
