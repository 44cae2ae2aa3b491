"""The losses of ``select``: what options stand for, what they are called, and measures on other data."""

import re

import numpy as np

from thresher.cli.app import WrongUsage
from thresher.optim.measures.values import ErrorRate, FBeta, PrecisionAtK, RecallAtK
from thresher.targets.criteria import MeasureCriterion, criterion_of

AT_K = {"precision_at_k": PrecisionAtK, "recall_at_k": RecallAtK}
COUNT, MULTIPLE = re.compile(r"[0-9]+"), re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)p")
LITTLE = 0.85  # of the objective without features: models above hardly use what the measure says
TITLES = {"squared_hinge": "squared hinge", "logistic": "logistic", "error": "error rate", "f1": "F1",
          "prbep": "PRBEP", "auc": "area under the ROC curve", "average_precision": "average precision"}  # fmt: skip


def loss_of(loss, at, beta):
    """The parameter ``loss`` of the estimator; WrongUsage if the options do not go together."""
    if at is not None and loss not in AT_K:
        raise WrongUsage(f"--at needs --loss {' or '.join(AT_K)}, got {loss}")
    if beta is not None and loss != "fbeta":
        raise WrongUsage(f"--beta needs --loss fbeta, got {loss}")
    if loss in AT_K:
        if at is None:
            raise WrongUsage(
                f"--loss {loss} needs --at: a number of samples, or a multiple of the positives such as 2p"
            )
        return AT_K[loss](k_of(at))
    if loss != "fbeta":
        return loss
    if beta is None:
        raise WrongUsage("--loss fbeta needs --beta: how many times as much recall counts as precision")
    try:
        return FBeta(beta)
    except ValueError as error:
        raise WrongUsage(f"--{error}") from None


def k_of(text):
    """The k of a measure at k: 50 samples, or 2p, twice as many as there are positives."""
    multiple = MULTIPLE.fullmatch(text)
    k = int(text) if COUNT.fullmatch(text) else float(multiple[1]) if multiple else 0
    if not 0 < k < np.inf:
        raise WrongUsage(
            f"--at must be an integer of at least 1, or a multiple of the number of positives such as 2p or 0.5p; got "
            f"{text!r}"
        )
    return k


def check_at(loss, count, noun, file):
    """Raise an error if --at asks for more samples than there are."""
    if isinstance(loss, (PrecisionAtK, RecallAtK)) and isinstance(loss.k, int) and loss.k > count:
        raise ValueError(
            f"--at {loss.k}: {file} has only {count:,} {noun}s; use a smaller number, or a multiple of the number of "
            "positives such as 2p"
        )


def check_loss(loss, features, balanced):
    """Raise an error for other options that the loss does not allow."""
    criterion = criterion_of(loss)
    if features == "all" and not isinstance(criterion, MeasureCriterion):
        raise WrongUsage(
            f"--features all needs the --loss of a measure, such as f1; got {loss}, which LIBLINEAR fits on all columns"
        )
    if balanced and isinstance(criterion, MeasureCriterion) and not criterion.measure.is_weighted:
        name = criterion.measure.name
        raise WrongUsage(f"--balanced cannot be combined with --loss {name}: the measure takes no weights of classes")


def title_of(loss):
    """What the loss is called, for a line or the head of a column."""
    criterion = criterion_of(loss)
    if not isinstance(criterion, MeasureCriterion):
        return TITLES[loss]
    measure = criterion.measure
    if isinstance(measure, FBeta):
        return f"F-beta (beta = {measure.beta:g})"
    if isinstance(measure, (PrecisionAtK, RecallAtK)):
        k = measure.k
        return f"{measure.name.split('_')[0]} at {k if isinstance(k, int) else f'{k:g}p'}"
    return TITLES[measure.name]


def loss_in_words(clf):
    """What a model was fitted for, in words."""
    criterion, title = criterion_of(clf.loss), title_of(clf.loss)
    if not isinstance(criterion, MeasureCriterion) or isinstance(criterion.measure, ErrorRate):
        return title
    title += " (precision where it equals recall)" * (criterion.measure.name == "prbep")
    title += " (p: the number of positives)" * isinstance(getattr(criterion.measure, "k", None), float)
    if clf.classes_.size > 2:
        return f"{title}, each class against all others"
    return f"{title}, class {clf.classes_[1]} against class {clf.classes_[0]}"


def loss_facts(loss):
    """The same for JSON: the name, and the parameter if there is one."""
    criterion = criterion_of(loss)
    if not isinstance(criterion, MeasureCriterion):
        return {"loss": loss}
    return {"loss": criterion.measure.name} | {f"loss_{name}": value for name, value in vars(criterion.measure).items()}


def measure_of(loss):
    """The measure that a model was fitted for; None for others, and for the error rate: accuracy is always told."""
    criterion = criterion_of(loss)
    if not isinstance(criterion, MeasureCriterion) or isinstance(criterion.measure, ErrorRate):
        return None
    return criterion.measure


def little_gained(clf):
    """A note where the loss of a measure is nearly what it is without features; else nothing."""
    loss, certificate = getattr(clf, "loss", None), clf.selection_.certificate
    if loss is None or measure_of(loss) is None or certificate is None:
        return ""
    share, title = certificate.pick_objective / certificate.at_zero, title_of(loss)
    if not share > LITTLE:
        return ""
    return (
        f"note: the objective is {share:.0%} of that without features, so this loss tells features apart only roughly. "
        f"--loss average_precision, auc or the default may give a better {title}, too: compare them on other data"
    )


def undefined(reporter, loss, error):
    """Warn that the measure of a loss has no value on some data: too few samples, or no positives."""
    reporter.warn(f"{title_of(loss)} is undefined here: {error}")
