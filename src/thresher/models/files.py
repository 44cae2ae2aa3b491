"""Model files on disk: read with care, replaced in one step."""

import contextlib
import hashlib
import json
import os
import re
import secrets
import stat
import warnings

from thresher.errors import ModelFileError
from thresher.models.arrays import ArrayReader, ArrayWriter
from thresher.models.checks import Damaged, keys, need, shown, text
from thresher.models.document import TooNew, check_format, get_model, put_model

MOST_BYTES = 64_000_000
MOST_PARTS = 2_000_000  # brackets and colons: a guard against files whose text is small and whose objects are not
DEEPEST = 32
SHA256 = re.compile("[0-9a-f]{64}")


class ArraysMissing(Damaged):
    """The .npz that a document names is not there: perhaps the model is just being replaced."""


def save(estimator, path, *, names=None, source=None):
    """Write a fitted estimator to ``path`` as a JSON document, with large arrays in an .npz beside it.

    A model that is there is replaced in one step: after a crash either the old or the new one can be loaded.

    Parameters
    ----------
    estimator : FGMClassifier, SparseSVC, SparseSVCPath or StreamClassifier
        Fitted.
    path : str or path-like
        Where to write, for example ``"model.json"``.
    names : sequence of str, default=None
        Names of all columns, for readers of the file; None means those of the data frame fitted on, if any.
    source : dict, default=None
        Where the data came from, in values that JSON knows; kept as it is.
    """
    writer = ArrayWriter()
    document = put_model(writer, estimator, names, checked_source(source))
    path = os.path.realpath(path)
    if os.path.lexists(path) and not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(f"{path} is not a file that can be replaced")
    _replace(path, document, writer)


def load(path):
    """The estimator that ``save`` wrote to ``path``, fitted as it was.

    The file is checked before it is believed and no code in it is run: one that is damaged raises ModelFileError.
    """
    return read(path).estimator


def read(path):
    """A ``Model``: the estimator in the file at ``path``, with names, source and the document itself."""
    name = os.fsdecode(path)
    try:
        try:
            model, left_out = _read(path)
        except ArraysMissing:
            model, left_out = _read(path)  # replaced by another process between our looks at its two files
    except TooNew as error:
        raise ModelFileError(f"{shown_path(name)}: {error}") from error
    except Damaged as error:
        raise ModelFileError(
            f"{shown_path(name)} is not a sound model file: {error}; save the model again or take another copy"
        ) from error
    for key, value in left_out.items():
        message = f"parameter {key} was not saved, it was {shown(value)}: the default is set instead"
        warnings.warn(message, UserWarning, stacklevel=3)
    return model


def shown_path(name):
    """The file's name on one line."""
    return name if name.isprintable() else ascii(name)


def _read(path):
    with open(path, "rb") as file:
        data = file.read(MOST_BYTES + 1)
    need(
        not data.startswith(b"PK"),
        "it is an archive, not JSON; checkpoints are for thresher.load_checkpoint and thresher stream --resume",
    )
    document = parsed(data)
    check_format(document)
    return _decoded(document, os.path.dirname(os.path.realpath(path)))


def checksum(document):
    """A digest of all that a document says beside its checksum, however it is laid out."""
    rest = {key: value for key, value in document.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _decoded(document, folder, stand_in=None):
    """As ``get_model``, of a document whose .npz lies in ``folder``, or is, before it has its name, ``stand_in``."""
    entry = document.get("arrays")
    need("checksum" in document, "it lacks its checksum, perhaps it is cut short")
    need(document["checksum"] == checksum(document), "it is not as it was written (its checksum differs)")
    if entry is None:
        return get_model(ArrayReader(), document)
    name, sha256 = _checked_entry(entry)
    try:
        reader = ArrayReader(stand_in or os.path.join(folder, name), sha256)
    except OSError as error:
        why = "is missing" if isinstance(error, FileNotFoundError) else "cannot be read"
        raise ArraysMissing(f"{shown_path(name)}, which belongs beside it, {why}") from error
    with reader:
        return get_model(reader, document)


def _checked_entry(entry):
    keys(entry, ("file", "sha256"), "arrays")
    name, sha256 = text(entry["file"], "the name of the .npz", 255), text(entry["sha256"], "sha256", 64)
    need(SHA256.fullmatch(sha256), f"sha256 is {shown(sha256)}")
    plain = not set("/\\\0") & set(name) and not os.path.splitdrive(name)[0]
    need(plain and name.endswith(f".{sha256[:12]}.npz"), f"the name of the .npz is {shown(name)}")
    return name, sha256


def parsed(data):
    """The JSON in ``data``, which is not too large, not too deep, and has no key twice."""
    need(len(data) <= MOST_BYTES, f"it is larger than {MOST_BYTES // 10**6} MB")
    need(sum(data.count(mark) for mark in (b"[", b"{", b":")) <= MOST_PARTS, "it has too many parts")
    try:
        document = json.loads(data.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant)
    except RecursionError as error:
        raise Damaged("it is nested too deep") from error
    except UnicodeDecodeError as error:
        raise Damaged(f"it is not UTF-8 text (byte {error.start})") from error
    except json.JSONDecodeError as error:
        raise Damaged(f"it is not JSON ({error.msg} in line {error.lineno}), perhaps cut short") from error
    except ValueError as error:
        raise Damaged("it holds a number with too many digits") from error
    _check_depth(document, DEEPEST)
    return document


def _once(pairs):
    found = dict(pairs)
    need(len(found) == len(pairs), "it has a key twice")
    return found


def _no_constant(name):
    raise Damaged(f"it holds {name}, which JSON does not know")


def _check_depth(value, depth):
    need(depth > 0, "it is nested too deep")
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        if type(part) in (dict, list):
            _check_depth(part, depth - 1)


def as_text(value, indent=0):
    """JSON that a person can read: objects and lists of lists over several lines, other lists on one."""
    pad = "\n" + " " * (indent + 1)
    if isinstance(value, dict) and value:
        inner = (f"{json.dumps(key, ensure_ascii=False)}: {as_text(part, indent + 1)}" for key, part in value.items())
        return "{" + pad + f",{pad}".join(inner) + pad[:-1] + "}"
    if isinstance(value, list) and any(isinstance(part, (dict, list)) for part in value):
        return "[" + pad + f",{pad}".join(as_text(part, indent + 1) for part in value) + pad[:-1] + "]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def checked_source(source, name="source"):
    """``source`` as a dict of JSON values, or an error that says what is wrong."""
    if source is None:
        return {}
    if not isinstance(source, dict):
        raise TypeError(f"{name} must be a dict, got {type(source).__name__}")
    try:
        found = json.loads(json.dumps(source, allow_nan=False, default=_number_of))
        _check_depth(found, DEEPEST - 1)
    except (TypeError, ValueError, RecursionError, Damaged) as error:
        raise TypeError(f"{name} must hold values that JSON knows: {error}") from error
    return found


def _number_of(value):
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        return value.item()
    raise TypeError(f"{type(value).__name__} is not one")


def _replace(path, document, writer):
    """Arrays first, the document then, the arrays of the old document last: at any moment one model is whole."""
    folder, name = os.path.split(path)
    base = name.removesuffix(".json")
    old, fresh = _arrays_of(path, base), None
    scratch = [os.path.join(folder, f".thresher-{secrets.token_hex(8)}.tmp") for _ in range(2)]
    try:
        if writer.members:
            write_synced(scratch[0], writer.write)
            with open(scratch[0], "rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            document["arrays"] = {"file": f"{base}.{sha256[:12]}.npz", "sha256": sha256}
        document["checksum"] = checksum(document)
        data = as_text(document).encode("utf-8", "backslashreplace") + b"\n"
        _check_readable(data, folder, scratch[0])
        write_synced(scratch[1], lambda file: file.write(data))
        if writer.members:
            target = os.path.join(folder, document["arrays"]["file"])
            fresh = None if os.path.exists(target) else target
            os.replace(scratch[0], target)
            sync_folder(folder)
        os.replace(scratch[1], path)
        sync_folder(folder)
    except BaseException:
        if fresh is not None and _arrays_of(path, base) != os.path.basename(fresh):
            scratch.append(fresh)
        raise
    finally:
        for each in scratch:
            with contextlib.suppress(OSError):
                os.unlink(each)
    if old is not None and (document["arrays"] is None or old != document["arrays"]["file"]):
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(folder, old))


def write_synced(path, fill):
    """A new file that is on the disk, not only on its way there."""
    with open(path, "x+b") as file:
        fill(file)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder):
    """Make the new names in ``folder`` last, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _check_readable(data, folder, stand_in):
    """Raise ValueError rather than write what could not be loaded."""
    try:
        _decoded(parsed(data), folder, stand_in)
    except Damaged as error:
        raise ValueError(f"this model cannot be saved: {error}") from error


def _arrays_of(path, base):
    """The .npz that the model at ``path`` owns: named by its document, and after itself. None where there is none."""
    try:
        with open(path, "rb") as file:
            entry = parsed(file.read(MOST_BYTES + 1))["arrays"]
        name, _ = _checked_entry(entry)
    except (OSError, Damaged, TypeError, KeyError, IndexError):
        return None
    return name if re.fullmatch(re.escape(base) + r"\.[0-9a-f]{12}\.npz", name) else None
