"""The judge of the benchmarks of measures, and its peer with an l1 penalty, against brute force and scikit-learn."""

import itertools

import numpy as np
import pytest
from benchmarks.measures.judge import Verdict, f1, threshold_for_f1
from benchmarks.measures.l1_f1 import L1Program
from scipy.optimize import linprog
from sklearn.metrics import f1_score

from thresher import F1


@pytest.fixture
def scored():
    """(y, scores) with ties."""
    rng = np.random.default_rng(3)
    return np.where(rng.random(60) < 0.2, 1.0, -1.0), np.round(rng.standard_normal(60), 1)


def test_verdict_equals_scikit_learn(scored):
    y, scores = scored
    verdict = Verdict.of(y, scores)
    assert verdict.f1 == pytest.approx(100.0 * f1_score(y, np.where(scores > 0.0, 1.0, -1.0)))
    top = np.lexsort((np.arange(y.size), -scores))
    n_positive = int((y > 0).sum())
    assert verdict.prbep == pytest.approx(100.0 * np.mean(y[top[:n_positive]] > 0))
    assert verdict.recall == pytest.approx(100.0 * np.sum(y[top[: 2 * n_positive]] > 0) / n_positive)


def test_no_threshold_is_better(scored):
    y, scores = scored
    threshold, value = threshold_for_f1(y, scores)
    assert f1(y, scores > threshold) == pytest.approx(value)
    assert value == pytest.approx(max(f1(y, scores >= each) for each in np.unique(scores)))


def test_l1_program_reaches_the_optimum_over_all_labellings():
    rng = np.random.default_rng(0)
    y, X, total = np.array([1.0, 1.0, -1.0, -1.0, -1.0, 1.0, -1.0]), rng.standard_normal((7, 3)), 20.0
    program = L1Program(X, y)
    w, b = program.solve(total, np.inf)
    measure, rows, right = F1(), [], []
    for labels in itertools.product((-1.0, 1.0), repeat=y.size):
        labels = np.array(labels)
        vector = (y - labels) / (2 * y.size)
        rows.append([*-(vector @ X), *(vector @ X), -1.0, -vector.sum()])
        right.append(-measure.loss(y, labels))
    cost, bounds = [1.0] * 6 + [total, 0.0], [(0.0, None)] * 7 + [(None, None)]
    best = linprog(cost, A_ub=rows, b_ub=right, bounds=bounds, method="highs").fun
    risk = max(0.0, *(-each - (np.array(row[3:6]) @ w - row[-1] * b) for row, each in zip(rows, right, strict=True)))
    objective = np.abs(w).sum() + total * risk
    assert best <= objective * (1 + 1e-9)
    assert objective <= best * 1.03  # GAP of it
