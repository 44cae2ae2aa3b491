"""A fitted estimator as one document, and back: what is written in a model file."""

import platform
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import scipy
import sklearn

from thresher._version import __version__
from thresher.features.polynomial.design import ProductFeatures
from thresher.io.table import Source
from thresher.models import selections
from thresher.models.checks import REQUIRED, Damaged, fields, in_one_line, integer, need, required, shown, string
from thresher.models.expansions import check_covered, get_expansion, put_expansion
from thresher.models.extras import get_extra, put_extra
from thresher.models.formats import MODEL
from thresher.models.instances import check_covered as check_instances
from thresher.models.instances import get_instances, put_instances
from thresher.models.json_text import json_dict
from thresher.models.parameters import get_parameter, put_parameter
from thresher.models.products import check_covered as check_products
from thresher.models.products import get_products, put_products
from thresher.models.registry import KINDS, kind_of
from thresher.models.values import get_classes, get_strings, put_strings, put_typed

MOST_FEATURES = 2**63 - 1
LIBRARIES = ("thresher", "numpy", "scipy", "scikit-learn", "python")
LONG = ("trace", "path", "spread")  # written last, so that a reader finds the rest first
VERSIONS = required(*LIBRARIES)
FINGERPRINT = required("rows", "columns", "digest")
SOURCE = dict(vars(Source()))  # a field that a file lacks has the default of the class
DOCUMENT = required(
    "format", "format_version", "type", "written", "versions", "parameters", "n_features_in", "classes", "names",
    "fitted", "all_names", "named_in_fit", "data", "arrays", "checksum",
) | selections.SELECTION | {"source": {}, "expansion": None, "products": None, "instances": None}  # fmt: skip


@dataclass(frozen=True)
class Model:
    """The content of a model file: the estimator, all column names or None, the source of the data.

    ``document`` is the JSON document in the current format version, whichever version the file has.
    """

    estimator: object
    names: tuple[str, ...] | None
    source: Source
    document: dict


def put_model(writer, estimator, names, source):
    """The document of a fitted estimator, without "arrays" and "checksum"; large arrays go to ``writer``."""
    name, kind = kind_of(estimator)
    selection, names_in = estimator.selection_, getattr(estimator, "feature_names_in_", None)
    names = _checked_names(names, estimator.n_features_in_, names_in)
    if names is not None and not estimator.fitted_features_.named:
        raise ValueError("hashed columns have no names: names must be None")
    parts = selections.put_selection(writer, selection)
    chosen = None if names is None else estimator.fitted_features_.names(selection.features, names.__getitem__)
    try:
        classes = put_typed(writer, "classes", estimator.classes_)
    except TypeError as error:
        raise TypeError(f"classes_: {error}; fit on labels that are numbers, booleans or strings") from error
    given = estimator.get_params(deep=False)
    return {
        **MODEL.head,
        "type": name,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": dict(zip(LIBRARIES, _versions(), strict=True)),
        "parameters": {key: put_parameter(writer, key, value) for key, value in given.items()},
        "n_features_in": int(estimator.n_features_in_),
        "classes": classes,
        "features": parts.pop("features"),
        "names": None if chosen is None else put_strings(writer, "names", chosen),
        **{key: value for key, value in parts.items() if key not in LONG},
        "fitted": {key: put_extra(writer, key, what, estimator) for key, what in kind.extras.items()},
        "expansion": put_expansion(writer, getattr(estimator, "expansion_", None)),
        "products": put_products(writer, selection.products),
        "instances": put_instances(writer, getattr(estimator, "instances_", None)),
        "named_in_fit": names_in is not None,
        "source": _put_source(source),
        "data": getattr(estimator, "fingerprint_", None),
        "arrays": None,
        "checksum": None,
        **{key: parts[key] for key in LONG},
        "all_names": None if names is None else put_strings(writer, "all_names", names),
    }


def _versions():
    return __version__, np.__version__, scipy.__version__, sklearn.__version__, platform.python_version()


def _checked_names(names, n_features, names_in):
    """All column names as a list of strings, or None: those given, else those of the data frame fitted on."""
    if names is None:
        return None if names_in is None else names_in.tolist()
    names = list(names)
    wrong = next((name for name in names if not isinstance(name, str)), None)
    if wrong is not None:
        raise TypeError(f"names must be strings, got {wrong!r}")
    if len(names) != n_features:
        raise ValueError(f"got {len(names)} names, but {n_features} features were seen in fit")
    if names_in is not None and names_in.tolist() != names:
        raise ValueError("names must be equal to feature_names_in_")
    return [str(name) for name in names]


def _put_source(source):
    if not isinstance(source, (Source, type(None))):
        got = type(source).__name__
        raise TypeError(f"source must be a thresher.Source, got {got}; other information can be put into its notes")
    source = Source() if source is None else source
    return vars(source) | {"notes": json_dict(source.notes, "notes of source")}


def _source(value):
    value = fields(value, SOURCE, "source")
    try:
        return Source(**value)
    except (TypeError, ValueError) as error:
        raise Damaged(f"invalid source ({in_one_line(error)})") from error


def get_model(reader, document):
    """(the Model in a document of the current version, parameters that were not saved), validated."""
    document = fields(document, DOCUMENT, "the document")
    name = document["type"]
    need(isinstance(name, str) and name in KINDS, f"unknown type {shown(name)}")
    string(document["written"], "written", 100)
    for key, version in fields(document["versions"], VERSIONS, "versions").items():
        string(version, f"the version of {key}", 100)
    n_features = integer(document["n_features_in"], "n_features_in", 1, MOST_FEATURES)
    classes = get_classes(reader, document["classes"])
    estimator, left_out = _estimator(reader, KINDS[name], document)
    estimator.n_features_in_, estimator.classes_ = n_features, classes
    expansion = get_expansion(reader, document["expansion"], n_features)
    if expansion is not None:
        need(name == "FGMClassifier", f"{name} has no kernel")
        estimator.expansion_ = expansion
    instances = get_instances(reader, document["instances"], n_features)
    need((instances is not None) == KINDS[name].of_bags, f"{name} and its instances do not agree")
    if instances is not None:
        estimator.instances_ = instances
    products = get_products(reader, document["products"], n_features)
    need(products is None or (name == "FGMClassifier" and expansion is None), "it cannot have products")
    try:
        space = estimator.fitted_features_ if products is None else ProductFeatures(n_features, products)
    except ValueError as error:  # kernels of columns that there are not
        raise Damaged(f"its parts are inconsistent ({in_one_line(error)})") from error
    n_classes = classes.size if KINDS[name].linear else 2
    selection = selections.get_selection(reader, document, space.width, n_classes, products)
    need((selection.certificate is not None) == KINDS[name].proven, f"the certificate does not match the type {name}")
    if expansion is not None:
        check_covered(expansion, selection)
    if products is not None:
        check_products(products, selection)
    if instances is not None:
        check_instances(instances, selection)
    names = _names(reader, document, n_features, selection.features, space)
    source = _source(document["source"])
    if document["named_in_fit"]:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    if document["data"] is not None:
        estimator.fingerprint_ = _fingerprint(document["data"], n_features)
    estimator._set_selection(selection)
    try:
        _set_extras(reader, estimator, KINDS[name], document)
    except ValueError as error:
        raise Damaged(f"its parts are inconsistent ({in_one_line(error)})") from error
    reader.check_all_read()
    return Model(estimator, None if names is None else tuple(names), source, document), left_out


def _names(reader, document, n_features, features, space):
    """All column names or None; those of the selected features must agree."""
    named = document["named_in_fit"]
    complete = isinstance(named, bool) and not (named and document["all_names"] is None)
    need(complete, "feature names seen in fit are missing")
    need((document["names"] is None) == (document["all_names"] is None), "names and all_names do not agree")
    if document["all_names"] is None:
        return None
    names = get_strings(reader, document["all_names"], n_features, "all_names")
    need(space.named, "it has names, but hashed columns have none")
    chosen = get_strings(reader, document["names"], features.size, "names")
    need(chosen == space.names(features, names.__getitem__), "names and all_names do not agree")
    return names


def _estimator(reader, kind, document):
    """(estimator with its parameters, parameters that were not saved)."""
    given, known = document["parameters"], kind.cls().get_params(deep=False)
    need(isinstance(given, dict), "parameters must be an object")
    unknown = set(given) - set(known)
    need(not unknown, f"{document['type']} has no parameter {shown(min(unknown, default=''))}")
    left_out, saved = {}, {}
    for key, value in given.items():
        if isinstance(value, dict) and set(value) == {"left_out"}:
            left_out[key] = string(value["left_out"], f"parameter {key}")
        else:
            saved[key] = get_parameter(reader, value, f"parameter {key}")
    estimator = kind.cls(**saved)
    try:
        kind.check(estimator)
    except (TypeError, ValueError) as error:
        raise Damaged(f"invalid parameter ({in_one_line(error)})") from error
    return estimator, left_out


def _set_extras(reader, estimator, kind, document):
    """Set the fitted attributes other than the selection."""
    table = {key: None if key in kind.optional else REQUIRED for key in kind.extras}
    given = fields(document["fitted"], table, "fitted")
    for key, what in kind.extras.items():
        value = given[key]
        if value is not None:
            setattr(estimator, key, get_extra(reader, value, what, key, estimator))
        need(value is not None or key in kind.optional, f"{key} is missing")
    if kind.after is not None:
        kind.after(estimator)


def _fingerprint(value, n_features):
    value = fields(value, FINGERPRINT, "data")
    integer(value["rows"], "rows of the data", 1)
    need(integer(value["columns"], "columns of the data", 1) == n_features, "data and n_features_in do not agree")
    digest = string(value["digest"], "digest of the data", 64)
    need(len(digest) == 64 and set(digest) <= set("0123456789abcdef"), "digest of the data is not a hexadecimal sha256")
    return value
