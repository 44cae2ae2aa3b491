"""``thresher grid``."""

import numpy as np

from thresher.cli.app import WrongUsage
from thresher.cli.commands.inspect import describe, facts
from thresher.cli.commands.select import check_usage, fitted, training_data, where
from thresher.cli.files import path_of
from thresher.cli.show import Points, Reporter, add, new_table
from thresher.cli.start import DONE, INTERRUPTED
from thresher.estimators.sparse_svm.path import SparseSVCPath

FEATURES_SHOWN = 20


def run(file, betas, alphas, no_intercept, scale, screening, out, reading, fitting, reporting, **options):
    """Read the data, solve all points, save the models, and report; ``options`` are those of SparseSVCPath."""
    reporter = Reporter(reporting.quiet, reporting.json)
    file, out = map(path_of, (file, out))
    check_usage(file, out, None, path_of(reading.labels), None, path_of(reading.names))
    if screening == "iss" and not no_intercept:
        raise WrongUsage("--screening iss tests samples, which needs --no-intercept; ifs and gap test features")
    table = training_data(reporter, file, reading, fitting.jobs)
    path = SparseSVCPath(
        betas, alphas, fit_intercept=not no_intercept, scale=or_none(scale), screening=or_none(screening),
        class_weight="balanced" if fitting.balanced else None, n_jobs=fitting.jobs, **options,
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


def or_none(word):
    """The value of an option, whose word for None is "none"."""
    return None if word == "none" else word


def show_rows(reporter, path):
    """One row for each beta: features, what was removed if that was tested, and the best score."""
    grid, heads = path.path_, ["features"]
    tested = any(grid.tested(rule).any() for rule in ("gap", "iss", "ifs"))
    if tested:
        heads += ["features removed", "samples removed"]
    if hasattr(path, "scores_"):
        heads += ["best score", "at alpha"]
    table = new_table("beta", *heads, title=f"\n{int(grid.solved.sum()):,} points")
    for i in np.flatnonzero(grid.solved.any(axis=1)):
        numbers = grid.n_features[i, grid.solved[i]]
        cells = [f"{numbers.min()} to {numbers.max()}"]
        if tested:
            cells += shares_removed(grid, i)
        if hasattr(path, "scores_"):
            cells += best_score(path, i)
        add(table, f"{grid.betas[i]:.4g}", *cells)
    reporter.table(table)


def best_score(path, i):
    """The best mean score of the points of a beta, marked if it is the best of all, and the alpha of that point."""
    mean = path.scores_[:, i].mean(axis=0)
    j = int(np.argmax(mean))
    mark = " *" if (i, j) == path.best_index_ else ""
    return [f"{mean[j]:.4f}{mark}", f"{path.path_.alphas[i, j]:.3g}"]


def shares_removed(grid, i):
    """Mean shares of features and of samples removed at the points of a beta of which something was proven."""
    points = grid.screened[i]
    if not points.any():
        return ["not tested"] * 2
    features = grid.features_removed[i, points].mean() / grid.n_features_in
    samples = grid.samples_removed[i, points].mean() / grid.n_samples
    return [f"{features:.1%}", f"{samples:.1%}"]
