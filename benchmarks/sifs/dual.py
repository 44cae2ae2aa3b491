"""What screening gives to the kind of solver that paper 5 used: proximal SDCA, alone and with static rules."""

import time
from typing import NamedTuple

import numpy as np

from benchmarks import alone
from benchmarks.book import table
from benchmarks.sifs.data import made_sets, real_sets
from benchmarks.sifs.runner import PAPERS, REPEATS, SHORT, SMOOTHING, TOL, Grid, median, pinned, svm_of, walked
from benchmarks.sifs.sdca import Sdca
from thresher.data.workers import ONE_BLAS_THREAD
from thresher.families.sparse_svm import grid_of
from thresher.families.sparse_svm.svm import closed_form, largest_beta, zero_point

TINY = Grid(2, 5, 0.3, 0.3)
ORDERS = {"alone": (), "ifs": ("ifs",), "iss": ("iss",), "sifs": ("iss", "ifs")}
LIMIT = 120.0
HEADER = (
    "data", "solver", "seconds", "of these screening", "alone / this", "epochs", "... as passes over X", "largest gap",
    "scaling",
)  # fmt: skip


class Run(NamedTuple):
    """One walk with SDCA: points done, seconds of the processor and what they went into."""

    points: int
    seconds: float
    screening: float
    epochs: int
    passes: float
    gap: float
    scaling: float


def descended(data, grid, order, limit):
    """A walk over the grid with SDCA, in the order of ``walk``; ended after ``limit`` seconds."""
    with ONE_BLAS_THREAD:
        begun = time.process_time()
        _, svm = svm_of(data.X, data.y)
        penalties = grid_of([svm], *grid)
        solver = Sdca(svm, order, begun + limit)
        costs, gaps, scaling = [], [], []
        for beta, row in zip(penalties.betas, penalties.alphas, strict=True):
            point = None
            for alpha in row:
                if solver.late:
                    break
                before, point = len(costs), _next(solver, point, alpha, beta, costs)
                gaps.append(point.gap / svm.at_zero)
                if len(costs) > before:
                    scaling.append(_scaling(point))
    done = len(gaps) - solver.late  # the last one was cut short
    epochs, passes, screening = np.sum(costs, axis=0) if costs else np.zeros(3)
    spent, removed = time.process_time() - begun, float(np.mean(scaling or [0.0]))
    return Run(done, spent, float(screening), int(epochs), float(passes), max(gaps[:done]), removed)


def _next(solver, before, alpha, beta, costs):
    """The next point of a row: in closed form where there is one."""
    svm = solver.svm
    if beta >= largest_beta(svm):
        return zero_point(svm, alpha, beta)
    if before is None:
        return closed_form(svm, alpha, beta)
    point, cost = solver.solve(before, alpha, TOL * svm.at_zero)
    costs.append(cost)
    return point


def _scaling(point):
    """Share of samples x columns removed."""
    found = point.screened
    return 1.0 - np.mean(~found.idle) * np.mean(~found.settled)


def rows_of(data, grid, limit):
    """One row for each set of rules, and those of Newton's method on the same grid."""
    runs = {}
    for name, order in ORDERS.items():
        descended(data, TINY, order, 5.0)  # compiles
        runs[name] = median(lambda order=order: descended(data, grid, order, limit))
        print(data.name, name, runs[name], flush=True)
        yield _row(data, f"SDCA, {name}", runs[name], runs["alone"], grid.points, limit)
    for name in (None, "gap"):
        run = median(lambda name=name: walked(data, grid, name, limit))
        own = Run(run.points, run.seconds, run.screening, run.steps, run.passes, run.gap, run.scaling_before)
        yield _row(data, f"Newton, {name or 'alone'}", own, runs["alone"], grid.points, limit)


def _row(data, said, run, plain, points, limit):
    return (
        f"{data.name} ({data.size})", said, _seconds(run, points, limit), f"{run.screening:.2f}",
        _ratio(run, plain, points), f"{run.epochs:,}", f"{run.passes:,.0f}", f"{run.gap:.1e}",
        f"{100.0 * run.scaling:.2f} %",
    )  # fmt: skip


def _seconds(run, points, limit):
    return f"{run.seconds:.2f}" if run.points == points else f"> {limit:.0f} ({run.points} of {points} points)"


def _ratio(run, plain, points):
    """Seconds alone by those of ``run``; a bound where one of them was not done in time."""
    signs = {(True, True): "", (True, False): "> ", (False, True): "< ", (False, False): None}
    sign = signs[run.points == points, plain.points == points]
    return "-" if sign is None else f"{sign}{plain.seconds / run.seconds:.1f}"


def sets(quick):
    """The made ones and rcv1_subsets."""
    yield from made_sets(quick)
    yield from real_sets(quick, ("rcv1_subsets",))


def explained(grid, limit):
    """What the table shows."""
    return (
        "Proximal SDCA in compiled loops over CSR (plain: no acceleration, no shrinking of its own), warm-started "
        f"along alpha, {grid.points} points: {grid.betas} betas from the largest to {grid.beta_ratio:g} of it, for "
        f"each {grid.alphas} alphas from the largest to {grid.alpha_ratio:g} of that; smoothing = {SMOOTHING:g}, "
        f"relative gap {TOL:.0e} of the whole problem. The static rules are run once before each point, with the gap "
        "of the point before; screening includes the copy of what is left. Seconds are of the processor, on one core; "
        f"a run is ended after {limit:g} s, and repeated for a median of {REPEATS} where it took less than {SHORT:g} s."
        " Newton's method on the same grid stands below for comparison: its epochs are Newton steps, its passes as in "
        "the tables above, its scaling that before the first step."
    )


def report(quick=False):
    """The section of docs/benchmarks.md."""
    grid, limit = (TINY, 2.0) if quick else (PAPERS, LIMIT)
    rows = []
    with pinned():
        for data in sets(quick):
            rows.extend(rows_of(data, grid, limit))
    title = "### The same rules with SDCA (the paper's kind of solver)"
    return "\n\n".join([title, explained(grid, limit), table(HEADER, rows)])


if __name__ == "__main__":
    alone.run(report, __doc__)
