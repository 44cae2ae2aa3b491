"""The contest on real data: FGM, l1 models, SVM-RFE, SelectKBest, abess at 10 to 200 columns.

``python -m benchmarks real`` measures, goes on where a run was cut short, and writes the section;
``python -m benchmarks.linear.real --tables`` writes it from the results that are there.
"""

import argparse
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import book, freshness
from benchmarks.book import table
from benchmarks.linear import curves, reach
from benchmarks.linear.contestants import ALL, CONTESTANTS, FGM, ON_ALL, RANKED, RFE, warm_up
from benchmarks.linear.cuts import problem
from benchmarks.linear.data import SETS
from benchmarks.linear.judge import Result, parts, results
from benchmarks.linear.records import KEPT, Records
from benchmarks.linear.standings import ranks, standing
from thresher.data.workers import ONE_BLAS_THREAD

LIMIT = 600.0  # seconds a fit
WIDE = 20_000  # more columns than this are many
BEHIND = 1.0  # points of accuracy that are told


class Plan(NamedTuple):
    """What is to be measured."""

    sets: tuple[str, ...]
    ks: tuple[int, ...] = (10, 20, 50, 100, 200)
    splits: int = 3
    limit: float = LIMIT
    reach: bool = True

    def complete(self, records):
        """Whether there are all results for the sets in the data folder."""
        return all(
            records.get(name, split, one.name, k)
            for name in self.sets
            for split in range(self.splits)
            for one in CONTESTANTS
            for k in wanted(one, self.ks)
            if (SETS / name).exists()
        ) and not (self.reach and reach.lacking(records))


FULL = Plan(
    (
        "leukemia", "prostate", "dexter", "relathe", "basehock", "arcene", "dorothea", "farm_ads", "mnist38",
        "rcv1_subsets", "news20_bigram",
    ),
)  # fmt: skip
QUICK = Plan(("leukemia", "dexter"), (10, 20), 2, 30.0, False)


def wanted(one, ks):
    """The numbers of columns for which a contestant is fitted."""
    return ks if one.ranked else (ALL,)


def measure(plan, records):
    """Fit what is not among the records yet, on the sets that are in the data folder."""
    for name in plan.sets:
        data = problem(name)
        if data is None:
            continue
        for split, part in enumerate(parts(*data, plan.splits)):
            warm_up(part.cut)
            for one in CONTESTANTS:
                fill(plan, records, name, split, one, part, data[0].shape)
    if plan.reach:
        reach.measure(records, plan.limit)


def fill(plan, records, name, split, one, part, size):
    """Results of one contestant on one split; after a fit that did not end, no other of as many columns is tried.

    Nor is any other once all its fits to the set have nearly taken the time that a single one may.
    """
    left = tuple(k for k in wanted(one, plan.ks) if records.get(name, split, one.name, k) is None)
    for ks in [(k,) for k in left] if one.way == "each" else [left] if left else []:
        verdict = records.hopeless(name, one.name, min(ks), plan.limit)
        found = (Result(k, verdict=verdict) for k in ks) if verdict else results(one, part, ks, plan.limit)
        for each in found:
            records.add(name, split, one.name, size, each)
            shown = each.verdict or f"{each.own:.1f} {each.same or 0.0:.1f} {each.seconds:.2f} s"
            print(name, split, one.name, each.k, each.C, shown, file=sys.stderr, flush=True)


def with_rank(done, ks, field):
    """Mean accuracy over the sets, and mean rank, by contestant and k; sorted by rank."""
    accuracies = np.stack([getattr(one, field) for one in done])  # set, contestant, k
    places, means = ranks(accuracies).mean(axis=0), accuracies.mean(axis=0)
    lines = []
    for i in np.argsort(places.mean(axis=1), kind="stable"):
        pairs = [*zip(means[i], places[i], strict=True), (means[i].mean(), places[i].mean())]
        lines.append((RANKED[i], *(f"{number(mean, '.2f')} ({rank:.2f})" for mean, rank in pairs)))
    return table(("contestant", *(f"k = {k}" for k in ks), "all"), lines)


def number(value, form):
    """A number as text, "-" where there is none."""
    return format(value, form) if np.isfinite(value) else "-"


def by_set(done, ks, field):
    """Accuracy of every contestant, a line for each set and k."""
    lines = []
    for one in done:
        for j, k in enumerate(ks):
            cells = [
                one.verdicts.get((who, k)) or number(getattr(one, field)[i, j], ".1f") for i, who in enumerate(RANKED)
            ]
            lines.append((one.name, k, *cells, number(one.on_all, ".1f")))
    return table(("set", "k", *RANKED, ON_ALL), lines)


def over_sets(done, ks, field, form, middle=np.nanmedian, scale=1.0):
    """A table of medians (or means) over the sets on which a contestant ended, by contestant and k."""
    values = scale * np.stack([getattr(one, field) for one in done])
    lines = []
    for i, who in enumerate(RANKED):
        cells = [values[:, i, j][np.isfinite(values[:, i, j])] for j in range(len(ks))]
        lines.append((who, *(format(middle(cell), form) if cell.size else "-" for cell in cells)))
    return table(("contestant", *(f"k = {k}" for k in ks)), lines)


def against_rfe(done):
    """Seconds of FGM next to those of SVM-RFE, on the wide sets."""
    fgm, rfe = RANKED.index(FGM), RANKED.index(RFE)
    lines = []
    for one in done:
        if one.size[1] <= WIDE:
            continue
        run = one.seconds[rfe].max()  # one run is for every k
        five, longest = one.seconds[fgm].sum(), one.seconds[fgm].max()
        cells = [number(value, ".2f") for value in (run, longest, longest / run, five, five / run)]
        lines.append((one.name, f"{one.size[1]:,}", *cells))
    head = ("set", "columns", "SVM-RFE, its run, s", "FGM, longest fit, s", "ratio", "FGM, all fits, s", "ratio")
    return table(head, lines) if lines else "None of the sets is wide."


def behind(done, ks):
    """Where a peer picks columns on which the same SVM is more than a point better than on those of FGM."""
    ours = [i for i, who in enumerate(RANKED) if who.startswith("FGM")]
    said = []
    for one in done:
        for j, k in enumerate(ks):
            peers = np.nan_to_num(one.same[:, j], nan=-1.0)
            peers[ours] = -1.0
            best = int(np.argmax(peers))
            ahead = peers[best] - one.same[RANKED.index(FGM), j]
            said += [f"{one.name} at {k}: {RANKED[best]} by {ahead:.1f}"] if ahead > BEHIND else []
    return f"FGM more than {BEHIND:g} point behind the best peer, same SVM: {'; '.join(said) or 'nowhere'}."


def fewer(done, ks):
    """A sentence on picks of fewer columns than asked for."""
    short = np.stack([one.found < np.array(ks) for one in done]).sum(axis=(0, 2))
    said = [f"{who} {count}" for who, count in zip(RANKED, short, strict=True) if count]
    return f"Fewer columns than asked for, of {len(done) * len(ks)} sets and k: {', '.join(said) or 'none'}."


def explained(plan):
    """How the tables were made."""
    return (
        f"{plan.splits} random splits of every set, two thirds of the rows to train, one third to test, classes in "
        "proportion; sparse rows have length one, dense columns mean 0 and spread 1 by the training rows, for all "
        "alike. FGM with its defaults (`FGM`), as growth alone (`grown`: `elimination=False`), and both with the "
        "logistic loss; SVM-RFE from all columns, a tenth of them a step (half a step above 5000 of more than 30,000) "
        "and one by one from 100; `SelectKBest` with chi2 (sparse) or F (dense) and a linear SVM. These, and the SVM "
        "on all columns, have C chosen from 0.1, 1 and 10 at each k, by the accuracy of their own model on a quarter "
        "of the training rows (the smaller C of equals), and are then fitted to all of them. The l1 models of "
        "LIBLINEAR (tol = 1e-3) and the l1 logistic regression of skglm have no such choice: C decides on the number "
        "of columns and is searched until there are k, or up to 2 % more, of which the k heaviest stay (a try of over "
        "a minute counts as one with too many). Nor has "
        f"abess, whose model has no penalty. At most {plan.limit:g} s a fit, in a process of its own, on one thread; a "
        "fit that ran out of time or memory is last in its rank, and none of that set with as many columns or more is "
        "tried after it; nor is any, once all fits of a contestant to a set have taken that long."
    )


def explained_costs():
    """How stability, seconds and memory were taken."""
    return (
        "Stability is the mean, over pairs of splits, of columns in both picks / columns in either; means over the "
        "sets. Seconds are of the processor, of the fit to the training rows at the chosen C, a second time where it "
        "took less than one; medians over splits, then sets: one k for FGM and abess, the fit at the end of the search "
        "(which is off the clock) for l1 models, and one run for all k of SVM-RFE and SelectKBest. Memory is the "
        "growth of anonymous pages in that fit beyond X, the largest over splits, median over sets. Sets on which a "
        "contestant did not end do not count in its cells."
    )


def tables(plan, records, plot=None):
    """The section, out of the results that are there."""
    found = [(name, standing(records, name, plan.ks, plan.splits)) for name in plan.sets]
    done = [one for _, one in found if one is not None]
    parts = ["## Contest on real data", explained(plan), state(found, plan, records)]
    if not done:
        return "\n\n".join(parts)
    for title, field in (("Each method's own model", "own"), ("One and the same linear SVM on the columns", "same")):
        parts.append(f"### {title}\n\nAccuracy in per cent (rank of {len(RANKED)}), means over {len(done)} sets:")
        parts += [with_rank(done, plan.ks, field), by_set(done, plan.ks, field)]
    parts += [behind(done, plan.ks), fewer(done, plan.ks)]
    if plot is not None:
        curves.draw(done, plan.ks, plot)
        parts.append(f"![Accuracy against the number of columns, a panel for each set]({plot.name})")
    parts += ["### Stability, seconds, memory", explained_costs()]
    parts += ["Stability:", over_sets(done, plan.ks, "stability", ".2f", np.mean)]
    parts += ["Seconds:", over_sets(done, plan.ks, "seconds", ".2f")]
    parts += ["Peak memory, MiB:", over_sets(done, plan.ks, "memory", ".0f", scale=2.0**-20)]
    parts += [f"Seconds of FGM against SVM-RFE, sets of more than {WIDE:,} columns:", against_rfe(done)]
    return "\n\n".join([*parts, *(reach.section(records) if plan.reach else ())])


def state(found, plan, records):
    """Which sets are missing or have not all their splits, when it was measured, and the versions of peers."""
    missing = [name for name, one in found if one is None]
    some = [one for _, one in found if one is not None and one.splits < plan.splits]
    short = [f"{one.name} ({one.splits} of {plan.splits} splits)" for one in some]
    peers = ", ".join(f"{name} {version(name)}" for name in ("skglm", "abess"))
    said = [f"Peers: {peers}, LIBLINEAR in scikit-learn; fits of {' and '.join(sorted(records.days)) or 'no day'}."]
    said += [f"No results, and left out: {', '.join(missing)}."] if missing else []
    said += [f"Not complete: {', '.join(short)}."] if short else []
    return " ".join(said)


def report(quick=False, limit=None):
    """The section of docs/benchmarks.md."""
    if quick:
        with tempfile.TemporaryDirectory() as folder, ONE_BLAS_THREAD:
            records = Records(Path(folder) / "real.jsonl")
            measure(QUICK, records)
            return tables(QUICK, records)
    plan, records = FULL._replace(limit=limit or LIMIT), Records(KEPT)
    if plan.complete(records):
        records.set_aside()  # of a run that came to its end
    print(f"{len(records.at)} results of a run that was cut short", file=sys.stderr, flush=True)
    with ONE_BLAS_THREAD:
        measure(plan, records)
    return tables(plan, records, curves.PLOT)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes; writes nothing")
    parser.add_argument("--tables", action="store_true", help="measure nothing; section and plot from results so far")
    parser.add_argument("--limit", type=float, help=f"seconds a fit may take (default: {LIMIT:g})")
    asked = parser.parse_args()
    text = tables(FULL, Records(KEPT), curves.PLOT) if asked.tables else report(asked.quick, asked.limit)
    print(text)
    if not asked.quick:
        book.write("real", text, freshness.digest("benchmarks.linear.real"))


if __name__ == "__main__":
    main()
