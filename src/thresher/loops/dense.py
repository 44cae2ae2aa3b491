"""Products with a dense array whose rows are contiguous.

A design in Fortran order is such an array transposed, so a loop over rows and one over columns serve both orders.
``A`` may be float32 or float64; everything is summed in float64. Vectors come as the rows of ``V``, so one pass serves
them all. One or few vectors are limited by memory; for many there are loops that take two vectors at a time, so that
each number read, and converted, serves both, with fused multiply-adds. Rows are indexed by unsigned numbers, not cut
into slices: a slice takes as long to compile as a loop.
"""

import numpy as np

from thresher.loops.jit import compiled

BLOCK = 4096  # entries of a row that are summed in one go: they stay in the first-level cache for all of V
WIDE = 2048  # columns whose sums, for all of V, stay in the second-level cache


@compiled(regroup_sums=True)
def row_dots(A, V, lo, hi, out):
    """out[r, i - lo] += sum_l A[i, l] V[r, l] for rows lo <= i < hi.

    Four rows share each load of V. A short last group repeats its last row, so that every row goes through the
    same instructions and its sum does not depend on where lo and hi cut.
    """
    n = A.shape[1]
    for start in range(0, n, BLOCK):
        first = np.uintp(start)
        width = np.uintp(n - start if n - start < BLOCK else BLOCK)
        for i in range(lo, hi, 4):
            i1 = i + (i + 1 < hi)
            i2 = i1 + (i + 2 < hi)
            i3 = i2 + (i + 3 < hi)
            a0, a1, a2, a3 = A[i], A[i1], A[i2], A[i3]
            for r in range(V.shape[0]):
                v, o = V[r], out[r]
                s0 = s1 = s2 = s3 = 0.0
                for j in range(width):
                    x = v[first + j]
                    s0 += a0[first + j] * x
                    s1 += a1[first + j] * x
                    s2 += a2[first + j] * x
                    s3 += a3[first + j] * x
                s0 += o[i - lo]
                s1 += o[i1 - lo]
                s2 += o[i2 - lo]
                s3 += o[i3 - lo]
                o[i - lo] = s0
                o[i1 - lo] = s1  # of a row that is repeated, the same again
                o[i2 - lo] = s2
                o[i3 - lo] = s3


@compiled
def row_sums(A, V, rows, lo, hi, out):
    """out[r, l - lo] += sum over i in rows of V[r, i] A[i, l], for columns lo <= l < hi.

    ``rows`` lists the rows that matter: those where every V[r, i] is zero are not read at all.
    """
    m, low, width = rows.size, np.uintp(lo), np.uintp(hi - lo)
    whole = m - m % 8
    for q in range(0, whole, 8):
        i0, i1, i2, i3 = rows[q], rows[q + 1], rows[q + 2], rows[q + 3]
        i4, i5, i6, i7 = rows[q + 4], rows[q + 5], rows[q + 6], rows[q + 7]
        a0, a1, a2, a3, a4, a5, a6, a7 = A[i0], A[i1], A[i2], A[i3], A[i4], A[i5], A[i6], A[i7]
        for r in range(V.shape[0]):
            v, o = V[r], out[r]
            v0, v1, v2, v3, v4, v5, v6, v7 = v[i0], v[i1], v[i2], v[i3], v[i4], v[i5], v[i6], v[i7]
            for j in range(width):
                t = low + j
                o[j] += ((a0[t] * v0 + a1[t] * v1) + (a2[t] * v2 + a3[t] * v3)) + (
                    (a4[t] * v4 + a5[t] * v5) + (a6[t] * v6 + a7[t] * v7)
                )
    for q in range(whole, m):
        a = A[rows[q]]
        for r in range(V.shape[0]):
            x, o = V[r, rows[q]], out[r]
            for j in range(width):
                o[j] += a[low + j] * x


@compiled(regroup_sums=True, fuse=True)
def paired_row_dots(A, V, lo, hi, out):
    """As ``row_dots``, for an even number of vectors: eight sums, of four rows with two vectors, in registers."""
    n = A.shape[1]
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        for i in range(lo, hi, 4):
            i1, i2, i3 = min(i + 1, hi - 1), min(i + 2, hi - 1), min(i + 3, hi - 1)
            a0, a1, a2, a3 = A[i, start:stop], A[i1, start:stop], A[i2, start:stop], A[i3, start:stop]
            for r in range(0, V.shape[0], 2):
                v, u = V[r, start:stop], V[r + 1, start:stop]
                s0 = s1 = s2 = s3 = t0 = t1 = t2 = t3 = 0.0
                for j in range(v.size):
                    x, y = v[j], u[j]
                    s0 += a0[j] * x
                    t0 += a0[j] * y
                    s1 += a1[j] * x
                    t1 += a1[j] * y
                    s2 += a2[j] * x
                    t2 += a2[j] * y
                    s3 += a3[j] * x
                    t3 += a3[j] * y
                out[r, i - lo] += s0
                out[r + 1, i - lo] += t0
                if i1 > i:
                    out[r, i1 - lo] += s1
                    out[r + 1, i1 - lo] += t1
                if i2 > i1:
                    out[r, i2 - lo] += s2
                    out[r + 1, i2 - lo] += t2
                if i3 > i2:
                    out[r, i3 - lo] += s3
                    out[r + 1, i3 - lo] += t3


@compiled(fuse=True)
def paired_row_sums(A, V, rows, lo, hi, out):
    """As ``row_sums``, for an even number of vectors: eight rows are added to the sums of two vectors in one go.

    Each sum is a chain of products added one by one, so that there is one way only to fuse them, and a column does not
    depend on its neighbours.
    """
    m = rows.size
    whole = m - m % 8
    for start in range(lo, hi, WIDE):
        stop = min(start + WIDE, hi)
        for q in range(0, whole, 8):
            i0, i1, i2, i3 = rows[q], rows[q + 1], rows[q + 2], rows[q + 3]
            i4, i5, i6, i7 = rows[q + 4], rows[q + 5], rows[q + 6], rows[q + 7]
            a0, a1, a2, a3 = A[i0, start:stop], A[i1, start:stop], A[i2, start:stop], A[i3, start:stop]
            a4, a5, a6, a7 = A[i4, start:stop], A[i5, start:stop], A[i6, start:stop], A[i7, start:stop]
            for r in range(0, V.shape[0], 2):
                v0, v1, v2, v3 = V[r, i0], V[r, i1], V[r, i2], V[r, i3]
                v4, v5, v6, v7 = V[r, i4], V[r, i5], V[r, i6], V[r, i7]
                u0, u1, u2, u3 = V[r + 1, i0], V[r + 1, i1], V[r + 1, i2], V[r + 1, i3]
                u4, u5, u6, u7 = V[r + 1, i4], V[r + 1, i5], V[r + 1, i6], V[r + 1, i7]
                o, p = out[r, start - lo : stop - lo], out[r + 1, start - lo : stop - lo]
                for j in range(o.size):  # read first: after a store to ``o`` all would be read again
                    x0, x1, x2, x3, x4, x5, x6, x7 = a0[j], a1[j], a2[j], a3[j], a4[j], a5[j], a6[j], a7[j]
                    s = (((o[j] + x0 * v0) + x1 * v1) + x2 * v2) + x3 * v3
                    t = (((p[j] + x0 * u0) + x1 * u1) + x2 * u2) + x3 * u3
                    o[j] = (((s + x4 * v4) + x5 * v5) + x6 * v6) + x7 * v7
                    p[j] = (((t + x4 * u4) + x5 * u5) + x6 * u6) + x7 * u7
        for q in range(whole, m):
            a = A[rows[q], start:stop]
            for r in range(V.shape[0]):
                v, o = V[r, rows[q]], out[r, start - lo : stop - lo]
                for j in range(o.size):
                    o[j] += a[j] * v
