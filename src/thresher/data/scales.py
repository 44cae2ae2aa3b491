"""Which scale a column is put on: decided from the data's statistics, never from its storage."""

import numpy as np

from thresher.data.scaled import ScaledDesign, Scaling
from thresher.loops.moments import LARGEST, NONZERO, SQUARES, SUM

SCALES = (None, "unit", "std", "max", "auto")
SPARSE_SHARE = 0.3  # data with fewer non-zero entries than this is left alone by "auto"


def scaled(design, anchor, table, total, scale, *, centre):
    """``design`` on the asked scale: (design or ScaledDesign, the scale that was used).

    ``anchor`` and ``table`` are the design's statistics, ``total`` is the sum of the rows' weights.
    """
    if scale == "auto":
        scale = choose_scale(anchor, table, total)
    if scale is None:
        return design, None
    mean = anchor + table[SUM] / total
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


def choose_scale(anchor, table, total):
    """The rule of ``scale="auto"``: see docs/architecture.md for the trials behind it."""
    if table[NONZERO].sum() < SPARSE_SHARE * total * table.shape[1]:
        return None
    return "std"
