"""Checkpoints of a stream: all that a StreamClassifier has learnt, to go on from as if nothing had happened.

One container that carries its own seal: the arrays, and a member "document" with the rest as JSON. The same state gives
the same bytes.
"""

import json
import os
from typing import Any

import numpy as np

from thresher.errors import InconsistentResultError, ModelFileError
from thresher.estimators.stream import StreamClassifier
from thresher.estimators.stream_state import StreamState, classifier_of, state_of
from thresher.families.online_state import LearnersState, LearnerState
from thresher.models.arrays import ArrayReader, ArrayWriter
from thresher.models.checks import Damaged, fields, in_one_line, need, number, required, shown_path, whole
from thresher.models.container import Container, check_seal, open_file, write_sealed
from thresher.models.document import MOST_FEATURES
from thresher.models.extras import get_milestones, put_milestones
from thresher.models.formats import CHECKPOINT, TooNew
from thresher.models.json_text import json_dict, parsed
from thresher.models.parameters import get_parameter, put_parameter
from thresher.models.registry import kind_of
from thresher.models.replacing import move, replaceable, scratch_names, write_synced
from thresher.models.values import get_classes, get_strings, put_strings, put_typed

DOCUMENT = required(
    "format", "format_version", "parameters", "n_features_in", "names", "classes", "ids", "examples", "totals",
    "mistakes", "milestones", "learners", "position",
)  # fmt: skip
LEARNER = required("table", "kept", "clock")
# parameters that every checkpoint has; those that StreamClassifier got later have its defaults where they are absent
PARAMETERS = required(
    "budget", "method", "loss", "step_size", "l2", "l1", "gamma", "delta", "fit_intercept", "open_ended", "hash_bits",
    "class_weight", "random_state", "verbose",
)  # fmt: skip


def save_checkpoint(
    clf: StreamClassifier, path: str | os.PathLike[str], *, position: dict[str, Any] | None = None
) -> None:
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
    if kind_of(clf)[0] != "StreamClassifier":
        raise TypeError(f"only a StreamClassifier has checkpoints, not {type(clf).__name__}")
    writer = ArrayWriter(inline=0)
    document = _put_state(writer, state_of(clf)) | {"position": json_dict(position, "position")}
    writer.members["document"] = np.frombuffer(json.dumps(document, allow_nan=False).encode(), dtype=np.uint8)
    path = replaceable(path)
    with scratch_names(os.path.dirname(path), 1) as (scratch,):
        write_synced(scratch, lambda file: write_sealed(file, writer.members))
        try:
            _read(scratch)
        except Damaged as error:  # rather keep what is there
            raise ValueError(f"this checkpoint could not be read again, so it is not written: {error}") from error
        move(scratch, path)


def load_checkpoint(path: str | os.PathLike[str]) -> StreamClassifier:
    """The StreamClassifier that ``save_checkpoint`` wrote to ``path``; ``partial_fit`` goes on where it was.

    The file is checked before it is believed and no code in it is run: one that is damaged raises ModelFileError.

    Parameters
    ----------
    path : str or path-like
        The checkpoint.

    Returns
    -------
    clf : StreamClassifier
        Fitted, with all that it had learnt.
    """
    return read_checkpoint(path)[0]


def read_checkpoint(path: str | os.PathLike[str]) -> tuple[StreamClassifier, dict[str, Any]]:
    """All that a checkpoint holds.

    Parameters
    ----------
    path : str or path-like
        The checkpoint.

    Returns
    -------
    clf : StreamClassifier
        As ``load_checkpoint`` gives it.
    position : dict
        What ``save_checkpoint`` was told of the position in the stream.
    """
    name = shown_path(os.fsdecode(path))
    try:
        return _read(path)
    except TooNew as error:
        raise ModelFileError(f"{name}: {error}") from error
    except Damaged as error:
        raise ModelFileError(f"{name} is not a sound checkpoint: {error}; take an older one or begin anew") from error


def _put_state(writer, state):
    """The document of a state, but for the position; all arrays are left with ``writer``."""
    learnt, n_settings = state.learners, len(state.learners.mistakes)
    n_problems = len(learnt.learners) // n_settings
    names = [f"setting{s}.class{c}" for s in range(n_settings) for c in range(n_problems)]
    learners = [_put_learner(writer, name, each) for name, each in zip(names, learnt.learners, strict=True)]
    own = state.feature_names_in
    return {
        **CHECKPOINT.head,
        "parameters": {key: put_parameter(writer, key, value) for key, value in state.parameters.items()},
        "n_features_in": state.n_features_in,
        "names": None if own is None else put_strings(writer, "names", own.tolist()),
        "classes": put_typed(writer, "classes", state.classes),
        "ids": writer.put("ids", learnt.ids, "<i8"),
        "examples": int(learnt.examples),
        "totals": writer.put("totals", learnt.totals, "<f8"),
        "mistakes": [float(each) for each in learnt.mistakes],
        "milestones": [
            put_milestones(writer, f"setting{s}.milestones", each) for s, each in enumerate(learnt.milestones)
        ],
        "learners": learners,
    }


def _put_learner(writer, name, state):
    return {
        "table": writer.put(f"{name}.table", state.table, "<f8"),
        "kept": writer.put(f"{name}.kept", state.kept, "<i8"),
        "clock": writer.put(f"{name}.clock", state.clock, "<f8"),
    }


def _read(path):
    """(StreamClassifier, position) of a file whose seal is right."""
    with open_file(path) as file:
        start = file.read(2)
        need(not start.startswith(b"{"), "it is a model file, which thresher.load reads")
        need(start == b"PK", "it is no checkpoint, or cut short or not as it was written")
        check_seal(file)
        reader = ArrayReader(Container(file))
        document = parsed(reader.container.array("document", "|u1", None, "its document").tobytes())
        CHECKPOINT.check(document)
        document = fields(CHECKPOINT.migrated(document), DOCUMENT, "the document")
        need(isinstance(document["position"], dict), "position is not an object")
        clf = _restored(_state(reader, document))
        reader.check_all_read()
    return clf, document["position"]


def _restored(state):
    try:
        return classifier_of(state)
    except InconsistentResultError as error:
        raise Damaged(in_one_line(error)) from error


def _state(reader, document):
    """The state in a document: types are checked here, what the numbers must be where they are used."""
    given = document["parameters"]
    defaults = dict.fromkeys(StreamClassifier().get_params(deep=False))
    fields(given, defaults | PARAMETERS, "parameters")
    n_features, names = whole(document["n_features_in"], "n_features_in", 1, MOST_FEATURES), document["names"]
    for key in ("mistakes", "milestones", "learners"):
        need(isinstance(document[key], list), f"{key} are not a list")
    learners = LearnersState(
        reader.get(document["ids"], "<i8", (None,), "ids"),
        whole(document["examples"], "examples", 1),
        reader.get(document["totals"], "<f8", (None,), "totals"),
        [number(each, "mistakes") for each in document["mistakes"]],
        [get_milestones(reader, each, "milestones") for each in document["milestones"]],
        [_learner(reader, each) for each in document["learners"]],
    )
    return StreamState(
        {key: get_parameter(reader, value, f"parameter {key}") for key, value in given.items()},
        n_features,
        None if names is None else np.array(get_strings(reader, names, n_features, "names"), dtype=object),
        get_classes(reader, document["classes"]),
        learners,
    )


def _learner(reader, value):
    value = fields(value, LEARNER, "a learner")
    return LearnerState(
        reader.get(value["table"], "<f8", (None, None), "a table"),
        reader.get(value["kept"], "<i8", (None,), "kept"),
        reader.get(value["clock"], "<f8", (None,), "a clock"),
    )
