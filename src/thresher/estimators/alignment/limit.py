"""How many features a point may have to be judged, if users do not say it."""

from typing import Any

import numpy as np

from thresher.estimators.alignment.cross_validation import Clock, KernelData
from thresher.estimators.alignment.kernel_path import BeginsWith, KernelPath
from thresher.estimators.alignment.svm import explicit_columns
from thresher.features.kernels.sources import Alignments

ENTRIES_IN_FOLDS = 1 << 25  # of explicit columns, in all folds together: 256 MiB
LEAST_LIMIT = 50  # features that are judged even if they take more
ENTRIES_AT_A_TIME = 1 << 24  # of columns of X

Lambda2s = tuple[float | str | BeginsWith, ...]


def lambda2s_with(path: KernelPath, most: int) -> Lambda2s:
    """Those of the path; instead of "auto" alone also that with which the path begins with ``most`` features."""
    if isinstance(path.lambda2, str) and path.lambda1 != 0:
        return (*path.lambda2s, BeginsWith(most))
    return path.lambda2s


def default_limit(data: KernelData, alignments: Alignments, svm: str, n_folds: int, clock: Clock) -> int:
    """How many features a point may have to be judged.

    As many as have explicit columns of ENTRIES_IN_FOLDS entries in all folds, but at least LEAST_LIMIT; or all. Points
    with so many features have the kernels that agree most with the labels: these are counted, one by one. The limit
    does not depend on the machine, so that results do not.
    """
    order = np.argsort(-alignments.values, kind="stable")
    order = order[alignments.trace[order] > 0.0]
    left, n_counted = ENTRIES_IN_FOLDS / n_folds, 0
    explicit, step = explicit_columns(svm), max(1, ENTRIES_AT_A_TIME // data.codes.size)
    for first in range(0, order.size, step):
        some = order[first : first + step]
        ids = np.sort(some)
        columns, kernels = data.source.columns(ids), data.source.layout.fitted(ids, alignments.gamma[ids])
        for k in np.searchsorted(ids, some).tolist():
            left -= explicit.price(columns, kernels, k)
            if left < 0.0 or clock.ended():
                return max(n_counted, LEAST_LIMIT)
            n_counted += 1
    return alignments.values.size


def apply_limit(given: Any, data: KernelData, alignments: Alignments, n_folds: int, clock: Clock) -> str:
    """Make a number of the option ``max_features="auto"``, or None; returns what users are told about it."""
    if given.max_features != "auto":
        return ""
    given.max_features, width = None, alignments.values.size
    limit = default_limit(data, alignments, given.svm, n_folds, clock) if n_folds else width
    if limit >= width:
        return ""
    given.max_features, given.lambda2s = limit, lambda2s_with(given.path, limit)
    return (
        f"; points with more than {limit:,} of the {width:,} features were not judged, to save memory and time: "
        "max_features (--max-features) sets another limit"
    )
