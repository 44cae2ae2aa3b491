"""Products with a compressed sparse array: CSR by rows, or CSC by columns, which is CSR transposed.

Indices within a row are sorted and occur once (input validation sees to it). Sums are float64 and run in the order of
storage, so no cut into ranges can change them. Indices are used as unsigned numbers: Numba then leaves out the code
for negative ones, which costs a fifth of the time.
"""

import numpy as np

from thresher.loops.jit import LANES, compiled, helper


@helper
def first_at_least(indices, start, stop, bound):
    """Position of the first index >= bound in indices[start:stop]."""
    while start < stop:
        middle = (start + stop) >> 1
        if indices[middle] < bound:
            start = middle + 1
        else:
            stop = middle
    return start


@compiled
def gather(indptr, indices, values, v, lo, hi, out):
    """out[i - lo] += sum_l A[i, l] v[l] for rows lo <= i < hi."""
    for i in range(lo, hi):
        t, stop = indptr[i], indptr[i + 1]
        s0 = s1 = 0.0
        while t + 1 < stop:
            s0 += values[t] * v[np.uintp(indices[t])]
            s1 += values[t + 1] * v[np.uintp(indices[t + 1])]
            t += 2
        if t < stop:
            s0 += values[t] * v[np.uintp(indices[t])]
        out[i - lo] += s0 + s1


@compiled
def scatter(indptr, indices, values, rows, v, lo, hi, squared, out):
    """out[l - lo] += sum_g v[g] A[rows[g], l] for columns lo <= l < hi; of the squares of A if ``squared``."""
    for g in range(rows.size):
        start, stop, x = np.int64(indptr[rows[g]]), np.int64(indptr[rows[g] + 1]), v[g]
        for t in range(first_at_least(indices, start, stop, lo), first_at_least(indices, start, stop, hi)):
            y = np.float64(values[t])
            out[np.uintp(indices[t] - lo)] += (y * y if squared else y) * x


@helper
def _plus(sums, x, v, at):
    """``sums`` + x v[at : at + 4]."""
    return sums[0] + x * v[at], sums[1] + x * v[at + 1], sums[2] + x * v[at + 2], sums[3] + x * v[at + 3]


@helper
def _write(sums, others, out, at, i):
    """Add both sums to the rows ``at`` to ``at`` + 3 of ``out``, as far as there are any."""
    out[at, i] += sums[0] + others[0]
    if out.shape[0] > at + 1:
        out[at + 1, i] += sums[1] + others[1]
    if out.shape[0] > at + 2:
        out[at + 2, i] += sums[2] + others[2]
    if out.shape[0] > at + 3:
        out[at + 3, i] += sums[3] + others[3]


@compiled(config=LANES)
def gather_four(indptr, indices, values, V, lo, hi, out):
    """As ``gather``, and equal to it bit for bit, for up to four vectors: the columns of V (n, 4).

    The vectors at one place share a cache line and the look-up of an index; eight sums, of even and odd entries, stay
    in registers. ``out`` has as many rows as are wanted.
    """
    for i in range(lo, hi):
        t, stop = indptr[i], indptr[i + 1]
        even = odd = (0.0, 0.0, 0.0, 0.0)
        while t + 1 < stop:
            even = _plus(even, values[t], V[np.uintp(indices[t])], 0)
            odd = _plus(odd, values[t + 1], V[np.uintp(indices[t + 1])], 0)
            t += 2
        if t < stop:
            even = _plus(even, values[t], V[np.uintp(indices[t])], 0)
        _write(even, odd, out, 0, i - lo)


@compiled(config=LANES)
def gather_eight(indptr, indices, values, V, lo, hi, out):
    """As ``gather_four``, for five to eight vectors: half the look-ups, each of a whole cache line."""
    for i in range(lo, hi):
        t, stop = indptr[i], indptr[i + 1]
        even = odd = upper_even = upper_odd = (0.0, 0.0, 0.0, 0.0)
        while t + 1 < stop:
            x, v = values[t], V[np.uintp(indices[t])]
            even, upper_even = _plus(even, x, v, 0), _plus(upper_even, x, v, 4)
            y, u = values[t + 1], V[np.uintp(indices[t + 1])]
            odd, upper_odd = _plus(odd, y, u, 0), _plus(upper_odd, y, u, 4)
            t += 2
        if t < stop:
            x, v = values[t], V[np.uintp(indices[t])]
            even, upper_even = _plus(even, x, v, 0), _plus(upper_even, x, v, 4)
        _write(even, odd, out, 0, i - lo)
        _write(upper_even, upper_odd, out, 4, i - lo)


@compiled
def scatter_many(indptr, indices, values, V, lo, hi, at, tile, out):
    """As ``scatter``, with the vectors as the columns of V (n, k), for as many columns at a time as ``tile`` has rows.

    ``tile`` (columns, k) should fit a cache; ``at`` (n,) is room for where each row stands. A row is read from where
    it was left, so the order of each sum does not depend on the size of the tile.
    """
    n, width = indptr.size - 1, tile.shape[0]
    for i in range(n):
        at[i] = first_at_least(indices, np.int64(indptr[i]), np.int64(indptr[i + 1]), lo)
    for start in range(lo, hi, width):
        end = min(start + width, hi)
        tile[:] = 0.0
        for i in range(n):
            t, stop, v = at[i], indptr[i + 1], V[i]
            while t < stop and indices[t] < end:
                x, o = values[t], tile[np.uintp(indices[t] - start)]
                for r in range(o.size):
                    o[r] += x * v[r]
                t += 1
            at[i] = t
        for r in range(out.shape[0]):
            o = out[r, start - lo : end - lo]
            for j in range(o.size):
                o[j] += tile[j, r]


@compiled
def pick_rows(indptr, indices, values, rows, new_indices, new_values):
    """Copy the given rows one after the other into new_indices and new_values."""
    at = 0
    for i in rows:
        for t in range(indptr[i], indptr[i + 1]):
            new_indices[at] = indices[t]
            new_values[at] = values[t]
            at += 1


@compiled
def count_entries(indptr, indices, place, first, last, counts):
    """counts[place[l]] += 1 for every stored A[i, l] with place[l] >= 0, in rows first <= i < last."""
    for t in range(indptr[first], indptr[last]):
        q = place[np.uintp(indices[t])]
        if q >= 0:
            counts[q] += 1


@compiled
def pick_columns(indptr, indices, values, place, first, last, at, new_indices, new_values):
    """Write the columns with place[l] >= 0, of rows first <= i < last, as rows of the transposed array.

    ``at`` holds where the entries of each column go.
    """
    for i in range(first, last):
        for t in range(indptr[i], indptr[i + 1]):
            q = place[np.uintp(indices[t])]
            if q >= 0:
                new_indices[at[q]] = i
                new_values[at[q]] = values[t]
                at[q] += 1


@compiled
def transpose_range(indptr, indices, values, lo, hi, at, new_indices, new_values):
    """Write the columns lo <= l < hi as rows of the transposed array; ``at`` holds where each of them starts.

    Without room (new_indices of size 0) entries are only counted, in ``at``: one loop is compiled sooner than two.
    """
    writes = new_indices.size > 0
    for i in range(indptr.size - 1):
        t, stop = np.int64(indptr[i]), np.int64(indptr[i + 1])
        t, stop = first_at_least(indices, t, stop, lo), first_at_least(indices, t, stop, hi)
        while t < stop:
            j = np.uintp(indices[t] - lo)
            if writes:
                new_indices[np.uintp(at[j])] = i
                new_values[np.uintp(at[j])] = values[t]
            at[j] += 1
            t += 1


@compiled
def pick_kept(indptr, indices, values, rows, place, starts, new_indices, new_values):
    """Copy what the given rows hold at places with place[l] >= 0, under its new place; row g begins at starts[g]."""
    at = 0
    for g in range(rows.size):
        for t in range(indptr[rows[g]], indptr[rows[g] + 1]):
            q = place[np.uintp(indices[t])]
            if q >= 0:
                new_indices[at] = q
                new_values[at] = values[t]
                at += 1
        starts[g + 1] = at
