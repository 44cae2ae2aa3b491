"""``thresher predict``."""

import sys
from dataclasses import replace

import numpy as np
from sklearn.metrics import precision_recall_fscore_support, roc_auc_score

from thresher.cli.app import WrongUsage
from thresher.cli.commands.inspect import chosen
from thresher.cli.files import check_bags_agree, check_out, known_labels, more_data, not_written, path_of, used_columns
from thresher.cli.options.losses import undefined
from thresher.cli.show import ERR, OUT, Reporter, add, new_table
from thresher.errors import ModelFileError
from thresher.estimators.shared.cross_validation import PrecomputedScores
from thresher.features.instances.bags import grouped
from thresher.models import read as read_model
from thresher.results import counted


def run(
    model, file, features, point, out, scores, probabilities, instances, reporting, jobs, kind, labels, label_column,
    bag_column, ignore, index_base,
):  # fmt: skip
    """Predict, write the predictions to ``out`` if given, and report their accuracy."""
    model, file, out, labels = map(path_of, (model, file, out, labels))
    check_usage(model, file, out, labels, scores, probabilities, instances, reporting.json)
    reporter = Reporter(reporting.quiet, reporting.json, ERR if out == "-" else OUT)
    with reporter.catching_warnings():
        loaded = chosen(read(model, file), features, point)
    clf = loaded.estimator
    if probabilities and not hasattr(clf, "predict_proba"):
        raise ValueError(f"{model}: --probabilities needs a model fitted with --loss logistic")
    of_bags = not clf.fitted_features_.of_rows
    if not of_bags and (instances or bag_column is not None):
        raise WrongUsage("--instances and --bag-column are for models of bags (thresher select --bag-column)")
    table = more_data(
        reporter, loaded, file, used_columns(clf), kind=kind, labels=labels, label_column=label_column,
        bag_column=bag_column, ignore=tuple(ignore or ()), index_base=index_base, n_jobs=jobs,
    )  # fmt: skip
    how = {"bags": table.bags} if of_bags else {}
    decided, predicted = clf.decision_function(table.X, **how), clf.predict(table.X, **how)
    own = grouped(table.bags, table.X.shape[0]) if of_bags else None
    if out is not None and instances:
        write(out, table.bags, clf.predict_instances(table.X, **how))
    elif out is not None:
        also = clf.predict_proba(table.X, **how) if probabilities else decided if scores else None
        write(out, predicted, also, None if own is None else own.names)
    counts = {str(label): int(np.sum(predicted == label)) for label in clf.classes_}
    report = {"model": model, "file": file, "rows": table.X.shape[0], "predicted": counts}
    if own is not None:
        report["bags"] = predicted.size
        if table.y is not None:
            check_bags_agree(file, table, labels)
        table = replace(table, y=None if table.y is None else own.each("y", table.y))
    y, known = (None, np.zeros(1)) if table.y is None else known_labels(reporter, table.y, clf.classes_)
    if known.any():
        report |= measures(y, known, predicted, decided, clf.classes_)
        report |= of_loss(reporter, clf, decided, y)
        show(reporter, report, clf.classes_)
    else:
        shown = ", ".join(f"{label}: {count:,}" for label, count in counts.items())
        noun = "bag" if of_bags else "row"
        reporter.say(f"{counted(predicted.size, noun)} without known labels; predicted {shown}")
    reporter.report(**report)
    return 0


def check_usage(model, file, out, labels, scores, probabilities, instances, json):
    """Raise an error for options that cannot be combined."""
    if out == "-" and json:
        raise WrongUsage("--out - and --json would both write to standard output")
    if out is None and (scores or probabilities):
        raise WrongUsage("--scores and --probabilities need --out, where they are written")
    if scores and probabilities:
        raise WrongUsage("--scores and --probabilities cannot be combined")
    if instances and out is None:
        raise WrongUsage("--instances needs --out, where they are written")
    if instances and (scores or probabilities):
        raise WrongUsage("--instances cannot be combined with --scores or --probabilities")
    if (model, file, labels).count("-") > 1:
        raise WrongUsage("standard input can be read only once")
    if out not in (None, "-"):
        check_out(out, model, file, labels)


def read(model, file):
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


def write(out, predicted, decided, bags=None):
    """One line for each row: the class, and the scores after tabs; or for each of ``bags``, which then come first."""
    lines = [str(label) for label in predicted]
    if bags is not None:
        lines = [f"{bag}\t{line}" for bag, line in zip(bags.tolist(), lines, strict=True)]
    if decided is not None:
        columns = decided.reshape(len(lines), -1)
        lines = ["\t".join([line, *(repr(float(s)) for s in row)]) for line, row in zip(lines, columns, strict=True)]
    text = "".join(line + "\n" for line in lines)
    if out == "-":
        sys.stdout.write(text)
    else:
        try:
            with open(out, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise not_written(out, error, "free some space or name another file with --out") from None


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
    table = new_table("class", "precision", "recall", "F1", f"{noun}s", "predicted")
    for label, values in report["by_class"].items():
        shares = (f"{values[measure]:.4f}" for measure in ("precision", "recall", "f1"))
        add(table, label, *shares, f"{values['rows']:,}", f"{report['predicted'][label]:,}")
    reporter.table(table)
