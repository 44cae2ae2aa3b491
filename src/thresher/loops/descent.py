"""Rounds of online learning, one example at a time: predict, compute the loss, update, truncate to the budget.

Common arguments. ``rows`` is (order, begins, slots, values, signs, weights): round k sees row order[k] with label
signs[k]; the entries of a row are begins[row] to begins[row + 1]. ``seen`` is (table, ids, place): a row of ``table``
for each feature, its id, and whether it has a weight (dual averaging: position among those kept; negative if none).
``clock`` contains the scalar state, ``params`` the parameters. Scores before each update go into ``scores``. Returns
the number of rounds: all, or those before the first one whose score or loss is not finite.

The methods here read only the example and the features with a weight. ``work`` is (kept, keys): the slots with a
weight, with room for those of one more example, and a sort key for each.
"""

import math

import numpy as np

from thresher.loops.jit import LIGHT, compiled, helper

SQUARED_HINGE, HINGE, LOGISTIC = range(3)
ROUNDS, KEPT, SHIFT, SHIFT_SUM, SHIFT_SPREAD, LOSS, ERROR, CLOCK = range(8)  # positions in ``clock``, and its length
STEP, L1, L2, DELTA, GAMMA, BUDGET, LOSS_KIND, INTERCEPT, N_PARAMS = range(9)  # positions in ``params``, and its length
WEIGHT, SPREAD, LAST = 0, 1, 2  # columns: weight, sum of squared gradients (SOFS: variance), round of the last update


@helper
def _suffered(kind, margin):
    """(loss, minus its slope) at a margin."""
    if kind == LOGISTIC:
        e = math.exp(-abs(margin))
        return math.log1p(e) + (0.0 if margin > 0.0 else -margin), (e if margin > 0.0 else 1.0) / (1.0 + e)
    if margin >= 1.0:
        return 0.0, 0.0
    lack = 1.0 - margin
    return (lack, 1.0) if kind == HINGE else (lack * lack, 2.0 * lack)


@helper
def judged(score, sign, weight, clock, params):
    """Start a round: minus the derivative of the loss in the score; nan if training has diverged."""
    loss, slope = _suffered(params[LOSS_KIND], sign * score)
    clock[LOSS] += weight * loss
    if not math.isfinite(score + clock[LOSS]):
        return np.nan
    clock[ROUNDS] += 1.0
    clock[ERROR] = 0.0
    return sign * slope * weight


@helper
def _part(kept, keys, ids, low, high):
    """Partition positions low to high - 1 around a pivot, larger (key, id) first; returns its position."""
    last, middle = high - 1, low + (high - low) * 40503 % 65536 * (high - low) // 65536  # arbitrary, but deterministic
    kept[middle], kept[last], keys[middle], keys[last] = kept[last], kept[middle], keys[last], keys[middle]
    pivot, name, at = keys[last], ids[kept[last]], low
    for k in range(low, last):
        if keys[k] > pivot or (keys[k] == pivot and ids[kept[k]] > name):
            kept[k], kept[at], keys[k], keys[at] = kept[at], kept[k], keys[at], keys[k]
            at += 1
    kept[at], kept[last], keys[at], keys[last] = kept[last], kept[at], keys[last], keys[at]
    return at


@helper
def _put_first(kept, keys, ids, count, budget):
    """Move the ``budget`` largest of ``count`` to the front; ties: the larger id counts as larger."""
    low, high = np.int64(0), count  # not a literal, for which ``_part`` would be compiled once more
    while high - low > 1:
        at = _part(kept, keys, ids, low, high)
        if at == budget:
            return
        if at < budget:
            low = at + 1
        else:
            high = at


@helper
def _without_zeros(kept, keys, count, seen):
    """Drop features of weight zero; returns how many are left."""
    table, _, place = seen
    left = 0
    for k in range(count):
        slot = kept[k]
        if table[slot, WEIGHT] != 0.0:
            kept[left], keys[left] = slot, keys[k]
            left += 1
        else:
            place[slot] = -1
    return left


@helper
def _cut(kept, keys, count, seen, clock, params):
    """Keep the features with the largest keys within the budget; (sum of the other keys, of their squared weights)."""
    table, ids, place = seen
    budget, lost, squares = count, 0.0, 0.0
    if count > params[BUDGET]:
        budget = np.int64(params[BUDGET])
        _put_first(kept, keys, ids, count, budget)
    for k in range(budget, count):
        lost += keys[k]
        squares += table[kept[k], WEIGHT] * table[kept[k], WEIGHT]
        table[kept[k], WEIGHT] = 0.0
        place[kept[k]] = -1
    clock[KEPT] = budget
    return lost, squares


@helper
def _add_features(row, begins, slots, kept, clock, place):
    """Add the features of the example to those kept; returns their number."""
    count = np.int64(clock[KEPT])
    for e in range(begins[row], begins[row + 1]):
        if place[slots[e]] < 0:
            kept[count], place[slots[e]] = slots[e], 0
            count += 1
    clock[KEPT] = count
    return count


@helper
def _begin(k, rows, seen, clock, params, scores):
    """Predict example k, and start its round: see ``judged``."""
    order, begins, slots, values, signs, weights = rows
    table, _, place = seen
    score = 0.0
    for e in range(begins[order[k]], begins[order[k] + 1]):
        if place[slots[e]] >= 0:
            score += table[slots[e], WEIGHT] * values[e]
    scores[k] = score + clock[SHIFT]
    return judged(scores[k], signs[k], weights[k], clock, params)


@helper
def _scale(slot, table, params):
    """H of a feature."""
    return params[DELTA] + math.sqrt(table[slot, SPREAD])


@helper
def _step(slot, gradient, table, params):
    """The adaptive step of a weight."""
    table[slot, SPREAD] += gradient * gradient
    table[slot, WEIGHT] -= params[STEP] * gradient / _scale(slot, table, params)


@helper
def _step_shift(pull, clock, params):
    """The adaptive step of the intercept."""
    if params[INTERCEPT] > 0.0:
        clock[SHIFT_SPREAD] += pull * pull
        clock[SHIFT] += params[STEP] * pull / (params[DELTA] + math.sqrt(clock[SHIFT_SPREAD]))


@helper
def _cut_by_size(kept, keys, count, seen, clock, params):
    """Keep the features with the largest H |w|; the truncation error is the sum of the others."""
    table = seen[0]
    for k in range(count):
        keys[k] = _scale(kept[k], table, params) * abs(table[kept[k], WEIGHT])
    count = _without_zeros(kept, keys, count, seen)
    clock[ERROR] = _cut(kept, keys, count, seen, clock, params)[0]


@compiled(config=LIGHT)
def mirror_descent(rows, seen, work, clock, params, scores):
    """B-AMD: the penalty is part of the gradient, so that every feature with a weight moves in every round."""
    order, begins, slots, values, _, _ = rows
    table, _, place = seen
    kept, keys = work
    for k in range(order.size):
        row = order[k]
        pull = _begin(k, rows, seen, clock, params, scores)
        if math.isnan(pull):
            return k
        if pull != 0.0:
            for e in range(begins[row], begins[row + 1]):
                _step(slots[e], params[L2] * table[slots[e], WEIGHT] - pull * values[e], table, params)
                table[slots[e], LAST] = clock[ROUNDS]
            _step_shift(pull, clock, params)
        if params[L2] > 0.0:
            for at in range(np.int64(clock[KEPT])):
                if table[kept[at], LAST] != clock[ROUNDS]:
                    _step(kept[at], params[L2] * table[kept[at], WEIGHT], table, params)
        if pull != 0.0 and _add_features(row, begins, slots, kept, clock, place) > params[BUDGET]:
            _cut_by_size(kept, keys, np.int64(clock[KEPT]), seen, clock, params)
    return order.size


@helper
def _shrunk_weight(slot, t, table, params):
    """A weight of Ada-Fobos after round ``t``: since its last update it shrank by the same amount in every round."""
    weight = table[slot, WEIGHT]
    each = params[L1] * params[STEP] / _scale(slot, table, params)
    rest = abs(weight) - (t - table[slot, LAST]) * each
    return math.copysign(rest, weight) if rest > 0.0 else 0.0


@helper
def _shrink(slot, t, table, params):
    """Bring a weight to round ``t``."""
    table[slot, WEIGHT] = _shrunk_weight(slot, t, table, params)
    table[slot, LAST] = t


@compiled(config=LIGHT)
def composite_descent(rows, seen, work, clock, params, scores):
    """Ada-Fobos: a step along the gradient, then all weights shrink; without a budget, untouched ones on demand."""
    order, begins, slots, values, signs, weights = rows
    table, _, place = seen
    kept, keys = work
    for k in range(order.size):
        row, score = order[k], 0.0
        for e in range(begins[row], begins[row + 1]):
            if place[slots[e]] >= 0:
                score += _shrunk_weight(slots[e], clock[ROUNDS], table, params) * values[e]
        scores[k] = score + clock[SHIFT]
        pull = judged(scores[k], signs[k], weights[k], clock, params)
        if math.isnan(pull):
            return k
        if pull != 0.0:
            for e in range(begins[row], begins[row + 1]):
                slot = slots[e]
                _shrink(slot, clock[ROUNDS] - 1.0, table, params)
                _step(slot, -pull * values[e], table, params)
                _shrink(slot, clock[ROUNDS], table, params)
            _step_shift(pull, clock, params)
        if math.isfinite(params[BUDGET]):  # few enough to update all, which breaks ties as in the definition
            for at in range(np.int64(clock[KEPT])):
                _shrink(kept[at], clock[ROUNDS], table, params)
        if pull != 0.0 and _add_features(row, begins, slots, kept, clock, place) > params[BUDGET]:
            _cut_by_size(kept, keys, np.int64(clock[KEPT]), seen, clock, params)
    return order.size


@compiled(config=LIGHT)
def plain_descent(rows, seen, work, clock, params, scores):
    """OFS: weights shrink in every round; after a step they are brought back into a ball, and the largest are kept."""
    order, begins, slots, values, _, _ = rows
    table, _, place = seen
    kept, keys = work
    rest = 1.0 - params[L2] * params[STEP]
    for k in range(order.size):
        row = order[k]
        pull = _begin(k, rows, seen, clock, params, scores)
        if math.isnan(pull):
            return k
        for at in range(np.int64(clock[KEPT])):
            table[kept[at], WEIGHT] *= rest
        if pull == 0.0:
            continue
        for e in range(begins[row], begins[row + 1]):
            table[slots[e], WEIGHT] += params[STEP] * pull * values[e]
        if params[INTERCEPT] > 0.0:
            clock[SHIFT] += params[STEP] * pull
        count, squares = _add_features(row, begins, slots, kept, clock, place), 0.0
        for at in range(count):
            squares += table[kept[at], WEIGHT] * table[kept[at], WEIGHT]
        reach = math.sqrt(params[L2]) * math.sqrt(squares)
        if reach > 1.0:
            for at in range(count):
                table[kept[at], WEIGHT] *= 1.0 / reach
        if count > params[BUDGET]:
            for at in range(count):
                keys[at] = abs(table[kept[at], WEIGHT])
            count = _without_zeros(kept, keys, count, seen)
            clock[ERROR] = math.sqrt(_cut(kept, keys, count, seen, clock, params)[1])
    return order.size


@compiled(config=LIGHT)
def confidence_weighting(rows, seen, work, clock, params, scores):
    """SOFS: AROW with a variance for each feature; those with the least variance keep their weights."""
    order, begins, slots, values, signs, weights = rows
    table, _, place = seen
    kept, keys = work
    for k in range(order.size):
        row = order[k]
        pull = _begin(k, rows, seen, clock, params, scores)
        if math.isnan(pull):
            return k
        if pull == 0.0:
            continue
        gamma, spread = params[GAMMA] / weights[k], 0.0
        for e in range(begins[row], begins[row + 1]):
            x = np.float64(values[e])
            spread += x * x * table[slots[e], SPREAD]
        if params[INTERCEPT] > 0.0:
            spread += clock[SHIFT_SPREAD]
        move = (1.0 - signs[k] * scores[k]) / (spread + gamma) * signs[k]
        for e in range(begins[row], begins[row + 1]):
            x, variance = np.float64(values[e]), table[slots[e], SPREAD]
            table[slots[e], WEIGHT] += move * (variance * x)
            table[slots[e], SPREAD] = 1.0 / (1.0 / variance + x * x / gamma)
        if params[INTERCEPT] > 0.0:
            clock[SHIFT] += move * clock[SHIFT_SPREAD]
            clock[SHIFT_SPREAD] = 1.0 / (1.0 / clock[SHIFT_SPREAD] + 1.0 / gamma)
        count = _add_features(row, begins, slots, kept, clock, place)
        if count > params[BUDGET]:
            for at in range(count):
                keys[at] = -table[kept[at], SPREAD]
            clock[ERROR] = math.sqrt(_cut(kept, keys, count, seen, clock, params)[1])
    return order.size
