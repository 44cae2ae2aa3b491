"""The judge: accuracy on the test part over three orders, cost per example, and what counts as agreement."""

import math
import statistics
import time
from typing import NamedTuple

import numpy as np

from benchmarks import timing

SEEDS = (0, 1, 2)
MIB = 2.0**20
RULE = "|difference| <= 2 root(sd² + sd_ref²) + one test example"


class Run(NamedTuple):
    """One order: share of the test rows that were right, features with a weight, seconds of the processor a round."""

    accuracy: float
    features: int
    cost: float


class Score(NamedTuple):
    """Runs over several orders."""

    runs: tuple[Run, ...]

    @property
    def mean(self):
        return 100.0 * statistics.fmean(run.accuracy for run in self.runs)

    @property
    def deviation(self):
        return 100.0 * statistics.pstdev(run.accuracy for run in self.runs)

    @property
    def features(self):
        return statistics.fmean(run.features for run in self.runs)

    @property
    def micros(self):
        """Median microseconds a round."""
        return 1e6 * statistics.median(run.cost for run in self.runs)

    def __str__(self):
        return f"{self.mean:.2f} ± {self.deviation:.2f}"


def timed(call):
    """(what ``call()`` returns, seconds of the processor it took)."""
    begun = time.process_time()
    found = call()
    return found, time.process_time() - begun


def score(contestant, data, seeds=SEEDS):
    """The Score of ``contestant(data, seed)``, which returns a Run."""
    return Score(tuple(contestant(data, seed) for seed in seeds))


def right(scores, y):
    """Share of rows whose score has the sign of the label; zero speaks for -1."""
    return float(np.mean((np.asarray(scores) > 0.0) == (y > 0.0)))


def agrees(found, reference, tests):
    """Whether a Score is a Reference within their deviations; a single run is taken to deviate as ours do."""
    other = found.deviation if reference.deviation is None else reference.deviation
    return abs(found.mean - reference.mean) <= 2.0 * math.hypot(found.deviation, other) + 100.0 / tests + 1e-9


def peak(call):
    """MiB by which memory grew at most during a call."""
    return timing.peak_growth(call) / MIB
