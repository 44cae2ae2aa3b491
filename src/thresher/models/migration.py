"""Steps from earlier versions of model documents to the next: a typed source; other names, one key for features."""

import functools

from thresher.io.table import Source


def with_typed_source(document):
    """Models, 1 to 2: ``source``, a dict of anything, becomes the fields of a ``Source``, the rest its ``notes``."""
    source = document.get("source")
    if not isinstance(source, dict):
        return document
    known = {key: value for key, value in source.items() if key != "notes" and Source.takes(key, value)}
    rest = {key: value for key, value in source.items() if key not in known}
    return document | {"source": known | {"notes": rest}}


def with_features_and_target(document):
    """Models, 2 to 3; a document that is not understood is returned as it is, and rejected when fields are checked."""
    try:
        return _migrated(document)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return document


def _migrated(document):
    new, kind = dict(document), document["type"]
    new["parameters"] = CHANGES.get(kind, dict)(document["parameters"])
    new["fitted"] = FITTED.get(kind, dict)(document["fitted"])
    new["target"] = {"kind": "classes", "classes": new.pop("classes")}
    new["fitted_features"] = _features_state(new)
    turns = renamed(document["trace"]["turns"], planes="cuts")
    new["trace"] = document["trace"] | {"turns": turns}
    return new


def renamed(parameters, **names):
    """The parameters in their order, those in ``names`` (old=new) under their new names."""
    return {names.get(name, name): value for name, value in parameters.items()}


def _sparse_svm_parameters(parameters):
    """``gamma`` is ``smoothing``; with an intercept "iss" tested nothing, and is no longer accepted."""
    parameters = renamed(parameters, gamma="smoothing")
    if parameters.get("screening") == "iss" and parameters.get("fit_intercept", True):
        parameters["screening"] = None
    return parameters


EARLIER_DEFAULTS = {"C": None, "elimination": True}
VALUES = (("feature_map", "linear", "columns"), ("per_class", "shared", False), ("per_class", "per_class", True))


def _fgm_parameters(parameters):
    """``features``, ``support`` and ``overshoot`` have other names and values; ``inner_tol`` is no parameter."""
    parameters = renamed(parameters, features="feature_map", support="per_class", overshoot="n_candidates")
    parameters.pop("inner_tol", None)
    for name, old, new in VALUES:
        if parameters.get(name, ...) == old:
            parameters[name] = new
    factor = parameters.get("n_candidates", "auto")
    if type(factor) is int:  # an integer is a number of features now
        parameters["n_candidates"] = float(factor)
    parameters = EARLIER_DEFAULTS | parameters
    return parameters | ({"elimination": False, "n_candidates": "auto"} if factor is None else {})


KERNEL_PATH = ("lambda1", "lambda2", "eps", "p_start", "p_end", "step", "divergence", "predictor")


def _alignment_parameters(parameters):
    """Eight parameters are the fields of ``path``, a KernelPath; ``keep`` is ``store_training_columns``."""
    fields = {name: value for name, value in parameters.items() if name in KERNEL_PATH}
    parameters = {name: value for name, value in parameters.items() if name not in KERNEL_PATH}
    left_out = [value["left_out"] for value in fields.values() if isinstance(value, dict) and "left_out" in value]
    if left_out:
        others = [f"{name}={value!r}" for name, value in fields.items() if not isinstance(value, dict)]
        parameters["path"] = {"left_out": f"KernelPath({', '.join([*map(str, left_out), *others])})"[:200]}
    elif fields:
        parameters["path"] = {"value": {"type": "KernelPath", "fields": fields}}
    if parameters.get("keep") in ("path", "support"):
        parameters["keep"] = parameters["keep"] == "path"
    return renamed(parameters, keep="store_training_columns")


def _with_cv_results(fitted, tried):
    """``Cs_``, ``sigmas_`` and ``scores_`` are ``cv_results_``."""
    fitted = dict(fitted)
    axes = [{name.removesuffix("s_"): fitted.pop(name, None)} for name in tried]
    scores = fitted.pop("scores_", None)
    return fitted if scores is None else fitted | {"cv_results_": {"axes": axes, "scores": scores}}


CHANGES = {
    "SparseSVC": _sparse_svm_parameters, "SparseSVCPath": _sparse_svm_parameters, "FGMClassifier": _fgm_parameters,
    "MILESClassifier": _fgm_parameters,
    "AlignmentPathClassifier": _alignment_parameters,
}  # fmt: skip
FITTED = {
    "FGMClassifier": functools.partial(_with_cv_results, tried=["Cs_"]),
    "MILESClassifier": functools.partial(_with_cv_results, tried=["sigmas_", "Cs_"]),
    "AlignmentPathClassifier": functools.partial(renamed, machine_="svm_"),
}


def _features_state(document):
    """What was ``expansion``, ``products`` or ``instances``, and ``spread`` and ``labels``, which are taken out."""
    parts = {name: document.pop(name, None) for name in (*MADE, "labels", "spread")}
    if document["type"] in ("StreamClassifier", "AlignmentPathClassifier"):
        if any(part is not None for part in parts.values()):
            raise ValueError("their features follow from the parameters")
        return None
    state = {"kind": "columns", "n_candidates": None}
    if document["type"] == "FGMClassifier":
        state["n_candidates"] = document["n_features_in"] - _n_excluded(document["parameters"].get("exclude"))
    for name, state_of_kind in MADE.items():
        if parts[name] is not None:
            state |= state_of_kind(dict(parts[name]))
    if parts["labels"] is not None:
        parts["labels"] = dict(parts["labels"])
        n_groups = parts["labels"].pop("n_candidates")
        if parts["labels"].get("noun", "group") == "group":
            state["n_candidates"] = n_groups
    return state | {"labels": parts["labels"], "spread": parts["spread"]}


def _n_excluded(exclude):
    """How many columns ``exclude`` names: one, or those of a list or array, which is not read if it is in an .npz."""
    if isinstance(exclude, dict):
        (exclude,) = exclude.values()
    entries = exclude["values"] if isinstance(exclude, dict) else exclude
    if isinstance(entries, dict):
        begins = entries.get("begins", entries)  # strings have one more, the end
        count = begins["shape"][0] if isinstance(begins, dict) else len(begins)
        return count - ("begins" in entries)
    return len(set(entries)) if isinstance(entries, list) else int(entries is not None)


def _inputs_state(part):
    """Numbers that a kernel makes of columns."""
    maps = {name: _array_value(part.pop(name), "<f8") for name in ("factor", "centre", "largest")}
    edges = part.pop("edges", None)
    if isinstance(edges, list):
        if any(len(row) != part["size"] + 1 for row in edges):
            raise ValueError("rows of edges have other lengths")
        flat = [entry for row in edges for entry in row]
        maps["edges"] = _array_value(flat, "<f8", shape=[len(edges), part["size"] + 1])
    elif edges is not None:  # in the .npz
        maps["edges"] = _array_value(edges, "<f8", shape=edges["shape"])
    known = _array_value(part.pop("columns"), "<i8")
    return {"kind": "inputs", "known": known, "maps": {"value": {"type": "Inputs", "fields": maps}}, **part}


def _products_state(part):
    """Products of columns."""
    part["known"] = _array_value(part.pop("columns"), "<i8")
    arrays = {name: _array_value(part[name], "<f8") for name in ("shift", "factor")}
    return part | arrays | {"kind": "products", "n_candidates": part["n_candidates"]}


def _instances_state(part):
    """Training instances."""
    n_candidates = part.pop("n_candidates")
    part["rows"] = _array_value(part["rows"], "<i8")
    if part.get("factor") is not None:
        part["factor"] = _array_value(part["factor"], "<f8")
    prototypes = {"value": {"type": "Prototypes", "fields": part}}
    return {"kind": "instances", "n_candidates": n_candidates, "prototypes": prototypes}


MADE = {"expansion": _inputs_state, "products": _products_state, "instances": _instances_state}


def _array_value(values, dtype, **shape):
    """An array, whose entries are a list or in the .npz, in the form of a parameter."""
    return {"array": {"dtype": dtype, "values": values} | shape}
