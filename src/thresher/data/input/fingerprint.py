"""A fingerprint of the training data, from statistics that are computed anyway."""

import hashlib

import numpy as np

from thresher.data.designs.base import Design
from thresher.loops.moments import LARGEST


def fingerprint(design: Design, table: np.ndarray, labels: np.ndarray, n_features: int) -> dict[str, int | str]:
    """Rows, columns and a digest of the labels and of each column's largest |x| over the rows with weight.

    Labels are integers of classes, or real numbers (float64).

    The same values have the same digest in every storage format: maxima, unlike sums, are exact, and columns of zeros
    are omitted, since some designs omit them.
    """
    nonzero = np.flatnonzero(table[LARGEST])
    shape = design.shape[0], n_features
    digest = hashlib.sha256(b"thresher data 1")
    for part, dtype in (
        (shape, "<i8"),
        (labels, "<f8" if labels.dtype.kind == "f" else "<i8"),
        (design.ids_in_X(nonzero), "<i8"),
        (table[LARGEST, nonzero], "<f8"),
    ):
        digest.update(np.ascontiguousarray(part, dtype=dtype).data)
    return {"rows": int(shape[0]), "columns": int(shape[1]), "digest": digest.hexdigest()}
