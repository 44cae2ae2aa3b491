"""Sums of products of sparse columns: for each pair of columns that have a row in common, sum_i v_i z_i z'_i.

Every sum runs over the rows in ascending order, and a term is v_i (z_i z'_i), so that neither the order of the columns
nor pieces and threads change a bit.
"""

import numpy as np

from thresher.loops import compressed
from thresher.loops.compressed import first_at_least
from thresher.loops.jit import compiled, helper

LINEAR, SQUARE, UP, DOWN = range(4)  # rows of ``out`` of column_sums


@compiled
def column_sums(indptr, indices, values, factor, columns, V, lo, hi, out):
    """Sums over ``columns`` lo to hi - 1 of CSC, whose entries are multiplied by ``factor``, for vectors v.

    V (n, k + 1) has these side by side, and behind them the peak of each row. out (4, k, columns) gets sums of v z, of
    v z^2, and of |v z| peak over the rows where v z is positive, and negative.
    """
    for c in range(lo, hi):
        j, f = columns[c], factor[c]
        for r in range(V.shape[1] - 1):
            linear = square = up = down = 0.0
            for t in range(indptr[j], indptr[j + 1]):
                line, z = V[np.uintp(indices[t])], values[t] * f
                a = line[r] * z
                b = a * line[-1]
                linear += a
                square += line[r] * (z * z)
                up += max(b, 0.0)
                down -= min(b, 0.0)
            out[0, r, c], out[1, r, c], out[2, r, c], out[3, r, c] = linear, square, up, down


@compiled
def count_distinct(indptr, rows, values, counts, first, seen, known):
    """Count the distinct values of columns ``first``, first + 1, ..., up to 3, in the rows that count.

    ``seen`` gets their number, ``known`` (3, columns) two of them and how many of these rows have an entry.
    """
    for k in range(indptr.size - 1):
        c = first + k
        for t in range(indptr[k], indptr[k + 1]):
            if counts[np.uintp(rows[t])]:
                known[2, c] += 1.0
                x = values[t] + 0.0
                if seen[c] == 0 or (seen[c] == 1 and x != known[0, c]):
                    known[seen[c], c] = x
                    seen[c] += 1
                elif seen[c] == 2 and x != known[0, c] and x != known[1, c]:
                    seen[c] = 3


@compiled(uses=compressed)
def count_below(indptr, indices, rows, bound, first, last, counts):
    """counts[r] = how many entries of row rows[r] of CSR are in columns below ``bound``."""
    for r in range(first, last):
        i = rows[r]
        counts[r] = first_at_least(indices, indptr[i], indptr[i + 1], bound) - indptr[i]


@helper
def _insert(new, value, start, at, ranks, out):
    """Put an entry where its rank belongs among those from ``start`` to ``at`` - 1."""
    while at > start and ranks[at - 1] > new:
        ranks[at], out[at] = ranks[at - 1], out[at - 1]
        at -= 1
    ranks[at], out[at] = new, value


@compiled
def pick_ranked(indptr, indices, values, factor, rank, rows, bound, first, last, starts, ends, ranks, out):
    """Entries of the rows of CSR in columns below ``bound`` that have a rank, from starts[r] to ends[r], by rank.

    ``ranks`` gets their ranks, ``out`` the values times factor; columns without a rank have -1.
    """
    for r in range(first, last):
        i, at = rows[r], starts[r]
        for t in range(indptr[i], indptr[i + 1]):
            if indices[t] >= bound:
                break
            j = np.uintp(indices[t])
            if rank[j] >= 0:
                _insert(rank[j], values[t] * factor[j], starts[r], at, ranks, out)
                at += 1
        ends[r] = at


@compiled
def add_ranked(ptr, places, values, new, starts, ends, ranks, out):
    """Add the entries of columns with the ranks ``new``, given as CSC whose indices are places of rows."""
    for c in range(new.size):
        for e in range(ptr[c], ptr[c + 1]):
            r = np.uintp(places[e])
            _insert(new[c], values[e] * 1.0, starts[r], ends[r], ranks, out)
            ends[r] += 1


@compiled
def pair_grid(starts, ends, ranks, row_values, v, first, last, sums):
    """sums[t - first, s] += sum_i v_i (z_t z_s) for all pairs of columns s < t, first <= t < last, row after row.

    Row i has the entries starts[i] to ends[i] - 1, by rank; they are read from the end, where few are beyond ``last``.
    """
    for i in range(v.size):
        start = starts[i]
        e = ends[i] - 1 if v[i] != 0.0 else start - 1
        while e >= start and ranks[e] >= last:
            e -= 1
        while e >= start and ranks[e] >= first:
            line, z = sums[np.uintp(ranks[e] - first)], row_values[e] * 1.0
            for u in range(start, e):
                line[np.uintp(ranks[u])] += v[i] * (z * row_values[u])
            e -= 1


@compiled
def pair_sums(
    ptr, rows, values, starts, ends, ranks, row_values, v, begin, first, last, factor, bar, sums, found, scores
):
    """Scores of the pairs of columns s < t, first <= t < last, whose square reaches ``bar``.

    ``ptr``, ``rows``, ``values`` are the columns from ``begin`` on, the next four all columns by rows (``pair_grid``).
    ``sums`` are zero, as long as there are columns, and zero again at the end. Pairs (t, s) go to the columns of
    ``found``, scores, which are the sums times ``factor``, to ``scores``. Returns the column before which there is no
    more room, or ``last``, and the number of pairs.
    """
    count = 0
    for t in range(first, last):
        if count + t > scores.size:
            return t, count
        work = 0
        for e in range(ptr[t - begin], ptr[t - begin + 1]):
            i = np.uintp(rows[e])
            a, z = v[i], values[e]
            u, stop = starts[i], ends[i]
            work += stop - u
            while u < stop and ranks[u] < t:
                sums[np.uintp(ranks[u])] += a * (z * row_values[u])
                u += 1
        if work > t:  # else fewer sums than columns are not zero: their entries are visited again
            for s in range(t):
                x = sums[s] * factor
                if x != 0.0 and x * x >= bar:
                    found[0, count], found[1, count], scores[count] = t, s, x
                    count += 1
                sums[s] = 0.0
            continue
        for e in range(ptr[t - begin], ptr[t - begin + 1]):
            i = np.uintp(rows[e])
            u, stop = starts[i], ends[i]
            while u < stop and ranks[u] < t:
                s = np.uintp(ranks[u])
                x = sums[s] * factor
                if x != 0.0 and x * x >= bar:
                    found[0, count], found[1, count], scores[count] = t, s, x
                    count += 1
                sums[s] = 0.0
                u += 1
    return last, count


@helper
def _passes(sums, factor, gates, bars):
    """Whether the scores of a pair, its sums times factor, reach the bar of a gate."""
    r = 0
    for g in range(gates.size):
        total, some = 0.0, False
        for _ in range(gates[g]):
            x = sums[r] * factor
            total += x * x
            some |= x != 0.0
            r += 1
        if some and total >= bars[g]:
            return True
    return False


@helper
def _harvest(sums, t, s, factor, gates, bars, found, scores, count):
    """Note the pair (t, s) if its scores pass, set its sums to zero, and return how many there are now."""
    if _passes(sums, factor, gates, bars):
        found[0, count], found[1, count] = t, s
        for r in range(sums.size):
            scores[r, count] = sums[r] * factor
        count += 1
    for r in range(sums.size):
        sums[r] = 0.0
    return count


@compiled
def pair_sums_of_many(
    ptr, rows, values, starts, ends, ranks, row_values, V, begin, first, last, factor, gates, bars, sums, found, scores
):
    """As ``pair_sums``, for the columns of V (n, k); a pair is found if it reaches the bar of one of the gates.

    A gate has some vectors, one after the other, and compares the sum of the squares of their scores with its bar.
    ``sums`` is (columns, k), ``scores`` (k, room).
    """
    count, k = 0, V.shape[1]
    for t in range(first, last):
        if count + t > scores.shape[1]:
            return t, count
        work = 0
        for e in range(ptr[t - begin], ptr[t - begin + 1]):
            i = np.uintp(rows[e])
            a, z = V[i], values[e]
            u, stop = starts[i], ends[i]
            work += stop - u
            while u < stop and ranks[u] < t:
                s, x = sums[np.uintp(ranks[u])], z * row_values[u]
                for r in range(k):
                    s[r] += a[r] * x
                u += 1
        if work > t:
            for s in range(t):
                count = _harvest(sums[s], t, s, factor, gates, bars, found, scores, count)
            continue
        for e in range(ptr[t - begin], ptr[t - begin + 1]):
            i = np.uintp(rows[e])
            u, stop = starts[i], ends[i]
            while u < stop and ranks[u] < t:
                s = np.uintp(ranks[u])
                count = _harvest(sums[s], t, s, factor, gates, bars, found, scores, count)
                u += 1
    return last, count


@helper
def _meet(indices, values, s, stop, t, end, out_indices, out_values, at):
    """Multiply the entries s to stop and t to end where they have a row in common; returns where the next one goes.

    With out_indices of length 0 they are counted only.
    """
    while s < stop and t < end:
        i, other = indices[s], indices[t]
        if i == other:
            if out_indices.size:
                out_indices[at], out_values[at] = i, values[s] * values[t]
            at += 1
        s += 1 if i <= other else 0
        t += 1 if other <= i else 0
    return at


@compiled
def meeting(indptr, indices, values, first, second, ends, out_indices, out_values):
    """Products of columns first[c] and second[c] of CSC, one after the other; those with second[c] < 0 as they are.

    ``ends`` (c + 1) gets where each begins; with out_indices of length 0 nothing is written but that.
    """
    at = 0
    ends[0] = 0
    for c in range(first.size):
        s, stop = indptr[first[c]], indptr[first[c] + 1]
        if second[c] < 0:
            if out_indices.size:
                for t in range(s, stop):
                    out_indices[at + t - s], out_values[at + t - s] = indices[t], values[t]
            at += stop - s
        else:
            t, end = indptr[second[c]], indptr[second[c] + 1]
            at = _meet(indices, values, s, stop, t, end, out_indices, out_values, at)
        ends[c + 1] = at
