"""Checkpoints of a stream: all that a StreamClassifier has learnt, to go on from as if nothing had happened.

One .npz file: the arrays, and a member "document" with the rest as JSON. Its last 64 bytes, a remark as far as zip is
concerned, are the sha256 of all others in hexadecimal digits, so that any damage is seen. The same state gives the
same bytes.
"""

import contextlib
import hashlib
import json
import os
import secrets
import stat
import zipfile

import numpy as np

from thresher.errors import ModelFileError
from thresher.estimators.stream import StreamClassifier
from thresher.families.online import SECOND_ORDER
from thresher.loops import averaging, descent
from thresher.models.arrays import ArrayReader, ArrayWriter
from thresher.models.checks import Damaged, keys, need, number, shown, whole
from thresher.models.document import MOST_FEATURES
from thresher.models.extras import get_milestones, put_milestones
from thresher.models.files import checked_source, parsed, shown_path, sync_folder, write_synced
from thresher.models.registry import KINDS, kind_of
from thresher.models.values import get_classes, get_parameter, get_strings, put_parameter, put_strings, put_typed

FORMAT, VERSION = "thresher-checkpoint", 1
DIGITS = 64
LEAST = 1e-200  # variance: far below what streams come to, far above what cannot be divided by
KEYS = (
    "format", "format_version", "parameters", "n_features_in", "names", "classes", "ids", "examples", "totals",
    "mistakes", "milestones", "learners", "position",
)  # fmt: skip


def save_checkpoint(clf, path, *, position=None):
    """Write all that a StreamClassifier has learnt to ``path``; what was there before is replaced in one step.

    Parameters
    ----------
    clf : StreamClassifier
        After ``fit`` or ``partial_fit``.
    path : str or path-like
        Where to write, for example ``"state.npz"``.
    position : dict, default=None
        Where in the stream it was, in values that JSON knows; ``thresher.models.read_checkpoint`` gives it back.
    """
    name, _ = kind_of(clf)
    if name != "StreamClassifier" or not hasattr(clf._state, "learners"):
        raise TypeError("only a StreamClassifier that was not loaded from a model file has a state to write")
    writer = ArrayWriter(inline=0)
    if clf._state.ran_away:
        raise ValueError("the numbers of this StreamClassifier ran away: there is nothing to go on from")
    document = _document(writer, clf, checked_source(position, "position"))
    writer.members["document"] = np.frombuffer(json.dumps(document, allow_nan=False).encode(), dtype=np.uint8)
    path = os.path.realpath(path)
    if os.path.lexists(path) and not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(f"{path} is not a file that can be replaced")
    folder = os.path.dirname(path)
    scratch = os.path.join(folder, f".thresher-{secrets.token_hex(8)}.tmp")
    try:
        write_synced(scratch, lambda file: _write(file, writer))
        try:
            _read(scratch)
        except Damaged as error:  # rather keep what is there
            raise ValueError(f"this checkpoint could not be read again, so it is not written: {error}") from error
        os.replace(scratch, path)
        sync_folder(folder)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(scratch)


def load_checkpoint(path):
    """The StreamClassifier that ``save_checkpoint`` wrote to ``path``; ``partial_fit`` goes on where it was.

    The file is checked before it is believed and no code in it is run: one that is damaged raises ModelFileError.
    """
    return read_checkpoint(path)[0]


def read_checkpoint(path):
    """(StreamClassifier, position) out of a file."""
    name = os.fsdecode(path)
    try:
        return _read(path)
    except Damaged as error:
        raise ModelFileError(
            f"{shown_path(name)} is not a sound checkpoint: {error}; take an older one or begin anew"
        ) from error


def _write(file, writer):
    """All members, and the digest."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        writer.write_into(archive)
        archive.comment = b"0" * DIGITS
    size = file.tell()
    digest = hashlib.sha256()
    file.seek(0)
    while file.tell() < size - DIGITS:
        digest.update(file.read(min(1 << 20, size - DIGITS - file.tell())))
    file.seek(size - DIGITS)
    file.write(digest.hexdigest().encode())


def _document(writer, clf, position):
    state = clf._state
    own = getattr(clf, "feature_names_in_", None)
    given = clf.get_params(deep=False) | {"random_state": None, "verbose": 0}
    if isinstance(given["class_weight"], dict):
        given["class_weight"] = dict(given["class_weight"])
    names = [f"setting{s}.class{c}" for s, each in enumerate(state.learners) for c in range(len(each))]
    parts = [
        {
            "table": writer.put(f"{name}.table", table, "<f8"),
            "kept": writer.put(f"{name}.kept", kept, "<i8"),
            "clock": writer.put(f"{name}.clock", clock, "<f8"),
        }
        for name, (table, kept, clock) in zip(names, state.learnt, strict=True)
    ]
    return {
        "format": FORMAT,
        "format_version": VERSION,
        "parameters": {key: put_parameter(writer, key, value) for key, value in given.items()},
        "n_features_in": int(clf.n_features_in_),
        "names": None if own is None else put_strings(writer, "names", own.tolist()),
        "classes": put_typed(writer, "classes", clf.classes_),
        "ids": writer.put("ids", state.slots.ids, "<i8"),
        "examples": int(state.examples),
        "totals": writer.put("totals", state.totals, "<f8"),
        "mistakes": [float(record.mistakes) for record in state.records],
        "milestones": [
            put_milestones(writer, f"setting{s}.milestones", record.milestones)
            for s, record in enumerate(state.records)
        ],
        "learners": parts,
        "position": position,
    }


def _read(path):
    """The state in a file whose digest is right."""
    need(stat.S_ISREG(os.stat(path).st_mode), "it is not a file")
    with open(path, "rb") as file:
        start = file.read(2)
        need(not start.startswith(b"{"), "it is a model file, which thresher.load reads")
        need(start == b"PK", "it is no checkpoint, or cut short or not as it was written")
        size, digest = file.seek(0, os.SEEK_END), hashlib.sha256()
        need(size > DIGITS, "it is cut short")
        file.seek(0)
        while file.tell() < size - DIGITS:
            block = file.read(min(1 << 20, size - DIGITS - file.tell()))
            need(block, "it changes while it is read")
            digest.update(block)
        written = digest.hexdigest().encode() == file.read()
        need(written, "it is not as it was written (its checksum differs), perhaps cut short")
        reader = ArrayReader.of(file)
        found = _restored(reader, parsed(reader.take("document")))
        reader.close_checked()
    return found


def _restored(reader, document):
    need(isinstance(document, dict) and document.get("format") == FORMAT, f'it does not say "format": "{FORMAT}"')
    version = whole(document.get("format_version"), "format_version", 1)
    need(version <= VERSION, f"it was written by a newer thresher (format {version}): upgrade thresher to read it")
    keys(document, KEYS, "the document")
    classes = get_classes(reader, document["classes"])
    need(isinstance(document["learners"], list), "learners are not a list")
    clf = _estimator(reader, document["parameters"], len(document["learners"]), classes.size)
    clf.n_features_in_ = whole(document["n_features_in"], "n_features_in", 1, MOST_FEATURES)
    if document["names"] is not None:
        names = get_strings(reader, document["names"], clf.n_features_in_, "names")
        clf.feature_names_in_ = np.array(names, dtype=object)
    state = clf._begun(classes)
    ids = reader.get(document["ids"], "<i8", (None,), "ids")
    width = clf._width
    need(
        bool(((ids >= 0) & (ids < width)).all()) and np.unique(ids).size == ids.size,
        "its ids are not those of features",
    )
    examples = whole(document["examples"], "examples", 1)
    totals = reader.get(document["totals"], "<f8", (classes.size + 2,), "totals")
    need(bool((totals >= 0).all()) and totals[-1] > 0 and totals[-2] > 0, "its totals are not those of a stream")
    for key in ("mistakes", "milestones"):
        need(isinstance(document[key], list) and len(document[key]) == len(state.settings), f"{key} do not fit")
    mistakes = [number(each, "mistakes") for each in document["mistakes"]]
    need(all(0.0 <= each <= totals[-2] for each in mistakes), "there are more mistakes than examples")
    milestones = [get_milestones(reader, each, "milestones") for each in document["milestones"]]
    learnt = [_learner(reader, part, state.learners[0][0], ids.size, examples) for part in document["learners"]]
    need(isinstance(document["position"], dict), "position is not an object")
    state.put_back(ids, examples, totals, mistakes, milestones, learnt)
    try:
        clf._checked_weights(np.ones(1), classes)
    except (TypeError, ValueError) as error:
        raise Damaged(f"class_weight cannot be used ({shown(str(error))})") from error
    clf._state = state
    clf._set_learnt()
    return clf, document["position"]


def _estimator(reader, given, n_learners, n_classes):
    """A StreamClassifier with these parameters, which are checked, and which ask for so many learners."""
    kind = KINDS["StreamClassifier"]
    known = kind.cls().get_params(deep=False)
    if isinstance(given, dict):
        given = {"n_passes": known["n_passes"]} | given  # the first checkpoints lack it
    keys(given, known, "parameters")
    found = {key: get_parameter(reader, value, f"parameter {key}") for key, value in given.items()}
    clf = StreamClassifier(**found)
    try:
        settings = len(clf._checked_options()["settings"])
        need(n_learners == settings * (1 if n_classes == 2 else n_classes), "learners do not fit settings and classes")
    except (TypeError, ValueError) as error:
        raise Damaged(f"a parameter cannot be used ({shown(str(error))})") from error
    return clf


def _learner(reader, value, like, count, examples):
    """(table, kept, clock) of a learner: numbers that a loop can work with, whatever the file says."""
    keys(value, ("table", "kept", "clock"), "a learner")
    table = reader.get(value["table"], "<f8", (count, like.table(0).shape[1]), "a table")
    kept = reader.get(value["kept"], "<i8", (None,), "kept")
    clock = reader.get(value["clock"], "<f8", (descent.CLOCK,), "a clock")
    good = bool(((kept >= 0) & (kept < count)).all()) and np.unique(kept).size == kept.size
    need(good and kept.size <= like.numbers[descent.BUDGET], "features kept are not among those seen, or are too many")
    need(clock[descent.ROUNDS] == examples and clock[descent.KEPT] == kept.size, "a clock is wrong")
    spread = table[:, averaging.SQUARES if like.method.averages else descent.SPREAD]
    least = min(spread.min(initial=1.0), clock[descent.SHIFT_SPREAD])
    lowest = LEAST if like.method.loop is SECOND_ORDER else 0.0
    need(least >= lowest, "a sum of squares is negative, or a variance not positive")
    return table, kept, clock
