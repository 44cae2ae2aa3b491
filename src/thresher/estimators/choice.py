"""The choice of C by cross-validation inside a fit."""

import numpy as np

from thresher.estimators.folds import CS, accuracy
from thresher.estimators.parameters import costs
from thresher.families.fgm import held_out


def chosen_C(design, make_problems, folds, codes, weights, trace, debias, options):
    """(C, accuracies (folds, values)): the best accuracy on held-out samples; the smallest C if there are ties.

    ``make_problems(cost)`` are the problems of all classes; ``options`` are those of ``held_out``.
    """
    models = []  # of each fold and C the problems of its classes
    for test in folds:
        for C in CS:
            cost = costs(C, weights)
            cost[test] = 0.0
            models.append(make_problems(cost))
    if options["deadline"] is not None:  # half of the time is for the choice
        options = options | {"deadline": 0.5 * (trace.begun + options["deadline"])}
    all_problems = [problem for problems in models for problem in problems]
    problem_scores = held_out(design, all_problems, trace, debias=debias, **options)
    scores = [np.hstack([next(problem_scores) for _ in problems]) for problems in models]
    accuracies = accuracy(scores, folds, codes, weights)
    return CS[int(np.argmax(accuracies.mean(axis=0)))], accuracies
