"""The measures that every law is for, and small problems to try them on."""

import functools
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import strategies as st

from tests.oracles import measures as oracle
from thresher.optim.measures.values import (
    F1,
    PRBEP,
    AveragePrecision,
    ErrorRate,
    FBeta,
    PrecisionAtK,
    RecallAtK,
    RocArea,
)

TABLES = [
    ErrorRate(), F1(), FBeta(1e-6), FBeta(0.3), FBeta(3.0), FBeta(1e6), PRBEP(), PrecisionAtK(1), PrecisionAtK(2),
    PrecisionAtK(0.5), RecallAtK(2), RecallAtK(1.5), RecallAtK(2.0),
]  # fmt: skip
RANKINGS = [RocArea(), AveragePrecision()]
LIST = TABLES + RANKINGS
WEIGHTED = [ErrorRate(), RocArea()]
FREE = [measure for measure in TABLES if measure.name in ("error", "f1", "fbeta")]
by_name = pytest.mark.parametrize("measure", LIST, ids=repr)
# One measure of each kind, for laws of what uses measures, whatever is counted; other parameters run as slow tests.
KINDS = [ErrorRate(), F1(), FBeta(0.3), PRBEP(), PrecisionAtK(2), RecallAtK(2.0), RocArea(), AveragePrecision()]
by_kind = pytest.mark.parametrize(
    "measure", [each if each in KINDS else pytest.param(each, marks=pytest.mark.slow) for each in LIST], ids=repr
)


@st.composite
def problems(draw, most):
    """Labels of both classes, and scores of few values, so that there are ties, or of many."""
    n = draw(st.integers(2, most))
    y = np.array(draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=n, max_size=n)))
    y[draw(st.permutations(range(n)))[:2]] = 1.0, -1.0
    coarse = st.integers(-3, 3).map(lambda value: value / 2)
    value = draw(st.sampled_from([coarse, st.floats(-3, 3), st.floats(-100, 100)]))
    scores = np.array(draw(st.lists(value, min_size=n, max_size=n)))
    return y, y * np.abs(scores) if draw(st.booleans()) else scores  # where all are right, labellings differ little


all_rankings = functools.cache(oracle.rankings)


def parameters(measure):
    return {each.name: getattr(measure, each.name) for each in fields(measure)}


def largest_violation(measure, y, scores):
    if measure in RANKINGS:
        return oracle.largest_violation_of_ranks(measure.name, y, scores, all_rankings(y.size))
    return oracle.largest_violation(measure.name, y, scores, **parameters(measure))


def random_problem(seed, n, share=0.3):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < share, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return y, np.round(rng.standard_normal(n) + 0.4 * y, rng.integers(1, 8))
