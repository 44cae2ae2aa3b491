"""Statistics of columns in one pass: what scaling needs, and whether every entry is finite.

The rows of ``out`` are, per column: sum of weights * (x - anchor), sum of weights * (x - anchor)^2, largest |x| where
the weight is positive, weight of the non-zero entries, and the number of entries that are not finite. Sums are taken
about ``anchor``, the column's first entry with positive weight, so that a constant column has variance zero exactly;
rows without weight count for nothing but finiteness. Sparse loops sum over stored entries only; the caller adds what
the zeros contribute.
"""

import numpy as np

from thresher.loops import compressed
from thresher.loops.compressed import first_at_least
from thresher.loops.jit import compiled, helper

SUM, SQUARES, LARGEST, NONZERO, NOT_FINITE = range(5)
ROWS = 5
BIGGEST = 1.7976931348623157e308  # neither nan nor an infinity is at most this
NARROW = 512  # columns whose statistics stay in the first-level cache while all rows go by


@compiled
def of_columns(A, weights, anchor, lo, hi, out):
    """Statistics of the columns lo <= l < hi of a row-contiguous array, which should be at most NARROW.

    Two rows at a time, so that statistics are read and written half as often; the order of the sums is that of the
    rows. Entries that are not finite are not counted: they make the sum of their column nan or infinite.
    """
    total, squares, largest, nonzero = out[0], out[1], out[2], out[3]
    n = A.shape[0]
    for i in range(0, n, 2):
        k = min(i + 1, n - 1)  # the last row alone is followed by itself without weight
        w, u = weights[i], (weights[k] if k > i else 0.0)
        a, b = A[i, lo:hi], A[k, lo:hi]
        for j in range(a.size):
            d, e = a[j] - anchor[j], b[j] - anchor[j]
            total[j] = total[j] + w * d + u * e
            squares[j] = squares[j] + w * (d * d) + u * (e * e)
        counts, counts_too = 1.0 if w > 0.0 else 0.0, 1.0 if u > 0.0 else 0.0
        for j in range(a.size):
            nonzero[j] = nonzero[j] + (w if a[j] != 0.0 else 0.0) + (u if b[j] != 0.0 else 0.0)
            x, y = counts * abs(a[j]), counts_too * abs(b[j])
            x = x if x > y else y
            largest[j] = x if x > largest[j] else largest[j]


@compiled(regroup_sums=True)
def of_rows(A, bits, mask, weights, anchor, lo, hi, out, largest):
    """Statistics of the rows lo <= i < hi of a row-contiguous array: columns of a design in Fortran order.

    ``bits`` are the entries of A as integers, whose order without the sign, under ``mask``, is that of |x|, so that the
    largest is found by vector instructions; it goes into ``largest``, as bits. Entries that are not finite are not
    counted: they make the sum of their row nan or infinite. A row is read three times, from the first-level cache.
    """
    for i in range(lo, hi):
        a, b, origin = A[i], bits[i], anchor[i - lo]
        total = squares = nonzero = 0.0
        for j in range(a.size):
            d = a[j] - origin
            e = weights[j] * d
            total += e
            squares += e * d
        for j in range(a.size):
            nonzero += weights[j] if (b[j] & mask) != 0 else 0.0
        most = mask & 0
        for j in range(a.size):
            size = b[j] & mask if weights[j] > 0.0 else mask & 0
            most = size if size > most else most
        out[0, i - lo], out[1, i - lo], out[3, i - lo], largest[i - lo] = total, squares, nonzero, most


def row_statistics(A, weights, anchor, lo, hi, out):
    """Fill ``out`` with the statistics of the rows lo <= i < hi of a row-contiguous array."""
    integers = np.dtype(f"i{A.dtype.itemsize}")
    largest = np.empty(hi - lo, dtype=integers)
    mask = integers.type(np.iinfo(integers).max)  # all but the sign
    of_rows(A, A.view(integers), mask, weights, anchor, lo, hi, out, largest)
    out[LARGEST] = largest.view(A.dtype)
    bad = np.flatnonzero(~np.isfinite(out[SUM]))
    if bad.size:
        out[:, bad] = plain_statistics(A[lo + bad].T, weights, anchor[bad])


def plain_statistics(columns, weights, anchor):
    """The statistics of columns with entries that are not finite, or nearly so, by numpy."""
    x, some = columns.astype(np.float64), weights > 0.0
    w, known = weights[some], x[some]
    with np.errstate(over="ignore", invalid="ignore"):
        d = known - anchor
        sums = w @ d, w @ (d * d)
    largest = np.abs(known).max(axis=0, initial=0.0)
    return np.stack([*sums, largest, w @ (known != 0.0), np.count_nonzero(~np.isfinite(x), axis=0)])


@helper
def _count(x, w, c, anchor, out):
    """Let the stored entry x with weight w count in column c; the first one with weight sets the anchor."""
    out[4, c] += 0.0 if abs(x) <= BIGGEST else 1.0
    if w > 0.0:
        if anchor[c] != anchor[c]:
            anchor[c] = x
        d = x - anchor[c]
        out[0, c] += w * d
        out[1, c] += w * d * d
        out[2, c] = max(out[2, c], abs(x))
        out[3, c] += w if x != 0.0 else 0.0
        out[5, c] += w


@compiled
def of_stored_rows(indptr, indices, values, weights, lo, hi, anchor, out):
    """Statistics of rows lo <= i < hi of a compressed array: columns of a CSC design. Sets ``anchor``, which is nan.

    out has one row more: the weight of the stored entries, zeros among them.
    """
    for i in range(lo, hi):
        c = i - lo
        for t in range(indptr[i], indptr[i + 1]):
            _count(values[t] + 0.0, weights[indices[t]], c, anchor, out)


@compiled(uses=compressed)
def of_stored_columns(indptr, indices, values, weights, lo, hi, anchor, out):
    """Statistics of columns lo <= l < hi of a CSR design; as ``of_stored_rows``."""
    for i in range(indptr.size - 1):
        w, stop = weights[i], indptr[i + 1]
        t = first_at_least(indices, indptr[i], stop, lo)
        while t < stop and indices[t] < hi:
            _count(values[t] + 0.0, w, indices[t] - lo, anchor, out)
            t += 1
