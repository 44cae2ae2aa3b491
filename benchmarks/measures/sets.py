"""F1 against the number of features on sets of two classes (paper 2, figures 1 to 4): balanced, and with few positives.

The sceptic's way is among the contestants: an ordinary loss, with the threshold tuned for F1 by cross-validation.
"""

import functools
import time
from typing import NamedTuple

from benchmarks import alone
from benchmarks.book import table
from benchmarks.children import in_child
from benchmarks.measures.contestants import CONTESTANTS, CS, ERROR, F1_LOSS, HINGE, PERF, TUNED
from benchmarks.measures.data import HELD_OUT, RARE, SHARE, problems
from benchmarks.measures.judge import FOLDS, Verdict
from benchmarks.measures.l1_f1 import CANDIDATES
from benchmarks.measures.l1_f1 import LIMIT as L1_LIMIT

KS, QUICK_KS = (20, 100), (5,)
SCEPTIC = f"{HINGE}, {TUNED}"
NEAR = 1.0  # per cent of F1: less is no difference


class Told(NamedTuple):
    """A model's verdict, its number of features, and the processor seconds of the run that it comes from."""

    verdict: Verdict
    features: int
    seconds: float


def run(contestant, split, ks):
    """{k: {name: Told}} of one run."""
    begun = time.process_time()
    found = contestant.fit(split.X, split.y, ks)
    seconds = time.process_time() - begun
    return {
        k: {
            name: Told(Verdict.of(split.y_test, model.scores(split.X_test)), len(model.features), seconds)
            for name, model in models.items()
        }
        for k, models in found.items()
    }


def results(split, ks):
    """{(name, k): Told, or why there is none} of every contestant, each run in a child."""
    out = {}
    for contestant in CONTESTANTS:
        for asked in (tuple(ks),) if contestant.once else [(k,) for k in ks]:
            found, why = in_child(functools.partial(run, contestant, split, asked), contestant.limit)
            for k in asked:
                for name in contestant.names:
                    out[name, k] = why if found is None else found[k][name]
                    print(split.name, k, name, out[name, k], flush=True)
    return out


def cell(told, k):
    """Verdict; the number of features where it is another one; seconds."""
    if isinstance(told, str):
        return told
    other = f" ({told.features})" if told.features < k else ""
    return f"{told.verdict}{other}, {told.seconds:.0f} s"


def table_of(split, ks, found):
    """The table of one set."""
    names = [name for contestant in CONTESTANTS for name in contestant.names]
    rows = [[name, *(cell(found[name, k], k) for k in ks)] for name in names]
    head = ("F1 / PRBEP / Rec@2p", *(f"{k} features" for k in ks))
    return f"### {split.name}: {split.size}; {split.y_test.size:,} test rows\n\n{table(head, rows)}"


def compared(answers, other, rare):
    """A sentence: where the F1 loss is above, level with and below ``other`` by F1; on rare classes, or elsewhere."""
    above, level, below = [], [], []
    for (name, is_rare), found in answers.items():
        for k in sorted({k for _, k in found}):
            ours, theirs = found[F1_LOSS, k], found[other, k]
            if is_rare != rare or isinstance(ours, str) or isinstance(theirs, str):
                continue
            difference = ours.verdict.f1 - theirs.verdict.f1
            place = above if difference > NEAR else below if difference < -NEAR else level
            place.append(f"{name} at {k} ({difference:+.1f})")
    kind = "few positives" if rare else "balanced"
    parts = [f"{word}: {', '.join(each) or 'none'}" for word, each in
             (("above", above), (f"within {NEAR:g} point", level), ("below", below))]  # fmt: skip
    return f"- {F1_LOSS} against {other}, {kind}. {'; '.join(parts).capitalize()}."


def report(quick=False):
    """A table for each set, and where the F1 loss is ahead and behind."""
    ks, tables, answers = QUICK_KS if quick else KS, [], {}
    for split in problems(quick):
        found = results(split, ks)
        rare = split.name in RARE or split.name.endswith("% positive")
        answers[split.name, rare] = found
        tables.append(table_of(split, ks, found))
    if not tables:
        return "## Sets of two classes, for F1 (paper 2)\n\nNone of the sets is here."
    sentences = [
        compared(answers, other, rare)
        for rare in ((True,) if quick else (True, False))
        for other in (ERROR, SCEPTIC, PERF)
    ]
    return "\n\n".join(["## Sets of two classes, for F1 (paper 2)", NOTES, "\n".join(sentences), *tables])


NOTES = (
    "Per cent on test rows: the set's own test part, or a quarter of its rows "
    f"({HELD_OUT:g}, always the same). The sets but dorothea are balanced: as they are, and with positives thinned to "
    f"{SHARE:.0%} by a fixed seed, in the test part too. Rows have length one. "
    "F1 at the model's own threshold; PRBEP and Rec@2p (recall among twice as many rows as are positive) "
    f"by the order of scores alone. F1 and error loss: C by `C=\"auto\"` over {FOLDS} folds. \"{TUNED}\": the "
    "threshold that is best for F1 on scores of rows held out in the same folds. Squared "
    f"hinge is FGMClassifier's default loss: C of {', '.join(f'{C:g}' for C in CS)} by F1 over the folds; with the "
    "threshold tuned it is what a sceptic would do. l1-SVM (LIBLINEAR, C for so many columns) and SVM-RFE pick columns "
    "from all training rows; an SVM on these has C and threshold by folds. l1-regularised F1: cutting planes, linear "
    f"programs by HiGHS, on the {CANDIDATES} columns with the largest chi-squared, at most {L1_LIMIT:.0f} s. "
    f"\"{PERF}\" is SVM-perf with an intercept. In brackets the number of features where it is smaller; seconds are of "
    "the processor, of the run with all its folds (of all numbers of features where it is the same run)."
)  # fmt: skip

if __name__ == "__main__":
    alone.run(report, __doc__)
