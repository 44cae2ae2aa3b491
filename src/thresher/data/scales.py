"""Which scale a column is put on: decided from the data's statistics, never from its storage."""

import numpy as np

from thresher.data.scaled import ScaledDesign, Scaling
from thresher.errors import InvalidDataError
from thresher.loops.moments import LARGEST, NONZERO, SQUARES, SUM

SCALES = (None, "unit", "std", "max", "auto")
TOO_LARGE = 1e120
SPARSE_SHARE = 0.3  # "auto" leaves data with fewer non-zero entries than this alone
MOSTLY_ZERO_SHARE = 0.2  # "auto" takes "max" when more of the columns than this are zero in most rows


def scaled(design, anchor, table, total, scale, *, centre):
    """``design`` on the asked scale: (design or ScaledDesign, the scale that was used).

    ``anchor`` and ``table`` are the design's statistics, ``total`` is the sum of the rows' weights.
    """
    if scale == "auto":
        scale = choose_scale(table, total)
    if scale is None:
        _check_size(design, table[LARGEST], scale)
        return design, None
    if scale != "max":
        _check_size(design, table[LARGEST], scale)
    mean = anchor + table[SUM] / total
    with np.errstate(over="ignore", invalid="ignore"):  # only "max" takes columns whose squares overflow
        variance = np.maximum(table[SQUARES] / total - (table[SUM] / total) ** 2, 0.0)
    if scale == "unit":
        length = np.sqrt(total * (variance + mean**2))
    elif scale == "max":
        length = table[LARGEST]
    else:
        length = np.sqrt(variance)
    factor = np.ones_like(length)  # a column without spread is left as it is, and centred it is zero
    np.divide(1.0, length, out=factor, where=length > np.finfo(float).tiny)
    return ScaledDesign(design, Scaling(factor, mean if scale == "std" and centre else None)), scale


def _check_size(design, largest, scale):
    if largest.max(initial=0.0) > TOO_LARGE:
        column = int(design.numbers_in_X(np.argmax(largest)))
        raise InvalidDataError(
            f"column {column} of X holds values up to {largest.max():.1e}, whose squares do not fit float64; "
            f"scale={scale!r} cannot be used: divide the column or use scale='max'"
        )


def choose_scale(table, total):
    """The rule of ``scale="auto"``: see docs/architecture.md for the trials behind it."""
    if table[NONZERO].sum() < SPARSE_SHARE * total * table.shape[1]:
        return None
    mostly_zero = np.mean(table[NONZERO] < 0.5 * total)
    return "max" if mostly_zero > MOSTLY_ZERO_SHARE else "std"
