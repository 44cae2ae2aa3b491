"""Scaling of the columns, which depends on the statistics of the data and never on its storage format."""

import numpy as np

from thresher.data.blocks.scaled import Scaling
from thresher.data.designs.base import Design
from thresher.data.designs.scaled import ScaledDesign
from thresher.errors import InvalidDataError
from thresher.loops.moments import LARGEST, NONZERO, SQUARES, SUM

SCALES = (None, "unit", "std", "max", "auto")
TOO_LARGE, TOO_LARGE_FOR_MAX = 1e60, 1e200
AT_A_TIME = 1 << 16  # columns
TOO_SMALL = 1e-150  # squares of smaller values underflow: only "max" supports them
SPARSE_SHARE = 0.3  # "auto" does not scale data with a smaller share of non-zero entries
MOSTLY_ZERO_SHARE = 0.2  # "auto" uses "max" if a larger share of the non-zero columns is zero in most rows


def scaled(
    design: Design,
    anchor: np.ndarray,
    table: np.ndarray,
    total: float,
    scale: str | None,
    *,
    centre: bool,
    n_features: int | None = None,
) -> tuple[Design, str | None]:
    """(``design`` with the requested scaling, the scale that was used).

    ``anchor`` and ``table`` are the design's statistics, ``total`` is the sum of the row weights; ``n_features`` is
    the number of columns of X, for designs that omit columns of zeros.
    """
    if scale == "auto":
        scale = choose_scale(table, total, n_features or table.shape[1])
    _check_size(design, table[LARGEST], scale)
    if scale is None:
        return design, None
    mean, variance = anchor + table[SUM] / total, _variance(table, total)
    if scale == "unit":
        length = np.sqrt(total * (variance + mean**2))
    elif scale == "max":
        length = table[LARGEST]
    else:
        length = np.sqrt(variance)
    factor = np.full_like(length, 0.0 if scale == "std" and centre else 1.0)  # for constant columns
    np.divide(1.0, length, out=factor, where=length > np.finfo(float).tiny)
    return ScaledDesign(design, Scaling(factor, mean if scale == "std" and centre else None)), scale


def spread_of(table: np.ndarray, total: float) -> np.ndarray:
    """The standard deviation of each column; where squares overflow, the largest |x|, which is at least as large."""
    spread = np.empty(table.shape[1])
    for lo in range(0, spread.size, AT_A_TIME):  # whole rows of temporaries would weigh as much as the table
        part = table[:, lo : lo + AT_A_TIME]
        variance = _variance(part, total)
        spread[lo : lo + AT_A_TIME] = np.where(np.isfinite(variance), np.sqrt(variance), part[LARGEST])
    return spread


def _variance(table: np.ndarray, total: float) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):  # only "max" supports columns whose squares overflow
        return np.maximum(table[SQUARES] / total - (table[SUM] / total) ** 2, 0.0)


def _check_size(design: Design, largest: np.ndarray, scale: str | None) -> None:
    limit = TOO_LARGE_FOR_MAX if scale == "max" else TOO_LARGE
    if largest.max(initial=0.0) > limit:
        column = int(design.ids_in_X(np.argmax(largest)))
        raise InvalidDataError(
            f"column {column} of X contains a value of magnitude {largest.max():.1e}; the largest supported with "
            f"scale={scale!r} is {limit:.0e}. Rescale the column" + ("." if scale == "max" else " or use scale='max'.")
        )
    if scale != "max" and 0.0 < largest.max(initial=0.0) < TOO_SMALL:
        raise InvalidDataError(
            f"the largest magnitude in X is {largest.max():.1e}, but the squares of values below {TOO_SMALL:.0e} "
            f"underflow to zero, so that with scale={scale!r} every column counts as constant. Multiply X by a "
            "constant or use scale='max'."
        )


def centred(design: Design, mean: np.ndarray) -> Design:
    """``design`` with its columns, whose means as given are ``mean``, shifted to mean zero and on their scale.

    A design that was given with a shift keeps it.
    """
    if not isinstance(design, ScaledDesign):
        return ScaledDesign(design, Scaling(np.ones(mean.size), mean))
    if design.scaling.shift is not None:
        return design
    return ScaledDesign(design.base, Scaling(design.scaling.factor, mean))


def is_sparse(table: np.ndarray, total: float, n_features: int) -> bool:
    """Whether few entries are not zero, however they are stored."""
    return bool(table[NONZERO].sum() < SPARSE_SHARE * total * n_features)


def choose_scale(table: np.ndarray, total: float, n_features: int) -> str | None:
    """The rule of ``scale="auto"``: docs/decisions/the-rule-of-scale-auto.md has the experiments behind it."""
    if is_sparse(table, total, n_features):
        return None
    nonempty = np.count_nonzero(table[NONZERO])  # columns of zeros do not count
    mostly_full = np.count_nonzero(table[NONZERO] >= 0.5 * total)
    return "max" if nonempty - mostly_full > MOSTLY_ZERO_SHARE * nonempty else "std"
