"""``thresher predict``."""

import sys

import numpy as np
from sklearn.metrics import precision_recall_fscore_support, roc_auc_score

from thresher.cli.files import more_data, path_of
from thresher.cli.inspect import with_features
from thresher.cli.show import Voice, add, grid, number
from thresher.models import read as read_model


def run(model, file, features, out, scores, quiet, json, jobs, kind, labels, label_column, ignore):
    """Predict, write the predictions if asked to, and report how right they are."""
    voice, out = Voice(quiet, json), path_of(out)
    if out == "-":
        voice.quiet = True
    with voice.heard():
        found = with_features(read_model(path_of(model)), features)
    table = more_data(
        voice, found, file, kind=kind, labels=path_of(labels), label_column=label_column, ignore=tuple(ignore or ()),
        n_jobs=jobs,
    )  # fmt: skip
    clf = found.estimator
    decided = clf.decision_function(table.X)
    predicted = clf.classes_[(decided > 0).astype(int) if decided.ndim == 1 else decided.argmax(axis=1)]
    if out is not None:
        write(out, predicted, decided if scores else None)
    known = None if table.y is None else known_labels(voice, table.y, clf.classes_)
    counts = {str(label): int(np.sum(predicted == label)) for label in clf.classes_}
    report = {"model": path_of(model), "file": path_of(file), "rows": predicted.size, "predicted": counts}
    if known is not None:
        report |= measures(table.y, predicted, decided, clf.classes_)
        show(voice, report, clf.classes_)
    else:
        shown = ", ".join(f"{label}: {count:,}" for label, count in counts.items())
        voice.say(f"{number(predicted.size, 'row')} without labels; predicted {shown}")
    voice.report(**report)
    return 0


def write(out, predicted, decided):
    """One line for each row: the class, and the scores after tabs."""
    lines = [str(label) for label in predicted]
    if decided is not None:
        columns = decided.reshape(len(lines), -1)
        lines = ["\t".join([line, *(repr(float(s)) for s in row)]) for line, row in zip(lines, columns, strict=True)]
    text = "".join(line + "\n" for line in lines)
    if out == "-":
        sys.stdout.write(text)
    else:
        with open(out, "w", encoding="utf-8") as file:
            file.write(text)


def known_labels(voice, y, classes):
    """Which labels the model knows; None, with a warning, if there are none."""
    if (y.dtype.kind in "US") != (classes.dtype.kind in "USO"):
        y, classes = y.astype(str), classes.astype(str)
    known = np.isin(y, classes)
    strange = np.unique(y[~known])
    if strange.size:
        shown = ", ".join(map(str, strange[:5])) + (", ..." if strange.size > 5 else "")
        voice.warn(f"{int((~known).sum()):,} of {y.size:,} labels are none of the model's classes: {shown}")
    return known if known.any() else None


def measures(y, predicted, decided, classes):
    """Accuracy; precision, recall and F1 of each class; area under the ROC curve."""
    labels, known = classes.tolist(), np.isin(y, classes)
    precision, recall, f1, support = precision_recall_fscore_support(y, predicted, labels=labels, zero_division=0.0)
    by_class = {
        str(label): {"precision": precision[c], "recall": recall[c], "f1": f1[c], "rows": int(support[c])}
        for c, label in enumerate(labels)
    }
    columns = decided[:, None] if decided.ndim == 1 else decided
    areas = []
    for c, label in enumerate(labels[1:] if decided.ndim == 1 else labels):
        is_it = y[known] == label
        if is_it.any() and not is_it.all():
            areas.append(roc_auc_score(is_it, columns[known, c]))
    return {
        "accuracy": float(np.mean(y == predicted)),
        "by_class": by_class,
        "roc_area": float(np.mean(areas)) if areas else None,
    }


def show(voice, report, classes):
    """The measures for people."""
    area = "" if report["roc_area"] is None else f"; area under the ROC curve {report['roc_area']:.4f}"
    of = " (mean over the classes)" if area and len(classes) > 2 else ""
    voice.say(f"accuracy {report['accuracy']:.4f} on {number(report['rows'], 'row')}{area}{of}\n")
    table = grid("class", "precision", "recall", "F1", "rows", "predicted")
    for label, values in report["by_class"].items():
        shares = (f"{values[each]:.4f}" for each in ("precision", "recall", "f1"))
        add(table, label, *shares, f"{values['rows']:,}", f"{report['predicted'][label]:,}")
    voice.table(table)
