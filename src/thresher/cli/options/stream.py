"""The command ``stream`` and its options; see ``options``."""

from dataclasses import dataclass
from typing import Annotated, Literal

from cyclopts import Parameter

from thresher.cli.app import (
    FILES,
    MODEL,
    OUTPUT,
    REPORTING,
    Count,
    Flag,
    Numbers,
    Reporting,
    app,
    later,
    positive_number,
)  # fmt: skip


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Learning:
    """The model to train.

    Parameters
    ----------
    budget
        Maximum number of features with non-zero weight, for each class; 100 if not given.
    method
        Learning method; b-arda if not given, which is best on most data with a small budget.
    loss
        Loss function; squared_hinge if not given, hinge for ofs.
    step_size
        Step size; may be repeated: all settings are trained, the one with the lowest progressive loss is used.
    l2
        Weight of the l2 penalty (b-arda, b-amd, ofs); may be repeated.
    l1
        Weight of the l1 penalty (l1-arda, ada-fobos); may be repeated.
    gamma
        Inverse learning rate of sofs; may be repeated.
    delta
        Added by the adaptive methods to the root of the sum of squared gradients; 0.01 if not given.
    no_intercept
        Do not fit an intercept.
    balanced
        Weight classes inversely to their size so far (class_weight="balanced").
    hash_bits
        Hash features to 2^N ids, so that memory is bounded.
    """

    budget: Annotated[int | None, Parameter(group=MODEL), Count] = None
    method: Annotated[
        Literal["b-arda", "b-amd", "ofs", "sofs", "l1-arda", "ada-fobos"] | None, Parameter(group=MODEL)
    ] = None
    loss: Annotated[Literal["squared_hinge", "hinge", "logistic"] | None, Parameter(group=MODEL)] = None
    step_size: Numbers = None
    l2: Numbers = None
    l1: Numbers = None
    gamma: Numbers = None
    delta: Annotated[float | None, Parameter(group=MODEL, validator=positive_number)] = None
    no_intercept: Annotated[bool, Parameter(group=MODEL)] = False
    balanced: Annotated[bool, Parameter(group=MODEL)] = False
    hash_bits: Annotated[int | None, Parameter(group=MODEL), Count] = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Checkpoints:
    """The checkpoints.

    Parameters
    ----------
    checkpoint
        Checkpoint file to write regularly and at the end; if not given, that of --resume.
    every
        Number of examples between two checkpoints; there is also one every minute.
    resume
        Checkpoint to continue from; it contains the options of the model.
    skip_seen
        With --resume: the stream is the same, from its beginning; skip the lines that were already learnt.
    """

    checkpoint: Annotated[str | None, Parameter(group=OUTPUT)] = None
    every: Annotated[int, Parameter(group=OUTPUT), Count] = 100_000
    resume: Annotated[str | None, Parameter(group=FILES)] = None
    skip_seen: Annotated[bool, Parameter(group=FILES)] = False


LEARNING, CHECKPOINTS = Learning(), Checkpoints()


@app.command
def stream(
    file: str = "-",
    /,
    *,
    learning: Learning = LEARNING,
    classes: Annotated[str | None, Parameter(group=FILES, allow_leading_hyphen=True)] = None,
    skip_bad: Annotated[bool, Parameter(group=FILES)] = False,
    checkpoints: Checkpoints = CHECKPOINTS,
    out: Annotated[str | None, Parameter(alias="-o", group=OUTPUT)] = None,
    progressive: Flag = False,
    reporting: Reporting = REPORTING,
):
    """Learn from a stream, one line at a time, with a hard limit on the number of features.

    FILE is svmlight/LIBSVM text, plain, .gz or .bz2; without it standard input is read. Features are identified by
    their indices, of any size; new ones may appear at any time. Every line is predicted before it is learnt.

    ```
    zcat clicks.svm.gz | thresher stream --budget 100 --progressive --checkpoint state.npz --out model.json
    thresher stream --resume state.npz < more.svm
    thresher stream clicks.svm --step-size 0.01 --step-size 0.1 --l2 1e-4 --l2 1e-2
    ```

    Parameters
    ----------
    file
        The stream; standard input if not given.
    learning
        The model to train.
    classes
        All class labels, separated by commas: -1,1. If not given, those of the first 10,000 lines; -1,1 and 0,1 are
        recognised at once.
    skip_bad
        Skip and count lines that cannot be parsed; otherwise the first one ends the stream with an error.
    checkpoints
        The checkpoints.
    out
        Model file to write at the end; model.json if not given, with --resume that of the previous run.
    progressive
        Show loss, accuracy and features after 1, 2, 3, 4, 6, 8, ... examples.
    reporting
        How the command reports.
    """
    return later("stream", **locals())
