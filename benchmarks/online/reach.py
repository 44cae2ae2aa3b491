"""What an example costs: against the literal algorithm on real data, and by the number of features on made streams."""

import statistics
from functools import partial
from typing import NamedTuple

import numpy as np

from benchmarks import alone, timing
from benchmarks.book import table
from benchmarks.children import in_child
from benchmarks.online import literal, reference
from benchmarks.online.contestants import classifier
from benchmarks.online.data import Stream, sets
from benchmarks.online.judge import MIB, timed
from benchmarks.sifs.runner import pinned
from thresher import StreamClassifier

BUDGET, REPEATS = 100, 5
SIZES = (10_000, 100_000, 1_000_000)
METHODS = {
    "b-arda": 1_000_000,
    "b-amd": 200_000,
    "ofs": 200_000,
    "sofs": 200_000,
    "l1-arda": 200_000,
    "ada-fobos": 200_000,
}
AT_ONCE = 10_000
LIMIT, PAUSE, MOST_SORTS = 600.0, 0.02, 20_000
CUTS = {"heap": literal.HEAP, "heap, begun anew": literal.ANEW, "full sort": literal.SORT}
AGAINST = (
    "data", "budget", "passes", "thresher, µs", *(f"literal, {name}, µs" for name in CUTS),
    *(f"{name} / thresher" for name in CUTS), "largest difference of weights",
)  # fmt: skip
STREAMS = (
    "popularity", "method", "features", "examples", "µs an example", "... in the second half", "/ that of 10^4",
    "examples a second", "progressive accuracy, %", "seen at half", "seen", "state MiB at half", "state MiB",
    "peak MiB",
)  # fmt: skip


# ------------------------------------------------------------------------------------------ against the literal method


def against(data, budget, passes):
    """A row: medians of interleaved rounds of ours and of every literal version, weights compared."""
    setting = reference.setting(data.name, "b-arda")
    calls = {"ours": lambda: classifier("b-arda", budget, n_passes=passes, **setting).fit(data.X, data.y)}
    cuts = {name: cut for name, cut in CUTS.items() if cut != literal.SORT or passes * data.y.size <= MOST_SORTS}
    for name, cut in cuts.items():
        calls[name] = partial(
            literal.fit, data.X, data.y, budget=budget, delta=0.01, passes=passes, seed=0, cut=cut, **setting
        )
    weights = {name: call() for name, call in calls.items()}  # compiles
    ours = weights.pop("ours").coef_.toarray()[0]
    apart = max(float(np.abs(ours - each).max()) for each in weights.values())
    seconds = {name: [] for name in calls}
    for number in range(REPEATS):
        for name, call in calls.items():
            if number == 0 or name != "full sort":
                seconds[name].append(timed(call)[1])
    each = {name: 1e6 * statistics.median(times) / (passes * data.y.size) for name, times in seconds.items()}
    micros = (f"{each[name]:.1f}" if name in each else "-" for name in ("ours", *CUTS))
    ratios = (f"{each[name] / each['ours']:.2f}" if name in each else "-" for name in CUTS)
    row = (f"{data.name} ({data.size})", budget, passes, *micros, *ratios, "none" if apart == 0.0 else f"{apart:.1e}")
    print(*row, flush=True)
    return row


def against_rows(quick):
    """farm_ads at the budget asked for and a larger one, and the others."""
    for data in sets(quick, ("dexter",) if quick else ("farm_ads", "dexter", "basehock", "arcene")):
        for budget in (BUDGET, 1000):
            for passes in (1, 10) if data.name == "farm_ads" else (min(10, data.passes),):
                yield against(data, budget, passes)


# --------------------------------------------------------------------------------------------------------- made streams


class Reached(NamedTuple):
    """A stream learnt: seconds of each batch, features seen and bytes of the state at half and in the end."""

    seconds: list
    accuracy: float
    seen: tuple[int, int]
    state: tuple[int, int]
    peak: float


def state_bytes(thing, known=None):
    """Bytes of all arrays that an object holds, directly or not."""
    known = set() if known is None else known
    if id(thing) in known:
        return 0
    known.add(id(thing))
    if isinstance(thing, np.ndarray):
        return state_bytes(thing.base, known) if isinstance(thing.base, np.ndarray) else thing.nbytes
    if isinstance(thing, (list, tuple)):
        return sum(state_bytes(each, known) for each in thing)
    if isinstance(thing, dict):
        return sum(state_bytes(each, known) for each in thing.values())
    if type(thing).__module__.startswith("thresher"):
        return state_bytes(getattr(thing, "__dict__", {}), known)
    return 0


def learnt(d, skewed, method, examples):
    """All of a stream by partial_fit, with default settings; making the batches is off the clock."""
    stream, model = Stream(d, skewed), StreamClassifier(BUDGET, method)
    seconds, seen, state = [], [], []

    def learn():
        for number in range(1, examples // AT_ONCE + 1):
            X, y = stream.batch(AT_ONCE)
            seconds.append(timed(lambda X=X, y=y: model.partial_fit(X, y, classes=[-1, 1]))[1])
            if number in (examples // AT_ONCE // 2, examples // AT_ONCE):
                seen.append(model.n_features_seen_)
                state.append(state_bytes(model._state))

    peak = timing.peak_growth(learn, PAUSE) / MIB
    return Reached(seconds, model.progressive_accuracy_, tuple(seen), tuple(state), peak)


def stream_row(d, skewed, method, examples, least):
    """A row, and microseconds an example; ``least`` are those at the fewest features, if known."""
    found, why = in_child(partial(learnt, d, skewed, method, examples), LIMIT)
    said = ("log-uniform" if skewed else "uniform", method, f"{d:,}", f"{examples:,}")
    if found is None:
        return (*said, why, *[""] * (len(STREAMS) - 5)), None
    micros = 1e6 * sum(found.seconds) / examples
    later = 1e6 * statistics.median(found.seconds[len(found.seconds) // 2 :]) / AT_ONCE
    row = (
        *said, f"{micros:.1f}", f"{later:.1f}", f"{micros / (least or micros):.2f}", f"{1e6 / micros:,.0f}",
        f"{100.0 * found.accuracy:.2f}", *(f"{count:,}" for count in found.seen),
        *(f"{size / MIB:.1f}" for size in found.state), f"{found.peak:.0f}",
    )  # fmt: skip
    print(*row, flush=True)
    return row, micros


def stream_rows(quick):
    """All methods and sizes on both kinds of stream."""
    for skewed in (False, True):
        warm(skewed)
        for method, examples in METHODS.items():
            least = None
            for d in SIZES:
                row, micros = stream_row(d, skewed, method, 40_000 if quick else examples, least)
                least = least or micros
                yield row


def warm(skewed):
    """Compile everything before there are children."""
    for method in METHODS:
        X, y = Stream(1000, skewed).batch(300)
        StreamClassifier(BUDGET, method).partial_fit(X, y, classes=[-1, 1])


def report(quick=False):
    """The section of docs/benchmarks.md."""
    with pinned():
        rows, streams = list(against_rows(quick)), list(stream_rows(quick))
    literally = (
        "B-ARDA with l2 > 0 (settings of the literal port), `StreamClassifier.fit` on CSR, the whole call by the "
        "rounds, "
        "against the algorithm as it is written, compiled with Numba, in the same process and the same orders: every "
        "round computes z and H z² of all features seen so far, in a loop without branches that the compiler "
        "vectorises, and takes the B largest: with a heap that begins with those kept before (the best we found), with "
        "a heap begun anew in each round, or by a full sort, as the authors do (left out where it takes minutes). "
        f"Seconds of the processor on one core, medians of {REPEATS} interleaved rounds (sort: one). Asked for: at "
        f"least 10 times as fast on farm_ads at budget {BUDGET}."
    )
    made = (
        "Rows of 100 different features, 5 in 100 of them from 200 that matter, the others uniform over all or "
        f"log-uniform in their rank; labels have noise. `partial_fit` on CSR batches of {AT_ONCE:,}, budget {BUDGET}, "
        "all else default (b-arda: step_size 0.1, l2 1e-4); seconds of the processor of partial_fit alone, on one "
        "core, over the whole stream and as the median batch of its second half. State: all arrays of the learners "
        "and the table of ids. Peak: growth of the process, the batches and the table of the maker included. Asked "
        "for: at 10^6 features at most 3 times the time at 10^4, at least 20,000 examples a second, and a state that "
        "does not grow once all features were seen (its tables double, so that it may be constant before)."
    )
    return "\n\n".join(
        [
            "### Reach: what an example costs",
            "#### Against the literal algorithm",
            literally,
            table(AGAINST, rows),
            "#### By the number of features",
            made,
            table(STREAMS, streams),
        ]
    )


if __name__ == "__main__":
    alone.run(report, __doc__)
