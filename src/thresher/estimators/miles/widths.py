"""The choice of sigma, the width of similarities, and of C with it, by cross-validation over bags inside a fit."""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from thresher.estimators.fgm.choice import MakeProblems, scores_of_Cs
from thresher.estimators.fgm.goals import Goal
from thresher.estimators.miles.bags import BagSample
from thresher.estimators.shared.folds import held_out_parts
from thresher.families.fgm.fit import held_out
from thresher.features.instances.design import BagDesign, BagDistances, Instances
from thresher.features.instances.space import median_distance
from thresher.results import Trace

RULES = ("auto", "search")  # words for sigma: the median distance, or one of its multiples
MULTIPLES = (0.5, 1.0, 2.0)


class Chosen(NamedTuple):
    """The design with the best sigma, the best C, and the scores (folds, sigmas, Cs) of bags that were held out."""

    design: BagDesign
    C: float
    scores: np.ndarray


def widths(sigma: float | str, sample: BagSample, instances: Instances, factor: np.ndarray | None) -> list[float]:
    """The values of sigma to choose from; one, if it is a number or the rule."""
    if not isinstance(sigma, str):
        return [sigma]
    median = median_distance(sample.X, instances, sample.bags, sample.row_weights, factor)
    return [median] if sigma == "auto" else [multiple * median for multiple in MULTIPLES]


def chosen_width(
    distances: BagDistances, sigmas: Sequence[float], Cs: Sequence[float], goal: Goal, make_problems: MakeProblems,
    cv: Any, sample: BagSample, instances: Instances, trace: Trace, options: dict[str, Any],
) -> Chosen:  # fmt: skip
    """The sigma and C of the best score on bags held out; of ties the largest sigma, then the smallest C.

    Instances of the bags that are held out are not selected.
    """
    folds = held_out_parts(cv, sample.codes, sample.weights)
    barred = [instances.only_in(sample.bags, test) for test in folds]
    found, last = [], options["deadline"]
    for number, sigma in enumerate(sigmas):
        if last is not None:  # half of the time is for the choice
            share = 0.5 * (number + 1) / len(sigmas)
            options = options | {"deadline": trace.begun + share * (last - trace.begun)}
        design = BagDesign(distances, sigma)
        known = folds, sample.codes, sample.weights, trace, options
        found.append(scores_of_Cs(goal, Cs, functools.partial(held_out, design), make_problems, *known, barred))
    scores = np.stack(found, axis=1)
    means = scores.mean(axis=0)
    pairs = [(-means[i, j], -sigma, C) for i, sigma in enumerate(sigmas) for j, C in enumerate(Cs)]
    _, sigma, C = min(pairs)
    kept = design if design.sigma == -sigma else BagDesign(distances, -sigma)  # with what it has computed
    return Chosen(kept, C, scores)
