"""Model documents of version 2 as those of version 3: other names of parameters, one key for features, one for y.

What is not understood is left unchanged, under its old key, and so rejected when fields are checked.
"""


def with_features_and_target(document):
    """Models, 2 to 3: every part that changed."""
    for step in (with_current_parameters, with_cv_results, with_target, with_fitted_features):
        document = step(document)
    return document


def with_current_parameters(document):
    """Parameters that had other names or values; see ``CHANGES``."""
    kind, given = document.get("type"), document.get("parameters")
    if not (isinstance(kind, str) and kind in CHANGES and isinstance(given, dict)):
        return document
    return document | {"parameters": CHANGES[kind](given)}


def renamed(parameters, **names):
    """The parameters in their order, those in ``names`` (old=new) under their new names."""
    return {names.get(name, name): value for name, value in parameters.items()}


def _sparse_svm(parameters):
    """``gamma`` is ``smoothing``; with an intercept "iss" tested nothing, and is no longer accepted."""
    parameters = renamed(parameters, gamma="smoothing")
    if parameters.get("screening") == "iss" and parameters.get("fit_intercept", True):
        parameters["screening"] = None
    return parameters


def _fgm(parameters):
    """``features``, ``support`` and ``overshoot`` have other names and values; ``inner_tol`` is no parameter."""
    parameters = renamed(parameters, features="feature_map", support="per_class", overshoot="n_candidates")
    parameters.pop("inner_tol", None)
    if parameters.get("feature_map") == "linear":
        parameters["feature_map"] = "columns"
    if parameters.get("per_class") in ("shared", "per_class"):
        parameters["per_class"] = parameters["per_class"] == "per_class"
    candidates = parameters.get("n_candidates", "auto")
    parameters["elimination"] = candidates is not None
    if candidates is None:
        del parameters["n_candidates"]
    elif type(candidates) is int:  # a factor, where an integer is a number of features now
        parameters["n_candidates"] = float(candidates)
    return parameters


CHANGES = {
    "SparseSVC": _sparse_svm, "SparseSVCPath": _sparse_svm, "FGMClassifier": _fgm, "MILESClassifier": _fgm,
}  # fmt: skip


def with_cv_results(document):
    """``Cs_``, ``sigmas_`` and ``scores_`` are ``cv_results_``."""
    fitted = document.get("fitted")
    tried = {"FGMClassifier": ["Cs_"], "MILESClassifier": ["sigmas_", "Cs_"]}.get(str(document.get("type")))
    if tried is None or not isinstance(fitted, dict):
        return document
    old = {name: fitted.get(name) for name in (*tried, "scores_")}
    rest = {name: part for name, part in fitted.items() if name not in old}
    if None not in old.values():
        axes = [{name.removesuffix("s_"): old[name]} for name in tried]
        rest["cv_results_"] = {"axes": axes, "scores": old["scores_"]}
    elif any(part is not None for part in old.values()):
        return document
    return document | {"fitted": rest}


def with_target(document):
    """``classes`` are the labels of ``target``."""
    if "classes" not in document:
        return document
    rest = {name: part for name, part in document.items() if name != "classes"}
    return rest | {"target": {"kind": "classes", "classes": document["classes"]}}


def with_fitted_features(document):
    """``expansion``, ``products``, ``instances``, ``spread`` and ``labels`` are parts of ``fitted_features``."""
    old = {name: document.get(name) for name in (*MADE, "spread", "labels")}
    rest = {name: part for name, part in document.items() if name not in old}
    made = [name for name in MADE if old[name] is not None]
    if document.get("type") in ("StreamClassifier", "AlignmentPathClassifier"):
        known = any(part is not None for part in old.values())
        return document if known else rest | {"fitted_features": None}
    fitted = _columns(document) if not made else MADE[made[0]](document, old[made[0]])
    labels = _labels(old["labels"])
    if len(made) > 1 or fitted is None or (labels is None) != (old["labels"] is None):
        return document
    if labels is not None and labels.get("noun", "group") == "group":
        fitted["n_candidates"] = old["labels"]["n_candidates"]
    return rest | {"fitted_features": fitted | {"labels": labels, "spread": old["spread"]}}


def _has(part, *names, **defaults):
    """Whether a part of a document is an object with these fields, and perhaps some of ``defaults``."""
    return isinstance(part, dict) and set(names) <= set(part) <= {*names, *defaults}


def _labels(part):
    """Labels without the number of candidates, which is that of the features."""
    if not _has(part, "units", "labels", "n_candidates", noun="group"):
        return None
    return {name: value for name, value in part.items() if name != "n_candidates"}


def _columns(document):
    """Columns of X; all but those that ``exclude`` names could be selected."""
    return {"kind": "columns", "n_candidates": _n_candidates(document)}


def _n_candidates(document):
    """How many columns could be selected; None: that is not known, or all."""
    n_columns, parameters = document.get("n_features_in"), document.get("parameters")
    if document.get("type") != "FGMClassifier" or type(n_columns) is not int or not isinstance(parameters, dict):
        return None
    return n_columns - _n_distinct(parameters.get("exclude"))


def _n_distinct(value):
    """How many different entries a list or an array in the form of a parameter has; of one in an .npz, all."""
    if isinstance(value, list):
        return len(set(map(str, value)))
    if not isinstance(value, dict):
        return 0 if value is None else 1
    if "npz" in value and isinstance(value.get("shape"), list):
        return next((length for length in value["shape"] if type(length) is int), 0)
    if "begins" in value:
        return max(0, _n_distinct(value["begins"]) - 1)
    return next((_n_distinct(value[name]) for name in ("array", "list", "tuple", "values") if name in value), 0)


def _inputs(document, part):
    """Numbers that a kernel makes of columns."""
    if not _has(part, "kernel", "size", "columns", "factor", "centre", "largest", edges=None):
        return None
    maps = {name: _array(part[name], "<f8") for name in ("factor", "centre", "largest")}
    maps["edges"] = _table(part.get("edges"), part["size"])
    return {
        "kind": "inputs",
        "n_candidates": _n_candidates(document),
        "kernel": part["kernel"],
        "size": part["size"],
        "known": _array(part["columns"], "<i8"),
        "maps": {"value": {"type": "Inputs", "fields": maps}},
    }


def _products(document, part):
    """Products of columns."""
    if not _has(part, "columns", "shift", "factor", "n_candidates"):
        return None
    own = {"known": ("columns", "<i8"), "shift": ("shift", "<f8"), "factor": ("factor", "<f8")}
    arrays = {name: _array(part[old], dtype) for name, (old, dtype) in own.items()}
    return {"kind": "products", "n_candidates": part["n_candidates"], **arrays}


def _instances(document, part):
    """Training instances."""
    if not _has(part, "rows", "values", "sigma", "n_rows", "n_candidates", factor=None, n_bags=None):
        return None
    given = {name: value for name, value in part.items() if name != "n_candidates"}
    given["rows"] = _array(part["rows"], "<i8")
    if part.get("factor") is not None:
        given["factor"] = _array(part["factor"], "<f8")
    prototypes = {"value": {"type": "Prototypes", "fields": given}}
    return {"kind": "instances", "n_candidates": part["n_candidates"], "prototypes": prototypes}


MADE = {"expansion": _inputs, "products": _products, "instances": _instances}


def _array(values, dtype):
    """A vector, which is a list or in an .npz, in the form of a parameter."""
    return {"array": {"dtype": dtype, "values": values}}


def _table(values, size):
    """A matrix of float64 with ``size`` + 1 columns in the same form; None if there is none."""
    shape = values.get("shape") if isinstance(values, dict) else None
    if isinstance(values, list) and all(isinstance(row, list) and len(row) == size + 1 for row in values):
        shape = [len(values), size + 1]
        values = [entry for row in values for entry in row]
    return None if values is None else {"array": {"dtype": "<f8", "shape": shape, "values": values}}
