"""Quadratic forms v'Kv of the kernel of one column, and the trace of the centred kernel, without n x n matrices.

A column is a list of its non-zero entries by ascending value; rows that are not in it are zero. Equal values are added
up first: d distinct values cost O(d^2) operations for RBF kernels, or O(d) times the number of waves of a Fourier
series where that is less, and O(d) for the others.
"""

import math

from thresher.loops.jit import compiled, helper

RBF, LAPLACE, POLYNOMIAL = range(3)
PAIRED_VALUES = 128  # distinct values up to which the sums of an RBF kernel are taken over all pairs
SERIES_DIGITS = 32.5  # -log of what a Fourier series leaves out of a kernel of largest value 1: 7.7e-15
NEGLIGIBLE_EXPONENT = 40.0  # exp(-40) is nothing beside 1
SHIFT, FACTOR, GAMMA = range(3)  # columns of ``table``
KIND, DEGREE, CONSTANT, COUNTED = range(4)  # entries of ``settings``


@helper
def _grouped(begin, end, rows, values, V, absent, work):
    """The distinct values of a column and the sums of V over each, into ``work``; how many there are.

    The last row of V has the totals, from which the sum over the zeros that are not stored follows.
    """
    m, n, d, zero = V.shape[1], V.shape[0] - 1, 0, -1
    for t in range(begin, end + 1):
        x = values[t] if t < end else 1.0  # after the last: a zero that is not stored comes before
        if x > 0.0 and zero < 0 and absent > 0:
            zero, work[d, 0] = d, 0.0
            work[d, 1 : 1 + m] = 0.0
            d += 1
        if t < end:
            if d == 0 or work[d - 1, 0] != x:
                work[d, 0] = x
                work[d, 1 : 1 + m] = 0.0
                d += 1
            for r in range(m):
                work[d - 1, 1 + r] += V[rows[t], r]
    if zero >= 0:
        for r in range(m):
            rest = 0.0
            for u in range(d):
                rest += work[u, 1 + r]
            work[zero, 1 + r] = V[n, r] - rest
    return d


@helper
def _weighted_variance(work, d, m, total):
    """Weighted variance of the distinct values; the last of the m sums are the weights."""
    mean = 0.0
    for u in range(d):
        mean += work[u, m] * (work[u, 0] - work[0, 0])
    mean = work[0, 0] + mean / total
    variance = 0.0
    for u in range(d):
        variance += work[u, m] * (work[u, 0] - mean) ** 2
    return variance / total


@helper
def _pairs(work, d, m, g, c, out):
    """out[r, c] = sum over i < k of V_i V_k (1 - exp(-g (z_k - z_i)^2)); beyond reach that is V_i V_k."""
    for r in range(m):
        work[d - 1, 1 + m + r] = work[d - 1, 1 + r]
        for u in range(d - 2, -1, -1):
            work[u, 1 + m + r] = work[u + 1, 1 + m + r] + work[u, 1 + r]  # sums of all from u on
    reach = math.sqrt(NEGLIGIBLE_EXPONENT / g)
    for i in range(d - 1):
        far = d
        work[i, 1 + 2 * m : 1 + 3 * m] = 0.0
        for k in range(i + 1, d):
            away = work[k, 0] - work[i, 0]
            if away > reach:
                far = k
                break
            e = -math.expm1(-g * away * away)
            for r in range(m):
                work[i, 1 + 2 * m + r] += work[k, 1 + r] * e
        for r in range(m):
            rest = work[far, 1 + m + r] if far < d else 0.0
            out[r, c] += work[i, 1 + r] * (work[i, 1 + 2 * m + r] + rest)


@helper
def _waves(work, d, m, g, count, c, out):
    """As ``_pairs``, by the Fourier series of the kernel with ``count`` waves, for values between 0 and 1.

    The kernel is repeated with a period that leaves its next copy smaller than exp(-SERIES_DIGITS). The sum over
    i < k of V_i V_k (1 - K) is half of (sum V)^2 less the sum of squares of the waves. With a small gamma these two are
    nearly equal: cosines are taken less 1, and of angles from the mean, so that no digits are lost in the difference.
    """
    period = 1.0 + math.sqrt(SERIES_DIGITS / g)
    step = 2.0 * math.pi / period
    work[:count, 1 + m : 1 + 3 * m] = 0.0
    weight = mean = 0.0
    for u in range(d):
        weight += work[u, m]
        mean += work[u, m] * work[u, 0]
    mean /= weight
    for u in range(d):
        angle = step * (work[u, 0] - mean)
        a, b = -2.0 * math.sin(0.5 * angle) ** 2, math.sin(angle)
        cos, sin = a, b  # of k + 1 times the angle; the cosine less 1
        for k in range(count):
            for r in range(m):
                v = work[u, 1 + r]
                work[k, 1 + m + 2 * r] += v * cos
                work[k, 2 + m + 2 * r] += v * sin
            cos, sin = cos + a + cos * a - sin * b, sin + b + cos * b + sin * a
    for r in range(m):
        total = 0.0
        for u in range(d):
            total += work[u, 1 + r]
        for k in range(count):
            amplitude = math.sqrt(math.pi / g) / period * math.exp(-((step * (k + 1)) ** 2) / (4.0 * g))
            cos, sin = work[k, 1 + m + 2 * r], work[k, 2 + m + 2 * r]
            out[r, c] -= amplitude * ((2.0 * total + cos) * cos + sin * sin)


@helper
def _laplace(work, d, m, g, c, out):
    """out[r, c] = sum over i < k of V_i V_k (1 - exp(-g (z_k - z_i))), from value to value."""
    for r in range(m):
        before = inner = 0.0  # sums of V_i, and of V_i (1 - exp(-g (z - z_i))), over the values before z
        for u in range(1, d):
            drop = -math.expm1(-g * (work[u, 0] - work[u - 1, 0]))
            before += work[u - 1, 1 + r]
            inner = drop * before + (1.0 - drop) * inner
            out[r, c] += work[u, 1 + r] * inner


@helper
def _polynomial(work, d, m, g, degree, constant, total, c, out):
    """Forms of all vectors but the last, and the trace, of (g x z + constant)^degree: powers of x, each centred."""
    binomial = 1.0
    for power in range(1, degree + 1):
        binomial *= (degree - power + 1) / power
        share = binomial * constant ** (degree - power) * g**power
        if share == 0.0:
            continue
        first, mean = work[0, 0] ** power, 0.0
        for u in range(d):
            mean += work[u, m] * (work[u, 0] ** power - first)
        mean /= total
        for r in range(m):
            form = 0.0
            for u in range(d):
                x = work[u, 0] ** power - first - mean
                form += work[u, 1 + r] * (x if r < m - 1 else x * x)
            out[r, c] += share * (form * form if r < m - 1 else form)


@compiled
def forms(indptr, rows, values, V, table, settings, work, out):
    """Fill out (m + 1, columns), zeroed: v'Kv / trace of the m - 1 vectors v, the trace, and gamma.

    V is (n + 1, m): vectors that sum to zero and last the weights; its last row has the sums. ``table`` (columns, 3):
    x becomes (x - shift) * factor; gamma is chosen by the variance if it is nan. ``settings``: kind of kernel, degree,
    constant, and in how many rows there is weight; rows without are in no column. ``work`` has 3 m + 1 columns.
    """
    m, kind, total = V.shape[1], int(settings[KIND]), V[V.shape[0] - 1, V.shape[1] - 1]
    for c in range(indptr.size - 1):
        absent = int(settings[COUNTED]) - (indptr[c + 1] - indptr[c])
        d = _grouped(indptr[c], indptr[c + 1], rows, values, V, absent, work)
        for u in range(d):
            work[u, 0] = (work[u, 0] - table[c, SHIFT]) * table[c, FACTOR]
        if d < 2 or not work[d - 1, 0] > work[0, 0]:
            continue
        origin, width = 0.0, 1.0
        if kind != POLYNOMIAL:  # these kernels depend on differences: values go to 0..1
            origin, width = work[0, 0], work[d - 1, 0] - work[0, 0]
            for u in range(d):
                work[u, 0] = (work[u, 0] - origin) / width
        g = table[c, GAMMA] * (width if kind == LAPLACE else width * width)
        if g != g:
            variance = _weighted_variance(work, d, m, total)
            g = 0.5 / variance if kind == RBF else 1.0 / (math.sqrt(variance) if kind == LAPLACE else variance)
        if kind == POLYNOMIAL:
            _polynomial(work, d, m, g, int(settings[DEGREE]), settings[CONSTANT], total, c, out)
        else:
            count = math.ceil((1.0 + math.sqrt(SERIES_DIGITS / g)) * math.sqrt(SERIES_DIGITS * g) / math.pi)
            if kind == LAPLACE:
                _laplace(work, d, m, g, c, out)
            elif d <= PAIRED_VALUES or 2.0 * count > d:
                _pairs(work, d, m, g, c, out)
            else:
                _waves(work, d, m, g, int(count), c, out)
            for r in range(m - 1):
                out[r, c] *= -2.0
            out[m - 1, c] *= 2.0 / total
        trace = out[m - 1, c]
        for r in range(m - 1):
            out[r, c] = max(out[r, c], 0.0) / trace if trace > 0.0 else 0.0
        out[m, c] = g / (width if kind == LAPLACE else width * width)
