"""A fingerprint of the data a model was fitted on, out of statistics that are there anyway."""

import hashlib

import numpy as np

from thresher.data.design import Design
from thresher.loops.moments import LARGEST


def fingerprint(design: Design, table: np.ndarray, codes: np.ndarray, n_features: int) -> dict[str, int | str]:
    """Rows, columns and a digest of the labels and of each column's largest |x| over the rows with weight.

    The same numbers have the same digest in every storage: largest entries, unlike sums, are exact, and columns
    without any are left out, as they are in a design that has numbers of its own.
    """
    some = np.flatnonzero(table[LARGEST])
    shape = design.shape[0], n_features
    digest = hashlib.sha256(b"thresher data 1")
    for part, dtype in (
        (shape, "<i8"),
        (codes, "<i8"),
        (design.numbers_in_X(some), "<i8"),
        (table[LARGEST, some], "<f8"),
    ):
        digest.update(np.ascontiguousarray(part, dtype=dtype).data)
    return {"rows": int(shape[0]), "columns": int(shape[1]), "digest": digest.hexdigest()}
