"""The losses of ``select``: what options stand for, what they are called, and measures on other data."""

import re

import numpy as np

from thresher.cli.app import WrongUsage
from thresher.cli.imports import own_value
from thresher.optim.measures.base import Measure
from thresher.optim.measures.values import FBeta, PrecisionAtK, RecallAtK
from thresher.optim.problems.loss import Loss
from thresher.optim.problems.named import as_loss

AT_K = {"precision_at_k": PrecisionAtK, "recall_at_k": RecallAtK}
COUNT, MULTIPLE = re.compile(r"[0-9]+"), re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)p")


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
        return own_value("--loss", loss, Loss, Measure) if ":" in loss else loss
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
    k = getattr(loss, "k", None)
    if isinstance(k, int) and k > count:
        raise ValueError(
            f"--at {k}: {file} has only {count:,} {noun}s; use a smaller number, or a multiple of the number of "
            "positives such as 2p"
        )


def check_loss_options(loss, features, balanced):
    """Raise an error for other options that the loss does not allow."""
    minimised = as_loss(loss)
    if features == "all" and not minimised.selects_all:
        raise WrongUsage(
            f"--features all needs the --loss of a measure, such as f1; got {loss}, which LIBLINEAR fits on all columns"
        )
    if balanced and not minimised.is_weighted:
        name = minimised.name
        raise WrongUsage(f"--balanced cannot be combined with --loss {name}: the measure takes no weights of classes")


def undefined(reporter, measure, error):
    """Warn that a measure has no value on some data: too few samples, or no positives."""
    reporter.warn(f"{measure.title} is undefined here: {error}")
