"""``thresher path``."""

import numpy as np

from thresher.cli.commands.fitting import FitCommand
from thresher.cli.commands.inspect import FEATURES_SHOWN, describe
from thresher.cli.show import Points, spread
from thresher.estimators.alignment.classifier import AlignmentPathClassifier
from thresher.estimators.alignment.kernel_path import KernelPath

POINTS_SHOWN = 20
NOT_JUDGED = "-: not scored, since the point has too many features (--max-features), or none, or time was up"


def run(file, kernels, svm, fitting, out, store_training_columns, reporting, reading):
    """Read the data, compute the path, choose a point, save the model, and report."""
    command = FitCommand(file, out, reading, fitting, reporting)
    table = command.read()
    clf = AlignmentPathClassifier(
        kernels.kernel,
        gamma="scale" if kernels.gamma is None else kernels.gamma,
        path=KernelPath(
            divergence=kernels.divergence,
            lambda2="auto" if kernels.lambda2 is None else kernels.lambda2,
            eps=kernels.eps,
            step=kernels.step,
        ),
        C="auto" if svm.C is None else svm.C,
        cv=svm.cv,
        scoring=svm.scoring,
        max_features="auto" if svm.max_features is None else svm.max_features,
        svm=svm.svm,
        store_training_columns=store_training_columns,
        class_weight="balanced" if fitting.balanced else None,
        max_time=svm.max_time,
        n_jobs=fitting.jobs,
    )
    model = command.fit(clf, table, Points(command.reporter.prints, "path"))
    show_points(command.reporter, clf)
    describe(command.reporter, model, top=FEATURES_SHOWN)
    return command.finish(model, "the path is", "the best point so far is")


def show_points(reporter, clf):
    """Some points of the path, evenly spaced in the number of features: p, features, and the mean score."""
    path = clf.path_
    last = len(path) - 1
    places = sorted(last - place for place in spread(path.n_features[::-1], POINTS_SHOWN, [last - clf.point_]))
    score = [] if path.cv_score is None else ["score"]
    rows = []
    for place in places:
        cells = [f"{path.p[place]:.4g}", f"{path.n_features[place]:,}"]
        if path.cv_score is not None:
            judged = not np.isnan(path.cv_score[place])
            cells.append(f"{path.cv_score[place]:.4f}" if judged else "-")
        if place == clf.point_:
            cells[-1] += " *"
        rows.append(cells)
    reporter.table(["p", "features", *score], rows, f"\n{len(path)} points of the path")
    if any(cells[-1].startswith("-") for cells in rows):
        reporter.say(NOT_JUDGED)
