"""``thresher predict``."""

import sys
from typing import Any

import numpy as np
from sklearn.metrics import precision_recall_fscore_support, roc_auc_score

from thresher.cli.app import WrongUsage
from thresher.cli.commands.inspect import chosen
from thresher.cli.files import check_bags_agree, check_out, known_labels, more_data, not_written, refuse, used_columns
from thresher.cli.imports import import_all
from thresher.cli.options.losses import undefined
from thresher.cli.show import ERR, OUT, Reporter
from thresher.cli.start import DONE
from thresher.errors import ModelFileError
from thresher.estimators.shared.cross_validation import PrecomputedScores
from thresher.features.instances.bags import grouped
from thresher.models import read as read_model
from thresher.results import counted


def run(model, file, features, point, predictions, reporting, jobs, data, imports):
    """Predict, write the predictions if asked to, and report their accuracy."""
    check_predict_options(model, file, predictions, data.labels, reporting.json)
    import_all(imports)
    reporter = Reporter(reporting.quiet, reporting.json, ERR if predictions.out == "-" else OUT)
    with reporter.catching_warnings():
        loaded = chosen(model_in(model, file), features, point)
    clf = loaded.estimator
    of_bags = not clf.fitted_features_.of_rows
    if predictions.probabilities and not hasattr(clf, "predict_proba"):
        raise ValueError(f"{model}: --probabilities needs a model fitted with --loss logistic")
    if not of_bags and (predictions.instances or data.bag_column is not None):
        raise WrongUsage("--instances and --bag-column are for models of bags (thresher select --bag-column)")
    table = more_data(reporter, loaded, file, used_columns(clf), data, jobs)
    own_bags: Any = grouped(table.bags, table.X.shape[0]) if of_bags else None
    decided, predicted = write_predictions(predictions, clf, table, own_bags)
    counts = {str(label): int(np.sum(predicted == label)) for label in clf.classes_}
    report = {"model": model, "file": file, "rows": table.X.shape[0], "predicted": counts}
    y = table.y
    if of_bags:
        report["bags"] = predicted.size
    if y is not None and of_bags:
        check_bags_agree(file, table, data.labels)
        y = own_bags.each("y", y)
    report |= judged(reporter, clf, decided, predicted, y)
    if "accuracy" in report:
        show(reporter, report, clf.classes_)
    else:
        shown = ", ".join(f"{label}: {count:,}" for label, count in counts.items())
        noun = "bag" if of_bags else "row"
        reporter.say(f"{counted(predicted.size, noun)} without known labels; predicted {shown}")
    reporter.report(**report)
    return DONE


def judged(reporter, clf, decided, predicted, y):
    """How good the predictions are, for the report; empty if no label is known."""
    if y is None:
        return {}
    y, known = known_labels(reporter, y, clf.classes_)
    if not known.any():
        return {}
    return measures(y, known, predicted, decided, clf.classes_) | of_loss(reporter, clf, decided, y)


def check_predict_options(model, file, predictions, labels, json):
    """Raise an error for options that cannot be combined."""
    out, instances = predictions.out, predictions.instances
    scores = predictions.scores or predictions.probabilities
    wrong = {
        "--out - and --json would both write to standard output": out == "-" and json,
        "--scores and --probabilities need --out, where they are written": out is None and scores,
        "--scores and --probabilities cannot be combined": predictions.scores and predictions.probabilities,
        "--instances needs --out, where they are written": instances and out is None,
        "--instances cannot be combined with --scores or --probabilities": instances and scores,
        "standard input can be read only once": (model, file, labels).count("-") > 1,
    }
    refuse(wrong)
    if out not in (None, "-"):
        check_out(out, model, file, labels)


def model_in(model, file):
    """The model; the error message mentions swapped arguments."""
    try:
        return read_model(model)
    except ModelFileError as error:
        hint = (
            f"; the model must come first, then the data: thresher predict {file} {model}"
            if file.endswith(".json")
            else ""
        )
        raise ModelFileError(f"{error}{hint}") from None


def write_predictions(predictions, clf, table, own_bags):
    """(scores, predicted classes), after they were written to a file or to standard output, if asked to.

    There is one line for each row, or bag with its name first: the class, and after tabs the scores.
    """
    options = {} if own_bags is None else {"bags": table.bags}
    decided, predicted = clf.decision_function(table.X, **options), clf.predict(table.X, **options)
    if predictions.out is None:
        return decided, predicted
    names, classes, columns = None if own_bags is None else own_bags.names, predicted, None
    if predictions.instances:
        names, classes = table.bags, clf.predict_instances(table.X, **options)
    elif predictions.probabilities:
        columns = clf.predict_proba(table.X, **options)
    elif predictions.scores:
        columns = decided
    cells = [[str(label)] for label in classes]
    if names is not None:
        cells = [[str(name), *line] for name, line in zip(names.tolist(), cells, strict=True)]
    if columns is not None:
        columns = columns.reshape(len(cells), -1).astype(float).tolist()
        cells = [[*line, *map(repr, row)] for line, row in zip(cells, columns, strict=True)]
    text = "".join("\t".join(line) + "\n" for line in cells)
    if predictions.out == "-":
        sys.stdout.write(text)
        return decided, predicted
    try:
        with open(predictions.out, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise not_written(predictions.out, error, "free some space or name another file with --out") from None
    return decided, predicted


def measures(y, known, predicted, decided, classes):
    """Accuracy; precision, recall and F1 of each class; area under the ROC curve."""
    labels = classes.tolist()
    precision, recall, f1, support = precision_recall_fscore_support(y, predicted, labels=labels, zero_division=0.0)
    by_class = {
        str(label): {"precision": precision[c], "recall": recall[c], "f1": f1[c], "rows": int(support[c])}
        for c, label in enumerate(labels)
    }
    columns = decided[:, None] if decided.ndim == 1 else decided
    areas = []
    for c, label in enumerate(labels[1:] if decided.ndim == 1 else labels):
        positive = y[known] == label
        if positive.any() and not positive.all():
            areas.append(roc_auc_score(positive, columns[known, c]))
    return {
        "accuracy": float(np.mean(y == predicted)),
        "by_class": by_class,
        "roc_area": float(np.mean(areas)) if areas else None,
    }


def of_loss(reporter, clf, decided, y):
    """The measure that the model was fitted for, if it was, with its name."""
    measure = clf._loss
    if measure is None or not measure.judges:
        return {}
    value = None
    try:
        value = measure.scorer()(PrecomputedScores(clf.classes_, decided), np.arange(len(y)), y)
    except ValueError as error:
        undefined(reporter, measure, error)
    return {"measure": measure.title, "value": value}


def show(reporter, report, classes):
    """Print the measures."""
    area = "" if report["roc_area"] is None else f"; area under the ROC curve {report['roc_area']:.4f}"
    of = " (mean over the classes)" if area and len(classes) > 2 else ""
    noun = "bag" if "bags" in report else "row"
    size = counted(report[f"{noun}s"], noun)
    reporter.say(f"accuracy {report['accuracy']:.4f} on {size}{area}{of}")
    if report.get("value") is not None:
        over = ", the mean over the classes" if len(classes) > 2 else f" of class {classes[1]}"
        reporter.say(f"{report['measure']} {report['value']:.4f}{over}: what the model was fitted for")
    reporter.say()
    rows = []
    for label, values in report["by_class"].items():
        shares = (f"{values[measure]:.4f}" for measure in ("precision", "recall", "f1"))
        rows.append([label, *shares, f"{values['rows']:,}", f"{report['predicted'][label]:,}"])
    reporter.table(["class", "precision", "recall", "F1", f"{noun}s", "predicted"], rows)
