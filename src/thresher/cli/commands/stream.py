"""``thresher stream``."""

import contextlib
import io
import os
import time

import numpy as np

from thresher.cli.app import WrongUsage
from thresher.cli.commands.fitting import check_paths, raise_first, where
from thresher.cli.commands.inspect import FEATURES_SHOWN, describe, description_of, facts
from thresher.cli.files import check_out, not_written, refuse, saved
from thresher.cli.show import Examples, Reporter
from thresher.cli.start import DONE, INTERRUPTED
from thresher.data.rows.entries import LARGEST
from thresher.data.workers import unbroken
from thresher.errors import InvalidDataError, ModelFileError
from thresher.estimators.stream.classifier import StreamClassifier
from thresher.io.svmlight import path_name
from thresher.io.table import Source, tidy_labels
from thresher.io.text import MOST_REPORTED, opened
from thresher.io.text_stream import TextStream
from thresher.models import read_checkpoint, save_checkpoint
from thresher.results import counted

EXAMPLES_FOR_CLASSES = 10_000  # examples whose labels are taken for all classes, unless they are among COMMON_CLASSES
COMMON_CLASSES = (np.array([-1, 1]), np.array([0, 1]))
CHECKPOINT_SECONDS = 60.0  # between two checkpoints


def run(file, learning, classes, skip_bad, checkpoints, out, progressive, reporting):
    """Learn from the stream, save checkpoints and the model, and report."""
    reporter = Reporter(reporting.quiet, reporting.json)
    checkpoint, resume = checkpoints.checkpoint, checkpoints.resume
    refuse({"--skip-seen needs --resume": checkpoints.skip_seen and resume is None})
    clf, position = resumed(resume, learning, classes) if resume else (untrained(learning), {})
    out = out or position.get("out") or "model.json"
    check_paths(out, file)
    check_checkpoint(checkpoint, resume, file, out)
    results = Milestones(reporter, progressive)
    work = Work(clf, position, out, checkpoint or resume, checkpoints.every, reporter.warn, results)
    with reporter.catching_warnings(), Examples(reporter.prints) as bar:
        clf.verbose, work.tell = bar if bar.shown else 0, bar.tell
        stream, ended = learn_file(work, file, classes, skip_bad, work.lines if checkpoints.skip_seen else 0)
    if not clf.__sklearn_is_fitted__():
        raise ended or nothing_in(stream)
    interrupted = isinstance(ended, KeyboardInterrupt)
    failed = None if interrupted else ended
    if failed and clf.diverged_:  # the last checkpoint is better than what there is now
        raise failed
    model, lost = work.finish(file)
    results.finish(clf)
    report(reporter, work, model, progressive, file, lost)
    if lost is None:
        why = "stopped by an error; the model learnt before" if failed else "interrupted; the model learnt so far"
        reporter.say(f"\n{why if ended else 'the model'} is in {out}")
    raise_first(lost, failed, work.failed)
    return INTERRUPTED if interrupted else DONE


def learn_file(work, file, classes, skip_bad, seen):
    """Learn from a file without the first lines, which were ``seen``: (the TextStream, the error that ended it).

    The error is to be raised when what was learnt before it has been saved.
    """
    list(TextStream(io.BytesIO(b"1 1:1\n"), ""))  # compiles the loops of the reader, or loads them
    work.before = work.lines - seen
    with opened(file) as text:
        stream = TextStream(
            text, path_name(file), skip_bad=skip_bad, live=file == "-", largest=LARGEST, lines_seen=seen
        )  # fmt: skip
        try:
            work.learn_all(stream, None if classes is None else named_classes(classes))
        except (KeyboardInterrupt, InvalidDataError) as error:
            return stream, error
    return stream, None


def nothing_in(stream):
    """The error of a stream without rows."""
    skipped = f" ({counted(stream.bad, 'bad line')} skipped, first {stream.complaints[0]})" if stream.bad else ""
    return InvalidDataError(f"{stream.name}: no rows found{skipped}")


def untrained(learning):
    """An untrained classifier; WrongUsage for invalid options."""
    options = vars(learning) | {
        "no_intercept": None, "fit_intercept": False if learning.no_intercept else None,
        "balanced": None, "class_weight": "balanced" if learning.balanced else None,
    }  # fmt: skip
    given = {name: one_or_several(value) for name, value in options.items() if value is not None}
    clf = StreamClassifier(open_ended=True, **given)
    try:
        clf._checked_options()
    except ValueError as error:
        raise WrongUsage(error) from None
    return clf


def one_or_several(value):
    """A list of one number as that number."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def resumed(resume, learning, classes):
    """(classifier, position) of a checkpoint, which contains the options."""
    given = [name for name, value in {**vars(learning), "classes": classes}.items() if value not in (None, False)]
    if given:
        option = given[0].replace("_", "-")
        raise WrongUsage(f"--{option} cannot be combined with --resume: the checkpoint contains it")
    clf, position = read_checkpoint(resume)
    counts = [position.get(name, 0) for name in ("lines", "bad")]
    if not all(type(count) is int and count >= 0 for count in counts) or not isinstance(position.get("out", ""), str):
        raise ModelFileError(f"{resume}: invalid position in the stream, not written by thresher stream: {position}")
    return clf, position


def check_checkpoint(checkpoint, resume, file, out):
    """Raise an error, before any work is done, if a checkpoint of another run would be overwritten."""
    if checkpoint is not None:
        check_out(checkpoint, file, option="--checkpoint")
        same = resume is not None and os.path.exists(checkpoint) and os.path.samefile(checkpoint, resume)
        if os.path.exists(checkpoint) and not same:
            raise WrongUsage(f"--checkpoint {checkpoint} already exists; continue from it with --resume, or remove it")
    elif resume is not None:
        check_out(resume, file, option="--resume")
    if os.path.abspath(out) in [os.path.abspath(path) for path in (checkpoint, resume) if path is not None]:
        raise WrongUsage(f"{out} cannot be both the model and the checkpoint")


class Work:
    """Learns from batches, and counts lines and examples."""

    def __init__(self, clf, position, out, checkpoint, every, warn, results):
        self.clf, self.out, self.checkpoint, self.every, self.warn = clf, out, checkpoint, every, warn
        self.results = results
        self.failed = None  # the error of the last checkpoint, if it could not be written
        self.tell, self.prepared = lambda text: None, set()  # types of matrices that loops are compiled for
        self.lines, self.bad = int(position.get("lines", 0)), int(position.get("bad", 0))
        self.before, self.bad_before, self.complaints = 0, self.bad, []
        self.seconds, self.learnt = 0.0, 0
        begun = clf.__sklearn_is_fitted__()
        self.advice = "skip bad lines with --skip-bad" if begun else "list all labels with --classes"
        self.saved_at, self.saved = time.monotonic(), clf.n_examples_ if begun else 0

    def learn_all(self, stream, classes):
        """Learn from the whole stream, once all class labels are known."""
        waiting, known = [], self.clf.classes_ if self.clf.__sklearn_is_fitted__() else classes
        try:
            for batch in stream:
                waiting.append(batch)
                known = known if known is not None else classes_in(waiting, stream.name)
                if known is not None:
                    self.learn_each(waiting, known, stream)
        except (InvalidDataError, KeyboardInterrupt):
            if known is None:  # learn what was read before the error
                with contextlib.suppress(InvalidDataError):
                    self.learn_each(waiting, classes_in(waiting, stream.name, at_last=True), stream)
            raise
        self.learn_each(waiting, classes_in(waiting, stream.name, at_last=True) if waiting else known, stream)

    def learn_each(self, waiting, classes, stream):
        """Learn from the waiting batches, one by one."""
        while waiting and classes.size:
            self.learn(waiting.pop(0), classes, stream)

    def learn(self, batch, classes, stream):
        """Learn from a batch; rows whose label is not one of the classes are bad lines."""
        X, labels, done, wrong = batch.X, batch.labels, batch.done, np.flatnonzero(~np.isin(batch.labels, classes))
        messages = [
            f"{stream.name}: line {batch.lines[row]}: label {tidy_labels(labels[[row]])[0]} is not one of the classes "
            f"{', '.join(map(str, classes))}; {self.advice}"
            for row in wrong[:MOST_REPORTED]
        ]
        if wrong.size and stream.skip_bad:
            stream.note_bad(wrong.size, messages)
            X, labels = X[np.isin(labels, classes)], np.delete(labels, wrong)
        elif wrong.size:
            X, labels, done = X[: wrong[0]], labels[: wrong[0]], int(batch.lines[wrong[0]]) - 1
        self.prepare(X, labels, classes)
        begun = time.perf_counter()
        with unbroken():
            if labels.size:
                self.clf.partial_fit(X, labels.astype(classes.dtype), classes=classes)
            self.lines, self.bad = self.before + done, self.bad_before + stream.bad
            self.learnt += labels.size
        self.seconds += time.perf_counter() - begun
        self.complaints = stream.complaints
        self.results.learnt(self.clf)
        if wrong.size and not stream.skip_bad:
            raise InvalidDataError(messages[0])
        self.save_if_due()

    def prepare(self, X, labels, classes):
        """Compile the loops for matrices of this type, or load them, by a trial on two rows.

        Otherwise that would be taken for waiting for lines, and count in the speed.
        """
        if X.dtype in self.prepared or not labels.size:
            return
        self.prepared.add(X.dtype)
        self.tell("loading compiled loops")
        trial = StreamClassifier(**self.clf.get_params() | {"verbose": 0})
        with contextlib.suppress(InvalidDataError):  # a far too large step size: the stream reports it
            trial.partial_fit(X[:2], labels[:2].astype(classes.dtype), classes=classes)
        self.tell("learning")

    def save_if_due(self):
        """Save a checkpoint if one is due."""
        due = self.clf.n_examples_ - self.saved >= self.every or time.monotonic() - self.saved_at > CHECKPOINT_SECONDS
        if due and self.checkpoint is not None:
            self.save()

    def save(self):
        """Save a checkpoint; where it cannot be written, the stream goes on, and another is tried when it is due."""
        before = self.failed
        try:
            with unbroken():
                position = {"lines": self.lines, "bad": self.bad, "out": self.out}
                save_checkpoint(self.clf, self.checkpoint, position=position)
            self.failed = None
        except OSError as error:
            self.failed = not_written(self.checkpoint, error, "free some space or use another disk")
            if before is None:
                self.warn(self.failed)
        self.saved_at, self.saved = time.monotonic(), self.clf.n_examples_

    def finish(self, file):
        """Save the last checkpoint and the model: (the Model, the error of writing it or None)."""
        self.clf.verbose = 0
        if self.checkpoint is not None:
            self.save()
        name = None if file == "-" else os.path.basename(file)
        source = Source(file=name, kind="svmlight", index_base=0, open_ended=True)
        return saved(self.clf, self.out, names=None, source=source)


def named_classes(given):
    """The labels of ``--classes``."""
    try:
        classes = np.unique(tidy_labels(np.array([float(label) for label in given.split(",")])))
    except ValueError:
        raise WrongUsage(f"--classes must be numbers separated by commas, got {given!r}") from None
    if classes.size < 2 or not np.isfinite(classes).all():
        raise WrongUsage(f"--classes must contain at least two labels, got {given!r}")
    return classes


def classes_in(batches, name, at_last=False):
    """All class labels, inferred from the first batches; None if there are too few examples yet."""
    labels = np.unique(np.concatenate([np.zeros(0), *(batch.labels for batch in batches)]))
    common = [pair for pair in COMMON_CLASSES if np.isin(labels, pair).all() and labels.size]
    if common and (labels.size == 2 or at_last):
        return common[0]
    if not at_last and sum(batch.labels.size for batch in batches) < EXAMPLES_FOR_CLASSES:
        return None
    if labels.size > 1 or not labels.size:
        return tidy_labels(labels)
    if common:
        return common[0]
    raise InvalidDataError(f"{name}: the only label so far is {tidy_labels(labels)[0]}; list all labels with --classes")


def report(reporter, work, model, progressive, file, lost):
    """Report what was learnt, as text and as JSON."""
    clf = work.clf
    speed = work.learnt / work.seconds if work.seconds > 0 else 0.0
    for complaint in work.complaints:
        reporter.warn(f"skipped: {complaint}")
    reporter.say(
        f"{path_name(file)}: {counted(work.learnt, 'example')}, {speed:,.0f} per second; {clf.n_examples_:,} in "
        f"total, {counted(clf.n_features_seen_, 'feature')} seen"
    )
    if work.bad:
        reporter.say(f"{counted(work.bad, 'bad line')} skipped")
    describe(reporter, model, top=FEATURES_SHOWN)
    for line in description_of(model).origin:
        reporter.say(line)
    more = {} if work.checkpoint is None else {"checkpoint": work.checkpoint}
    trace = {"trace": [vars(milestone) for milestone in record_of(clf)]} if progressive else {}
    reporter.report(**where(work.out, lost), lines=work.lines, bad_lines=work.bad, features_seen=clf.n_features_seen_,
                 examples_a_second=speed, **more, **facts(model), **trace)  # fmt: skip


def record_of(clf):
    """The milestones, and the current state."""
    now = clf.standing()
    return clf.trace_ if clf.trace_ and clf.trace_[-1].examples == now.examples else [*clf.trace_, now]


class Milestones:
    """Progressive results: a table at the end or, where the report goes to a file or a pipe, lines as they come."""

    HEADS = ("examples", "loss", "accuracy", "features", "truncation error")
    WIDTHS = (13, 10, 8, 8, 16)

    def __init__(self, reporter, shown):
        self.reporter, self.shown, self.written = reporter, shown, 0

    def learnt(self, clf):
        """Write the milestones that are new."""
        if self.shown and not self.reporter.updates:
            self._write(clf.trace_)

    def finish(self, clf):
        """Write the last state, or the table."""
        if not self.shown:
            return
        if not self.reporter.updates:
            self._write(record_of(clf))
            self.reporter.say()
        else:
            self.reporter.table(self.HEADS, [cells_of(each) for each in record_of(clf)], "\nProgressive results")

    def _write(self, milestones):
        for each in milestones:
            if each.examples > self.written:
                if not self.written:
                    self.reporter.say("Progressive results")
                    self._line(self.HEADS)
                self._line(cells_of(each))
                self.written = each.examples

    def _line(self, cells):
        self.reporter.say_now("  ".join(f"{cell:>{width}}" for cell, width in zip(cells, self.WIDTHS, strict=True)))


def cells_of(milestone):
    """A milestone as the cells of a row."""
    return [
        f"{milestone.examples:,}",
        f"{milestone.loss:.4g}",
        f"{milestone.accuracy:.4f}",
        str(milestone.features),
        f"{milestone.truncation_error:.3g}",
    ]
