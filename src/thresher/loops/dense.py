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
                s = s0 + o[i - lo], s1 + o[i1 - lo], s2 + o[i2 - lo], s3 + o[i3 - lo]
                o[i - lo] = s[0]
                o[i1 - lo] = s[1]  # of a row that is repeated, the same again
                o[i2 - lo] = s[2]
                o[i3 - lo] = s[3]


@compiled
def row_sums(A, V, rows, lo, hi, out):
    """out[r, l - lo] += sum over i in rows of V[r, i] A[i, l], for columns lo <= l < hi.

    ``rows`` lists the rows that matter: those where every V[r, i] is zero are not read at all.
    """
    m, low, width = rows.size, np.uintp(lo), np.uintp(hi - lo)
    whole = m - m % 8
    for q in range(0, whole, 8):
        i = rows[q], rows[q + 1], rows[q + 2], rows[q + 3], rows[q + 4], rows[q + 5], rows[q + 6], rows[q + 7]
        a = A[i[0]], A[i[1]], A[i[2]], A[i[3]], A[i[4]], A[i[5]], A[i[6]], A[i[7]]
        for r in range(V.shape[0]):
            w, o = V[r], out[r]
            v = w[i[0]], w[i[1]], w[i[2]], w[i[3]], w[i[4]], w[i[5]], w[i[6]], w[i[7]]
            for j in range(width):
                t = low + j
                o[j] += ((a[0][t] * v[0] + a[1][t] * v[1]) + (a[2][t] * v[2] + a[3][t] * v[3])) + (
                    (a[4][t] * v[4] + a[5][t] * v[5]) + (a[6][t] * v[6] + a[7][t] * v[7])
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
        first = np.uintp(start)
        width = np.uintp(n - start if n - start < BLOCK else BLOCK)
        for i in range(lo, hi, 4):
            i1 = i + (i + 1 < hi)
            i2 = i1 + (i + 2 < hi)
            i3 = i2 + (i + 3 < hi)
            a, at = (A[i], A[i1], A[i2], A[i3]), (i, i1, i2, i3)
            for r in range(0, V.shape[0], 2):
                v, u = V[r], V[r + 1]
                s0 = s1 = s2 = s3 = t0 = t1 = t2 = t3 = 0.0
                for j in range(width):
                    x, y = v[first + j], u[first + j]
                    s0 += a[0][first + j] * x
                    t0 += a[0][first + j] * y
                    s1 += a[1][first + j] * x
                    t1 += a[1][first + j] * y
                    s2 += a[2][first + j] * x
                    t2 += a[2][first + j] * y
                    s3 += a[3][first + j] * x
                    t3 += a[3][first + j] * y
                s, t = (s0, s1, s2, s3), (t0, t1, t2, t3)
                for k in range(4):
                    if k == 0 or at[k] > at[k - 1]:
                        out[r, at[k] - lo] += s[k]
                        out[r + 1, at[k] - lo] += t[k]


@compiled(fuse=True)
def paired_row_sums(A, V, rows, lo, hi, out):
    """As ``row_sums``, for an even number of vectors: eight rows are added to the sums of two vectors in one go.

    Each sum is a chain of products added one by one, so that there is one way only to fuse them, and a column does not
    depend on its neighbours.
    """
    m = rows.size
    whole = m - m % 8
    for start in range(lo, hi, WIDE):
        low, width = np.uintp(start), np.uintp(min(WIDE, hi - start))
        for q in range(0, whole, 8):
            i = rows[q : q + 8]
            a = A[i[0]], A[i[1]], A[i[2]], A[i[3]], A[i[4]], A[i[5]], A[i[6]], A[i[7]]
            for r in range(0, V.shape[0], 2):
                w, z = V[r], V[r + 1]
                v = w[i[0]], w[i[1]], w[i[2]], w[i[3]], w[i[4]], w[i[5]], w[i[6]], w[i[7]]
                u = z[i[0]], z[i[1]], z[i[2]], z[i[3]], z[i[4]], z[i[5]], z[i[6]], z[i[7]]
                o, p = out[r, start - lo :], out[r + 1, start - lo :]
                for j in range(width):  # read first: after a store to ``o`` all would be read again
                    k = low + j
                    x = a[0][k], a[1][k], a[2][k], a[3][k], a[4][k], a[5][k], a[6][k], a[7][k]
                    s = (((o[j] + x[0] * v[0]) + x[1] * v[1]) + x[2] * v[2]) + x[3] * v[3]
                    t = (((p[j] + x[0] * u[0]) + x[1] * u[1]) + x[2] * u[2]) + x[3] * u[3]
                    o[j] = (((s + x[4] * v[4]) + x[5] * v[5]) + x[6] * v[6]) + x[7] * v[7]
                    p[j] = (((t + x[4] * u[4]) + x[5] * u[5]) + x[6] * u[6]) + x[7] * u[7]
        for q in range(whole, m):
            a = A[rows[q], start : start + width]
            for r in range(V.shape[0]):
                v, o = V[r, rows[q]], out[r, start - lo :]
                for j in range(a.size):
                    o[j] += a[j] * v
