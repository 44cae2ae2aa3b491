"""``thresher select``."""

import os
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from thresher.cli.app import WrongUsage
from thresher.cli.commands.inspect import describe, facts
from thresher.cli.files import (
    Names,
    check_bags_agree,
    check_out,
    data_of,
    known_labels,
    more_data,
    path_of,
    saved,
    used_columns,
)
from thresher.cli.options.group_files import read_groups, read_tree
from thresher.cli.options.losses import check_at, check_loss, loss_of, undefined
from thresher.cli.show import Reporter, Turns, add, new_table
from thresher.cli.start import DONE, INTERRUPTED, in_one_line
from thresher.errors import InvalidDataError, ModelFileError
from thresher.estimators.fgm.classifier import FGMClassifier
from thresher.estimators.miles.classifier import MILESClassifier
from thresher.estimators.shared.cross_validation import PrecomputedScores
from thresher.features.instances.bags import grouped as grouped_bags
from thresher.features.polynomial.spec import Polynomial
from thresher.io.table import Source
from thresher.models import read as read_model
from thresher.report.path_display import path_scores
from thresher.results import counted

KERNELS = ("intersection", "additive_chi2", "additive_gaussian")
FEATURES_SHOWN, NUMBERS_SHOWN = 20, 20  # the most important features; numbers of features on the path


def run(file, out, test, test_labels, reading, fitting, reporting, bag_column, **model):
    """Read the data, fit and save the model, and report; ``model`` are the options of the model."""
    reporter = Reporter(reporting.quiet, reporting.json)
    file, out, test, test_labels = map(path_of, (file, out, test, test_labels))
    asked = Asked(**model | {"groups": path_of(model["groups"]), "tree": path_of(model["tree"])})
    check_usage(file, out, test, path_of(reading.labels), test_labels, path_of(reading.names), asked.groups, asked.tree)
    loss = asked.checked_loss(balanced=fitting.balanced)
    asked.check_bags(bag_column)
    table = training_data(reporter, file, reading, fitting.jobs, bag_column)
    samples = np.arange(table.X.shape[0]) if bag_column is None else np.unique(table.bags)
    check_at(loss, samples.size, "row" if bag_column is None else "bag", file)
    clf = asked.estimator(loss, table, fitting, bag_column)
    bar = Turns(reporter.prints, "choosing C" if asked.C == "auto" else "reading columns")
    bar.noun = asked.noun(bag_column) or bar.noun
    interrupted, fitted_model, lost = fitted(reporter, clf, table, bar, out, file, reading.label_column, bag_column)
    describe(reporter, fitted_model, top=FEATURES_SHOWN)
    scored, failed = {}, None
    if test is not None and not interrupted:
        ignore = tuple(reading.ignore or ())
        try:
            scored = tested(reporter, fitted_model, test, reading.kind, test_labels, ignore, fitting.jobs)
        except (ValueError, TypeError, OSError) as error:  # raised when the model has been reported
            scored, failed = {"test_error": in_one_line(error)}, error
    if lost is None:
        reporter.say(f"\n{'interrupted; the best model so far' if interrupted else 'the model'} is in {out}")
    reporter.report(**where(out, lost), interrupted=interrupted, **facts(fitted_model), **scored)
    for problem in (lost, failed):
        if problem is not None:
            raise problem
    return INTERRUPTED if interrupted else DONE


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The options of ``select`` that describe the model, as given."""

    features: Any
    C: Any
    loss: str
    at: str | None
    beta: float | None
    per_class: bool
    sigma: Any
    elimination: bool
    n_candidates: Any
    scale: str
    feature_map: str
    heredity: str
    groups: str | None
    tree: str | None
    ungrouped: str
    always: list[str] | None
    exclude: list[str] | None
    tol: float
    max_time: float | None

    def checked_loss(self, *, balanced):
        """The loss; WrongUsage if options do not go together."""
        if self.ungrouped != "error" and self.groups is None:
            raise WrongUsage("--ungrouped needs --groups")
        if self.heredity != "none" and self.feature_map != "polynomial":
            raise WrongUsage("--heredity needs --feature-map polynomial")
        loss = loss_of(self.loss, self.at, self.beta)
        check_loss(loss, self.features, balanced)
        return loss

    def check_bags(self, bag_column):
        """Raise an error for options that make no sense with bags, or only with them."""
        others = {
            "--feature-map": self.feature_map != "columns", "--groups": self.groups, "--tree": self.tree,
            "--always": self.always, "--exclude": self.exclude, "--features all": self.features == "all",
        }  # fmt: skip
        given = next((option for option, value in others.items() if value), None)
        if bag_column is not None and given is not None:
            raise WrongUsage(f"{given} cannot be combined with --bag-column, which selects training rows")
        if bag_column is None and self.sigma is not None:
            raise WrongUsage("--sigma needs --bag-column")

    def noun(self, bag_column):
        """What is counted, for the progress bar; None: columns."""
        if bag_column is not None:
            return "instance"
        if self.groups is not None or self.tree is not None:
            return "group"
        return "input" if self.feature_map in KERNELS else None

    def estimator(self, loss, table, fitting, bag_column):
        """The estimator that the options describe."""
        how = {
            "C": self.C, "loss": loss, "per_class": self.per_class, "elimination": self.elimination,
            "n_candidates": self.n_candidates, "scale": None if self.scale == "none" else self.scale,
            "class_weight": "balanced" if fitting.balanced else None, "tol": self.tol, "max_time": self.max_time,
            "n_jobs": fitting.jobs,
        }  # fmt: skip
        if bag_column is not None:
            how["scale"] = "std" if self.scale == "auto" else how["scale"]
            return MILESClassifier(self.features, sigma="auto" if self.sigma is None else self.sigma, **how)
        names = Names(table.names, table.index_base)
        n_columns = table.X.shape[1]
        groups = grouped(self.groups, self.tree, names, n_columns, self.ungrouped)
        feature_map: Any = self.feature_map
        if self.heredity != "none":
            feature_map = Polynomial(heredity=self.heredity)
        always, exclude = (numbered(given, names, n_columns, groups) for given in (self.always, self.exclude))
        return FGMClassifier(
            self.features, feature_map=feature_map, groups=groups, always_include=always, exclude=exclude, **how
        )


def grouped(groups, tree, names, n_columns, ungrouped):
    """The Groups or the Tree of --groups or --tree; None without them."""
    if groups is not None:
        return read_groups(groups, names, n_columns, ungrouped)
    return None if tree is None else read_tree(tree, names, n_columns)


def numbered(given, names, n_columns, grouping):
    """Columns as numbers, or groups as they are called; None if there are none."""
    return [name if grouping is not None else names.column(name, n_columns) for name in given or ()] or None


def check_usage(file, out, test, labels, test_labels, names, groups=None, tree=None):
    """Raise errors that would otherwise occur only after a long fit."""
    if groups is not None and tree is not None:
        raise WrongUsage("--groups and --tree cannot be combined")
    if out == "-":
        raise WrongUsage("the model cannot be written to standard output; name a file with --out")
    if test_labels is not None and test is None:
        raise WrongUsage("--test-labels needs --test")
    given = [path for path in (file, labels, names, test, test_labels, groups, tree) if path is not None]
    if given.count("-") > 1:
        raise WrongUsage("standard input can be read only once")
    check_out(out, *given)
    for path in given:
        if path != "-" and not os.path.exists(path):
            raise FileNotFoundError(f"{path}: no such file")
    if os.path.exists(out) and os.path.getsize(out):
        try:
            read_model(out)
        except ModelFileError:
            raise WrongUsage(f"--out {out} exists and is not a model file; use another name") from None


def training_data(reporter, file, reading, jobs, bag_column=None):
    """The Table of the training data, which must have labels; what was read is reported."""
    begun = time.perf_counter()
    table = data_of(
        reporter, file, kind=reading.kind, labels=path_of(reading.labels), label_column=reading.label_column,
        ignore=tuple(reading.ignore or ()), keep=tuple(reading.keep or ()), names=path_of(reading.names),
        index_base=reading.index_base, n_jobs=jobs, bag_column=bag_column,
    )  # fmt: skip
    if table.y is None:
        raise InvalidDataError(f"{file}: missing labels; name a file of labels with --labels")
    if table.bags is not None:
        check_bags_agree(file, table, reading.labels)
    say_read(reporter, file, table, time.perf_counter() - begun)
    return table


def say_read(reporter, file, table, seconds):
    """Report what was read."""
    rows, columns = table.X.shape
    bags = "" if table.bags is None else f" in {counted(np.unique(table.bags).size, 'bag')}"
    values, counts = np.unique(table.y, return_counts=True)
    shown = ", ".join(f"{value} ({count:,})" for value, count in zip(values[:6], counts[:6], strict=True))
    reporter.say(
        f"{file}: {counted(rows, 'row')}{bags}, {counted(columns, 'column')}, {counted(table.entries, 'value')}, "
        f"labels {shown}{', ...' if values.size > 6 else ''}; {seconds:.2f} s"
    )


def fitted(reporter, clf, table, bar, out, file, label_column, bag_column=None):
    """(whether Ctrl-C ended the fit, the Model, the error of writing it or None)."""
    interrupted = False
    with reporter.catching_warnings(), bar:
        clf.verbose = bar
        try:
            clf.fit(table.X, table.y, **({} if bag_column is None else {"bags": table.bags}))
        except KeyboardInterrupt:
            if not hasattr(clf, "selection_"):
                raise
            interrupted = True
    clf.verbose = 0
    source = Source(
        os.path.basename(file), table.kind, table.index_base, label_column, left_out=list(table.left_out),
        bag_column=bag_column,
    )  # fmt: skip
    return interrupted, *saved(clf, out, names=table.names, source=source)


def where(out, lost):
    """The part of the JSON report that says where the model is, or why it is not there."""
    return {"model": out} if lost is None else {"model": None, "save_error": in_one_line(lost)}


def tested(reporter, model, test, kind, labels, ignore, jobs):
    """Accuracy of every model of the path on test data: some of them in a table, all of them in the JSON report."""
    clf = model.estimator
    of_bags = not clf.fitted_features_.of_rows
    used = np.unique(np.concatenate([station.features for station in clf.path_] or [clf.selection_.features]))
    used = used_columns(clf) if of_bags else clf.fitted_features_.inputs(used).tolist()
    table = more_data(reporter, model, test, used, kind=kind, labels=labels, ignore=ignore, n_jobs=jobs)
    if table.y is None:
        raise InvalidDataError(f"{test}: missing labels; name a file of labels with --test-labels")
    own = grouped_bags(table.bags, table.X.shape[0]) if of_bags else None
    if of_bags:
        check_bags_agree(test, table, labels)
    y, _ = known_labels(reporter, table.y if own is None else own.each("y", table.y), clf.classes_)
    numbers, selection = clf.path_.numbers, clf.selection_
    if own is not None:
        scores = of_bag_path(reporter, clf, table, y)
        noun, size = "instance", counted(own.names.size, "bag")
    else:
        scores = {"accuracy": path_scores(clf, table.X, y)} | of_measure(reporter, clf, table.X, y)
        noun, size = selection.noun, counted(table.y.size, "row")
    selected = selection.features if selection.units is None else selection.units
    shown = new_table(f"{noun}s", *scores, title=f"\nScores on {test} ({size})")
    judged = list(scores.values())  # the last one is what the model was fitted for
    best, chosen = int(np.argmax(judged[-1])), selected.size
    for place in spread(numbers, NUMBERS_SHOWN, [best, *np.flatnonzero(numbers == chosen)]):
        mark = "  chosen" if numbers[place] == chosen else "  best" if place == best else ""
        add(shown, f"{numbers[place]}{mark}", *(f"{values[place]:.4f}" for values in judged))
    reporter.table(shown)
    measures = {"path_measures": judged[1]} if len(judged) > 1 else {}
    at_pick = float(judged[0][np.flatnonzero(numbers == chosen)[0]]) if of_bags else float(clf.score(table.X, y))
    return {"test": test, "path_numbers": numbers, "path_accuracies": judged[0], **measures, "accuracy": at_pick}


def of_measure(reporter, clf, X, y):
    """{name: the measure that the model was fitted for, of every model of the path}; empty if there is none."""
    measure = clf._loss
    if not measure.judges:
        return {}
    try:
        return {measure.title: path_scores(clf, X, y, scoring=measure.scorer())}
    except ValueError as error:
        undefined(reporter, measure, error)
        return {}


def of_bag_path(reporter, clf, table, y):
    """{name: scores of every model of the path on bags}: accuracy, and the measure that the model was fitted for."""
    models = [clf.at(int(number)) for number in clf.path_.numbers]
    decided = [model.decision_function(table.X, bags=table.bags) for model in models]
    known = [PrecomputedScores(clf.classes_, each) for each in decided]
    rows = np.arange(y.size)
    scores = {"accuracy": np.array([np.mean(each.predict(rows) == y) for each in known])}
    measure = clf._loss
    if measure.judges:
        try:
            scores[measure.title] = np.array([measure.scorer()(each, rows, y) for each in known])
        except ValueError as error:
            undefined(reporter, measure, error)
    return scores


def spread(numbers, most, also):
    """Positions of about ``most`` numbers, evenly spaced in their logarithms, and those of ``also``."""
    wanted = np.geomspace(max(1, numbers[0]), max(1, numbers[-1]), most)
    return sorted({int(np.abs(numbers - number).argmin()) for number in wanted} | {int(place) for place in also})
