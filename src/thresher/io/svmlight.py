"""svmlight and LIBSVM text: ``label index:value index:value ...``, one row a line."""

import numpy as np
from scipy import sparse

from thresher.errors import InvalidDataError
from thresher.io.table import Table, tidy_labels
from thresher.io.text import opened, parsed, svmlight_rows


def read_svmlight(path, *, index_base=None, layout=None, workers):
    """The Table of a file, plain or packed by gzip or bzip2; "-" is standard input.

    The first index is 0 if any is, else 1, unless ``index_base`` or the ``layout`` of a model says which. Columns
    beyond that layout are left out.
    """
    name, remarks = shown(path), list[str]()
    with opened(path) as stream:
        parts = list(parsed(svmlight_rows, stream, name, workers))
    labels = np.concatenate([part.labels for part in parts] or [np.zeros(0)])
    if not labels.size:
        raise InvalidDataError(f"{name}: there is no row in it")
    lowest = min((int(part.indices.min()) for part in parts if part.indices.size), default=1)
    highest = max((int(part.indices.max()) for part in parts if part.indices.size), default=0)
    base = _base(lowest, highest, index_base, layout, name)
    tidy = all(part.tidy for part in parts)
    width = max(1, highest - base + 1) if layout is None else layout.n_features
    X = _joined(parts, base, max(width, highest - base + 1))
    if not tidy:
        _tidied(X, remarks)
    if width < X.shape[1] and not layout.open_ended:
        X = _narrowed(X, width, remarks)
    return Table(X, tidy_labels(labels), None, "svmlight", base, remarks)


def _base(lowest, highest, told, layout, name):
    """The index of the first column; refused where the file cannot have, or hardly has, that of the model."""
    base = told
    if base is None:
        base = layout.index_base if layout is not None else 0 if lowest == 0 else 1
    model = "" if layout is None or told is not None else ", as in the file that the model was fitted to"
    advice = "; if this file counts from {}, say so with index_base (--index-base {})"
    if lowest < base:
        raise InvalidDataError(
            f"{name}: a feature has index {lowest}, but the first index is {base}{model}" + advice.format(0, 0)
        )
    off = model and not layout.open_ended and base == 0 and lowest == 1 and highest == layout.n_features
    if off:  # all of them would shift by one
        raise InvalidDataError(
            f"{name}: indices run from 1 to {highest}, but those of the model from 0 to {highest - 1}"
            + advice.format(1, 1)
        )
    return base


def shown(path):
    """The name of a file for messages."""
    return "standard input" if str(path) == "-" else str(path)


def _joined(parts, base, width):
    """One CSR matrix; every part is given up as soon as it is copied."""
    entries = sum(part.indices.size for part in parts)
    lengths = np.concatenate([part.lengths for part in parts])
    index_type = np.int32 if max(width, entries) < 2**31 else np.int64
    value_type = np.float32 if all(part.values.dtype == np.float32 for part in parts) else np.float64
    indices, values, at = np.empty(entries, dtype=index_type), np.empty(entries, dtype=value_type), 0
    while parts:
        part = parts.pop(0)
        stop = at + part.indices.size
        np.subtract(part.indices, base, out=indices[at:stop], casting="same_kind")
        values[at:stop] = part.values
        at = stop
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(index_type)
    return sparse.csr_array((values, indices, indptr), shape=(lengths.size, width))


def _tidied(X, remarks):
    """Sort every row; values of a column that a row names more than once are added up."""
    entries = X.indices.size
    X.sum_duplicates()
    if X.indices.size < entries:
        remarks.append(f"{entries - X.indices.size} values were added to others of the same row and feature")


def _narrowed(X, width, remarks):
    """X without the columns from ``width`` on."""
    known = X.indices < width
    unknown = int(known.size - np.count_nonzero(known))
    remarks.append(f"{unknown} value{'s' * (unknown > 1)} of features that the model has never seen left out")
    indptr = np.concatenate([[0], np.cumsum(known)])[X.indptr].astype(X.indptr.dtype)
    return sparse.csr_array((X.data[known], X.indices[known], indptr), shape=(X.shape[0], width))
