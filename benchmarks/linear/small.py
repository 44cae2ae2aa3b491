"""Small sets, where a user begins: seconds and accuracy of FGM's defaults against SVM-RFE, l1-SVM and abess.

``python -m benchmarks.linear.small --sets leukemia digits`` runs some of the sets and writes nothing.
"""

import argparse
import importlib.util
import sys
import time
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.feature_selection import RFE
from sklearn.svm import LinearSVC

from benchmarks import book
from benchmarks.book import table
from benchmarks.children import in_child
from benchmarks.linear import pickers
from benchmarks.linear.contestants import abess
from benchmarks.linear.cuts import Cut, cuts, on_scale, problem
from benchmarks.linear.judge import judged
from benchmarks.linear.rivals import quiet_fit
from benchmarks.timing import Times, seconds_of
from thresher.data.workers import ONE_BLAS_THREAD

SETS = ("leukemia", "colon", "prostate", "arcene", "dexter", "relathe", "digits")
KS = (10, 50, 100, 200)
FGM, HALVING, IN_ONE, ABESS = "FGM", "SVM-RFE", "SVM-RFE, all k in one run", "abess"
ALLOWED, LIMIT = 0.3, 1.0  # seconds that are always within reach; times SVM-RFE's seconds that are beyond
SLOW = 2.0  # seconds from which on a call is timed once
ABESS_LIMIT = 5.0  # seconds; once it is over, greater k are not tried


class Plan(NamedTuple):
    """What is measured."""

    sets: tuple[str, ...] = SETS
    ks: tuple[int, ...] = KS
    rounds: int = 3
    splits: int = 3


QUICK = Plan(("leukemia", "digits"), (10, 50), 1, 1)


class Outcome(NamedTuple):
    """Of one contestant on one set at one k: its Times, or why there are none; mean accuracy over the splits."""

    times: Times | None
    accuracy: float = np.nan
    verdict: str = ""


def small_set(name):
    """(X, y) of a set, or None if it is missing; digits: even against odd."""
    if name != "digits":
        return problem(name)
    X, y = load_digits(return_X_y=True)
    return X, np.where(y % 2 == 0, 1.0, -1.0)


def scikit_rfe(X, y, ks):
    """RFE of scikit-learn, a tenth of all columns a step, for each k."""
    svm = LinearSVC(C=pickers.C, random_state=0)
    return {
        k: np.flatnonzero(quiet_fit(RFE(svm, n_features_to_select=k, step=0.1), Cut(X, y, None, None)).support_)
        for k in ks
    }


def best_subset(X, y, ks):
    """abess, in a child that is ended after ABESS_LIMIT seconds; TimeoutError with the verdict then."""
    models, verdict = in_child(partial(abess, X, y, ks, None), ABESS_LIMIT)
    if models is None:
        raise TimeoutError(verdict)
    return {k: model.features for k, model in models.items()}


PICKERS = {
    FGM: pickers.fgm,
    "FGM, growth alone": pickers.growth,
    HALVING: pickers.rfe,
    "RFE of scikit-learn": scikit_rfe,
    "l1-SVM": pickers.l1_svm,
    ABESS: best_subset,
}


def contestants():
    """The pickers that are installed."""
    there = importlib.util.find_spec("abess") is not None
    return {who: pick for who, pick in PICKERS.items() if there or who != ABESS}


def timed(calls, rounds):
    """{key: Times, or why there are none} of interleaved rounds; what is slow, or fails, has one."""
    seconds, failed = {key: [] for key in calls}, {}
    for number in range(rounds):
        for key, call in calls.items():
            if key in failed or (number and seconds[key][0] > SLOW):
                continue
            try:
                seconds[key].append(seconds_of(call))
            except TimeoutError as over:
                failed[key] = str(over)
    return {key: failed[key] if key in failed else Times(tuple(times)) for key, times in seconds.items()}


def outcomes(name, picks, plan):
    """({(k, contestant): Outcome}, shape) of a set, or None if it is missing."""
    found = small_set(name)
    if found is None:
        return None
    X, y = found
    whole, splits = on_scale(X, X[:1])[0], list(cuts(X, y, plan.splits))
    ks = [k for k in plan.ks if k < X.shape[1]]
    for pick in picks.values():  # compiles, and touches the pages
        _unless_late(partial(pick, whole, y, ks[:1]))
    result, late = {}, set()
    for k in ks:
        calls = {who: partial(pick, whole, y, (k,)) for who, pick in picks.items() if who not in late}
        for who, spent in timed(calls, plan.rounds).items():
            if isinstance(spent, str):
                late.add(who)
                result[k, who] = Outcome(None, verdict=spent)
                continue
            told = [_unless_late(partial(picks[who], cut.X, cut.y, (k,))) for cut in splits]
            scores = [judged(cut, ids[k]) for cut, ids in zip(splits, told, strict=True) if ids is not None]
            right = float(np.mean(scores)) if len(scores) == len(splits) else np.nan
            result[k, who] = Outcome(spent, right)
            print(name, k, who, f"{spent.median:.3f} s", f"{right:.1f} %", file=sys.stderr, flush=True)
    ((_, together),) = timed({IN_ONE: partial(pickers.rfe, whole, y, ks)}, plan.rounds).items()
    result[ks[-1], IN_ONE] = Outcome(together)
    return result, X.shape


def _unless_late(call):
    try:
        return call()
    except TimeoutError:
        return None


def misses(found):
    """Lines on sets and numbers where FGM takes longer than LIMIT times SVM-RFE for that number, and than ALLOWED."""
    lines = []
    for name, (result, _) in found.items():
        for k in sorted({k for k, _ in result}):
            ours, theirs = result[k, FGM].times.median, result[k, HALVING].times.median
            if ours > max(ALLOWED, LIMIT * theirs):
                beyond = f"{ours:.2f} s, {ours / theirs:.1f} times SVM-RFE's {theirs:.2f} s"
                lines.append(f"- {name}, {k} features: {beyond}")
    return lines


def cells(result, k, who, value):
    """Text of a cell: seconds or accuracy, or why there is none."""
    outcome = result.get((k, who))
    if outcome is None:
        return "-"
    return outcome.verdict or value(outcome)


def tables(found, names):
    """(table of seconds, table of accuracies)."""
    seconds, accuracies = [], []
    for name, (result, shape) in found.items():
        ks = sorted({k for k, _ in result})
        for k in ks:
            label = f"{name} ({shape[0]} x {shape[1]})", k
            ratio = result[k, FGM].times.median / result[k, HALVING].times.median
            spent = [cells(result, k, who, lambda one: f"{one.times.median:.3f}") for who in (*names, IN_ONE)]
            seconds.append((*label, *spent, f"{ratio:.2f}"))
            right = [cells(result, k, who, lambda one: f"{one.accuracy:.1f}") for who in names]
            accuracies.append((*label, *right))
    head = ("set", "features")
    return table((*head, *names, IN_ONE, "FGM / SVM-RFE"), seconds), table((*head, *names), accuracies)


def explained(plan):
    """How the tables were made."""
    return (
        "All rows of a set, sparse rows at length one, dense columns at mean 0 and spread 1; digits: even against odd. "
        "`FGMClassifier(k)` with its defaults, growth alone (`elimination=False`), SVM-RFE that drops a tenth a step "
        "and one by one from 100 columns (`pickers.rfe`: one call for that k; all k in one run stands with the "
        "largest), RFE of scikit-learn around LinearSVC with step = 0.1, LIBLINEAR's l1-SVM with C bisected to k, "
        f"abess in a child that is ended after {ABESS_LIMIT:g} s. One thread for all, one process; medians of "
        f"{plan.rounds} interleaved rounds, of one where a call takes over {SLOW:g} s. Accuracy in per cent: one "
        f"LinearSVC on the columns picked from training rows, on the test rows, mean of {plan.splits} splits."
    )


def measured(plan):
    """The section for a Plan."""
    begun, picks = time.perf_counter(), contestants()
    with ONE_BLAS_THREAD:
        every = {name: outcomes(name, picks, plan) for name in plan.sets}
    found = {name: one for name, one in every.items() if one is not None}
    parts = ["## Small sets", explained(plan)]
    missing = [name for name in every if name not in found]
    parts += [f"Not in the data folder, and left out: {', '.join(missing)}."] if missing else []
    parts += [f"Not installed, and left out: {ABESS}."] if ABESS not in picks else []
    seconds, accuracies = tables(found, tuple(picks))
    behind = misses(found)
    goal = f"FGM's reach is {LIMIT:g} x SVM-RFE's call for the same number, {ALLOWED:g} s always allowed."
    verdict = f"It is missed {len(behind)} times:\n\n" + "\n".join(behind) if behind else "It is never missed."
    parts += ["Seconds:", seconds, f"{goal} {verdict}", "Accuracy, %:", accuracies]
    parts.append(f"The whole run took {(time.perf_counter() - begun) / 60.0:.1f} minutes.")
    return "\n\n".join(parts)


def report(quick=False):
    """The section of docs/benchmarks.md."""
    return measured(QUICK if quick else Plan())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS, metavar="set", help=f"of {', '.join(SETS)}")
    parser.add_argument("--quick", action="store_true", help="few sets and numbers, one round")
    asked = parser.parse_args()
    print(f"{measured(QUICK if asked.quick else Plan(tuple(asked.sets)))}\n\n{book.machine_line()}")


if __name__ == "__main__":
    main()
