"""X by rows: the non-zero entries that an online learner reads."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from thresher.data.rows.slots import hashed
from thresher.errors import InvalidDataError

CHUNK_ENTRIES = 1 << 20  # entries of a dense matrix that are processed at a time
LARGEST = 1e50  # squares of gradients, which grow with the square of values, must stay finite


class Entries(NamedTuple):
    """The non-zero entries of all rows, concatenated: row i has those from begins[i] to begins[i + 1]."""

    begins: np.ndarray
    ids: np.ndarray
    values: np.ndarray


def entries_of(X: Any, bits: int | None = None) -> Entries:
    """The Entries of a validated CSR or CSC matrix or a dense array; with ``bits``, ids are hashed to that many bits.

    A CSR matrix without explicit zeros is not copied.
    """
    if bits is not None:
        X = hashed_matrix(X, bits)
    return _of_sparse(X) if sparse.issparse(X) else _of_dense(X)


def check_size(X: Any) -> None:
    """Raise InvalidDataError if a finite value of X is too large for online learning."""
    values = X.data if sparse.issparse(X) else X
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if largest > LARGEST:
        raise InvalidDataError(
            f"X contains a value of magnitude {largest:.3g}; the largest supported is {LARGEST:g}. Rescale X."
        )


def _of_sparse(X: Any) -> Entries:
    X = X.tocsr()
    begins, ids, values = X.indptr.astype(np.int64, copy=False), X.indices, X.data
    nonzero = values != 0
    if not nonzero.all():
        begins, ids, values = np.concatenate([[0], np.cumsum(nonzero)])[begins], ids[nonzero], values[nonzero]
    return Entries(begins, ids, values)


def _of_dense(X: np.ndarray) -> Entries:
    rows, width = X.shape
    step = max(1, CHUNK_ENTRIES // max(1, width))
    index = np.int32 if width < 2**31 else np.int64
    ids, values, counts = [np.zeros(0, dtype=index)], [np.zeros(0, dtype=X.dtype)], [np.zeros(1, dtype=np.int64)]
    for first in range(0, rows, step):
        chunk = X[first : first + step]
        in_rows, columns = np.nonzero(chunk)
        ids.append(columns.astype(index))
        values.append(chunk[in_rows, columns])
        counts.append(np.bincount(in_rows, minlength=len(chunk)))
    return Entries(np.cumsum(np.concatenate(counts)), np.concatenate(ids), np.concatenate(values))


def hashed_matrix(X: Any, bits: int) -> sparse.csr_array:
    """X, validated, as a CSR matrix of 2^bits columns; values of a row whose ids collide are summed."""
    begins, ids, values = entries_of(X)
    arrays = values.copy(), hashed(ids, bits), begins.copy()  # duplicates are summed in place
    matrix = sparse.csr_array(arrays, shape=(X.shape[0], 1 << bits))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix
