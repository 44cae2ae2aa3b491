"""``thresher path``."""

from thresher.cli.commands.inspect import describe, facts
from thresher.cli.commands.select import check_usage, fitted, spread, training_data, where
from thresher.cli.files import path_of
from thresher.cli.show import Judged, Reporter, add, new_table
from thresher.cli.start import DONE, INTERRUPTED
from thresher.estimators.alignment.classifier import AlignmentPathClassifier
from thresher.estimators.alignment.kernel_path import KernelPath

FEATURES_SHOWN, POINTS_SHOWN = 20, 20


def run(file, kernels, svm, fitting, out, store_training_columns, reporting, reading):
    """Read the data, compute the path, choose a point, save the model, and report."""
    reporter = Reporter(reporting.quiet, reporting.json)
    file, out = map(path_of, (file, out))
    check_usage(file, out, None, path_of(reading.labels), None, path_of(reading.names))
    table = training_data(reporter, file, reading, fitting.jobs)
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
        max_features=svm.max_features,
        svm=svm.svm,
        store_training_columns=store_training_columns,
        class_weight="balanced" if fitting.balanced else None,
        max_time=svm.max_time,
        n_jobs=fitting.jobs,
    )
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
    last = len(path) - 1
    places = sorted(last - place for place in spread(path.n_features[::-1], POINTS_SHOWN, [last - clf.point_]))
    score = [] if path.cv_score is None else ["score"]
    table = new_table("p", "features", *score, title=f"\n{len(path)} points of the path")
    for place in places:
        cells = [f"{path.p[place]:.4g}", f"{path.n_features[place]:,}"]
        if path.cv_score is not None:
            cells.append(f"{path.cv_score[place]:.4f}")
        if place == clf.point_:
            cells[-1] += " *"
        add(table, *cells)
    reporter.table(table)
