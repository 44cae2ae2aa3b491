"""Constructor parameters in model files of earlier versions, under the names and with the values of this one."""


def with_current_parameters(document):
    """Models, 2 to 3: parameters that had other names or values; see ``CHANGES``."""
    kind, given = document.get("type"), document.get("parameters")
    if not (isinstance(kind, str) and kind in CHANGES and isinstance(given, dict)):
        return document
    return document | {"parameters": CHANGES[kind](given)}


def with_current_attributes(document):
    """Models, 2 to 3: fitted attributes that had other names; see ``ATTRIBUTES``."""
    kind, given = document.get("type"), document.get("fitted")
    if not (isinstance(kind, str) and kind in ATTRIBUTES and isinstance(given, dict)):
        return document
    return document | {"fitted": renamed(given, **ATTRIBUTES[kind])}


def renamed(parameters, **names):
    """The parameters in their order, those in ``names`` (old=new) under their new names."""
    return {names.get(name, name): value for name, value in parameters.items()}


KERNEL_PATH = ("lambda1", "lambda2", "eps", "p_start", "p_end", "step", "divergence", "predictor")


def _alignment_path(parameters):
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


CHANGES = {"AlignmentPathClassifier": _alignment_path}
ATTRIBUTES = {"AlignmentPathClassifier": {"machine_": "svm_"}}
