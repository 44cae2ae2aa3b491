"""What measures cost: the most violated labelling, the small program, and fits on news20_bigram against C n."""

import functools
import statistics
import warnings
from typing import NamedTuple

import numpy as np
from sklearn.svm import LinearSVC

from benchmarks import alone
from benchmarks.book import table
from benchmarks.children import in_child
from benchmarks.measures import program
from benchmarks.measures.data import small, two_classes
from benchmarks.rule import fgm_by_rule
from benchmarks.timing import interleaved, peak_growth, seconds_of
from thresher import F1, AveragePrecision, RocArea

SEARCHED, REPEATS = (F1(), RocArea(), AveragePrecision()), 3
SIZES, QUICK_SIZES, POSITIVE = (10_000, 100_000, 1_000_000), (10_000,), 0.05
WANTED = 1.0  # seconds for F1 at the largest size
SET, FEATURES, QUICK_FEATURES, L1_FITS = "news20_bigram", 100, 5, 10
TOTALS, QUICK_TOTALS = (1e4, 1e5, 1e6, 1e7, 1e8), (1e4,)
PROGRAM_SETS, PROGRAM_TOTALS = (("dorothea", False), ("rcv1_subsets", True), ("news20_bigram", False)), (1e4, 1e6, 1e8)
LIMIT = 100  # seconds for a fit
FIRST_C, LAST_C = 0.01, 100.0  # of LIBLINEAR
FIT_HEAD = ("C n", "s", "turns", "most cuts", "inner gap", "MiB", "training F1", "stopped")


class Fitted(NamedTuple):
    """What is told of a fit."""

    seconds: float
    turns: int
    cuts: int
    gap: float
    grew: int
    score: float
    stop: str


def scores_of(n):
    """(y, scores) of n rows, a share POSITIVE of them positive, with overlapping scores."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < POSITIVE, 1.0, -1.0)
    return y, rng.standard_normal(n) + 0.7 * y


def searches(sizes):
    """The section on searches: medians of interleaved repeats, after a first round that compiles."""
    calls = {}
    for n in sizes:
        y, scores = scores_of(n)
        for measure in SEARCHED:
            calls[measure.name, n] = functools.partial(measure.most_violated, y, scores)
        calls["sort", n] = functools.partial(np.argsort, scores)
    found = interleaved(calls, REPEATS)
    names = [*(measure.name for measure in SEARCHED), "sort"]
    rows = [[name, *(f"{found[name, n].median:.4f}" for n in sizes)] for name in names]
    return (
        "### The most violated labelling or ranking\n\nSeconds of `measure.most_violated(y, scores)`, "
        f"{POSITIVE:.0%} of the rows positive, median of {REPEATS}; a bare sort of the scores beside it. Wanted of F1: "
        f"under {WANTED:g} s for 10^6 rows.\n\n{table(('', *(f'{n:,} rows' for n in sizes)), rows)}"
    )


def fit(split, total, number):
    """The Fitted of a fit for F1, in a process of its own; a small one before it loads the compiled loops."""
    little = small(split)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fgm_by_rule(3, loss="f1", max_time=5.0).fit(little.X, little.y)
        clf, seconds = fgm_by_rule(number, loss="f1", C=total / split.y.size), []
        grew = peak_growth(lambda: seconds.append(seconds_of(lambda: clf.fit(split.X, split.y))), pause=0.01)
    turns = clf.selection_.trace.turns
    cuts, gap = max(turn.cuts for turn in turns), turns[-1].inner_gap
    score = F1().score(split.y, clf.decision_function(split.X))
    return Fitted(seconds[0], clf.n_iter_, cuts, gap, grew, score, str(clf.selection_.stop_reason))


def row(split, total, number):
    """A row of the table of fits."""
    answer, why = in_child(functools.partial(fit, split, total, number), LIMIT)
    print(f"{total:g}", answer or why, flush=True)
    if answer is None:
        return None, [f"{total:.0e}", why, *[""] * (len(FIT_HEAD) - 2)]
    return answer, [
        f"{total:.0e}", f"{answer.seconds:.1f}", answer.turns, answer.cuts, f"{answer.gap:.1e}",
        f"{answer.grew / 2**20:,.0f}", f"{answer.score:.3f}", answer.stop,
    ]  # fmt: skip


def l1_seconds(split, number):
    """Median seconds of a LIBLINEAR l1-SVM fit at the first C that gives ``number`` features, and how many it has."""
    model, count = LinearSVC(penalty="l1", dual=False, C=FIRST_C, random_state=0), 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while count < number and model.C < LAST_C:
            model.set_params(C=1.3 * model.C)
            count = int(np.count_nonzero(model.fit(split.X, split.y).coef_))
        times = [seconds_of(lambda: model.fit(split.X, split.y)) for _ in range(REPEATS)]
    return statistics.median(times), count


def fits(quick):
    """The section on fits."""
    head, split = f"### {FEATURES} features of {SET} for F1", two_classes(SET)
    if split is None:
        return f"{head}\n\n{SET} is not here."
    split = small(split) if quick else split
    totals, number = (QUICK_TOTALS, QUICK_FEATURES) if quick else (TOTALS, FEATURES)
    svm, count = l1_seconds(split, number)
    found = [row(split, total, number) for total in totals]
    default = next((answer for answer, line in found if answer is not None and line[0] == "1e+06"), None)
    ratio = ""
    if default is not None:
        share = default.seconds / (L1_FITS * svm)
        ratio = f" The default C n = 10^6 took {default.seconds:.1f} s, {share:.2f} of {L1_FITS} such fits (wanted: 1)."
    return (
        f"{head}\n\n{split.size}, its training part; default options, all cores. LIBLINEAR's l1-SVM on the same rows: "
        f"{svm:.2f} s for a fit with {count} features.{ratio} Cuts: the most that a turn had; inner gap: relative to "
        "the objective at w = 0, of the last turn; MiB: growth of memory during the fit. A fit has "
        f"{LIMIT} s.\n\n{table(FIT_HEAD, [line for _, line in found])}"
    )


def programs(quick):
    """The section on the small program."""
    splits = [split for name, thinned in PROGRAM_SETS if (split := two_classes(name, thinned)) is not None]
    if not splits:
        return "### The small program\n\nNone of its sets is here."
    if quick:
        return program.section([small(splits[0])], PROGRAM_TOTALS[-1:], program.QUICK_COLUMNS)
    return program.section(splits, PROGRAM_TOTALS)


def report(quick=False):
    """Searches, programs and fits."""
    parts = "## What measures cost", searches(QUICK_SIZES if quick else SIZES), programs(quick), fits(quick)
    return "\n\n".join(parts)


if __name__ == "__main__":
    alone.run(report, __doc__)
