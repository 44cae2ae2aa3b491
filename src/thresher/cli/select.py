"""``thresher select``."""

import os
import tempfile
import time
from pathlib import Path

import numpy as np

from thresher.cli.files import Names, data_of, more_data, path_of
from thresher.cli.inspect import describe, facts
from thresher.cli.show import Turns, Voice, add, grid, number
from thresher.cli.start import DONE, INTERRUPTED
from thresher.errors import InvalidDataError
from thresher.estimators.fgm import FGMClassifier
from thresher.models import read as read_model
from thresher.models import save
from thresher.report.path_display import path_scores

SHOWN = 20  # features, and numbers of features


def run(
    file, features, C, loss, support, growth_alone, scale, balanced, always, tol, max_time, jobs, out, test,
    test_labels, quiet, json, kind, labels, label_column, ignore, names, index_base,
):  # fmt: skip
    """Read, fit, write the model, and report."""
    voice = Voice(quiet, json)
    check_out(out)
    begun = time.perf_counter()
    table = data_of(
        voice, file, kind=kind, labels=path_of(labels), label_column=label_column, ignore=tuple(ignore or ()),
        names=path_of(names), index_base=index_base, n_jobs=jobs,
    )  # fmt: skip
    if table.y is None:
        raise InvalidDataError(f"{path_of(file)}: there are no labels in it; name a file of labels with --labels")
    say_read(voice, file, table, time.perf_counter() - begun)
    clf = FGMClassifier(
        features, C=C, loss=loss, support=support, overshoot=None if growth_alone else "auto",
        scale=None if scale == "none" else scale, class_weight="balanced" if balanced else None,
        always_include=[Names(table.names, table.index_base).number(each) for each in always or ()] or None,
        tol=tol, max_time=max_time, n_jobs=jobs,
    )  # fmt: skip
    interrupted = fitted(voice, clf, table)
    clf.verbose = 0
    source = {
        "kind": table.kind, "file": os.path.basename(path_of(file)), "index_base": table.index_base,
        "label_column": label_column,
    }  # fmt: skip
    save(clf, out, names=table.names, source=source)
    model = read_model(out)
    describe(voice, model, top=SHOWN)
    scored = None if test is None or interrupted else tested(voice, model, test, kind, test_labels, ignore, jobs)
    voice.say(f"\n{'interrupted; the best model so far' if interrupted else 'the model'} is in {out}")
    voice.report(model=str(out), interrupted=interrupted, **facts(model, out), **({} if scored is None else scored))
    return INTERRUPTED if interrupted else DONE


def check_out(out):
    """Refuse, before hours are spent on a fit, a place where no model can be written."""
    folder = Path(out).resolve().parent
    if not folder.is_dir():
        raise InvalidDataError(f"{out}: there is no folder {folder}")
    if Path(out).is_dir():
        raise InvalidDataError(f"{out}: is a folder; name a file to write")
    with tempfile.TemporaryFile(dir=folder):
        pass


def say_read(voice, file, table, seconds):
    """What was read."""
    rows, columns = table.X.shape
    entries = getattr(table.X, "nnz", table.X.size)
    values, counts = np.unique(table.y, return_counts=True)
    shown = ", ".join(f"{value} ({count:,})" for value, count in zip(values[:6], counts[:6], strict=True))
    voice.say(
        f"{path_of(file)}: {number(rows, 'row')}, {number(columns, 'column')}, {number(int(entries), 'value')}, labels "
        f"{shown}{', ...' if values.size > 6 else ''}; {seconds:.2f} s"
    )


def fitted(voice, clf, table):
    """Fit; whether Ctrl-C ended it with a model in hand."""
    first = "choosing C" if clf.C == "auto" else "reading columns"
    with voice.heard(), Turns(voice.speaks, first) as turns:
        clf.verbose = turns
        try:
            clf.fit(table.X, table.y)
        except KeyboardInterrupt:
            if not hasattr(clf, "selection_"):
                raise
            return True
    return False


def tested(voice, model, test, kind, labels, ignore, jobs):
    """Accuracy of every model of the path on other data: a table for people, all of it for machines."""
    own = {} if kind is None else {"kind": kind}
    table = more_data(voice, model, test, labels=path_of(labels), ignore=tuple(ignore or ()), n_jobs=jobs, **own)
    if table.y is None:
        raise InvalidDataError(f"{path_of(test)}: there are no labels in it; name a file of labels with --test-labels")
    clf = model.estimator
    numbers, accuracies = clf.path_.numbers, path_scores(clf, table.X, table.y)
    shown = grid("features", "accuracy", title=f"\nAccuracy on {path_of(test)} ({number(table.y.size, 'row')})")
    best, chosen = int(np.argmax(accuracies)), clf.selection_.features.size
    for at in spread(numbers, SHOWN, [best, *np.flatnonzero(numbers == chosen)]):
        mark = "  chosen" if numbers[at] == chosen else "  best" if at == best else ""
        add(shown, f"{numbers[at]}{mark}", f"{accuracies[at]:.4f}")
    voice.table(shown)
    return {"test": path_of(test), "path_numbers": numbers, "path_accuracies": accuracies,
            "accuracy": float(clf.score(table.X, table.y))}  # fmt: skip


def spread(numbers, most, also):
    """Places of about ``most`` numbers, evenly over their logarithms, and of ``also``."""
    wanted = np.geomspace(max(1, numbers[0]), max(1, numbers[-1]), most)
    return sorted({int(np.abs(numbers - each).argmin()) for each in wanted} | {int(at) for at in also})
