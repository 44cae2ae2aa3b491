"""Reach: the default fit of FGM against one l1 fit, a bare pass over X, and one l1-SVM fit, as ratios of one run."""

from functools import partial
from typing import NamedTuple

import numpy as np

from benchmarks import alone
from benchmarks.book import table
from benchmarks.linear import rivals
from benchmarks.linear.cuts import on_scale, problem
from benchmarks.linear.reach import SET, K
from benchmarks.linear.rivals import bytes_of, features_of, quiet_fit, with_about
from benchmarks.linear.synthetic import FULL, QUICK, wide
from benchmarks.rule import fgm_by_rule
from benchmarks.timing import interleaved, peak_growth
from thresher import FGMClassifier
from thresher.data.input.validation import as_design
from thresher.data.workers import Workers, granted_cores
from thresher.datasets import WideData

NEAR = 0.121  # C of the l1-SVM with about 300 columns of news20_bigram, where the search begins
ROUNDS, PASSES = 3, 5  # interleaved rounds; passes in a row that a bare pass is timed by
LR, PASS, SVM = "one l1-LR fit of LIBLINEAR", "one bare pass X'v", "one l1-SVM fit of LIBLINEAR"
HEAD = ("data", "features", "FGM s", "yardstick", "its s", "features", "ratio", "limit", "")
STEP_HEAD = ("data", "passes", "memory beyond X, MiB", "seconds by step")


class Case(NamedTuple):
    """A contest: data, features asked for, a yardstick, a call of it and the greatest ratio that is within reach."""

    name: str
    data: WideData
    wanted: int
    yardstick: str
    call: object
    limit: float
    model: object = None  # what the call fits, if it does
    passes: int = 1  # by how many its seconds are divided


class Measured(NamedTuple):
    """Medians of seconds of the fit and of the yardstick, the fit, and bytes by which memory grew at most."""

    seconds: float
    unit: float
    fit: FGMClassifier
    memory: int

    @property
    def ratio(self):
        return self.seconds / self.unit


def against_lr(size, limit):
    """FGM against l1-LR on made data, whose C is found off the clock so that it ends near as many features."""
    data, _ = wide(size)
    model = rivals.l1_lr(with_about(size.wanted, rivals.l1_lr(), data, size.near.lr))
    return Case(size.name, data, size.wanted, LR, partial(quiet_fit, model, data), limit, model)


def against_passes(size, workers, limit):
    """FGM against a bare pass on made data: X'v with a dense v, on all cores."""
    data, _ = wide(size)
    v = np.random.default_rng(0).standard_normal(size.rows)
    return Case(size.name, data, size.wanted, PASS, partial(passes, data.X, v, workers), limit, passes=PASSES)


def passes(X, v, workers):
    """PASSES products X'v."""
    block = as_design(X, workers).block
    for _ in range(PASSES):
        block.correlate(v)


def against_svm(limit):
    """FGM against the l1-SVM on all rows of news20_bigram, or None if the set is missing."""
    found = problem(SET)
    if found is None:
        return None
    data = WideData(on_scale(found[0], found[0][:1])[0], found[1], None, None)
    model = rivals.l1_svm(with_about(K, rivals.l1_svm(), data, NEAR))
    return Case(SET, data, K, SVM, partial(quiet_fit, model, data), limit, model)


def measured(case, rounds):
    """FGM by rule and the yardstick in interleaved rounds, after one that does not count."""
    fgm = fgm_by_rule(case.wanted)
    times = interleaved({"fgm": partial(quiet_fit, fgm, case.data), "unit": case.call}, rounds)
    memory = peak_growth(partial(quiet_fit, fgm, case.data), pause=0.005)
    return Measured(times["fgm"].median, times["unit"].median / case.passes, fgm, memory)


def by_step(trace):
    """'scan 0.8, solve 0.3, ...' of a fit, the longest first."""
    seconds = {}
    for step in trace.steps:
        seconds[step.kind] = seconds.get(step.kind, 0.0) + step.seconds
    return ", ".join(f"{kind} {spent:.2f}" for kind, spent in sorted(seconds.items(), key=lambda item: -item[1]))


def lines(case, found):
    """(line of the ratios, line of the steps)."""
    trace = found.fit.selection_.trace
    ended = "-" if case.model is None else features_of(case.model).size
    verdict = "within" if found.ratio <= case.limit else "beyond"
    ratio = (
        case.name, found.fit.selection_.features.size, f"{found.seconds:.2f}", case.yardstick, f"{found.unit:.3f}",
        ended, f"{found.ratio:.2f}", f"{case.limit:g}", verdict,
    )  # fmt: skip
    memory = f"{found.memory / 2**20:.0f} ({found.memory / bytes_of(case.data.X):.2f} of X)"
    return ratio, (case.name, f"{trace.passes:.1f}", memory, by_step(trace))


def cases(quick, workers):
    """The Cases, one by one: only one is in memory at a time."""
    square, broad = (QUICK.main[0], QUICK.main[0]) if quick else FULL.main
    yield partial(against_lr, square, 1.2)
    yield partial(against_passes, broad, workers, 25.0)
    if not quick:
        yield partial(against_svm, 0.7)


def report(quick=False):
    """The section of docs/benchmarks.md."""
    ratios, steps, rounds = [], [], 1 if quick else ROUNDS
    missing = ""
    with Workers(granted_cores()) as workers:
        for make in cases(quick, workers):
            case = make()
            if case is None:
                missing = f"{SET} is not in the data folder, and left out."
                continue
            ratio, step = lines(case, measured(case, rounds))
            print(*ratio, *step, sep="  ", flush=True)
            ratios.append(ratio)
            steps.append(step)
            del case
    about = (
        "`FGMClassifier(k)` by rule (C = 1) against a yardstick on the same data: one fit of an l1 model whose C was "
        "found off the clock, with scikit-learn's default tolerance, so that it ends within 3 % of as many features; "
        f"or one bare pass X'v in float64 sums, the mean of {PASSES} in a row. FGM and the pass use all cores, "
        f"LIBLINEAR knows only one. Medians of {rounds} interleaved rounds in one process. Steps and passes are those "
        "of one fit; memory is the growth of anonymous pages."
    )
    parts = ["## Reach", about, *([missing] if missing else []), table(HEAD, ratios), table(STEP_HEAD, steps)]
    return "\n\n".join(parts)


if __name__ == "__main__":
    alone.run(report, __doc__)
