"""``thresher grid``."""

import numpy as np

from thresher.cli.commands.inspect import describe, facts
from thresher.cli.commands.select import check_usage, fitted, training_data, where
from thresher.cli.files import path_of
from thresher.cli.show import Points, Reporter, add, new_table
from thresher.cli.start import DONE, INTERRUPTED
from thresher.estimators.sparse_svm.path import SparseSVCPath

FEATURES_SHOWN = 20


def run(
    file, betas, alphas, cv, scoring, smoothing, no_intercept, scale, screening, tol, max_time, out, reading, fitting,
    reporting,
):  # fmt: skip
    """Read the data, solve all points, save the models, and report."""
    reporter = Reporter(reporting.quiet, reporting.json)
    file, out = map(path_of, (file, out))
    check_usage(file, out, None, path_of(reading.labels), None, path_of(reading.names))
    table = training_data(reporter, file, reading, fitting.jobs)
    path = SparseSVCPath(
        betas, alphas, cv=cv, scoring=scoring, smoothing=smoothing, fit_intercept=not no_intercept,
        scale=None if scale == "none" else scale, class_weight="balanced" if fitting.balanced else None,
        screening=None if screening == "none" else screening, tol=tol, max_time=max_time, n_jobs=fitting.jobs,
    )  # fmt: skip
    interrupted, model, lost = fitted(reporter, path, table, Points(reporter.prints), out, file, reading.label_column)
    show_rows(reporter, path)
    describe(reporter, model, top=FEATURES_SHOWN)
    saved = "interrupted; the points solved so far" if interrupted else "the models of all points"
    if lost is None:
        reporter.say(f"\n{saved} are in {out}")
    reporter.report(**where(out, lost), interrupted=interrupted, **facts(model))
    if lost is not None:
        raise lost
    return INTERRUPTED if interrupted else DONE


def show_rows(reporter, path):
    """One row for each beta: features, what was removed if that was tested, and the best score."""
    results, mean = path.path_, None if not hasattr(path, "scores_") else path.scores_.mean(axis=0)
    tested = any(results.tested(rule).any() for rule in ("gap", "iss", "ifs"))
    heads = [
        "features",
        *(["features removed", "samples removed"] if tested else []),
        *(["best score", "at alpha"] if mean is not None else []),
    ]
    table = new_table("beta", *heads, title=f"\n{int(results.solved.sum()):,} points")
    for i in np.flatnonzero(results.solved.any(axis=1)):
        solved = results.solved[i]
        cells = [f"{results.n_features[i, solved].min()} to {results.n_features[i, solved].max()}"]
        if tested:
            cells += shares_removed(results, i)
        if mean is not None:
            j = int(np.argmax(mean[i]))
            cells += [f"{mean[i, j]:.4f}" + (" *" if (i, j) == path.best_index_ else ""), f"{results.alphas[i, j]:.3g}"]
        add(table, f"{results.betas[i]:.4g}", *cells)
    reporter.table(table)


def shares_removed(results, i):
    """Mean shares of features and of samples removed at the points of a beta of which something was proven."""
    points = results.screened[i]
    if not points.any():
        return ["not tested"] * 2
    removed = results.features_removed[i, points].mean() / results.n_features_in
    samples = results.samples_removed[i, points].mean() / results.n_samples
    return [f"{removed:.1%}", f"{samples:.1%}"]
