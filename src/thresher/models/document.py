"""A fitted estimator as one document, and back: what is written in a model file."""

import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.utils.validation import check_is_fitted

from thresher._version import __version__
from thresher.estimators.alignment.classifier import AlignmentPathClassifier
from thresher.estimators.fgm.classifier import FGMClassifier
from thresher.estimators.miles.classifier import MILESClassifier
from thresher.estimators.sparse_svm.path import SparseSVCPath
from thresher.estimators.sparse_svm.svc import SparseSVC
from thresher.estimators.stream.classifier import StreamClassifier
from thresher.features.fitted import FittedFeatures
from thresher.io.table import Source
from thresher.models import selections
from thresher.models.formats import MODEL
from thresher.models.storage import json_dict, sha256_string
from thresher.results.table import LIBRARIES
from thresher.state import (
    REQUIRED,
    fields,
    get_strings,
    get_value,
    integer,
    need,
    put_strings,
    put_value,
    reported,
    required,
    shown,
    string,
)
from thresher.targets.base import Labels

ESTIMATORS = {
    cls.__name__: cls
    for cls in (FGMClassifier, MILESClassifier, SparseSVC, SparseSVCPath, StreamClassifier, AlignmentPathClassifier)
}
MOST_FEATURES = 2**63 - 1
VERSIONS = {
    "thresher": __version__, "numpy": np.__version__, "scipy": scipy.__version__, "scikit-learn": sklearn.__version__,
    "python": platform.python_version(),
}  # fmt: skip
FINGERPRINT_FIELDS = required("rows", "columns", "digest")
SOURCE_FIELDS = dict(vars(Source()))  # a field that a file lacks has the default of the class
DOCUMENT = required(
    "format", "format_version", "type", "written", "versions", "parameters", "n_features_in", "target", "names",
    "fitted", "fitted_features", "all_names", "named_in_fit", "data", "arrays", "checksum",
) | selections.SELECTION_FIELDS | {"source": {}, "library": None}  # fmt: skip


@dataclass(frozen=True)
class Model:
    """The content of a model file: the estimator, all column names or None, the source of the data.

    ``document`` is the JSON document in the current format version, whichever version the file has.
    """

    estimator: object
    names: tuple[str, ...] | None
    source: Source
    document: dict


def type_of(estimator):
    """The name of the class of a fitted estimator; TypeError if it cannot be saved, NotFittedError if not fitted."""
    name = type(estimator).__name__
    if ESTIMATORS.get(name) is not type(estimator):
        raise TypeError(
            f"only {', '.join(ESTIMATORS)} can be saved, got {name}; for a pipeline or a search, save the fitted "
            "thresher estimator inside it"
        )
    check_is_fitted(estimator)
    return name


def put_model(writer, estimator, names, source):
    """The Model of a fitted estimator, its document without "arrays" and "checksum"; large arrays go to ``writer``."""
    name = type_of(estimator)
    selection, fitted = estimator.selection_, estimator.fitted_features_
    source = Source() if source is None else source
    names_in = getattr(estimator, "feature_names_in_", None)
    names = _checked_names(names, estimator.n_features_in_, names_in)
    if names is not None and not fitted.named:
        raise ValueError("hashed columns have no names: names must be None")
    chosen = None if names is None else fitted.names(selection.features, names.__getitem__)
    try:
        target = estimator._labels.to_state(writer)
    except TypeError as error:
        raise TypeError(f"classes_: {error}; fit on labels that are numbers, booleans or strings") from error
    attributes = {key: getattr(estimator, key, None) for key in estimator._saved}
    document = {
        **MODEL.head,
        "type": name,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": VERSIONS,
        "parameters": {key: _put_parameter(writer, key, value) for key, value in estimator.get_params(False).items()},
        "n_features_in": int(estimator.n_features_in_),
        "target": target,
        "fitted": {
            key: estimator._saved[key].put(writer, key, value) for key, value in attributes.items() if value is not None
        },
        "source": _put_source(writer, source),
        "data": getattr(estimator, "fingerprint_", None),
        "arrays": None,
        "checksum": None,
        "library": selection.library,
        "named_in_fit": names_in is not None,
        "names": None if chosen is None else put_strings(writer, "names", chosen),
        **selections.put_selection(writer, selection),  # what is long comes last, so that people find the rest first
        "fitted_features": None if estimator._takes(None) else fitted.to_state(writer),
        "all_names": None if names is None else put_strings(writer, "all_names", names),
    }
    return Model(estimator, names, source, document)


def _put_parameter(writer, name, value):
    """A constructor parameter; one that cannot be written is marked as left out."""
    members = dict(writer.members)
    try:
        return put_value(writer, f"parameters.{name}", value)
    except TypeError:
        writer.members = members  # without the arrays of a parameter that is left out
        return {"left_out": repr(value)[:200]}


def _checked_names(names, n_features, names_in):
    """All column names as strings, or None: those given, else those of the data frame fitted on."""
    if names is None:
        return None if names_in is None else tuple(names_in.tolist())
    names = list(names)
    wrong = [name for name in names if not isinstance(name, str)]
    if wrong:
        raise TypeError(f"names must be strings, got {wrong[0]!r}")
    if len(names) != n_features:
        raise ValueError(f"got {len(names)} names, but {n_features} features were seen in fit")
    if names_in is not None and names_in.tolist() != names:
        raise ValueError("names must be equal to feature_names_in_")
    return tuple(str(name) for name in names)


def _put_source(writer, source):
    if not isinstance(source, Source):
        got = type(source).__name__
        raise TypeError(f"source must be a thresher.Source, got {got}; other information can be put into its notes")
    encoding = put_value(writer, "source.encoding", source.encoding)
    return vars(source) | {"notes": json_dict(source.notes, "notes of source"), "encoding": encoding}


def get_model(reader, document):
    """(the Model in a document of the current version, parameters that were not saved), validated."""
    with reported("its parts are inconsistent", ValueError):
        return _model(reader, fields(document, DOCUMENT, "the document"))


def _model(reader, document):
    name = document["type"]
    need(isinstance(name, str) and name in ESTIMATORS, f"unknown type {shown(name)}")
    string(document["written"], "written", 100)
    for key, version in fields(document["versions"], required(*VERSIONS), "versions").items():
        string(version, f"the version of {key}", 100)
    estimator, left_out = _estimator(reader, ESTIMATORS[name], document)
    estimator.n_features_in_ = integer(document["n_features_in"], "n_features_in", 1, MOST_FEATURES)
    labels: Any = Labels.from_state(reader, document["target"])
    estimator._labels = labels
    names = _names(reader, document, estimator)
    fitted = _fitted_features(reader, document, estimator)
    known = estimator.fitted_features_ if fitted is None else fitted
    across = (labels.n_outputs,) if estimator._linear and labels.n_outputs > 1 else ()
    selection = selections.get_selection(reader, document, fitted, known.width, across)
    need((selection.certificate is not None) == estimator._proven, f"the certificate does not match the type {name}")
    _check_chosen_names(reader, document, names, selection.features, known)
    with reported("invalid source"):
        given = fields(document["source"], SOURCE_FIELDS, "source")
        source = Source(**given | {"encoding": get_value(reader, given["encoding"], "encoding of source")})
    library = document["library"]
    need(library is None or library in LIBRARIES, f"unknown library of data frames, {shown(library)}")
    estimator._library = library
    if document["data"] is not None:
        estimator.fingerprint_ = _fingerprint(document["data"], estimator.n_features_in_)
    estimator.selection_ = estimator._of_this_fit(selection)
    _set_attributes(reader, estimator, document["fitted"])
    reader.check_all_read()
    return Model(estimator, names, source, document), left_out


def _names(reader, document, estimator):
    """All column names or None; those seen in fit become ``feature_names_in_``."""
    named, all_names = document["named_in_fit"], document["all_names"]
    need(isinstance(named, bool) and not (named and all_names is None), "feature names seen in fit are missing")
    if all_names is None:
        return None
    names = get_strings(reader, all_names, estimator.n_features_in_, "all_names")
    if named:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    return tuple(names)


def _fitted_features(reader, document, estimator):
    """What the model selects from; None if that follows from the parameters."""
    fitted, state = None, document["fitted_features"]
    if state is not None:
        names = getattr(estimator, "feature_names_in_", None)
        fitted = FittedFeatures.from_state(reader, state, estimator.n_features_in_, names)
    kind = "null" if fitted is None else f"of the kind {fitted.kind!r}"
    need(estimator._takes(fitted), f"fitted_features are {kind}, which {document['type']} cannot have")
    return fitted


def _check_chosen_names(reader, document, names, features, fitted):
    """Raise Damaged unless the names of the selected features follow from those of all columns."""
    need((document["names"] is None) == (names is None), "names and all_names do not agree")
    if names is None:
        return
    need(fitted.named, "it has names, but hashed columns have none")
    chosen = get_strings(reader, document["names"], features.size, "names")
    need(chosen == fitted.names(features, names.__getitem__), "names and all_names do not agree")


def _estimator(reader, cls, document):
    """(estimator with its parameters, parameters that were not saved)."""
    given, known = document["parameters"], cls().get_params(deep=False)
    need(isinstance(given, dict), "parameters must be an object")
    unknown = set(given) - set(known)
    need(not unknown, f"{document['type']} has no parameter {shown(min(unknown, default=''))}")
    named = {key: value for key, value in given.items() if isinstance(value, dict) and set(value) == {"left_out"}}
    left_out = {key: string(value["left_out"], f"parameter {key}") for key, value in named.items()}
    saved = {key: get_value(reader, given[key], f"parameter {key}") for key in given if key not in left_out}
    estimator = cls(**saved)
    with reported("invalid parameter"):
        estimator._checked_options()
    return estimator, left_out


def _set_attributes(reader, estimator, fitted):
    """Set the fitted attributes other than the selection."""
    saved = estimator._saved
    table = {name: None if attribute.optional else REQUIRED for name, attribute in saved.items()}
    for name, part in fields(fitted, table, "fitted").items():
        if part is not None or not saved[name].optional:
            setattr(estimator, name, saved[name].get(reader, part, name, estimator))
    estimator._restore()


def _fingerprint(value, n_features):
    value = fields(value, FINGERPRINT_FIELDS, "data")
    integer(value["rows"], "rows of the data", 1)
    need(integer(value["columns"], "columns of the data", 1) == n_features, "data and n_features_in do not agree")
    sha256_string(value["digest"], "digest of the data")
    return value
