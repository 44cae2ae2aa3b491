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
from thresher.loops.jit import compiled

SUM, SQUARES, LARGEST, NONZERO, NOT_FINITE = range(5)
STATISTICS = 5
BIGGEST = 1.7976931348623157e308  # neither nan nor an infinity is at most this
NARROW = 512  # columns whose statistics stay in the first-level cache while all rows go by


@compiled
def of_columns(A, weights, anchor, lo, hi, out):
    """Statistics of the columns lo <= l < hi of a row-contiguous array, which should be at most NARROW.

    Two rows at a time, so that statistics are read and written half as often; the order of the sums is that of the
    rows. Entries that are not finite are not counted: they make the sum of their column nan or infinite.
    """
    total, squares, largest, nonzero = out[0], out[1], out[2], out[3]
    n, low, width = A.shape[0], np.uintp(lo), np.uintp(hi - lo)
    for i in range(0, n, 2):
        k = i + (i + 1 < n)  # the last row alone is followed by itself without weight
        a, b, w, u = A[i], A[k], weights[i], weights[k] * (k > i)
        for j in range(width):
            d, e = a[low + j] - anchor[j], b[low + j] - anchor[j]
            total[j] = total[j] + w * d + u * e
            squares[j] = squares[j] + w * (d * d) + u * (e * e)
        counts, counts_too = 1.0 * (w > 0.0), 1.0 * (u > 0.0)
        for j in range(width):
            x, y = a[low + j], b[low + j]
            nonzero[j] = nonzero[j] + w * (x != 0.0) + u * (y != 0.0)
            x, y = counts * abs(x), counts_too * abs(y)
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


@compiled
def of_stored_rows(indptr, indices, values, weights, lo, hi, anchor, out):
    """Statistics of rows lo <= i < hi of a compressed array: columns of a CSC design. Sets ``anchor``, which is nan.

    out has one row more: the weight of the stored entries, zeros among them.
    """
    for i in range(lo, hi):
        total = squares = largest = nonzero = bad = stored = 0.0
        origin = anchor[i - lo]
        for t in range(indptr[i], indptr[i + 1]):
            x, w = np.float64(values[t]), weights[np.uintp(indices[t])]
            size = abs(x)
            bad += not size <= BIGGEST
            if w > 0.0:
                if origin != origin:
                    origin = x
                d = x - origin
                total += w * d
                squares += w * d * d
                largest = size if size > largest else largest
                nonzero += w * (x != 0.0)
                stored += w
        c = i - lo
        anchor[c] = origin
        out[0, c], out[1, c], out[2, c] = total, squares, largest
        out[3, c], out[4, c], out[5, c] = nonzero, bad, stored


@compiled(uses=compressed)
def of_stored_columns(indptr, indices, values, weights, lo, hi, anchor, out):
    """Statistics of columns lo <= l < hi of a CSR design; as ``of_stored_rows``."""
    for i in range(indptr.size - 1):
        w, start, stop = weights[i], np.int64(indptr[i]), np.int64(indptr[i + 1])
        for t in range(first_at_least(indices, start, stop, lo), first_at_least(indices, start, stop, hi)):
            x, c = np.float64(values[t]), indices[t] - lo
            out[4, c] += not abs(x) <= BIGGEST
            if w > 0.0:
                if anchor[c] != anchor[c]:
                    anchor[c] = x
                d = x - anchor[c]
                out[0, c] += w * d
                out[1, c] += w * d * d
                out[2, c] = abs(x) if abs(x) > out[2, c] else out[2, c]
                out[3, c] += w * (x != 0.0)
                out[5, c] += w
