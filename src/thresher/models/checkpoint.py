"""Checkpoints of a stream: the training state of a StreamClassifier, to continue exactly where it was.

One container with its own checksum (seal): the arrays, and a member "document" with the rest as JSON. The same state
gives the same bytes.
"""

import json
import os
from typing import Any

import numpy as np

from thresher.errors import InconsistentResultError, ModelFileError
from thresher.estimators.stream.classifier import StreamClassifier
from thresher.estimators.stream.state import StreamState, classifier_of, state_of
from thresher.families.online.state import LearnersState, LearnerState
from thresher.models.document import MOST_FEATURES, type_of
from thresher.models.formats import CHECKPOINT, TooNew
from thresher.models.storage import (
    Container,
    check_seal,
    json_dict,
    move,
    open_file,
    parse_json,
    replaceable,
    scratch_names,
    write_sealed,
    write_synced,
)
from thresher.results import Milestone
from thresher.results.trace import get_milestones
from thresher.state import (
    ArrayReader,
    ArrayWriter,
    Damaged,
    fields,
    get_strings,
    get_value,
    integer,
    need,
    put_records,
    put_strings,
    put_typed,
    put_value,
    real,
    reported,
    required,
    shown_path,
)
from thresher.targets.classes import get_classes

CHECKPOINT_FIELDS = required(
    "format", "format_version", "parameters", "n_features_in", "names", "classes", "ids", "examples", "totals",
    "mistakes", "milestones", "learners", "position",
)  # fmt: skip
DOCUMENT = "document"  # the member that no other container has
LEARNER_FIELDS = required("table", "kept", "clock")
# parameters that every checkpoint has; later ones have the defaults of StreamClassifier if they are absent
PARAMETER_FIELDS = required(
    "budget", "method", "loss", "step_size", "l2", "l1", "gamma", "delta", "fit_intercept", "open_ended", "hash_bits",
    "class_weight", "random_state", "verbose",
)  # fmt: skip


def save_checkpoint(
    clf: StreamClassifier, path: str | os.PathLike[str], *, position: dict[str, Any] | None = None
) -> None:
    """Write the training state of a StreamClassifier to ``path``; an existing file is replaced atomically.

    Parameters
    ----------
    clf : StreamClassifier
        Fitted by ``fit`` or ``partial_fit``.
    path : str or path-like
        File to write, for example ``"state.npz"``.
    position : dict, default=None
        Position in the stream, as JSON-serializable values; ``thresher.models.read_checkpoint`` returns it.
    """
    if type_of(clf) != "StreamClassifier":
        raise TypeError(f"only a StreamClassifier can be saved as a checkpoint, got {type(clf).__name__}")
    writer = ArrayWriter(inline=0)
    document = _put_state(writer, state_of(clf)) | {"position": json_dict(position, "position")}
    writer.members[DOCUMENT] = np.frombuffer(json.dumps(document, allow_nan=False).encode(), dtype=np.uint8)
    path = replaceable(path)
    with scratch_names(os.path.dirname(path), 1) as (scratch,):
        write_synced(scratch, lambda file: write_sealed(file, writer.members))
        try:
            _read_checkpoint(scratch)
        except Damaged as error:  # keep the existing file
            raise ValueError(f"this checkpoint could not be loaded again, so it is not saved: {error}") from error
        move(scratch, path)


def load_checkpoint(path: str | os.PathLike[str]) -> StreamClassifier:
    """Load the StreamClassifier that ``save_checkpoint`` wrote to ``path``; ``partial_fit`` continues from there.

    The file is validated and no code in it is run: a damaged file raises ModelFileError.

    Parameters
    ----------
    path : str or path-like
        The checkpoint.

    Returns
    -------
    clf : StreamClassifier
        Fitted, with its training state.
    """
    return read_checkpoint(path)[0]


def read_checkpoint(path: str | os.PathLike[str]) -> tuple[StreamClassifier, dict[str, Any]]:
    """Load a checkpoint with its position in the stream.

    Parameters
    ----------
    path : str or path-like
        The checkpoint.

    Returns
    -------
    clf : StreamClassifier
        As ``load_checkpoint`` returns it.
    position : dict
        The ``position`` passed to ``save_checkpoint``.
    """
    name = shown_path(os.fsdecode(path))
    try:
        return _read_checkpoint(path)
    except TooNew as error:
        raise ModelFileError(f"{name}: {error}") from error
    except Damaged as error:
        raise ModelFileError(f"{name} is not a valid checkpoint: {error}; use an older one or start over") from error


def _put_state(writer, state):
    """The document of a state, without the position; all arrays go to ``writer``."""
    learnt, n_settings = state.learners, len(state.learners.mistakes)
    n_problems = len(learnt.learners) // n_settings
    names = [f"setting{s}.class{c}" for s in range(n_settings) for c in range(n_problems)]
    learners = [_put_learner(writer, name, learner) for name, learner in zip(names, learnt.learners, strict=True)]
    feature_names = state.feature_names_in
    return {
        **CHECKPOINT.head,
        "parameters": {key: put_value(writer, f"parameters.{key}", value) for key, value in state.parameters.items()},
        "n_features_in": state.n_features_in,
        "names": None if feature_names is None else put_strings(writer, "names", feature_names.tolist()),
        "classes": put_typed(writer, "classes", state.classes),
        "ids": writer.put("ids", learnt.ids, "<i8"),
        "examples": int(learnt.examples),
        "totals": writer.put("totals", learnt.totals, "<f8"),
        "mistakes": [float(count) for count in learnt.mistakes],
        "milestones": [
            put_records(writer, f"setting{s}.milestones", Milestone, part) for s, part in enumerate(learnt.milestones)
        ],
        "learners": learners,
    }


def _put_learner(writer, name, state):
    return {
        "table": writer.put(f"{name}.table", state.table, "<f8"),
        "kept": writer.put(f"{name}.kept", state.kept, "<i8"),
        "clock": writer.put(f"{name}.clock", state.clock, "<f8"),
    }


def _read_checkpoint(path):
    """(StreamClassifier, position) of a file, after its checksum was verified."""
    with open_file(path) as file:
        start = file.read(2)
        need(not start.startswith(b"{"), "it is a model file, load it with thresher.load")
        need(start == b"PK", "it is not a checkpoint, or is truncated or damaged")
        check_seal(file)
        reader = ArrayReader(Container(file))
        document = parse_json(reader.container.array("document", "|u1", None, "its document").tobytes())
        CHECKPOINT.check(document)
        document = fields(CHECKPOINT.migrated(document), CHECKPOINT_FIELDS, "the document")
        need(isinstance(document["position"], dict), "position must be an object")
        state = _state(reader, document)
        with reported("its parts are inconsistent", InconsistentResultError):
            clf = classifier_of(state)
        reader.check_all_read()
    return clf, document["position"]


def _state(reader, document):
    """The state in a document: types are checked here, values where they are used."""
    given = document["parameters"]
    defaults = dict.fromkeys(StreamClassifier().get_params(deep=False))
    fields(given, defaults | PARAMETER_FIELDS, "parameters")
    n_features, names = integer(document["n_features_in"], "n_features_in", 1, MOST_FEATURES), document["names"]
    for key in ("mistakes", "milestones", "learners"):
        need(isinstance(document[key], list), f"{key} must be a list")
    learners = LearnersState(
        reader.get(document["ids"], "<i8", (None,), "ids"),
        integer(document["examples"], "examples", 1),
        reader.get(document["totals"], "<f8", (None,), "totals"),
        [real(count, "mistakes") for count in document["mistakes"]],
        [get_milestones(reader, part, "milestones") for part in document["milestones"]],
        [_learner(reader, learner) for learner in document["learners"]],
    )
    return StreamState(
        {key: get_value(reader, value, f"parameter {key}") for key, value in given.items()},
        n_features,
        None if names is None else np.array(get_strings(reader, names, n_features, "names"), dtype=object),
        get_classes(reader, document["classes"]),
        learners,
    )


def _learner(reader, value):
    value = fields(value, LEARNER_FIELDS, "a learner")
    return LearnerState(
        reader.get(value["table"], "<f8", (None, None), "a table"),
        reader.get(value["kept"], "<i8", (None,), "kept"),
        reader.get(value["clock"], "<f8", (None,), "a clock"),
    )
