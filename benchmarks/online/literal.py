"""B-ARDA as it is written, compiled: every round looks at every feature seen so far.

What can be saved without leaving the letter is saved: X is sparse, features never seen cost nothing, those seen lie
side by side, the loop over them has no branch (it is vectorised), and the B largest are found with a heap of size B,
which begins with those of the round before; it does not sort. Two plainer ways to cut are there to compare with.
"""

import math

import numba
import numpy as np

HEAP, ANEW, SORT = range(3)  # how the B largest are found: a heap that begins with those kept, one begun anew, a sort


@numba.njit
def before(key, name, other, other_name):
    """Whether a feature would be dropped before another: the smaller score, among equals the smaller id."""
    return key < other or (key == other and name < other_name)


@numba.njit
def sink(heap, keys, names, at, size):
    """Let the feature at a place of the heap go down to where it belongs; the one to be dropped first is on top."""
    slot = heap[at]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and before(
            keys[heap[child + 1]], names[heap[child + 1]], keys[heap[child]], names[heap[child]]
        ):
            child += 1
        if not before(keys[heap[child]], names[heap[child]], keys[slot], names[slot]):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = slot


@numba.njit
def truncated(heap, kept, count, seen, budget, keys, names, weights, z):
    """The weights after a cut back to the budget; returns how many are kept."""
    if seen <= budget:
        for slot in range(count, seen):
            heap[slot], kept[slot] = slot, True
        weights[:seen] = z[:seen]
        return seen
    for slot in range(seen):
        if count == budget:
            break
        if not kept[slot]:
            heap[count], kept[slot] = slot, True
            count += 1
    for at in range(budget // 2 - 1, -1, -1):
        sink(heap, keys, names, at, budget)
    least, last = keys[heap[0]], heap[0]
    for slot in range(seen):
        if keys[slot] >= least and not kept[slot] and before(least, names[last], keys[slot], names[slot]):
            kept[last], kept[slot], weights[last] = False, True, 0.0
            heap[0] = slot
            sink(heap, keys, names, 0, budget)
            least, last = keys[heap[0]], heap[0]
    for at in range(budget):
        weights[heap[at]] = z[heap[at]]
    return budget


@numba.njit
def sorted_out(heap, kept, seen, budget, keys, names, weights, z):
    """The same by a stable sort of all features in the order of their ids, as the authors do it."""
    by_name = np.argsort(names[:seen])
    order = by_name[np.argsort(keys[by_name], kind="mergesort")]
    weights[:seen], kept[:seen] = 0.0, False
    for at in range(min(budget, seen)):
        slot = order[seen - 1 - at]
        heap[at], kept[slot], weights[slot] = slot, True, z[slot]
    return min(budget, seen)


@numba.njit
def forgotten(heap, kept, count, weights):
    """Let the next cut begin anew."""
    for at in range(count):
        kept[heap[at]], weights[heap[at]] = False, 0.0
    return 0


@numba.njit
def rounds(order, indptr, indices, values, signs, d, budget, step, l2, delta, cut):
    """Weights, by column, after the rows of ``order``, with the squared hinge and no intercept."""
    slot_of, names = np.full(d, -1, dtype=np.int64), np.zeros(d, dtype=np.int64)
    total, squares, scale = np.zeros(d), np.zeros(d), np.zeros(d)
    keys, z, weights = np.zeros(d), np.zeros(d), np.zeros(d)
    heap, kept = np.zeros(max(budget, 1), dtype=np.int64), np.zeros(d, dtype=np.bool_)
    seen, count = 0, 0
    for k in range(order.size):
        row, t, score = order[k], k + 1.0, 0.0
        for e in range(indptr[row], indptr[row + 1]):
            slot = slot_of[indices[e]]
            if slot >= 0:
                score += weights[slot] * values[e]
        lack = 1.0 - signs[row] * score
        if lack > 0.0:
            pull = signs[row] * (2.0 * lack)
            for e in range(indptr[row], indptr[row + 1]):
                slot = slot_of[indices[e]]
                if slot < 0:
                    slot_of[indices[e]], names[seen], slot = seen, indices[e], seen
                    seen += 1
                gradient = -pull * values[e]
                total[slot] += gradient
                squares[slot] += gradient * gradient
                scale[slot] = delta + math.sqrt(squares[slot])
        growth = l2 * step * t
        for slot in range(seen):
            size = -step * total[slot] / (growth + scale[slot])
            z[slot], keys[slot] = size, scale[slot] * (size * size)
        if cut == SORT:
            count = sorted_out(heap, kept, seen, budget, keys, names, weights, z)
            continue
        if cut == ANEW:
            count = forgotten(heap, kept, count, weights)
        count = truncated(heap, kept, count, seen, budget, keys, names, weights, z)
    found = np.zeros(d)
    for slot in range(seen):
        found[names[slot]] = weights[slot]
    return found


def fit(X, y, *, budget, step_size, l2, delta, passes, seed, cut=HEAP):
    """Weights after ``passes`` random orders of the rows of a CSR matrix, the orders of ``StreamClassifier``."""
    rng = np.random.RandomState(seed)
    order = np.concatenate([rng.permutation(y.size) for _ in range(passes)])
    matrix, signs = (X.indptr, X.indices, X.data), y.astype(np.float64)
    return rounds(order, *matrix, signs, X.shape[1], budget, step_size, l2, delta, cut)
