"""``thresher select``."""

from typing import Any

import numpy as np
from sklearn.metrics import get_scorer

from thresher.cli.commands.fitting import FitCommand
from thresher.cli.commands.inspect import FEATURES_SHOWN, describe
from thresher.cli.files import Names, check_bags_agree, known_labels, more_data, refuse, used_columns
from thresher.cli.imports import own_value
from thresher.cli.options.group_files import read_groups, read_tree
from thresher.cli.options.losses import check_at, check_loss_options, loss_of, undefined
from thresher.cli.options.predict import NewData
from thresher.cli.show import Turns, spread
from thresher.cli.start import in_one_line
from thresher.errors import InvalidDataError
from thresher.estimators.fgm.classifier import FGMClassifier
from thresher.estimators.miles.classifier import MILESClassifier
from thresher.estimators.shared.cross_validation import PrecomputedScores
from thresher.features.base import FeatureMap
from thresher.features.groups.spec import Groups
from thresher.features.instances.bags import grouped
from thresher.features.polynomial.spec import Polynomial
from thresher.io.reading import lacks_labels
from thresher.report.path_display import path_scores
from thresher.results import counted

MAPS_OF_COLUMNS = ("columns", "polynomial")
NUMBERS_SHOWN = 20  # numbers of features on the path


def run(file, model, out, test, test_labels, reading, fitting, reporting, bag_column):
    """Read the data, fit and save the model, and report; ``model`` are its options."""
    check_select_options(model, bag_column, test, test_labels, one_hot=reading.one_hot)
    loss = loss_of(model.loss, model.at, model.beta)
    check_loss_options(loss, model.features, fitting.balanced)
    feature_map = feature_map_of(model.feature_map, model.heredity)
    command = FitCommand(file, out, reading, fitting, reporting, bag_column)
    table = command.read(test, test_labels, model.groups, model.tree)
    if test is not None and test_labels is None and lacks_labels(test, reading.kind, reading.label_column):
        raise without_labels(test)
    samples = np.arange(table.X.shape[0]) if bag_column is None else np.unique(table.bags)
    check_at(loss, samples.size, "row" if bag_column is None else "bag", file)
    clf = estimator_of(model, feature_map, loss, table, fitting, bag_column)
    chooses = model.features is not None and "auto" in (clf.C, clf.elimination)
    first = "choosing C and elimination" if chooses else "reading columns"
    bar = Turns(command.reporter.prints, first, noun_of_units(model, bag_column))
    fitted = command.fit(clf, table, bar)
    describe(command.reporter, fitted, top=FEATURES_SHOWN)
    scored, failed = {}, None
    if test is not None and not command.interrupted:
        data = NewData(kind=reading.kind, labels=test_labels, ignore=reading.ignore)
        try:
            scored = tested(command.reporter, fitted, test, data, fitting.jobs)
        except (ValueError, TypeError, OSError) as error:  # raised when the model has been reported
            scored, failed = {"test_error": in_one_line(error)}, error
    return command.finish(fitted, "the model is", "the best model so far is", failed, **scored)


def check_select_options(model, bag_column, test, test_labels, *, one_hot):
    """Raise an error for options that cannot be combined, or need others."""
    bags = bag_column is not None
    others = {
        "--feature-map": model.feature_map != "columns", "--groups": model.groups, "--tree": model.tree,
        "--always": model.always, "--exclude": model.exclude, "--features all": model.features == "all",
    }  # fmt: skip
    wrong = {
        "--groups and --tree cannot be combined": model.groups is not None and model.tree is not None,
        "--test-labels needs --test": test_labels is not None and test is None,
        "--ungrouped needs --groups": model.ungrouped != "error" and model.groups is None,
        "--heredity needs --feature-map polynomial": model.heredity != "none" and model.feature_map != "polynomial",
        "--one-hot makes groups of its own, so it cannot be combined with --groups or --tree": one_hot
        and (model.groups or model.tree),
        "--sigma needs --bag-column": model.sigma is not None and not bags,
    } | {
        f"{option} cannot be combined with --bag-column, which selects training rows": bags and given
        for option, given in others.items()
    }
    refuse(wrong)


def noun_of_units(model, bag_column):
    """What is selected, for the progress bar."""
    if bag_column is not None:
        return "instance"
    if model.groups is not None or model.tree is not None:
        return "group"
    return "column" if model.feature_map in MAPS_OF_COLUMNS else "input"


def feature_map_of(name, heredity):
    """The parameter ``feature_map`` of the estimator."""
    if ":" in name:
        return own_value("--feature-map", name, FeatureMap)
    return name if heredity == "none" else Polynomial(heredity=heredity)


def choices_of(model):
    """The parameters ``C`` and ``elimination`` of the estimator."""
    C, usual = (None, None) if model.C == "rule" else (model.C, "auto")
    return {"C": C, "elimination": usual if model.elimination is None else model.elimination}


def estimator_of(model, feature_map, loss, table, fitting, bag_column):
    """The estimator that the options describe."""
    options = {
        **choices_of(model), "loss": loss, "per_class": model.per_class, "n_candidates": model.n_candidates,
        "scale": None if model.scale == "none" else model.scale,
        "class_weight": "balanced" if fitting.balanced else None, "tol": model.tol, "max_time": model.max_time,
        "n_jobs": fitting.jobs,
    }  # fmt: skip
    if bag_column is not None:
        options["scale"] = "std" if model.scale == "auto" else options["scale"]
        return MILESClassifier(model.features, sigma="auto" if model.sigma is None else model.sigma, **options)
    names, n_columns = Names(table.names, table.index_base), table.X.shape[1]
    groups: Any = None
    if table.origins is not None and model.feature_map == "columns" and model.features != "all":
        groups = Groups(np.array(table.origins, dtype=object))
    if model.groups is not None:
        groups = read_groups(model.groups, names, n_columns, model.ungrouped)
    elif model.tree is not None:
        groups = read_tree(model.tree, names, n_columns)
    always, exclude = model.always, model.exclude
    if groups is None:
        always, exclude = ([names.column(name, n_columns) for name in given or ()] for given in (always, exclude))
    return FGMClassifier(
        model.features, feature_map=feature_map, groups=groups, always_include=always or None, exclude=exclude or None,
        **options,
    )  # fmt: skip


def tested(reporter, model, test, data, jobs):
    """Accuracy of every model of the path on test data: some of them in a table, all of them in the JSON report."""
    clf = model.estimator
    of_bags = not clf.fitted_features_.of_rows
    used = np.unique(np.concatenate([station.features for station in clf.path_] or [clf.selection_.features]))
    used = used_columns(clf) if of_bags else clf.fitted_features_.inputs(used).tolist()
    table = more_data(reporter, model, test, used, data, jobs)
    if table.y is None:
        raise without_labels(test)
    if of_bags:
        check_bags_agree(test, table, data.labels)
    bags: Any = grouped(table.bags, table.X.shape[0]) if of_bags else None
    y, _ = known_labels(reporter, bags.each("y", table.y) if of_bags else table.y, clf.classes_)
    scores = scores_of_path(reporter, clf, table, y)
    accuracies, *measures = scores.values()
    numbers, selection = clf.path_.numbers, clf.selection_
    chosen = (selection.features if selection.units is None else selection.units).size
    noun, size = "instance" if of_bags else selection.noun, counted(y.size, "bag" if of_bags else "row")
    show_scores(reporter, scores, numbers, chosen, noun, f"\nScores on {test} ({size})")
    accuracy = accuracies[np.argmax(numbers == chosen)] if of_bags else clf.score(table.X, y)
    report = {"test": test, "path_numbers": numbers, "path_accuracies": accuracies, "accuracy": accuracy}
    return report | ({"path_measures": measures[0]} if measures else {})


def without_labels(test):
    """The error about test data without labels."""
    return InvalidDataError(f"{test}: missing labels; name a file of labels with --test-labels")


def scores_of_path(reporter, clf, table, y):
    """{name: scores of every model of the path}: accuracy, and the measure that the model was fitted for."""
    scorers: dict[str, Any] = {"accuracy": "accuracy"}
    measure, scores = clf._loss, {}
    if measure.judges:
        scorers[measure.title] = measure.scorer()
    of_rows, rows, bags = clf.fitted_features_.of_rows, np.arange(y.size), table.bags
    models = [] if of_rows else [clf.at(int(number)) for number in clf.path_.numbers]
    known = [PrecomputedScores(clf.classes_, model.decision_function(table.X, bags=bags)) for model in models]
    for name, scorer in scorers.items():
        try:
            if of_rows:
                scores[name] = path_scores(clf, table.X, y, scoring=scorer)
            else:
                scores[name] = np.array([get_scorer(scorer)(model, rows, y) for model in known])
        except ValueError as error:
            if name == "accuracy":
                raise
            undefined(reporter, measure, error)
    return scores


def show_scores(reporter, scores, numbers, chosen, noun, title):
    """Print a table of some models of the path; the best one is best by what the model was fitted for."""
    rows = []
    best = int(np.argmax([*scores.values()][-1]))
    for place in spread(numbers, NUMBERS_SHOWN, [best, *np.flatnonzero(numbers == chosen)]):
        mark = "  chosen" if numbers[place] == chosen else "  best" if place == best else ""
        rows.append([f"{numbers[place]}{mark}", *(f"{values[place]:.4f}" for values in scores.values())])
    reporter.table([f"{noun}s", *scores], rows, title)
