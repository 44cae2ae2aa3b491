"""``thresher grid``."""

import numpy as np

from thresher.cli.files import path_of
from thresher.cli.inspect import describe, facts
from thresher.cli.select import check_usage, fitted, training_data
from thresher.cli.show import Points, Voice, add, grid
from thresher.cli.start import DONE, INTERRUPTED
from thresher.estimators.sparse_svm_path import SparseSVCPath

SHOWN = 20  # features


def run(
    file, betas, alphas, cv, scoring, gamma, intercept, scale, screening, tol, max_time, out, reading, fitting,
    reporting,
):  # fmt: skip
    """Read, solve all points, write the models, and report."""
    voice = Voice(reporting.quiet, reporting.json)
    file, out = map(path_of, (file, out))
    check_usage(file, out, None, path_of(reading.labels), None, path_of(reading.names))
    table = training_data(voice, file, reading, fitting.jobs)
    path = SparseSVCPath(
        betas, alphas, cv=cv, scoring=scoring, gamma=gamma, fit_intercept=intercept,
        scale=None if scale == "none" else scale, class_weight="balanced" if fitting.balanced else None,
        screening=None if screening == "none" else screening, tol=tol, max_time=max_time, n_jobs=fitting.jobs,
    )  # fmt: skip
    interrupted, model = fitted(voice, path, table, Points(voice.speaks), out, file, reading.label_column)
    show_rows(voice, path)
    describe(voice, model, top=SHOWN)
    voice.say(f"\n{'interrupted; the points reached' if interrupted else 'the models of all points'} are in {out}")
    voice.report(model=out, interrupted=interrupted, **facts(model))
    return INTERRUPTED if interrupted else DONE


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
        removed = own.features_removed[i, solved].mean() / own.n_features_in
        samples = own.samples_removed[i, solved].mean() / own.n_samples
        cells = [
            f"{own.n_features[i, solved].min()} to {own.n_features[i, solved].max()}",
            f"{removed:.1%}",
            f"{samples:.1%}",
        ]
        if mean is not None:
            j = int(np.argmax(mean[i]))
            cells += [f"{mean[i, j]:.4f}" + (" *" if (i, j) == path.best_index_ else ""), f"{own.alphas[i, j]:.3g}"]
        add(table, f"{own.betas[i]:.4g}", *cells)
    voice.table(table)
