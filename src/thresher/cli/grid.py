"""``thresher grid``."""

import os
import time

import numpy as np

from thresher.cli.files import data_of, path_of
from thresher.cli.inspect import describe, facts
from thresher.cli.select import check_usage, say_read
from thresher.cli.show import Points, Voice, add, grid
from thresher.cli.start import DONE, INTERRUPTED
from thresher.errors import InvalidDataError
from thresher.estimators.sparse_svm_path import SparseSVCPath
from thresher.models import read as read_model
from thresher.models import save

SHOWN = 20  # features


def run(
    file, betas, alphas, cv, scoring, gamma, intercept, scale, balanced, screening, tol, max_time, jobs, out, quiet,
    json, kind, labels, label_column, ignore, names, index_base,
):  # fmt: skip
    """Read, solve all points, write the models, and report."""
    voice, begun, ignore = Voice(quiet, json), time.perf_counter(), tuple(ignore or ())
    file, out, labels, names = map(path_of, (file, out, labels, names))
    check_usage(file, out, None, labels, None, names)
    table = data_of(
        voice, file, kind=kind, labels=labels, label_column=label_column, ignore=ignore, names=names,
        index_base=index_base, n_jobs=jobs,
    )  # fmt: skip
    if table.y is None:
        raise InvalidDataError(f"{file}: there are no labels in it; name a file of labels with --labels")
    say_read(voice, file, table, time.perf_counter() - begun)
    path = SparseSVCPath(
        betas, alphas, cv=cv, scoring=scoring, gamma=gamma, fit_intercept=intercept,
        scale=None if scale == "none" else scale, class_weight="balanced" if balanced else None,
        screening=None if screening == "none" else screening, tol=tol, max_time=max_time, n_jobs=jobs,
    )  # fmt: skip
    interrupted = fitted(voice, path, table)
    path.verbose = 0
    source = {
        "kind": table.kind, "file": os.path.basename(file), "index_base": table.index_base,
        "label_column": label_column,
    }  # fmt: skip
    save(path, out, names=table.names, source=source)
    model = read_model(out)
    show_rows(voice, path)
    describe(voice, model, top=SHOWN)
    voice.say(f"\n{'interrupted; the points reached' if interrupted else 'the models of all points'} are in {out}")
    voice.report(model=out, interrupted=interrupted, **facts(model))
    return INTERRUPTED if interrupted else DONE


def fitted(voice, path, table):
    """Fit; whether Ctrl-C ended it with points in hand."""
    with voice.heard(), Points(voice.speaks) as points:
        path.verbose = points
        try:
            path.fit(table.X, table.y)
        except KeyboardInterrupt:
            if not hasattr(path, "selection_"):
                raise
            return True
    return False


def show_rows(voice, path):
    """One line for each beta: features, what was removed, and the best score."""
    own, mean = path.path_, None if not hasattr(path, "scores_") else path.scores_.mean(axis=0)
    heads = [
        "features",
        "features removed",
        "samples removed",
        *(["best score", "at alpha"] if mean is not None else []),
    ]
    table = grid("beta", *heads, title=f"\n{int(own.solved.sum()):,} points")
    for i in np.flatnonzero(own.solved.any(axis=1)):
        solved = own.solved[i]
        removed = own.features_removed[i, solved].mean() / own.n_features
        samples = own.samples_removed[i, solved].mean() / own.n_samples
        cells = [
            f"{own.selected[i, solved].min()} to {own.selected[i, solved].max()}",
            f"{removed:.1%}",
            f"{samples:.1%}",
        ]
        if mean is not None:
            j = int(np.argmax(mean[i]))
            cells += [f"{mean[i, j]:.4f}" + (" *" if (i, j) == path.best_index_ else ""), f"{own.alphas[i, j]:.3g}"]
        add(table, f"{own.betas[i]:.4g}", *cells)
    voice.table(table)
