"""Products with columns of zeros and one other number, D for each input, which are stored as one level for each entry.

Input j has the entries indptr[j] to indptr[j + 1]: a row and a level from 1 to D each, rows ascending. Number l of the
input, from 1, is amplitudes[j, l - 1] in the rows whose level is at least l, and zero in all others. Sums are float64
and run over the entries of one input, in the order of storage, then over its levels: no cut into ranges changes them.
"""

import numpy as np

from thresher.loops import compressed
from thresher.loops.compressed import first_at_least
from thresher.loops.jit import LIGHT, compiled


@compiled(config=LIGHT)
def find_levels(indptr, values, factor, edges, out):
    """out[t] = how many of the ascending edges[j] are below |values[t]| factor[j], for the entries t of input j."""
    for j in range(indptr.size - 1):
        for t in range(indptr[j], indptr[j + 1]):
            u = abs(np.float64(values[t])) * factor[j]
            start, stop = 0, edges.shape[1]
            while start < stop:
                middle = (start + stop) // 2
                if edges[j, middle] < u:
                    start = middle + 1
                else:
                    stop = middle
            out[t] = start


@compiled(config=LIGHT)
def correlate(indptr, indices, levels, amplitudes, V, first, last, sums, out):
    """out[r, (j - first) D + l] = sum_i X[i, j D + l] V[r, i] for the inputs first <= j < last; sums has D + 1 places.

    A histogram over the levels, then its sums from the top.
    """
    size = amplitudes.shape[1]
    for j in range(first, last):
        for r in range(V.shape[0]):
            v, o = V[r], out[r]
            sums[:] = 0.0
            for t in range(indptr[j], indptr[j + 1]):
                sums[np.uintp(levels[t])] += v[np.uintp(indices[t])]
            total, begin = 0.0, (j - first) * size
            for level in range(size, 0, -1):
                total += sums[level]
                o[begin + level - 1] = total * amplitudes[j, level - 1]


@compiled(config=LIGHT, uses=compressed)
def combine(indptr, indices, levels, amplitudes, W, lo, hi, sums, out):
    """out[r, i - lo] += sum over all inputs and numbers of X[i, j D + l] W[r, j D + l] for rows lo <= i < hi.

    sums has D + 1 places. Inputs without weight are not read.
    """
    size = amplitudes.shape[1]
    for j in range(indptr.size - 1):
        start, stop = -1, -1
        for r in range(W.shape[0]):
            w, o = W[r], out[r]
            total, some = 0.0, False
            sums[0] = 0.0
            for level in range(1, size + 1):
                weight = w[j * size + level - 1]
                some = some or weight != 0.0
                total += weight * amplitudes[j, level - 1]
                sums[level] = total
            if some:
                if start < 0:
                    start = first_at_least(indices, indptr[j], indptr[j + 1], lo)
                    stop = first_at_least(indices, start, indptr[j + 1], hi)
                for t in range(start, stop):
                    o[np.uintp(indices[t] - lo)] += sums[np.uintp(levels[t])]


@compiled(config=LIGHT)
def write_columns(indptr, indices, levels, amplitudes, ids, out):
    """out[k, i] = X[i, ids[k]] for all rows i; ``out`` is zero."""
    size = amplitudes.shape[1]
    for k in range(ids.size):
        j, level = ids[k] // size, ids[k] % size + 1
        for t in range(indptr[j], indptr[j + 1]):
            if levels[t] >= level:
                out[k, np.uintp(indices[t])] = amplitudes[j, level - 1]


@compiled(config=LIGHT)
def squares(scores, size, out):
    """out[j] = the sum of the squares of the numbers j size to (j + 1) size - 1 in all rows of ``scores``."""
    for j in range(out.size):
        total = 0.0
        for r in range(scores.shape[0]):
            for place in range(j * size, (j + 1) * size):
                total += scores[r, place] * scores[r, place]
        out[j] = total
