"""``thresher path``."""

import numpy as np

from thresher.cli.commands.inspect import describe, facts
from thresher.cli.commands.select import check_usage, fitted, spread, training_data, where
from thresher.cli.files import path_of
from thresher.cli.show import Judged, Reporter, add, new_table
from thresher.cli.start import DONE, INTERRUPTED
from thresher.estimators.alignment.classifier import AlignmentPathClassifier

FEATURES_SHOWN, POINTS_SHOWN = 20, 20


def run(
    file, kernel, gamma, divergence, lambda2, eps, step, C, cv, scoring, max_features, svm, max_time, out,
    model_keeps, reading, fitting, reporting,
):  # fmt: skip
    """Read the data, compute the path, choose a point, save the model, and report."""
    reporter = Reporter(reporting.quiet, reporting.json)
    file, out = map(path_of, (file, out))
    check_usage(file, out, None, path_of(reading.labels), None, path_of(reading.names))
    table = training_data(reporter, file, reading, fitting.jobs)
    clf = AlignmentPathClassifier(
        kernel, gamma="scale" if gamma is None else gamma, divergence=divergence,
        lambda2="auto" if lambda2 is None else lambda2, eps=eps, step=step, C="auto" if C is None else C, cv=cv,
        scoring=scoring, max_features=max_features, svm=svm, keep=model_keeps,
        class_weight="balanced" if fitting.balanced else None, max_time=max_time, n_jobs=fitting.jobs,
    )  # fmt: skip
    interrupted, model, lost = fitted(reporter, clf, table, Judged(reporter.prints), out, file, reading.label_column)
    show_points(reporter, clf)
    describe(reporter, model, top=FEATURES_SHOWN)
    if lost is None:
        reporter.say(f"\n{'interrupted; the best point so far' if interrupted else 'the path'} is in {out}")
    reporter.report(**where(out, lost), interrupted=interrupted, **facts(model))
    if lost is not None:
        raise lost
    return INTERRUPTED if interrupted else DONE


def show_points(reporter, clf):
    """Some points of the path, evenly spaced in the number of features: p, features, and the mean score."""
    path = clf.path_
    judged = path.cv_score is not None
    table = new_table("p", "features", *(["score"] if judged else []), title=f"\n{len(path)} points of the path")
    counts = path.n_features[::-1]
    places = sorted(len(path) - 1 - place for place in spread(counts, POINTS_SHOWN, [len(path) - 1 - clf.point_]))
    for place in places:
        score = np.nan if path.cv_score is None else path.cv_score[place]
        mark = " *" if place == clf.point_ else ""
        cells = [f"{path.n_features[place]:,}{'' if judged else mark}"]
        add(table, f"{path.p[place]:.4g}", *cells, *([f"{score:.4f}{mark}"] if judged else []))
    reporter.table(table)
