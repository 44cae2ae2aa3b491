"""The choice of C by cross-validation inside a fit."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from thresher.data.design import Design
from thresher.estimators.parameters import costs
from thresher.optim.problem import Problem
from thresher.results import Trace


def costs_of_folds(Cs: np.ndarray, folds: Sequence[np.ndarray], weights: np.ndarray) -> Iterator[np.ndarray]:
    """The costs of each fold and C: samples that are held out have none."""
    for test in folds:
        for C in Cs:
            cost = costs(float(C), weights)
            cost[test] = 0.0
            yield cost


def scores_of(
    held_out: Callable[..., Iterator[np.ndarray]],
    design: Design,
    models: Sequence[Sequence[Problem]],
    trace: Trace,
    options: dict[str, Any],
) -> Iterator[np.ndarray]:
    """Scores (samples, classes) of each of ``models``, which are the problems of all classes.

    ``options`` are those of ``held_out``, which fits them; half of the time is for the choice.
    """
    if options["deadline"] is not None:
        options = options | {"deadline": 0.5 * (trace.begun + options["deadline"])}
    all_problems = [problem for problems in models for problem in problems]
    problem_scores = held_out(design, all_problems, trace, **options)
    for problems in models:
        yield np.hstack([next(problem_scores) for _ in problems])


def best_C(Cs: np.ndarray, scores: np.ndarray) -> float:
    """The C with the best mean of ``scores`` (folds, values); the smallest if there are ties."""
    return float(Cs[int(np.argmax(scores.mean(axis=0)))])
