"""Products with a dense array whose rows are contiguous.

A design in Fortran order is such an array transposed, so these two loops serve both orders. ``A`` may be float32 or
float64; everything is summed in float64. Vectors come as the rows of ``V``, so one pass serves them all.
"""

from thresher.loops.jit import compiled

BLOCK = 4096  # entries of a row that are summed in one go: they stay in the first-level cache for all of V


@compiled(regroup_sums=True)
def row_dots(A, V, lo, hi, out):
    """out[r, i - lo] += sum_l A[i, l] V[r, l] for rows lo <= i < hi.

    Four rows share each load of V. A short last group repeats its last row, so that every row goes through the
    same instructions and its sum does not depend on where lo and hi cut.
    """
    n = A.shape[1]
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        for i in range(lo, hi, 4):
            i1, i2, i3 = min(i + 1, hi - 1), min(i + 2, hi - 1), min(i + 3, hi - 1)
            a0, a1, a2, a3 = A[i, start:stop], A[i1, start:stop], A[i2, start:stop], A[i3, start:stop]
            for r in range(V.shape[0]):
                v = V[r, start:stop]
                s0 = s1 = s2 = s3 = 0.0
                for j in range(v.size):
                    x = v[j]
                    s0 += a0[j] * x
                    s1 += a1[j] * x
                    s2 += a2[j] * x
                    s3 += a3[j] * x
                out[r, i - lo] += s0
                if i1 > i:
                    out[r, i1 - lo] += s1
                if i2 > i1:
                    out[r, i2 - lo] += s2
                if i3 > i2:
                    out[r, i3 - lo] += s3


@compiled
def row_sums(A, V, rows, lo, hi, out):
    """out[r, l - lo] += sum over i in rows of V[r, i] A[i, l], for columns lo <= l < hi.

    ``rows`` lists the rows that matter: those where every V[r, i] is zero are not read at all.
    """
    m = rows.size
    whole = m - m % 8
    for q in range(0, whole, 8):
        i0, i1, i2, i3 = rows[q], rows[q + 1], rows[q + 2], rows[q + 3]
        i4, i5, i6, i7 = rows[q + 4], rows[q + 5], rows[q + 6], rows[q + 7]
        a0, a1, a2, a3 = A[i0, lo:hi], A[i1, lo:hi], A[i2, lo:hi], A[i3, lo:hi]
        a4, a5, a6, a7 = A[i4, lo:hi], A[i5, lo:hi], A[i6, lo:hi], A[i7, lo:hi]
        for r in range(V.shape[0]):
            v0, v1, v2, v3 = V[r, i0], V[r, i1], V[r, i2], V[r, i3]
            v4, v5, v6, v7 = V[r, i4], V[r, i5], V[r, i6], V[r, i7]
            o = out[r]
            for j in range(o.size):
                o[j] += ((a0[j] * v0 + a1[j] * v1) + (a2[j] * v2 + a3[j] * v3)) + (
                    (a4[j] * v4 + a5[j] * v5) + (a6[j] * v6 + a7[j] * v7)
                )
    for q in range(whole, m):
        a = A[rows[q], lo:hi]
        for r in range(V.shape[0]):
            v = V[r, rows[q]]
            o = out[r]
            for j in range(o.size):
                o[j] += a[j] * v
