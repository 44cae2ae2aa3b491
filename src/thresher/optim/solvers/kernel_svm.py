"""Support vector machines on a kernel matrix, by steps between two samples on the samples that still matter.

The dual problem of the hinge loss, in the unknowns d = y alpha, is

    maximise  y'd - 1/2 d'K d,    sum d = 0,    d_i between 0 and y_i c_i,

and ``slack`` = y - K d says what a larger d_i would gain. Most samples soon stay at a bound; then the others alone are
copied into a smaller matrix, on which a step costs less, and all samples are looked at again when these are solved.
The compiled loop takes a few steps at a time, so that a solve ends at its deadline.
"""

from typing import NamedTuple

import numpy as np

from thresher.loops.kernel_svm import pair_steps
from thresher.optim.solvers.solution import Deadline, out_of_time

STEPS_AT_A_TIME = 1000  # between two looks at the clock and at which samples still matter
SMALLER = 0.7  # share of the samples that still matter, below which they are copied
ENTRIES_AT_A_TIME = 1 << 22  # of the kernel matrix, when the slack of all samples is updated: 32 MiB
ROUNDING_OF_SLACK = 1e-15  # of what the slack of a sample is summed from: violations below are rounding errors


class KernelSvmSolution(NamedTuple):
    """Dual variables times the labels, intercept and duality gap of an SVM; ``ended``: at the deadline."""

    dual: np.ndarray
    intercept: float
    gap: float
    ended: bool


class _Part(NamedTuple):
    """Some of the samples, with copies of all that the steps change."""

    K: np.ndarray
    diagonal: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    dual: np.ndarray
    slack: np.ndarray

    def take(self, kept: np.ndarray) -> "_Part":
        """The samples ``kept``."""
        rows = np.flatnonzero(kept)
        return _Part(np.ascontiguousarray(self.K[np.ix_(rows, rows)]), *(values[rows] for values in self[1:]))

    def matters(self) -> np.ndarray:
        """Which samples are not at a bound where all other samples would keep them."""
        rises, falls = self.dual < self.highest, self.dual > self.lowest
        top = self.slack[rises].max(initial=-np.inf)
        bottom = self.slack[falls].min(initial=np.inf)
        stays = (~rises & (self.slack > top)) | (~falls & (self.slack < bottom))
        return ~stays

    def accuracy(self, tol: float) -> float:
        """``tol``, or what rounding errors of the slack allow."""
        return max(tol, ROUNDING_OF_SLACK * float(self.diagonal.max()) * float(np.abs(self.dual).sum()))

    def violation(self) -> float:
        """How much more one sample gains than another one loses, at most."""
        rises, falls = self.dual < self.highest, self.dual > self.lowest
        return float(self.slack[rises].max(initial=-np.inf) - self.slack[falls].min(initial=np.inf))


def solve_kernel_svm(
    K: np.ndarray, y: np.ndarray, cost: np.ndarray, tol: float, deadline: Deadline = None
) -> KernelSvmSolution:
    """The SVM with kernel matrix ``K``, labels +-1 and a cost for each sample.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        A positive semidefinite matrix, in C order.
    y : ndarray of shape (n,)
        Labels, 1.0 and -1.0; both must occur.
    cost : ndarray of shape (n,)
        The largest dual variable of each sample, C times its weight: positive.
    tol : float
        The largest violation of the optimality conditions; the gap is at most that times the sum of ``cost``. Where
        rounding errors are larger, these; a solve ends when steps change nothing any more.
    deadline : float or callable, default=None
        When to give up; looked at every STEPS_AT_A_TIME steps.

    Returns
    -------
    KernelSvmSolution
        With the gap that was reached.
    """
    diagonal, both = K.diagonal().copy(), y * cost
    whole = _Part(K, diagonal, np.minimum(both, 0.0), np.maximum(both, 0.0), np.zeros(y.size), y.astype(np.float64))
    given_up, changed = False, True
    while changed and not given_up and whole.violation() > (accuracy := whole.accuracy(tol)):
        rows, before = np.arange(y.size), whole.dual.copy()
        part = whole._replace(dual=before.copy(), slack=whole.slack.copy())
        converged = False
        while not (converged or given_up):
            converged = pair_steps(*part, part.accuracy(accuracy), STEPS_AT_A_TIME)[1] < np.inf
            given_up = out_of_time(deadline)
            matters = part.matters()
            if not converged and 2 <= np.count_nonzero(matters) <= SMALLER * rows.size:
                _update(whole, rows, part.dual)
                rows, part = rows[matters], part.take(matters)
        _update(whole, rows, part.dual)
        changed = not np.array_equal(whole.dual, before)
    ended = given_up and whole.violation() > whole.accuracy(tol)
    intercept = _intercept(whole)
    return KernelSvmSolution(whole.dual, intercept, _gap(whole, y, cost, intercept), ended)


def _update(whole: _Part, rows: np.ndarray, dual: np.ndarray) -> None:
    """Set some entries of the dual point, and the slack of all samples."""
    change = dual - whole.dual[rows]
    changed = np.flatnonzero(change)
    step = max(1, ENTRIES_AT_A_TIME // whole.dual.size)
    for first in range(0, changed.size, step):
        some = changed[first : first + step]
        whole.slack[:] -= change[some] @ whole.K[rows[some]]
    whole.dual[rows] = dual


def _intercept(whole: _Part) -> float:
    """The mean slack of the samples between their bounds; if there are none, the middle of what the others allow."""
    rises, falls = whole.dual < whole.highest, whole.dual > whole.lowest
    if np.any(rises & falls):
        return float(whole.slack[rises & falls].mean())
    return 0.5 * float(whole.slack[rises].max() + whole.slack[falls].min())


def _gap(whole: _Part, y: np.ndarray, cost: np.ndarray, intercept: float) -> float:
    """Objective minus dual objective: a sum over samples, none of which is negative."""
    missing = whole.slack - intercept
    return float((cost * np.maximum(0.0, y * missing) - whole.dual * missing).sum())
