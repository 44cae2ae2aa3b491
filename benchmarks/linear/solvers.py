"""Newton's method against accelerated proximal gradients on the problem of taken columns."""

import statistics
import time
from functools import partial
from typing import NamedTuple

import numpy as np

from benchmarks import alone
from benchmarks.book import table
from benchmarks.linear.data import SETS, best_columns, noisy_gaussian, real_design
from thresher.data.workers import ONE_BLAS_THREAD, Workers, granted_cores
from thresher.optim.penalties.norms import KSupport
from thresher.optim.problems.losses import LOSSES
from thresher.optim.problems.margins import MarginProblem
from thresher.optim.solvers import apg, newton

REAL = ("leukemia", "prostate", "rcv1_subsets", "madelon")
SOLVERS = {"newton": newton, "apg": apg}
GAPS = (1e-3, 1e-8)
C, BUDGET = 10.0, 30
HEADER = ("data", "loss", "gap", "newton s", "apg s", "newton products", "apg products", "apg s / newton s")


class Sizes(NamedTuple):
    """Rows of the made data, columns of every block, rounds of timing and seconds that a solver may take."""

    rows: int
    columns: int
    repeats: int
    limit: float


FULL, QUICK = Sizes(4096, 300, 3, 60.0), Sizes(512, 60, 1, 5.0)


class Counted:
    """A block that counts the vectors it is multiplied with: one count for all solvers."""

    def __init__(self, base):
        self.base, self.vectors = base, 0

    def __getattr__(self, name):
        return getattr(self.base, name)

    def correlate(self, V, *work):
        self.vectors += 1 if np.ndim(V) == 1 else V.shape[1]
        return self.base.correlate(V, *work)

    def combine(self, W, *work):
        self.vectors += 1 if np.ndim(W) == 1 else W.shape[1]
        return self.base.combine(W, *work)


class Run(NamedTuple):
    """One solve: seconds, products with the block, and the relative gap where it stopped."""

    seconds: float
    products: int
    gap: float


def solve_once(solver, block, problem, gap, limit):
    """One timed solve from the origin, on a block that counts."""
    counted, scale = Counted(block), problem.at_zero()
    start = time.perf_counter()
    found = solver.solve(counted, problem, KSupport(BUDGET), tol=gap * scale, deadline=start + limit)
    return Run(time.perf_counter() - start, counted.vectors, found.gap / scale)


def blocks(sizes, workers):
    """(name, block, labels) of every data set that is there."""
    design, y = noisy_gaussian(sizes.rows, sizes.columns)
    yield f"Gaussian {sizes.rows} x {sizes.columns}", best_columns(design, y, sizes.columns, workers), y
    for name in REAL:
        found = real_design(name)
        if found is None:
            print(f"{name} is left out: there is no {SETS / name}", flush=True)
        else:
            yield name, best_columns(*found, sizes.columns, workers), found[1]


def duel(name, block, y, loss, gap, sizes):
    """One row: both solvers in turn, ``sizes.repeats`` times, after a first round that compiles."""
    problem = MarginProblem(y, np.full(y.size, C), LOSSES[loss])
    given = (block, problem, gap, sizes.limit)
    solves = {key: partial(solve_once, solver, *given) for key, solver in SOLVERS.items()}
    runs = {key: [] for key in solves}
    for number in range(sizes.repeats + 1):
        for key, solve in solves.items():
            if number == 0 or runs[key][0].seconds < sizes.limit:  # who ran out of time once need not again
                runs[key].append(solve())
    best = {key: summary(done) for key, done in runs.items()}
    seconds = {key: run.seconds for key, run in best.items()}
    cells = [said(best[key], gap) for key in SOLVERS] + [best[key].products for key in SOLVERS]
    shown = f"{name} ({block.shape[0]} x {block.shape[1]})" if name in REAL else name
    return (shown, loss, f"{gap:.0e}", *cells, f"{seconds['apg'] / seconds['newton']:.1f}")


def summary(runs):
    """The median of the rounds that count; of the first alone where there was no other."""
    counting = runs[1:] or runs
    return Run(statistics.median(run.seconds for run in counting), counting[-1].products, counting[-1].gap)


def said(run, gap):
    """Seconds, and the gap that was reached where it is not the one asked for."""
    return f"{run.seconds:.3f}" if run.gap <= gap else f"{run.seconds:.3f} (stopped at {run.gap:.0e})"


def explained(sizes):
    """What the table shows."""
    return (
        f"The problem on taken columns with the {BUDGET}-support norm, C = {C:g}, from the origin, to a relative gap "
        f"(objective - bound) / at_zero. Blocks have the {sizes.columns} columns that go best with the "
        "labels; dense sets are standardised. BLAS has one thread, as in a fit. Products are counted in "
        "vectors, at the block; copying it into an array counts one for each column, and what is then done "
        "with the array, as Newton's method does on small blocks, is in the seconds only. A solver stops "
        f"after {sizes.limit:g} s. Medians of {sizes.repeats} interleaved rounds."
    )


def report(quick=False):
    """The section of docs/benchmarks.md."""
    sizes = QUICK if quick else FULL
    rows = []
    with Workers(granted_cores()) as workers, ONE_BLAS_THREAD:  # as the estimators run them
        for name, block, y in blocks(sizes, workers):
            for loss in LOSSES:
                for gap in GAPS:
                    rows.append(duel(name, block, y, loss, gap, sizes))
                    print(*rows[-1], sep="  ", flush=True)
    return "\n\n".join(["## Solvers of the problem on taken columns", explained(sizes), table(HEADER, rows)])


if __name__ == "__main__":
    alone.run(report, __doc__)
