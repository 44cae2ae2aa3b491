"""F1 with an l1 penalty (l1-bmrm of the paper): cutting planes, and a linear program by HiGHS for their weights.

    min over w, b, xi of  ||w||_1 + total * xi,   xi >= loss_k - v_k.(Xw + b) for every labelling k found so far

The program has two variables a column, so it is posed on a candidate set of columns. A labelling holds for any total,
so the cuts of one total are those that the next begins with.
"""

import time

import numpy as np
from scipy.optimize import linprog

from benchmarks.linear.cuts import columns
from benchmarks.linear.pickers import heaviest, k_best
from benchmarks.measures.judge import Model
from thresher import F1

CANDIDATES = 500
TOTALS = tuple(10.0 ** np.arange(2.0, 7.1, 0.25))
GAP, MOST = 0.02, 60  # of the objective, and programs for one total
LIMIT = 40.0  # seconds for all totals; the last one tried then stands for those with more columns


class L1Program:
    """The cuts found so far, and the programs on them."""

    def __init__(self, X, y):
        self.X, self.oracle = X, F1().prepare(y)
        self.G, self.losses, self.sums = np.zeros((0, X.shape[1])), np.zeros(0), np.zeros(0)
        for positive in (True, False):
            self.add(self.oracle.uniform_cut(positive=positive))

    def add(self, cut):
        """One more cut."""
        self.G = np.vstack([self.G, cut.vector() @ self.X])
        self.losses, self.sums = np.append(self.losses, cut.loss), np.append(self.sums, cut.vector_sum)

    def solve(self, total, deadline):
        """(w, b) at which the objective is lowest, until it is within GAP of the bound."""
        best, answer = np.inf, (np.zeros(self.X.shape[1]), 0.0)
        for _ in range(MOST):
            w, b, bound = self.program(total)
            scores = self.X @ w + b
            cut = self.oracle.cut(scores)
            objective = float(np.abs(w).sum()) + total * max(0.0, cut.loss - float(cut.vector() @ scores))
            if objective < best:
                best, answer = objective, (w, b)
            if best - bound <= GAP * best or time.perf_counter() > deadline:
                break
            self.add(cut)
        return answer

    def program(self, total):
        """(w, b, value) of the linear program on the cuts."""
        m, ones = self.X.shape[1], np.ones((self.losses.size, 1))
        A = np.hstack([-self.G, self.G, -ones, -self.sums[:, None]])
        cost = np.concatenate([np.ones(2 * m), [total, 0.0]])
        bounds = [(0.0, None)] * (2 * m + 1) + [(None, None)]
        result = linprog(cost, A_ub=A, b_ub=-self.losses, bounds=bounds, method="highs")
        if result.x is None:
            raise RuntimeError(f"the linear program of {self.losses.size} cuts was not solved: {result.message}")
        return result.x[:m] - result.x[m : 2 * m], float(result.x[-1]), float(result.fun)


def l1_f1(X, y, ks):
    """{k: Model}: the smallest total of the grid that gives at least k columns, and its k heaviest."""
    candidates = np.sort(k_best(X, y, (CANDIDATES,))[CANDIDATES])
    program, deadline, found = L1Program(columns(X, candidates), y), time.perf_counter() + LIMIT, {}
    for total in TOTALS:
        w, b = program.solve(total, deadline)
        late = time.perf_counter() > deadline or total == TOTALS[-1]
        for k in ks:
            if k not in found and (np.count_nonzero(w) >= k or late):
                places = heaviest(w, k)
                places = places[w[places] != 0.0]
                found[k] = Model(candidates[places], w[places], b)
        if len(found) == len(ks):
            break
    return found
