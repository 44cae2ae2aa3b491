"""Time and memory of fits of bags against the number of instances, up to 10^5; what keeping similarities saves."""

import functools
import time
import warnings

import numpy as np

from benchmarks import alone
from benchmarks.book import table
from benchmarks.children import in_child
from benchmarks.rule import miles_by_rule
from benchmarks.timing import peak_growth
from thresher.features.instances import design as bags_module

COLUMNS, ROWS_OF_A_BAG, LIMIT = 50, 10, 560
SIZES = (1_000, 10_000, 100_000)
HEAD = ("instances", "bags", "similarities", "kept", "scans", "s", "s a scan", "MiB above X")


def made(n_rows):
    """(X, y, bags): each positive bag has one row near a point."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, COLUMNS))
    bags = np.arange(n_rows) // ROWS_OF_A_BAG
    positive = rng.random(bags.max() + 1) < 0.5
    telling = np.flatnonzero(positive) * ROWS_OF_A_BAG + rng.integers(0, ROWS_OF_A_BAG, positive.sum())
    X[telling] = 0.3 * X[telling] + 1.0
    return X, positive[bags], bags


def fit_of(X, y, bags, options, cache):
    """(seconds, scans, bytes by which memory grew) of a fit."""
    bags_module.CACHE = cache
    found = []
    small = bags < 20
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        miles_by_rule(2).fit(X[small], y[small], bags=bags[small])  # loads the compiled loops

        def call():
            begun = time.perf_counter()
            clf = miles_by_rule(**options).fit(X, y, bags=bags)
            scans = sum(step.kind == "scan" for step in clf.selection_.trace.steps)
            seconds = sum(step.seconds for step in clf.selection_.trace.steps if step.kind == "scan")
            found.append((time.perf_counter() - begun, scans, seconds))

        grew = peak_growth(call, pause=0.02)
    return *found[0], grew


def rows(n_rows, quick):
    """The lines of one size."""
    X, y, bags = made(n_rows)
    size = 8 * n_rows * (bags.max() + 1)
    fits = size <= bags_module.CACHE
    options = {"n_instances_to_select": 10, "sigma": "auto"}
    if n_rows > 20_000:
        options |= {"elimination": False, "max_iter": 2}
    for cache in (bags_module.CACHE, 0) if fits else (bags_module.CACHE,):
        call = functools.partial(fit_of, X, y, bags, options, cache)
        answer, why = in_child(call, 60 if quick else LIMIT)
        kept = "yes" if fits and cache else "no"
        line = [f"{n_rows:,}", f"{bags.max() + 1:,}", f"{size / 2**20:,.0f} MiB", kept]
        if answer is None:
            line += ["", why, "", ""]
        else:
            seconds, scans, in_scans, grew = answer
            line += [scans, f"{seconds:.1f}", f"{in_scans / scans:.2g}", f"{grew / 2**20:,.0f}"]
        print(line, flush=True)
        yield line


def of_a_dozen(lines):
    """What twelve scans of the largest size take, in words."""
    found = [12 * float(line[6]) / 60 for line in lines if line[0] == "100,000" and line[6]]
    return f"{found[0]:.0f} minutes" if found else "a dozen times the seconds a scan"


def saved(lines):
    """What keeping saves at 10^4 instances, in words; empty if that was not measured."""
    seconds = {line[3]: float(line[5]) for line in lines if line[0] == "10,000" and line[6]}
    if len(seconds) < 2:
        return ""
    return f": at 10,000 instances a fit takes {seconds['yes']:.1f} s instead of {seconds['no']:.1f}"


def report(quick=False):
    """The table."""
    lines = [line for n_rows in (SIZES[:1] if quick else SIZES) for line in rows(n_rows, quick)]
    return (
        f"### Bags: time and memory, {COLUMNS} columns, bags of {ROWS_OF_A_BAG} rows\n\n{table(HEAD, lines)}\n\n"
        "MILESClassifier(10) with sigma by the rule; at 100,000 instances growth alone and two turns, so that the "
        "table is made in minutes. A scan there is 10^10 distances: a fit of a dozen scans takes "
        f"{of_a_dozen(lines)}, and a matrix of all similarities would take 7.5 GiB. Kept: similarities are computed in "
        "the first scan alone; where they would fit, the line below shows the same fit without keeping "
        f"them{saved(lines)}."
    )


if __name__ == "__main__":
    alone.run(report, __doc__)
