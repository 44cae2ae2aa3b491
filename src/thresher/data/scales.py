"""Which scale a column is put on: decided from the data's statistics, never from its storage."""

import numpy as np

from thresher.data.design import Design
from thresher.data.scaled import ScaledDesign, Scaling
from thresher.errors import InvalidDataError
from thresher.loops.moments import LARGEST, NONZERO, SQUARES, SUM

SCALES = (None, "unit", "std", "max", "auto")
TOO_LARGE, TOO_LARGE_FOR_MAX = 1e60, 1e200
SPARSE_SHARE = 0.3  # "auto" leaves data with fewer non-zero entries than this alone
MOSTLY_ZERO_SHARE = 0.2  # "auto" takes "max" when more of the columns with content are zero in most rows


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
    """``design`` on the asked scale: (design or ScaledDesign, the scale that was used).

    ``anchor`` and ``table`` are the design's statistics, ``total`` is the sum of the rows' weights; ``n_features``
    counts the columns of X where the design leaves out those that hold nothing.
    """
    if scale == "auto":
        scale = choose_scale(table, total, n_features or table.shape[1])
    _check_size(design, table[LARGEST], scale)
    if scale is None:
        return design, None
    mean = anchor + table[SUM] / total
    with np.errstate(over="ignore", invalid="ignore"):  # only "max" takes columns whose squares overflow
        variance = np.maximum(table[SQUARES] / total - (table[SUM] / total) ** 2, 0.0)
    if scale == "unit":
        length = np.sqrt(total * (variance + mean**2))
    elif scale == "max":
        length = table[LARGEST]
    else:
        length = np.sqrt(variance)
    factor = np.full_like(length, 0.0 if scale == "std" and centre else 1.0)  # for columns without spread
    np.divide(1.0, length, out=factor, where=length > np.finfo(float).tiny)
    return ScaledDesign(design, Scaling(factor, mean if scale == "std" and centre else None)), scale


def _check_size(design: Design, largest: np.ndarray, scale: str | None) -> None:
    limit = TOO_LARGE_FOR_MAX if scale == "max" else TOO_LARGE
    if largest.max(initial=0.0) > limit:
        column = int(design.numbers_in_X(np.argmax(largest)))
        raise InvalidDataError(
            f"column {column} of X holds values up to {largest.max():.1e}, too large for products in float64 with "
            f"scale={scale!r}: divide the column" + ("" if scale == "max" else " or use scale='max'")
        )


def choose_scale(table: np.ndarray, total: float, n_features: int) -> str | None:
    """The rule of ``scale="auto"``: see docs/architecture.md for the trials behind it."""
    if table[NONZERO].sum() < SPARSE_SHARE * total * n_features:
        return None
    some = np.count_nonzero(table[NONZERO])  # columns of zeros say nothing
    mostly_full = np.count_nonzero(table[NONZERO] >= 0.5 * total)
    return "max" if some - mostly_full > MOSTLY_ZERO_SHARE * some else "std"
