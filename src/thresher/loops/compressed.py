"""Products with a compressed sparse array: CSR by rows, or CSC by columns, which is CSR transposed.

Indices within a row are sorted and occur once (the door sees to it). Sums are float64 and run in the order of
storage, so no cut into ranges can change them. Indices are used as unsigned numbers: Numba then leaves out the code
for negative ones, which costs a fifth of the time.
"""

import numpy as np

from thresher.loops.jit import compiled, helper


@helper
def _first_at_least(indices, start, stop, bound):
    """Position of the first index >= bound in indices[start:stop]."""
    while start < stop:
        middle = (start + stop) // 2
        if indices[middle] < bound:
            start = middle + 1
        else:
            stop = middle
    return start


@compiled
def gather(indptr, indices, values, V, lo, hi, out):
    """out[r, i - lo] += sum_l A[i, l] V[r, l] for rows lo <= i < hi."""
    for i in range(lo, hi):
        start, stop = indptr[i], indptr[i + 1]
        for r in range(V.shape[0]):
            v = V[r]
            s0 = s1 = 0.0
            t = start
            while t + 1 < stop:
                s0 += values[t] * v[np.uintp(indices[t])]
                s1 += values[t + 1] * v[np.uintp(indices[t + 1])]
                t += 2
            if t < stop:
                s0 += values[t] * v[np.uintp(indices[t])]
            out[r, i - lo] += s0 + s1


@compiled
def scatter(indptr, indices, values, V, lo, hi, out):
    """out[r, l - lo] += sum_i V[r, i] A[i, l] for columns lo <= l < hi; rows with V[r, i] = 0 are skipped."""
    for i in range(indptr.size - 1):
        start, stop = -1, -1
        for r in range(V.shape[0]):
            v = V[r, i]
            if v != 0.0:
                if start < 0:
                    start = _first_at_least(indices, indptr[i], indptr[i + 1], lo)
                    stop = _first_at_least(indices, start, indptr[i + 1], hi)
                o = out[r]
                for t in range(start, stop):
                    o[np.uintp(indices[t] - lo)] += values[t] * v


@compiled
def gather_many(indptr, indices, values, V, lo, hi, out):
    """out[i - lo, r] += sum_l A[i, l] V[l, r] for rows lo <= i < hi: all vectors at one place."""
    for i in range(lo, hi):
        o = out[i - lo]
        for t in range(indptr[i], indptr[i + 1]):
            x, v = values[t], V[np.uintp(indices[t])]
            for r in range(o.size):
                o[r] += x * v[r]


@compiled
def scatter_many(indptr, indices, values, V, lo, hi, out):
    """out[l - lo, r] += sum_i V[i, r] A[i, l] for columns lo <= l < hi: all vectors at one place."""
    for i in range(indptr.size - 1):
        v = V[i]
        start = _first_at_least(indices, indptr[i], indptr[i + 1], lo)
        stop = _first_at_least(indices, start, indptr[i + 1], hi)
        for t in range(start, stop):
            x, o = values[t], out[np.uintp(indices[t] - lo)]
            for r in range(o.size):
                o[r] += x * v[r]


@compiled
def inspect(indptr, indices, width):
    """Look at every index once: (position of the first one outside 0..width-1 or -1, are all rows sorted and unique).

    Reads nothing through an index, so it is safe on any input whose indptr has been checked.
    """
    canonical = True
    for i in range(indptr.size - 1):
        previous = -1
        for t in range(indptr[i], indptr[i + 1]):
            j = indices[t]
            if j < 0 or j >= width:
                return t, False
            if j <= previous:
                canonical = False
            previous = j
    return -1, canonical


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
def count_columns(indices, place, counts):
    """counts[place[l]] += 1 for every stored A[i, l] with place[l] >= 0."""
    for column in indices:
        q = place[column]
        if q >= 0:
            counts[q] += 1


@compiled
def pick_columns(indptr, indices, values, place, at, new_indices, new_values):
    """Write the columns with place[l] >= 0 as rows of the transposed array; ``at`` holds where each one starts."""
    for i in range(indptr.size - 1):
        for t in range(indptr[i], indptr[i + 1]):
            q = place[indices[t]]
            if q >= 0:
                new_indices[at[q]] = i
                new_values[at[q]] = values[t]
                at[q] += 1


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


@compiled
def scatter_rows(indptr, indices, values, rows, v, out):
    """out[l] += sum_g v[g] A[rows[g], l]."""
    for g in range(rows.size):
        x = v[g]
        for t in range(indptr[rows[g]], indptr[rows[g] + 1]):
            out[np.uintp(indices[t])] += values[t] * x


@compiled
def gather_squares(indptr, indices, values, v, out):
    """out[i] += sum_l A[i, l]^2 v[l]."""
    for i in range(indptr.size - 1):
        total = 0.0
        for t in range(indptr[i], indptr[i + 1]):
            x = np.float64(values[t])
            total += x * x * v[np.uintp(indices[t])]
        out[i] += total


@compiled
def scatter_squares(indptr, indices, values, v, out):
    """out[l] += sum_i A[i, l]^2 v[i]; rows with v[i] = 0 are skipped."""
    for i in range(indptr.size - 1):
        if v[i] != 0.0:
            for t in range(indptr[i], indptr[i + 1]):
                x = np.float64(values[t])
                out[np.uintp(indices[t])] += x * x * v[i]
