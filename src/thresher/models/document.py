"""A fitted estimator as one document, and back: what is written in a model file."""

import platform
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import scipy
import sklearn

from thresher._version import __version__
from thresher.models import selections
from thresher.models.checks import Damaged, keys, need, shown, text, whole
from thresher.models.extras import get_extra, put_extra
from thresher.models.registry import KINDS, kind_of
from thresher.models.values import get_classes, get_parameter, get_strings, put_parameter, put_strings, put_typed

FORMAT, VERSION = "thresher-model", 1
MOST_FEATURES = 2**63 - 1
LIBRARIES = ("thresher", "numpy", "scipy", "scikit-learn", "python")
FINGERPRINT = ("rows", "columns", "digest")
LONG = ("trace", "path")  # come last, where they are in no reader's way
KEYS = (
    "format", "format_version", "type", "written", "versions", "parameters", "n_features_in", "classes", "names",
    *selections.KEYS, "fitted", "all_names", "named_in_fit", "source", "data", "arrays",
    "checksum",
)  # fmt: skip


@dataclass(frozen=True)
class Model:
    """What a model file holds: the estimator, all column names or None, what ``save`` was told of the data's source."""

    estimator: object
    names: tuple | None
    source: dict
    document: dict


def put_model(writer, estimator, names, source):
    """The document of a fitted estimator, but for "arrays" and "checksum"; large arrays are left with ``writer``."""
    name, kind = kind_of(estimator)
    selection, own = estimator.selection_, getattr(estimator, "feature_names_in_", None)
    names = _checked_names(names, estimator.n_features_in_, own)
    if names is not None and estimator._width != estimator.n_features_in_:
        raise ValueError("hashed columns have no names: leave names out")
    parts = selections.put_selection(writer, selection)
    chosen = None if names is None else [names[j] for j in selection.features.tolist()]
    try:
        classes = put_typed(writer, "classes", estimator.classes_)
    except TypeError as error:
        raise TypeError(f"classes_: {error}; fit on labels that are numbers, booleans or strings") from error
    given = estimator.get_params(deep=False)
    return {
        "format": FORMAT,
        "format_version": VERSION,
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
        "named_in_fit": own is not None,
        "source": source,
        "data": getattr(estimator, "fingerprint_", None),
        "arrays": None,
        "checksum": None,
        **{key: parts[key] for key in LONG},
        "all_names": None if names is None else put_strings(writer, "all_names", names),
    }


def _versions():
    return __version__, np.__version__, scipy.__version__, sklearn.__version__, platform.python_version()


def _checked_names(names, n_features, own):
    """All column names as a list of strings, or None: those given, else those of the data frame fitted on."""
    if names is None:
        return None if own is None else own.tolist()
    names = list(names)
    odd = next((each for each in names if not isinstance(each, str)), None)
    if odd is not None:
        raise TypeError(f"names must be strings, got {odd!r}")
    if len(names) != n_features:
        raise ValueError(f"there are {len(names)} names, but {n_features} columns were seen in fit")
    if own is not None and own.tolist() != names:
        raise ValueError("names are not those of the data frame fitted on")
    return [str(each) for each in names]


def check_format(document):
    """Raise unless the document is a model of a version that is known here."""
    need(isinstance(document, dict) and document.get("format") == FORMAT, f'it does not say "format": "{FORMAT}"')
    version = whole(document.get("format_version"), "format_version", 1)
    if version > VERSION:
        versions = document.get("versions")
        writer = versions.get("thresher") if isinstance(versions, dict) else None
        name = writer if isinstance(writer, str) and writer.isascii() and writer.isprintable() else "?"
        raise TooNew(f"written by thresher {name[:40]}, which is newer (format {version}): upgrade thresher to read it")


class TooNew(Damaged):
    """The file is sound, as far as we can tell."""


def get_model(reader, document):
    """(the Model in a document that ``check_format`` has seen, parameters that were left out); all is checked."""
    keys(document, KEYS, "the document")
    name = document["type"]
    need(isinstance(name, str) and name in KINDS, f"its type is {shown(name)}, which is not known")
    text(document["written"], "written", 100)
    for key, version in keys(document["versions"], LIBRARIES, "versions").items():
        text(version, f"the version of {key}", 100)
    n_features = whole(document["n_features_in"], "n_features_in", 1, MOST_FEATURES)
    classes = get_classes(reader, document["classes"])
    estimator, left_out = _estimator(reader, KINDS[name], document)
    estimator.n_features_in_, estimator.classes_ = n_features, classes
    selection = selections.get_selection(reader, document, estimator._width, classes.size)
    need((selection.certificate is not None) == KINDS[name].proven, "it lacks a certificate, or has one too many")
    names = _names(reader, document, n_features, selection.features)
    need(isinstance(document["source"], dict), "source is not an object")
    if document["named_in_fit"]:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    if document["data"] is not None:
        estimator.fingerprint_ = _fingerprint(document["data"], n_features)
    estimator._set_selection(selection)
    try:
        _set_extras(reader, estimator, KINDS[name], document)
    except ValueError as error:
        if isinstance(error, Damaged):
            raise
        raise Damaged(f"its parts do not fit each other ({shown(str(error))})") from error
    reader.close_checked()
    return Model(estimator, None if names is None else tuple(names), document["source"], document), left_out


def _names(reader, document, n_features, features):
    """All column names or None; those of the chosen features must agree."""
    named = document["named_in_fit"]
    need(isinstance(named, bool) and not (named and document["all_names"] is None), "it lacks the names seen in fit")
    need((document["names"] is None) == (document["all_names"] is None), "names and all_names do not agree")
    if document["all_names"] is None:
        return None
    names = get_strings(reader, document["all_names"], n_features, "all_names")
    need(not features.size or features[-1] < n_features, "a feature has no name")  # hashed ones have none
    chosen = get_strings(reader, document["names"], features.size, "names")
    need(chosen == [names[j] for j in features.tolist()], "names and all_names do not agree")
    return names


def _estimator(reader, kind, document):
    """(estimator with its parameters, parameters that were left out)."""
    given, known = document["parameters"], kind.cls().get_params(deep=False)
    need(isinstance(given, dict), "parameters are not an object")
    unknown = set(given) - set(known)
    need(not unknown, f"{document['type']} has no parameter {shown(min(unknown, default=''))}")
    left_out, found = {}, {}
    for key, value in given.items():
        if isinstance(value, dict) and set(value) == {"left_out"}:
            left_out[key] = text(value["left_out"], f"parameter {key}")
        else:
            found[key] = get_parameter(reader, value, f"parameter {key}")
    estimator = kind.cls(**found)
    try:
        kind.check(estimator)
    except (TypeError, ValueError) as error:
        raise Damaged(f"a parameter cannot be used ({shown(str(error))})") from error
    return estimator, left_out


def _set_extras(reader, estimator, kind, document):
    """What its fit sets beside the selection."""
    for key, what in kind.extras.items():
        value = keys(document["fitted"], kind.extras, "fitted")[key]
        if value is not None:
            setattr(estimator, key, get_extra(reader, value, what, key, estimator))
        need(value is not None or key in kind.optional, f"{key} is missing")
    if kind.after is not None:
        kind.after(estimator)


def _fingerprint(value, n_features):
    keys(value, FINGERPRINT, "data")
    whole(value["rows"], "rows of the data", 1)
    need(whole(value["columns"], "columns of the data", 1) == n_features, "data and n_features_in do not agree")
    digest = text(value["digest"], "digest of the data", 64)
    need(len(digest) == 64 and set(digest) <= set("0123456789abcdef"), "digest of the data is not one")
    return dict(value)
