"""The choice of C by cross-validation inside a fit."""

import numpy as np

from thresher.estimators.folds import CS, accuracy
from thresher.estimators.parameters import costs
from thresher.families.fgm import held_out


def chosen_C(design, make_problems, folds, codes, weights, trace, debias, options):
    """(C, accuracies (folds, values)): the best accuracy on held-out samples; the smallest C if there are ties.

    ``make_problems(cost)`` are the problems of all classes; ``options`` are those of ``held_out``.
    """
    if options["deadline"] is not None:  # half of the time is for the choice
        options = options | {"deadline": 0.5 * (trace.begun + options["deadline"])}
    accuracies = accuracies_of(CS, design, make_problems, folds, codes, weights, trace, debias, options)
    return CS[int(np.argmax(accuracies.mean(axis=0)))], accuracies


def accuracies_of(Cs, design, make_problems, folds, codes, weights, trace, debias, options, barred=None):
    """Accuracy on the held-out samples of each fold under each C, (folds, values), all in the same scans.

    ``barred`` are the units that the models of each fold must not select; None: those in ``options``.
    """
    models, excludes = [], []  # of each fold and C the problems of its classes
    for fold, test in enumerate(folds):
        for C in Cs:
            cost = costs(C, weights)
            cost[test] = 0.0
            models.append(make_problems(cost))
            excludes += [() if barred is None else barred[fold]] * len(models[-1])
    all_problems = [problem for problems in models for problem in problems]
    options = options | {"excludes": None if barred is None else excludes}
    problem_scores = held_out(design, all_problems, trace, debias=debias, **options)
    scores = [np.hstack([next(problem_scores) for _ in problems]) for problems in models]
    return accuracy(scores, folds, codes, weights)
