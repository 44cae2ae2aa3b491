"""``thresher grid``."""

import numpy as np

from thresher.cli.app import WrongUsage
from thresher.cli.commands.fitting import FitCommand
from thresher.cli.commands.inspect import FEATURES_SHOWN, describe
from thresher.cli.show import Points
from thresher.estimators.sparse_svm.path import SparseSVCPath


def run(file, betas, alphas, no_intercept, scale, screening, out, reading, fitting, reporting, **options):
    """Read the data, solve all points, save the models, and report; ``options`` are those of SparseSVCPath."""
    if screening == "iss" and not no_intercept:
        raise WrongUsage("--screening iss tests samples, which needs --no-intercept; ifs and gap test features")
    command = FitCommand(file, out, reading, fitting, reporting)
    table = command.read()
    path = SparseSVCPath(
        betas, alphas, fit_intercept=not no_intercept, scale=or_none(scale), screening=or_none(screening),
        class_weight="balanced" if fitting.balanced else None, n_jobs=fitting.jobs, **options,
    )  # fmt: skip
    model = command.fit(path, table, Points(command.reporter.prints, "grid"))
    show_rows(command.reporter, path)
    describe(command.reporter, model, top=FEATURES_SHOWN)
    return command.finish(model, "the models of all points are", "the points solved so far are")


def or_none(word):
    """The value of an option, whose word for None is "none"."""
    return None if word == "none" else word


def show_rows(reporter, path):
    """One row for each beta: features, what was removed if that was tested, and the best score."""
    grid, heads = path.path_, ["features"]
    tested = any(grid.tested(rule).any() for rule in ("gap", "iss", "ifs"))
    if tested:
        heads += ["features removed", "samples removed"]
    scores = path.describe(str).facts.get("scores")
    if scores is not None:
        heads += ["best score", "at alpha"]
    rows = []
    for i in np.flatnonzero(grid.solved.any(axis=1)):
        numbers = grid.n_features[i, grid.solved[i]]
        cells = [f"{numbers.min()} to {numbers.max()}"]
        if tested:
            cells += shares_removed(grid, i)
        if scores is not None:
            cells += best_score(path, scores[i], i)
        rows.append([f"{grid.betas[i]:.4g}", *cells])
    reporter.table(["beta", *heads], rows, f"\n{int(grid.solved.sum()):,} points")


def best_score(path, scores, i):
    """The best of the mean scores of the points of a beta, marked if it is the best of all, and the alpha of it."""
    j = int(np.argmax(scores))
    mark = " *" if (i, j) == path.best_index_ else ""
    return [f"{scores[j]:.4f}{mark}", f"{path.path_.alphas[i, j]:.3g}"]


def shares_removed(grid, i):
    """Mean shares of features and of samples removed at the points of a beta of which something was proven."""
    points = grid.screened[i]
    if not points.any():
        return ["not tested"] * 2
    features = grid.features_removed[i, points].mean() / grid.n_features_in
    samples = grid.samples_removed[i, points].mean() / grid.n_samples
    return [f"{features:.1%}", f"{samples:.1%}"]
