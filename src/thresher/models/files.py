"""Model files on disk: a JSON document, and a container of its large arrays beside it."""

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from thresher.errors import ModelFileError, warn
from thresher.estimators.shared.base import FeatureEstimator
from thresher.io.table import Source
from thresher.models.checkpoint import DOCUMENT, read_checkpoint
from thresher.models.document import VERSIONS, Model, get_model, put_model, type_of
from thresher.models.formats import MODEL, TooNew
from thresher.models.storage import (
    MOST_BYTES,
    Container,
    as_text,
    digest,
    member_names,
    move,
    open_file,
    parse_json,
    replaceable,
    scratch_names,
    sha256_string,
    write_members,
    write_synced,
)
from thresher.state import (
    ArrayReader,
    ArrayWriter,
    Damaged,
    UnknownClass,
    fields,
    need,
    required,
    shown,
    shown_path,
    string,
)

ARRAYS_FIELDS = required("file", "sha256")


class ArraysMissing(Damaged):
    """The .npz that a document names is missing: the model may be just being replaced."""


def save(
    estimator: FeatureEstimator,
    file: str | os.PathLike[str],
    *,
    path: bool | None = None,
    names: Sequence[str] | None = None,
    source: Source | None = None,
) -> None:
    """Save a fitted estimator to ``file`` as a JSON document, with large arrays in an .npz next to it.

    An existing model is replaced atomically: after a crash either the old or the new one can be loaded.

    Parameters
    ----------
    estimator : FGMClassifier, SparseSVC, SparseSVCPath or StreamClassifier
        Fitted estimator.
    file : str or path-like
        File to write, for example ``"model.json"``.
    path : bool, default=None
        Whether the file has the other models of the fit, which ``at`` returns after ``load``. None: those of a fit are
        written, but a model that ``at`` returned is alone. Without them a file has some kilobytes, and the names of all
        columns. Of a SparseSVCPath that is the SparseSVC of its point; an AlignmentPathClassifier is without its
        training columns and scores.
    names : sequence of str, default=None
        Names of all columns, to be kept in the file. None: those of the data frame fitted on, if any.
    source : Source, default=None
        The file that the data came from and how it was read, so that ``thresher predict`` reads others in the same way;
        its ``notes`` may contain any JSON-serializable values.
    """
    if path not in (True, False, None):
        raise TypeError(f"path must be True, False or None, got {path!r}; the name of the file comes before")
    type_of(estimator)
    writer = ArrayWriter()
    if path is False or (path is None and estimator.selection_.from_path):
        estimator = estimator._alone()
    document = put_model(writer, estimator, names, source).document
    _replace(replaceable(file), document, writer.members)


def unsaved(estimator: FeatureEstimator, *, names: Sequence[str] | None = None, source: Source | None = None) -> Model:
    """The Model that ``read`` would return after ``save``, without a file.

    Parameters
    ----------
    estimator, names, source
        As in ``save``.

    Returns
    -------
    model : Model
        The estimator itself, with column names, source and the document.
    """
    return put_model(ArrayWriter(), estimator, names, source)


def load(path: str | os.PathLike[str]) -> Any:
    """Load the fitted estimator that ``save`` wrote to ``path``.

    The file is validated and no code in it is run: a damaged file raises ModelFileError.

    Parameters
    ----------
    path : str or path-like
        The JSON document; its .npz, if it has one, must be in the same directory. Or a checkpoint of a stream.

    Returns
    -------
    estimator : FGMClassifier, SparseSVC, SparseSVCPath or StreamClassifier
        Fitted, of the class that was saved.
    """
    return read(path).estimator


def read(path: str | os.PathLike[str]) -> Model:
    """Load the complete content of a model file, or of a checkpoint of a stream.

    Parameters
    ----------
    path : str or path-like
        The JSON document, or the checkpoint.

    Returns
    -------
    model : Model
        The estimator, with column names, source and the document itself.
    """
    name = os.fsdecode(path)
    if is_checkpoint(path):
        return _model_of_checkpoint(path)
    if member_names(path) is not None:
        raise ModelFileError(
            f"{shown_path(name)} is a data file (npz), not a model: models are .json files, or checkpoints of a stream"
        )
    try:
        try:
            model, left_out = _read_model(path)
        except ArraysMissing:
            model, left_out = _read_model(path)  # replaced by another process while its two files were read
    except (TooNew, UnknownClass) as error:
        raise ModelFileError(f"{shown_path(name)}: {error}") from error
    except Damaged as error:
        raise ModelFileError(
            f"{shown_path(name)} is not a valid model file: {error}; save the model again or use another copy"
        ) from error
    for key, value in left_out.items():
        warn(f"parameter {key} was not saved, it was {shown(value)}; using the default instead")
    return model


def is_checkpoint(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a container, as checkpoints of streams are, and not a document.

    Parameters
    ----------
    path : str or path-like
        An existing file.

    Returns
    -------
    bool
        False for a model file.
    """
    names = member_names(path)
    return names is not None and (not names or f"{DOCUMENT}.npy" in names)


def _model_of_checkpoint(path):
    """A checkpoint of a stream as a Model; it does not say when and by which version it was written."""
    clf, _ = read_checkpoint(path)
    source = Source(kind="svmlight", index_base=0, open_ended=True) if clf.open_ended else Source()
    model = unsaved(clf, source=source)
    written = datetime.fromtimestamp(os.path.getmtime(path), UTC).isoformat(timespec="seconds")
    return replace(model, document=model.document | {"written": written, "versions": dict.fromkeys(VERSIONS)})


def _read_model(path):
    with open(path, "rb") as file:
        data = file.read(MOST_BYTES + 1)
    return _decoded(parse_json(data), os.path.dirname(os.path.realpath(path)))


def checksum(document):
    """A digest of a document without its checksum, independent of its layout."""
    rest = {key: value for key, value in document.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _decoded(document, folder, stand_in=None):
    """As ``get_model``, of a document whose .npz is in ``folder`` or, before it has its final name, ``stand_in``."""
    MODEL.check(document)
    need("checksum" in document, "the checksum is missing, it may be truncated")
    need(document["checksum"] == checksum(document), "checksum mismatch: it was changed after it was saved")
    document = MODEL.migrated(document)
    if document.get("arrays") is None:
        return get_model(ArrayReader(), document)
    name, sha256 = _checked_entry(document["arrays"])
    try:
        file = open_file(stand_in or os.path.join(folder, name), "its .npz")
    except OSError as error:
        why = "is missing" if isinstance(error, FileNotFoundError) else "cannot be read"
        raise ArraysMissing(f"its .npz, {shown_path(name)}, {why}") from error
    with file:
        need(digest(file) == sha256, "checksum mismatch: its .npz is not the one it was saved with")
        return get_model(ArrayReader(Container(file)), document)


def _checked_entry(entry):
    entry = fields(entry, ARRAYS_FIELDS, "arrays")
    name, sha256 = string(entry["file"], "the name of the .npz", 255), sha256_string(entry["sha256"], "sha256")
    plain = not set("/\\\0") & set(name) and not os.path.splitdrive(name)[0]
    need(plain and name.endswith(f".{sha256[:12]}.npz"), f"invalid name of the .npz, {shown(name)}")
    return name, sha256


def _replace(path, document, members):
    """Write the arrays, then the document, then delete the old arrays: at any moment one model is complete."""
    folder, name = os.path.split(path)
    base = name.removesuffix(".json")
    old, fresh = _arrays_of(path, base), None
    with scratch_names(folder, 2) as scratch:
        if members:
            document["arrays"] = _written(scratch[0], members, base)
        document["checksum"] = checksum(document)
        data = as_text(document).encode("utf-8", "backslashreplace") + b"\n"
        _check_readable(data, folder, scratch[0])
        write_synced(scratch[1], lambda file: file.write(data))
        try:
            if members:
                target = os.path.join(folder, document["arrays"]["file"])
                fresh = None if os.path.exists(target) else target
                move(scratch[0], target)
            move(scratch[1], path)
        except BaseException:
            if fresh is not None and _arrays_of(path, base) != os.path.basename(fresh):
                scratch.append(fresh)  # to be deleted: no document names it
            raise
    if old is not None and (document["arrays"] is None or old != document["arrays"]["file"]):
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(folder, old))


def _written(scratch, members, base):
    """Write a container; its final name, which depends on its content, and its digest, for the document."""
    write_synced(scratch, lambda file: write_members(file, members))
    with open(scratch, "rb") as file:
        sha256 = digest(file)
    return {"file": f"{base}.{sha256[:12]}.npz", "sha256": sha256}


def _check_readable(data, folder, stand_in):
    """Raise ValueError if the document could not be loaded again."""
    try:
        _decoded(parse_json(data), folder, stand_in)
    except Damaged as error:
        raise ValueError(f"this model cannot be saved: {error}") from error


def _arrays_of(path, base):
    """The .npz of the model at ``path``: named in its document, and named after it. None if there is none."""
    try:
        with open(path, "rb") as file:
            entry = parse_json(file.read(MOST_BYTES + 1))["arrays"]
        name, _ = _checked_entry(entry)
    except (OSError, Damaged, TypeError, KeyError, IndexError):
        return None
    return name if re.fullmatch(re.escape(base) + r"\.[0-9a-f]{12}\.npz", name) else None
