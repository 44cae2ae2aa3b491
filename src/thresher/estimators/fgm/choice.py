"""The choice of C by cross-validation inside a fit."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from thresher.estimators.fgm.goals import Goal
from thresher.estimators.shared.parameters import costs
from thresher.optim.problems.margins import Problem
from thresher.results import Trace

HeldOut = Callable[..., Iterator[np.ndarray]]  # of (problems, trace, options): scores (samples, classes) of each
MakeProblems = Callable[..., Sequence[Problem]]  # of the cost of each sample: those of all classes


def scores_of_Cs(
    goal: Goal,
    Cs: Sequence[float] | np.ndarray,
    held_out: HeldOut,
    make_problems: MakeProblems,
    folds: list[np.ndarray],
    codes: np.ndarray,
    weights: np.ndarray,
    trace: Trace,
    options: dict[str, Any],
    barred: Sequence[Any] | None = None,
) -> np.ndarray:
    """How well the samples of each fold are predicted under each C, (folds, values), all in the same scans.

    ``options`` are those of ``held_out``; ``barred`` are the units that the models of each fold must not select; None:
    those in ``options``.
    """
    goal.check_folds(folds, codes, weights)
    models, excludes = [], []  # of each fold and C the problems of its classes
    for fold, test in enumerate(folds):
        for C in Cs:
            cost = costs(float(C), weights)
            cost[test] = 0.0
            models.append(make_problems(cost=cost))
            excludes += [() if barred is None else barred[fold]] * len(models[-1])
    options = options if barred is None else options | {"excludes": excludes}
    problem_scores = held_out([problem for problems in models for problem in problems], trace, **options)
    scores = [np.hstack([next(problem_scores) for _ in problems]) for problems in models]
    return goal.judge(scores, folds, codes, weights)


def best_C(Cs: np.ndarray, scores: np.ndarray) -> float:
    """The C with the best mean of ``scores`` (folds, values); the smallest if there are ties."""
    return float(Cs[int(np.argmax(scores.mean(axis=0)))])
