"""``thresher select``."""

import os
import time

import numpy as np

from thresher.cli.app import WrongUsage
from thresher.cli.files import Names, check_out, data_of, known_labels, more_data, path_of
from thresher.cli.inspect import describe, facts
from thresher.cli.show import Turns, Voice, add, grid, number
from thresher.cli.start import DONE, INTERRUPTED, in_one_line
from thresher.errors import InvalidDataError, ModelFileError
from thresher.estimators.fgm import FGMClassifier
from thresher.io.table import Source
from thresher.models import read as read_model
from thresher.models import save
from thresher.report.path_display import path_scores

SHOWN = 20  # features, and numbers of features


def run(
    file, features, C, loss, support, growth_alone, scale, always, tol, max_time, out, test, test_labels, reading,
    fitting, reporting,
):  # fmt: skip
    """Read, fit, write the model, and report."""
    voice, jobs = Voice(reporting.quiet, reporting.json), fitting.jobs
    file, out, test, test_labels = map(path_of, (file, out, test, test_labels))
    check_usage(file, out, test, path_of(reading.labels), test_labels, path_of(reading.names))
    table = training_data(voice, file, reading, jobs)
    called = Names(table.names, table.index_base)
    clf = FGMClassifier(
        features, C=C, loss=loss, support=support, overshoot=None if growth_alone else "auto",
        scale=None if scale == "none" else scale, class_weight="balanced" if fitting.balanced else None,
        always_include=[called.number(each, table.X.shape[1]) for each in always or ()] or None,
        tol=tol, max_time=max_time, n_jobs=jobs,
    )  # fmt: skip
    bar = Turns(voice.speaks, "choosing C" if C == "auto" else "reading columns")
    interrupted, model = fitted(voice, clf, table, bar, out, file, reading.label_column)
    describe(voice, model, top=SHOWN)
    scored, failed = {}, None
    if test is not None and not interrupted:
        try:
            scored = tested(voice, model, test, reading.kind, test_labels, tuple(reading.ignore or ()), jobs)
        except (ValueError, TypeError, OSError) as error:  # told when the model has been reported
            scored, failed = {"test_error": in_one_line(error)}, error
    voice.say(f"\n{'interrupted; the best model so far' if interrupted else 'the model'} is in {out}")
    voice.report(model=out, interrupted=interrupted, **facts(model), **scored)
    if failed is not None:
        raise failed
    return INTERRUPTED if interrupted else DONE


def check_usage(file, out, test, labels, test_labels, names):
    """Refuse, before hours are spent on a fit, what cannot end well."""
    if out == "-":
        raise WrongUsage("the model cannot go to standard output; name a file with --out")
    if test_labels is not None and test is None:
        raise WrongUsage("--test-labels is for the data of --test")
    given = [each for each in (file, labels, names, test, test_labels) if each is not None]
    if given.count("-") > 1:
        raise WrongUsage("standard input can be read only once")
    check_out(out, *given)
    for each in given:
        if each != "-" and not os.path.exists(each):
            raise FileNotFoundError(f"{each}: there is no such file")
    if os.path.exists(out) and os.path.getsize(out):
        try:
            read_model(out)
        except ModelFileError:
            raise WrongUsage(f"--out {out} is there and is no model file; take another name") from None


def training_data(voice, file, reading, jobs):
    """The Table of the training data, told of; it must have labels."""
    begun = time.perf_counter()
    table = data_of(
        voice, file, kind=reading.kind, labels=path_of(reading.labels), label_column=reading.label_column,
        ignore=tuple(reading.ignore or ()), names=path_of(reading.names), index_base=reading.index_base, n_jobs=jobs,
    )  # fmt: skip
    if table.y is None:
        raise InvalidDataError(f"{file}: there are no labels in it; name a file of labels with --labels")
    say_read(voice, file, table, time.perf_counter() - begun)
    return table


def say_read(voice, file, table, seconds):
    """What was read."""
    rows, columns = table.X.shape
    values, counts = np.unique(table.y, return_counts=True)
    shown = ", ".join(f"{value} ({count:,})" for value, count in zip(values[:6], counts[:6], strict=True))
    voice.say(
        f"{file}: {number(rows, 'row')}, {number(columns, 'column')}, {number(table.entries, 'value')}, labels "
        f"{shown}{', ...' if values.size > 6 else ''}; {seconds:.2f} s"
    )


def fitted(voice, clf, table, bar, out, file, label_column):
    """(whether Ctrl-C ended the fit with a model in hand, the Model that was written)."""
    interrupted = False
    with voice.heard(), bar:
        clf.verbose = bar
        try:
            clf.fit(table.X, table.y)
        except KeyboardInterrupt:
            if not hasattr(clf, "selection_"):
                raise
            interrupted = True
    clf.verbose = 0
    source = Source(os.path.basename(file), table.kind, table.index_base, label_column)
    save(clf, out, names=table.names, source=source)
    return interrupted, read_model(out)


def tested(voice, model, test, kind, labels, ignore, jobs):
    """Accuracy of every model of the path on other data: a table for people, all of it for machines."""
    clf = model.estimator
    used = np.unique(np.concatenate([station.features for station in clf.path_] or [clf.selection_.features]))
    table = more_data(voice, model, test, used.tolist(), kind=kind, labels=labels, ignore=ignore, n_jobs=jobs)
    if table.y is None:
        raise InvalidDataError(f"{test}: there are no labels in it; name a file of labels with --test-labels")
    y, _ = known_labels(voice, table.y, clf.classes_)
    numbers, accuracies = clf.path_.numbers, path_scores(clf, table.X, y)
    shown = grid("features", "accuracy", title=f"\nAccuracy on {test} ({number(table.y.size, 'row')})")
    best, chosen = int(np.argmax(accuracies)), clf.selection_.features.size
    for at in spread(numbers, SHOWN, [best, *np.flatnonzero(numbers == chosen)]):
        mark = "  chosen" if numbers[at] == chosen else "  best" if at == best else ""
        add(shown, f"{numbers[at]}{mark}", f"{accuracies[at]:.4f}")
    voice.table(shown)
    return {"test": test, "path_numbers": numbers, "path_accuracies": accuracies,
            "accuracy": float(clf.score(table.X, y))}  # fmt: skip


def spread(numbers, most, also):
    """Places of about ``most`` numbers, evenly over their logarithms, and of ``also``."""
    wanted = np.geomspace(max(1, numbers[0]), max(1, numbers[-1]), most)
    return sorted({int(np.abs(numbers - each).argmin()) for each in wanted} | {int(at) for at in also})
