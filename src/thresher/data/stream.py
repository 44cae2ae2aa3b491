"""X by rows: what an online learner sees of a matrix."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from thresher.data.slots import hashed
from thresher.errors import InvalidDataError

AT_ONCE = 1 << 20  # entries of a dense matrix that are looked through at a time
LARGEST = 1e50  # squares of gradients, which grow with the square of values, must be numbers yet


class Entries(NamedTuple):
    """The non-zero entries of rows, one row after the other: row i has those from begins[i] to begins[i + 1]."""

    begins: np.ndarray
    ids: np.ndarray
    values: np.ndarray


def entries_of(X: Any, bits: int | None = None) -> Entries:
    """The Entries of a checked CSR or CSC matrix or a dense array; with ``bits``, ids are hashed to so many bits.

    Nothing is copied of a CSR matrix of floats without stored zeros.
    """
    found = _of_sparse(X) if sparse.issparse(X) else _of_dense(X)
    return found if bits is None else _hashed(found, bits)


def check_size(X: Any) -> None:
    """Raise where values of X, finite as they are, are too large to learn from."""
    values = X.data if sparse.issparse(X) else X
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if largest > LARGEST:
        raise InvalidDataError(f"X holds {largest:.3g} in size; values must be at most {LARGEST:g}: scale X")


def _of_sparse(X: Any) -> Entries:
    X = X.tocsr()
    begins, ids, values = X.indptr.astype(np.int64, copy=False), X.indices, X.data
    there = values != 0
    if not there.all():
        begins, ids, values = np.concatenate([[0], np.cumsum(there)])[begins], ids[there], values[there]
    return Entries(begins, ids, values)


def _of_dense(X: np.ndarray) -> Entries:
    rows, width = X.shape
    step = max(1, AT_ONCE // max(1, width))
    ids, values, counts = [], [], [np.zeros(1, dtype=np.int64)]
    for first in range(0, rows, step):
        block = X[first : first + step]
        at, columns = np.nonzero(block)
        ids.append(columns.astype(np.int32 if width < 2**31 else np.int64))
        values.append(block[at, columns])
        counts.append(np.bincount(at, minlength=len(block)))
    whole = [np.concatenate(parts) if parts else np.zeros(0) for parts in (ids, values)]
    return Entries(np.cumsum(np.concatenate(counts)), whole[0].astype(np.int64, copy=False), whole[1])


def _hashed(found: Entries, bits: int) -> Entries:
    """Ids as numbers below 2^bits; values of a row that meet are added up."""
    shape = (len(found.begins) - 1, 1 << bits)
    short = sparse.csr_array((found.values.copy(), hashed(found.ids, bits), found.begins.copy()), shape=shape)
    short.sum_duplicates()  # in place, hence the copies
    return _of_sparse(short)


def hashed_matrix(X: Any, bits: int) -> sparse.csr_array:
    """X, checked, as a CSR matrix of 2^bits columns."""
    found = entries_of(X, bits)
    return sparse.csr_array((found.values, found.ids, found.begins), shape=(X.shape[0], 1 << bits))
