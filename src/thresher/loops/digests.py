"""Digests of rows: for each row the sum of a hash of each non-zero entry, which does not depend on any order.

The hash of an entry is a mix of the bits of its value as float64 and of the key of its column, which is mixed before.
Sums are of 64-bit integers and wrap around, so how the entries are cut into ranges changes no bit.
"""

import numpy as np

from thresher.loops.jit import compiled, helper

FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)


def mixed(z):
    """The integers ``z``, an array of uint64, mixed one to one: each bit depends on all (the finalizer of SplitMix64).

    0 stays 0.
    """
    z = (z ^ (z >> SHIFTS[0])) * FIRST
    z = (z ^ (z >> SHIFTS[1])) * SECOND
    return z ^ (z >> SHIFTS[2])


def column_keys(ids_in_X):
    """A key for each of some columns of X, uint64 and not zero, for the hashes of their entries."""
    return mixed(ids_in_X.astype(np.uint64) + np.uint64(1)) | np.uint64(1)


_mixed = helper(mixed)


@helper
def _hashed(value, key):
    """The hash of an entry, 0 of a zero."""
    x = np.float64(value)
    return _mixed(x.view(np.uint64) ^ key) if x != 0.0 else np.uint64(0)


@compiled
def of_rows(A, columns, keys, lo, hi, out):
    """out[i] += the hashes of A[i, columns] for rows lo <= i < hi of a row-contiguous array."""
    for i in range(lo, hi):
        a, total = A[i], np.uint64(0)
        for j in range(columns.size):
            total += _hashed(a[np.uintp(columns[j])], keys[j])
        out[i] += total


@compiled
def of_columns(A, columns, keys, lo, hi, out):
    """As ``of_rows`` for the transposed array, whose columns are rows of A, and entries lo <= i < hi of each."""
    for j in range(columns.size):
        a, key = A[np.uintp(columns[j])], keys[j]
        for i in range(lo, hi):
            out[i] += _hashed(a[i], key)


@compiled
def of_stored_rows(indptr, indices, values, keys, lo, hi, out):
    """As ``of_rows`` for CSR; ``keys`` are those of all columns, 0 for columns that do not count."""
    for i in range(lo, hi):
        total = np.uint64(0)
        for t in range(indptr[i], indptr[i + 1]):
            key = keys[np.uintp(indices[t])]
            total += _hashed(values[t], key) if key != 0 else np.uint64(0)
        out[i] += total


@compiled
def of_stored_columns(indptr, indices, values, columns, keys, lo, hi, out):
    """As ``of_rows`` for CSC: of ``columns``, those at lo <= j < hi."""
    for j in range(lo, hi):
        for t in range(indptr[columns[j]], indptr[columns[j] + 1]):
            out[np.uintp(indices[t])] += _hashed(values[t], keys[j])
