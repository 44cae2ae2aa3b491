"""What a fit chooses by cross-validation: C, and variants of the features, all values of C in the same scans."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thresher.estimators.shared.cross_validation import cv_results
from thresher.families.fgm.fit import held_out_scores
from thresher.families.fgm.spec import FitPlan, FitSpec
from thresher.features.base import Features
from thresher.results import Trace
from thresher.targets.base import Target

CS = (0.01, 0.1, 1.0, 10.0, 100.0)  # values of C that "auto" tries, times the default
TIME = 0.5  # share of the time that choosing may take


@dataclass(frozen=True)
class Choice:
    """Features and C of a fit; ``results`` are in the form of ``cv_results_``, None if there was no choice."""

    features: Features
    C: float
    results: dict[str, Any] | None = None


def values_of_C(C: float | str | None, target: Target) -> list[float]:
    """The values to choose from; one, if C is given."""
    if isinstance(C, str):  # "auto" is the only word
        return [target.default_C * factor for factor in CS]
    return [target.default_C if C is None else float(C)]


@dataclass(frozen=True)
class Folds:
    """What candidates are judged by: samples that are held out, and how well scores predict some samples."""

    tests: Sequence[np.ndarray]
    target: Target
    trace: Trace
    judge: Callable[[np.ndarray, np.ndarray], float]

    def chosen(self, features: Features, Cs: Sequence[float], spec: FitSpec) -> Choice:
        """The variant of the features and the C with the best mean score.

        Of equally good ones the last variant is chosen, then the smallest C.
        """
        self.target.check_folds(self.tests)
        settings, scores = [], []
        for number, variant in enumerate(features.variants()):
            plan = spec.on(variant, self.target)
            if spec.deadline is not None:
                share = TIME * (number + 1) / features.n_variants
                plan = plan.until(self.trace.begun + share * (spec.deadline - self.trace.begun))
            scores.append(self.scores(variant, Cs, plan))
            settings.append(variant.setting)
        table = np.stack(scores, axis=1)  # (folds, variants, Cs)
        means = table.mean(axis=0)
        places = itertools.product(range(len(settings)), range(len(Cs)))
        best, value = max(places, key=lambda place: (means[place], place[0], -place[1]))
        if best < len(settings) - 1:  # made anew: what each has computed was not kept
            variant = next(itertools.islice(features.variants(), best, None))
        params = [setting | {"C": C} for setting in settings for C in Cs]
        return Choice(variant, Cs[value], cv_results(params, table.reshape(len(self.tests), -1)))

    def scores(self, features: Features, Cs: Sequence[float], plan: FitPlan) -> np.ndarray:
        """How well the samples of each fold are predicted under each C, (folds, values), all in the same scans."""
        target, problems, excluded = self.target, [], []
        for test in self.tests:
            for C in Cs:
                problems += target.problems(C, held_out=test)
            excluded += [features.barred(test)] * (len(Cs) * target.n_models)
        found = held_out_scores(features, problems, plan, self.trace, excluded)
        out = np.empty((len(self.tests), len(Cs)))
        for fold, test in enumerate(self.tests):
            for value in range(len(Cs)):
                scores = np.hstack([next(found) for _ in range(target.n_models)])
                out[fold, value] = self.judge(scores, test)
        return out
