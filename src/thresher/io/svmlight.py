"""svmlight and LIBSVM text: ``label index:value index:value ...``, one row per line."""

import numpy as np
from scipy import sparse

from thresher.errors import InvalidDataError
from thresher.io.table import Table, tidy_labels
from thresher.io.text import opened, parsed, pieces, svmlight_rows


def read_svmlight(path, *, index_base=None, layout=None, workers):
    """The Table of a file, plain or compressed by gzip or bzip2; "-" is standard input.

    Indices start at 0 if any is 0, else at 1, unless ``index_base`` or the ``layout`` of a model is given. Columns
    beyond that layout are ignored.
    """
    name, remarks = path_name(path), list[str]()
    with opened(path) as stream:
        jobs = ((line, piece, svmlight_rows) for line, piece in pieces(stream, name))
        parts = list(parsed(jobs, name, workers))
    labels = np.concatenate([part.labels for part in parts] or [np.zeros(0)])
    if not labels.size:
        raise InvalidDataError(f"{name}: no rows found")
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


def _base(lowest, highest, given, layout, name):
    """The index of the first column; InvalidDataError if the file contradicts, or very likely does, the model's."""
    base = given
    if base is None:
        base = layout.index_base if layout is not None else 0 if lowest == 0 else 1
    model = "" if layout is None or given is not None else ", as in the training file of the model"
    advice = "; if this file counts from {}, set index_base={} (--index-base {})"
    if lowest < base:
        raise InvalidDataError(
            f"{name}: found feature index {lowest}, but indices start at {base}{model}" + advice.format(0, 0, 0)
        )
    off = model and not layout.open_ended and base == 0 and lowest == 1 and highest == layout.n_features
    if off:  # all of them would shift by one
        raise InvalidDataError(
            f"{name}: indices run from 1 to {highest}, but those of the model from 0 to {highest - 1}"
            + advice.format(1, 1, 1)
        )
    return base


def path_name(path):
    """The name of a file for messages."""
    return "standard input" if str(path) == "-" else str(path)


def _joined(parts, base, width):
    """One CSR matrix; every part is freed as soon as it is copied."""
    entries = sum(part.indices.size for part in parts)
    lengths = np.concatenate([part.lengths for part in parts])
    index_type = np.int32 if max(width, entries) < 2**31 else np.int64
    value_type = np.float32 if all(part.values.dtype == np.float32 for part in parts) else np.float64
    indices, values, start = np.empty(entries, dtype=index_type), np.empty(entries, dtype=value_type), 0
    while parts:
        part = parts.pop(0)
        stop = start + part.indices.size
        np.subtract(part.indices, base, out=indices[start:stop], casting="same_kind")
        values[start:stop] = part.values
        start = stop
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(index_type)
    return sparse.csr_array((values, indices, indptr), shape=(lengths.size, width))


def _tidied(X, remarks):
    """Sort every row; duplicate entries of a row are summed."""
    entries = X.indices.size
    X.sum_duplicates()
    duplicates = entries - X.indices.size
    if duplicates:
        remarks.append(f"summed {duplicates} duplicate entr{'y' if duplicates == 1 else 'ies'} (same row and feature)")


def _narrowed(X, width, remarks):
    """X without the columns from ``width`` on."""
    known = X.indices < width
    unknown = int(known.size - np.count_nonzero(known))
    remarks.append(f"ignored {unknown} value{'s' * (unknown > 1)} of features that were not seen in fit")
    indptr = np.concatenate([[0], np.cumsum(known)])[X.indptr].astype(X.indptr.dtype)
    return sparse.csr_array((X.data[known], X.indices[known], indptr), shape=(X.shape[0], width))
