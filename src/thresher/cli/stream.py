"""``thresher stream``."""

import contextlib
import os
import time

import numpy as np

from thresher.cli.app import WrongUsage
from thresher.cli.files import check_out, path_of
from thresher.cli.inspect import describe, facts, say_settings
from thresher.cli.select import check_usage
from thresher.cli.show import Examples, Voice, add, grid, number
from thresher.cli.start import DONE, INTERRUPTED
from thresher.data.stream import LARGEST
from thresher.data.workers import unbroken
from thresher.errors import InvalidDataError, ModelFileError
from thresher.estimators.stream import StreamClassifier
from thresher.io.svmlight import shown
from thresher.io.table import Source, tidy_labels
from thresher.io.text import TOLD, opened
from thresher.io.text_stream import TextStream
from thresher.models import read as read_model
from thresher.models import read_checkpoint, save, save_checkpoint

SHOWN = 20  # features
AT_LEAST = 10_000  # examples to look at before labels other than -1, 0 and 1 are believed to be all
USUAL = (np.array([-1, 1]), np.array([0, 1]))
SECONDS = 60.0  # between two checkpoints


def run(
    file, budget, method, loss, step_size, l2, l1, gamma, delta, no_intercept, balanced, hash_bits, classes, skip_bad,
    checkpoint, every, resume, skip_seen, out, progressive, reporting,
):  # fmt: skip
    """Read, learn, write checkpoints and the model, and report."""
    voice = Voice(reporting.quiet, reporting.json)
    file, checkpoint, resume, out = map(path_of, (file, checkpoint, resume, out))
    given = {
        "budget": budget, "method": method, "loss": loss, "step_size": step_size, "l2": l2, "l1": l1, "gamma": gamma,
        "delta": delta, "hash_bits": hash_bits, "fit_intercept": False if no_intercept else None,
        "class_weight": "balanced" if balanced else None,
    }  # fmt: skip
    given = {key: value for key, value in given.items() if value is not None}
    if skip_seen and resume is None:
        raise WrongUsage("--skip-seen is for a stream that --resume goes on with")
    clf, position = resumed(resume, given, classes) if resume else (begun(given), {})
    out = out or position.get("out") or "model.json"
    check_usage(file, out, None, None, None, None)
    check_checkpoint(checkpoint, resume, file, out)
    work = Work(clf, position, out, checkpoint or resume, every)
    interrupted, failed = False, None
    with voice.heard(), opened(file) as text, Examples(voice.speaks) as bar:
        clf.verbose = bar if bar.shown else 0
        stream = TextStream(
            text,
            shown(file),
            skip_bad=skip_bad,
            live=file == "-",
            largest=LARGEST,
            lines_seen=work.lines if skip_seen else 0,
        )
        work.before = 0 if skip_seen else work.lines
        try:
            work.learn_all(stream, classes)
        except KeyboardInterrupt:
            interrupted = True
        except InvalidDataError as error:  # told when what was learnt before is safe
            failed = error
    if not hasattr(clf, "classes_"):
        left_out = f" ({number(stream.bad, 'bad line')} left out, first {stream.complaints[0]})" if stream.bad else ""
        nothing = InvalidDataError(f"{shown(file)}: there is no row in it{left_out}")
        raise failed or (KeyboardInterrupt() if interrupted else nothing)
    if failed is not None and clf.diverged_:  # the last checkpoint is better than what there is now
        raise failed
    model = work.finish(file)
    report(voice, work, model, progressive, file)
    ended = "ended by an error; what was learnt before" if failed else "interrupted; what was learnt"
    voice.say(f"\n{ended if failed or interrupted else 'the model'} is in {out}")
    if failed is not None:
        raise failed
    return INTERRUPTED if interrupted else DONE


def begun(given):
    """A classifier that knows nothing yet; options that do not fit are wrong usage."""
    clf = StreamClassifier(open_ended=True, **{key: one_or_several(value) for key, value in given.items()})
    try:
        clf._checked_options()
    except ValueError as error:
        raise WrongUsage(error) from None
    return clf


def one_or_several(value):
    """A list of one number is that number."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def resumed(resume, given, classes):
    """(classifier, position) of a checkpoint, which has its options in it."""
    if given or classes is not None:
        name = next(iter(given), "classes")
        raise WrongUsage(f"--{name.replace('_', '-')} cannot be changed by --resume: it is in the checkpoint")
    clf, position = read_checkpoint(resume)
    counts = [position.get(name, 0) for name in ("lines", "bad")]
    if not all(type(count) is int and count >= 0 for count in counts) or not isinstance(position.get("out", ""), str):
        raise ModelFileError(f"{resume}: its position in a stream is not one of thresher stream: {position}")
    return clf, position


def check_checkpoint(checkpoint, resume, file, out):
    """Refuse to lose what another run has learnt, before any work is done."""
    if checkpoint is not None:
        check_out(checkpoint, file, option="--checkpoint")
        same = resume is not None and os.path.exists(checkpoint) and os.path.samefile(checkpoint, resume)
        if os.path.exists(checkpoint) and not same:
            raise WrongUsage(f"--checkpoint {checkpoint} is there already; go on from it with --resume, or remove it")
    elif resume is not None:
        check_out(resume, file, option="--resume")
    if os.path.abspath(out) in [os.path.abspath(each) for each in (checkpoint, resume) if each is not None]:
        raise WrongUsage(f"{out} cannot be both the model and the checkpoint")


class Work:
    """Learns from batches, and keeps account of how far it has come."""

    def __init__(self, clf, position, out, checkpoint, every):
        self.clf, self.out, self.checkpoint, self.every = clf, out, checkpoint, every
        self.lines, self.bad = int(position.get("lines", 0)), int(position.get("bad", 0))
        self.before, self.bad_before, self.complaints = 0, self.bad, []
        self.seconds, self.learnt = 0.0, 0
        begun = hasattr(clf, "classes_")
        self.advice = "leave such lines out with --skip-bad" if begun else "name all labels with --classes"
        self.saved_at, self.saved = time.monotonic(), getattr(clf, "n_examples_", 0)

    def learn_all(self, stream, classes):
        """Everything that comes, as soon as it is known which labels there are."""
        waiting, known = [], getattr(self.clf, "classes_", None)
        if classes is not None:
            known = named_classes(classes)
        try:
            for batch in stream:
                waiting.append(batch)
                known = known if known is not None else classes_in(waiting, stream.name)
                if known is not None:
                    self.learn_each(waiting, known, stream)
        except (InvalidDataError, KeyboardInterrupt):
            if known is None:  # what came before is not lost
                with contextlib.suppress(InvalidDataError):
                    self.learn_each(waiting, classes_in(waiting, stream.name, at_last=True), stream)
            raise
        self.learn_each(waiting, classes_in(waiting, stream.name, at_last=True) if waiting else known, stream)

    def learn_each(self, waiting, classes, stream):
        """The batches that wait, one by one."""
        while waiting and classes.size:
            self.learn(waiting.pop(0), classes, stream)

    def learn(self, batch, classes, stream):
        """One batch; rows with a label that is none of the classes are bad lines."""
        X, labels, done, wrong = batch.X, batch.labels, batch.done, np.flatnonzero(~np.isin(batch.labels, classes))
        told = [
            f"{stream.name}: line {batch.lines[row]}: label {tidy_labels(labels[[row]])[0]} is none of the classes "
            f"{', '.join(map(str, classes))}; {self.advice}"
            for row in wrong[:TOLD]
        ]
        if wrong.size and stream.skip_bad:
            stream.note_bad(wrong.size, told)
            X, labels = X[np.isin(labels, classes)], np.delete(labels, wrong)
        elif wrong.size:
            X, labels, done = X[: wrong[0]], labels[: wrong[0]], int(batch.lines[wrong[0]]) - 1
        begun = time.perf_counter()
        with unbroken():
            if labels.size:
                self.clf.partial_fit(X, labels.astype(classes.dtype), classes=classes)
            self.lines, self.bad = self.before + done, self.bad_before + stream.bad
            self.learnt += labels.size
        self.seconds += time.perf_counter() - begun
        self.complaints = stream.complaints
        if wrong.size and not stream.skip_bad:
            raise InvalidDataError(told[0])
        self.save_now_and_then()

    def save_now_and_then(self):
        """A checkpoint when it is time for one."""
        due = self.clf.n_examples_ - self.saved >= self.every or time.monotonic() - self.saved_at > SECONDS
        if due and self.checkpoint is not None:
            self.save()

    def save(self):
        """A checkpoint."""
        with unbroken():
            position = {"lines": self.lines, "bad": self.bad, "out": self.out}
            save_checkpoint(self.clf, self.checkpoint, position=position)
        self.saved_at, self.saved = time.monotonic(), self.clf.n_examples_

    def finish(self, file):
        """The last checkpoint, and the model."""
        self.clf.verbose = 0
        if self.checkpoint is not None:
            self.save()
        name = None if file == "-" else os.path.basename(file)
        save(self.clf, self.out, source=Source(file=name, kind="svmlight", index_base=0, open_ended=True))
        return read_model(self.out)


def named_classes(words):
    """The labels of ``--classes``."""
    try:
        found = np.unique(tidy_labels(np.array([float(word) for word in words.split(",")])))
    except ValueError:
        raise WrongUsage(f"--classes are numbers with commas between them, got {words!r}") from None
    if found.size < 2 or not np.isfinite(found).all():
        raise WrongUsage(f"--classes must name two labels or more, got {words!r}")
    return found


def classes_in(batches, name, at_last=False):
    """The labels there will be, judged by those in the first batches; None while it is too early to say."""
    labels = np.unique(np.concatenate([np.zeros(0), *(batch.labels for batch in batches)]))
    usual = [pair for pair in USUAL if np.isin(labels, pair).all() and labels.size]
    if usual and (labels.size == 2 or at_last):
        return usual[0]
    if not at_last and sum(batch.labels.size for batch in batches) < AT_LEAST:
        return None
    if labels.size > 1 or not labels.size:
        return tidy_labels(labels)
    if usual:
        return usual[0]
    raise InvalidDataError(
        f"{name}: the only label so far is {tidy_labels(labels)[0]}; name all that there will be with --classes"
    )


def report(voice, work, model, progressive, file):
    """What was learnt, for people and for machines."""
    clf = work.clf
    speed = work.learnt / work.seconds if work.seconds > 0 else 0.0
    for complaint in work.complaints:
        voice.warn(f"left out: {complaint}")
    voice.say(
        f"{shown(file)}: {number(work.learnt, 'example')}, {speed:,.0f} a second; {clf.n_examples_:,} in all, "
        f"{number(clf.n_features_seen_, 'feature')} seen"
    )
    if work.bad:
        voice.say(f"{number(work.bad, 'bad line')} left out")
    if progressive:
        show_trace(voice, clf)
    describe(voice, model, top=SHOWN)
    say_settings(voice, clf)
    more = {} if work.checkpoint is None else {"checkpoint": work.checkpoint}
    trace = {"trace": [vars(each) for each in record_of(clf)]} if progressive else {}
    voice.report(model=work.out, lines=work.lines, bad_lines=work.bad, features_seen=clf.n_features_seen_,
                 examples_a_second=speed, **more, **facts(model), **trace)  # fmt: skip


def record_of(clf):
    """The milestones, and where it stands now."""
    now = clf.standing()
    return clf.trace_ if clf.trace_ and clf.trace_[-1].examples == now.examples else [*clf.trace_, now]


def show_trace(voice, clf):
    """One line for each milestone."""
    table = grid(
        "examples", "loss", "accuracy", "features", "truncation error", title="\nEach example before it was learnt"
    )
    for each in record_of(clf):
        add(
            table, f"{each.examples:,}", f"{each.loss:.4g}", f"{each.accuracy:.4f}", each.features,
            f"{each.truncation_error:.3g}",
        )  # fmt: skip
    voice.table(table)
