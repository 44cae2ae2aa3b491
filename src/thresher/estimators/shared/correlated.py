"""Columns that are correlated with some others: one scan for every few of those."""

import numpy as np

from thresher.data.designs.base import Design
from thresher.data.scan.reducers import AtLeast
from thresher.data.scan.scores import Pearson
from thresher.results import Interchangeable

AT_A_TIME = 16  # columns whose correlations one scan computes: their scores must fit into memory, for a piece
ROUNDING = 1e-9  # by which a correlation may fall short of the bound: equal columns have 1 up to rounding


def interchangeable(
    design: Design, features: np.ndarray, weights: np.ndarray, min_correlation: float
) -> Interchangeable:
    """The columns of X, besides ``features`` (sorted), with |correlation| >= ``min_correlation`` to one of these."""
    block, known = design.take_as_given(features)
    nothing = np.zeros(0, dtype=np.int64)
    others, correlations = [nothing] * features.size, [np.zeros(0)] * features.size
    exclude = np.sort(design.ids_here(features[known]))
    for first in range(0, known.size, AT_A_TIME):
        some = np.arange(first, min(first + AT_A_TIME, known.size))
        score = Pearson(block.take(some).combine(np.eye(some.size)), weights)
        rows, ids, values = design.scan(score, AtLeast(min_correlation - ROUNDING, exclude))
        ids = design.ids_in_X(ids)
        for row, place in enumerate(known[some]):
            own, close = ids[rows == row], np.clip(values[rows == row], -1.0, 1.0)
            order = np.lexsort((own, -np.abs(close)))
            others[place], correlations[place] = own[order], close[order]
    return Interchangeable(features, tuple(others), tuple(correlations), min_correlation)
