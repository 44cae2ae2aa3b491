"""The small program of the bundle method: ours against clarabel, on programs met while F1 is trained for.

Both are given the same numbers, scaled by C n, and the same accuracy. What they return is judged by the objective of
the weights and the shift: the penalty by a bisection, and C n times the largest violation.
"""

import itertools
import statistics
from typing import NamedTuple

import numpy as np
from scipy import sparse

from benchmarks.book import table
from benchmarks.timing import seconds_of
from thresher import F1
from thresher.data.blocks.dense import ArrayBlock
from thresher.data.workers import ONE_BLAS_THREAD
from thresher.optim.penalties.layout import Layout
from thresher.optim.penalties.norms import KSupport
from thresher.optim.problems.cuts import CutProblem
from thresher.optim.solvers.bundle import BundleSearch
from thresher.optim.solvers.cut_program import CutTable, scaled_weights
from thresher.optim.solvers.solution import Start

TOL = 1e-6  # of C n
COLUMNS, QUICK_COLUMNS = (24, 120), (12,)  # taken, the best by correlation
EVERY = 5  # iterations between programs that are looked at
PENALTIES = (("k-support norm, a tenth of them", 0.1), ("plain", 1.0))


class Program(NamedTuple):
    """Cuts as numbers, scaled such that C n is 1, and the k of the k-support norm."""

    G: np.ndarray
    losses: np.ndarray
    sums: np.ndarray
    k: int

    @property
    def is_plain(self):
        """Whether the penalty is the plain square."""
        return self.k >= self.G.shape[1]


class Answer(NamedTuple):
    """Weights of the columns and the shift; none where the solver gives up."""

    w: np.ndarray | None
    b: float


def met(split, total, share, columns):
    """Programs of a solve on the columns of largest correlation, one in EVERY."""
    correlation = np.abs(split.X.T @ (split.y - split.y.mean()))
    X = split.X[:, np.sort(np.argsort(-correlation, kind="stable")[:columns])].toarray()
    problem = CutProblem(split.y, np.full(split.y.size, total / split.y.size), F1())
    k = max(1, round(share * columns))
    start = Start(np.zeros(columns), np.zeros(len(X)))
    search = BundleSearch(ArrayBlock(np.asfortranarray(X)), problem, KSupport(k), start)
    found, tol = [], 1e-3 * problem.without_features
    while not search.is_settled(tol):
        search.iterate(tol)
        if search.iterations % EVERY == 0:
            (bundle,) = search.bundles
            found.append(Program(np.sqrt(total) * bundle.G, bundle.losses, bundle.sums, k))
    return found


def ours(program):
    """By thresher: a call that solves."""

    def call():
        found = scaled_weights([cuts], Layout(), 0, program.k, shifted=True, tol=TOL)
        return Answer(found.w, float(found.shifts[0]))

    cuts = CutTable(program.G, program.losses, program.sums, 1.0)
    return call


def by_clarabel(program):
    """By clarabel, a quadratic program, or one with a cone of three numbers for each column: a call that solves."""
    import clarabel

    P, cost, A, b, cones = as_cones(program)
    kinds = {"positive": clarabel.NonnegativeConeT, "second order": clarabel.SecondOrderConeT}
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TOL
    cones = [kinds[kind](size) for kind, size in cones]

    def call():
        x = np.array(clarabel.DefaultSolver(P, cost, A, b, cones, settings).solve().x)
        return Answer(x[: program.G.shape[1]], float(x[-2])) if np.isfinite(x).all() else Answer(None, 0.0)

    return call


def as_cones(program):
    """(P, cost, A, b, cones) of  min 1/2 x'Px + cost'x  with b - Ax in the cones.

    The variables are w, under the k-support norm d and t with  w_j^2 <= 2 t_j d_j,  then the shift and the violation.
    """
    count, m = program.G.shape
    between = 0 if program.is_plain else 2 * m
    width = m + between + 2
    cuts = sparse.hstack([-sparse.csc_matrix(program.G), sparse.csc_matrix((count, between)),
                            -program.sums[:, None], -np.ones((count, 1))])  # fmt: skip
    last = sparse.csc_matrix(([-1.0], ([0], [width - 1])), shape=(1, width))  # the violation is not negative
    cost = np.zeros(width)
    cost[-1] = 1.0
    if program.is_plain:
        P = sparse.diags(np.r_[np.ones(m), np.zeros(2)], format="csc")
        A, b = sparse.vstack([cuts, last], format="csc"), np.r_[-program.losses, 0.0]
        return P, cost, A, b, [("positive", count + 1)]
    cost[2 * m : 3 * m] = 1.0
    one, none, rest = sparse.identity(m, format="csc"), sparse.csc_matrix((m, m)), sparse.csc_matrix((m, 2))
    sums = sparse.csc_matrix(np.r_[np.zeros(m), np.ones(m), np.zeros(m + 2)][None])
    cones = sparse.vstack([  # |(sqrt(2) w_j, d_j - t_j)| <= d_j + t_j
        sparse.hstack([none, -one, -one, rest]),
        sparse.hstack([-np.sqrt(2.0) * one, none, none, rest]),
        sparse.hstack([none, -one, one, rest]),
    ]).tocsr()[np.arange(3 * m).reshape(3, m).T.ravel()]  # fmt: skip
    A = sparse.vstack([cuts, last, sparse.hstack([none, one, none, rest]), sums, cones], format="csc")
    b = np.concatenate([-program.losses, [0.0], np.ones(m), [float(program.k)], np.zeros(3 * m)])
    kinds = [("positive", count + 1 + m + 1), *[("second order", 3)] * m]
    return sparse.csc_matrix((width, width)), cost, A, b, kinds


def objective(program, answer):
    """Of weights and shift; infinite where there are none."""
    if answer.w is None:
        return np.inf
    violation = float((program.losses - program.G @ answer.w - program.sums * answer.b).max(initial=0.0))
    return penalty(answer.w, program.k) + violation


def penalty(w, k):
    """min over d of 1/2 sum w_j^2 / d_j, 0 <= d <= 1, sum d <= k: d = min(1, |w| / level), by bisection for it."""
    size = np.abs(w)
    if k >= size.size or not size.any():
        return 0.5 * float(size @ size)
    low, high = 0.0, float(size.sum()) / k
    for _ in range(200):
        level = 0.5 * (low + high)
        low, high = (level, high) if np.minimum(1.0, size / level).sum() > k else (low, level)
    d = np.minimum(1.0, size / high)
    return 0.5 * float((size[size > 0.0] ** 2 / d[size > 0.0]).sum())


SOLVERS = {"thresher": ours, "clarabel": by_clarabel}


def row(name, total, programs):
    """Medians over the programs: seconds of both, their ratio, and the most that each is above the better one."""
    seconds, above = {solver: [] for solver in SOLVERS}, {solver: [] for solver in SOLVERS}
    for program in programs:
        values = {}
        for solver, prepared in SOLVERS.items():
            call = prepared(program)
            values[solver] = objective(program, call())
            seconds[solver].append(min(seconds_of(call) for _ in range(2)))
        best = min(values.values())
        for solver, value in values.items():
            above[solver].append(value - best)
    ratio = statistics.median(np.array(seconds["thresher"]) / np.array(seconds["clarabel"]))
    return [
        name, f"{total:.0e}", len(programs), round(statistics.median(len(p.losses) for p in programs)),
        *(f"{1e3 * statistics.median(each):.1f}" for each in seconds.values()), f"{ratio:.2f}",
        *(f"{max(each):.0e}" for each in above.values()),
    ]  # fmt: skip


def section(splits, totals, numbers=COLUMNS):
    """The section: a row for each set, number of columns, penalty and C n."""
    rows = []
    for split, columns, (word, share), total in itertools.product(splits, numbers, PENALTIES, totals):
        with ONE_BLAS_THREAD:
            programs = met(split, total, share, columns)
            if programs:  # else there were fewer than EVERY
                rows.append(row(f"{split.name}, {columns}; {word}", total, programs))
                print(rows[-1], flush=True)
    head = ("set, columns; penalty", "C n", "programs", "cuts", "ms, thresher", "ms, clarabel", "ratio",
            "thresher above best", "clarabel above best")  # fmt: skip
    return (
        f"### The small program\n\nWhich weights to give to the cuts: every {EVERY}th program of a solve for F1 "
        f"on the columns of largest correlation, to {TOL:g} of C n, one thread. Medians, of solving alone; the ratio "
        "is ours over clarabel's, below 1 where ours is faster. Above best: the most that the objective of what a "
        f"solver returned was above that of the better one, as a share of C n. Solves of fewer than {EVERY} iterations "
        f"are left out.\n\n{table(head, rows)}"
    )
