"""Constructor parameters in model files of earlier versions, under the names and with the values of this one."""


def with_current_parameters(document):
    """Models, 2 to 3: parameters that had other names or values; see ``CHANGES``."""
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


CHANGES = {"SparseSVC": _sparse_svm, "SparseSVCPath": _sparse_svm}
