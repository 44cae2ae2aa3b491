"""Dual averaging (B-ARDA, l1-ARDA), where the weight of every feature ever seen changes in every round.

Arguments are those of ``descent``. The features kept are in a tournament tree that the lowest score wins, the others in
one that the highest score wins; while the latter exceeds the former, the two features are exchanged. Slots go from
loop to loop as 64-bit numbers, so that each loop is compiled once.

For a feature not updated, the root of its score is root(H) (|G| - l1 t) / (H + l2 step t) with l1 or l2 zero: the order
of two features changes at most once, at a round that can be computed. So each match stores until which round its result
is valid, each node the earliest such round below it, and a round replays only what was updated or has expired. Features
with a score below a floor are not in the tree: their score only decreases until the next update. If the worst feature
kept falls below the floor, all features are checked and the floor is lowered.
"""

import math

import numpy as np

from thresher.loops import descent
from thresher.loops.descent import (
    BUDGET,
    DELTA,
    INTERCEPT,
    KEPT,
    L1,
    L2,
    ROUNDS,
    SHIFT,
    SHIFT_SPREAD,
    SHIFT_SUM,
    STEP,
    judged,
)
from thresher.loops.jit import LIGHT, compiled, helper

GRADIENTS, SQUARES = 0, 1  # columns of the table: their sum, the sum of their squares
NEAR = 1e-13  # relative; rounding of scores stays well below
TINY = 1e-290  # scores below may be on the way to underflow
IDLE, PLAYS = -1, -2  # in ``place``, of features not kept: below the floor, or in the tree
FLOOR, TOUCHES, LEEWAY, PACE = range(4)  # positions in ``pace``, and its length
FIRST, NEAREST = 1.5, 1.1  # leeway: how far below the worst feature kept the floor is, as a factor
MANY = 8  # if more than one in MANY features has matches to replay, all matches are replayed


@helper
def _scale(slot, table, params):
    """H of a feature."""
    return params[DELTA] + math.sqrt(table[slot, SQUARES])


@helper
def _weight(total, scale, cut, growth, step):
    """The weight for a sum of gradients, before truncation; ``cut`` is l1 t, ``growth`` is l2 step t."""
    z = step * max(abs(total) - cut, 0.0) / (growth + scale)
    return -z if total > 0.0 else z


@helper
def _averaged(slot, t, table, params):
    """The weight of a feature after ``t`` rounds, before truncation."""
    growth = params[L2] * params[STEP] * t
    return _weight(table[slot, GRADIENTS], _scale(slot, table, params), params[L1] * t, growth, params[STEP])


@helper
def _merit(slot, t, table, params):
    z = _averaged(slot, t, table, params)
    return _scale(slot, table, params) * (z * z)


@helper
def _holds(high, low, t, table, params):
    """A round up to which ``high`` stays above ``low`` for certain, if neither is updated; at least ``t``."""
    l1, growth = params[L1], params[L2] * params[STEP]
    a, b = abs(table[high, GRADIENTS]), abs(table[low, GRADIENTS])
    h, k = _scale(high, table, params), _scale(low, table, params)
    if (l1 == 0.0 and growth == 0.0) or (a == b and h == k):
        return np.inf
    rest, other = max(a - l1 * t, 0.0), max(b - l1 * t, 0.0)
    if rest == 0.0:
        return np.inf  # both are zero, and stay so
    p, q = math.sqrt(h) * rest, math.sqrt(k) * other
    h_t, k_t = h + growth * t, k + growth * t
    z = params[STEP] * rest / h_t
    if min(z * z, h * (z * z)) < TINY:
        return t
    falls = l1 * math.sqrt(k) * h_t if other > 0.0 else 0.0  # of the lower one, times the other's denominator
    doubt = NEAR * (p * k_t + q * h_t + l1 * t * (math.sqrt(h) * k_t + math.sqrt(k) * h_t))
    lead = p * k_t - q * h_t - doubt
    gain = growth * (p - q) - l1 * math.sqrt(h) * k_t + falls
    gain -= NEAR * (growth * (p + q) + l1 * (math.sqrt(h) * k_t + math.sqrt(k) * h_t))
    if lead < 0.0:
        return t
    rounds = np.inf if gain >= 0.0 else lead / -gain
    if l1 > 0.0:
        rounds = min(rounds, rest / l1)
    return t + max(np.floor(rounds) - 1.0, 0.0) if rounds < 1e15 else np.inf


@helper
def _leaf(at, leaf, place):
    """The feature at a leaf, or -1; a tree without an array of leaves has one for each feature not kept."""
    if leaf.size == 0:
        return np.int64(at if place[at] == PLAYS else -1)
    return np.int64(leaf[at])


@helper
def _duel(a, b, t, table, ids, params):
    """(the higher one of two features, the lower one, a round up to which that holds)."""
    l1, growth = params[L1], params[L2] * params[STEP]
    h, k = _scale(a, table, params), _scale(b, table, params)
    y = _weight(table[a, GRADIENTS], h, l1 * t, growth * t, params[STEP])
    z = _weight(table[b, GRADIENTS], k, l1 * t, growth * t, params[STEP])
    merit_a, merit_b = h * (y * y), k * (z * z)
    if merit_a < merit_b or (merit_a == merit_b and ids[a] < ids[b]):
        a, b = b, a
    return a, b, _holds(a, b, t, table, params)


@helper
def _settle(node, tree, t, seen, params):
    """Play the match of a node between the winners below it."""
    leaf, winner, until = tree
    table, ids, place = seen
    left, last = 2 * node, np.inf
    if left < winner.size:
        a, b, last = np.int64(winner[left]), np.int64(winner[left + 1]), min(until[left], until[left + 1])
    else:
        a, b = _leaf(left - winner.size, leaf, place), _leaf(left + 1 - winner.size, leaf, place)
    if a < 0 or b < 0:
        winner[node], until[node] = max(a, b), last
        return
    high, low, stands = _duel(a, b, t, table, ids, params)
    winner[node] = high if leaf.size == 0 else low
    until[node] = min(last, stands)


@helper
def _climb(at, tree, t, seen, params):
    """Replay the matches that a change of leaf ``at`` can affect."""
    leaf, winner, until = tree
    slot, node = _leaf(at, leaf, seen[2]), (at + winner.size) >> 1
    while node >= 1:
        before, ran_out = winner[node], until[node]
        _settle(node, tree, t, seen, params)
        if winner[node] == before and before != slot and until[node] >= ran_out:
            until[node] = ran_out  # expiring too early is harmless, and nothing above changes
            return
        node >>= 1


@helper
def _renew(tree, t, seen, params):
    """Replay the matches whose results expired before round ``t``."""
    _, winner, until = tree
    node = np.int64(1)
    while node >= 1:
        left = 2 * node
        if until[node] >= t:
            node >>= 1
        elif left < winner.size and until[left] < t:
            node = left
        elif left < winner.size and until[left + 1] < t:
            node = left + 1
        else:
            _settle(node, tree, t, seen, params)
            node >>= 1


@compiled(config=LIGHT)
def play_all(tree, t, seen, params):
    """Replay every match: for a tree that has grown or was read from a file."""
    for node in range(tree[1].size - 1, 0, -1):
        _settle(node, tree, t, seen, params)


@helper
def _fill(row, begins, slots, trees, t, seen, clock, params):
    """Until the budget is used up, keep all updated features; the others enter the tree."""
    kept, _, _, _ = trees
    place = seen[2]
    for e in range(begins[row], begins[row + 1]):
        slot = slots[e]
        if place[slot] < 0 and clock[KEPT] < params[BUDGET]:
            place[slot] = int(clock[KEPT])
            kept[0][place[slot]] = slot
            clock[KEPT] += 1.0
        elif place[slot] < 0:
            place[slot] = PLAYS
    if clock[KEPT] == params[BUDGET]:
        play_all(kept, t, seen, params)
        play_all(trees[1], t, seen, params)


@helper
def _play_touched(todo, count, trees, t, seen, params):
    """Replay the matches of ``count`` updated features that are kept, in the tree, or have just left it."""
    kept, out, _, _ = trees
    place = seen[2]
    for k in range(count):
        slot = np.int64(todo[k])
        if place[slot] >= 0:
            _climb(np.int64(place[slot]), kept, t, seen, params)
        else:
            _climb(slot, out, t, seen, params)


@helper
def _lower(floor, out, pace, t, seen, params):
    """Lower the floor below ``floor``; features between the new and the old one enter the tree, by a scan of all.

    The new floor is further below the worst feature kept than the old one, and closer again after as many updates as
    there is room for features: in the long run scans cost no more than updates.
    """
    table, _, place = seen
    pace[LEEWAY] = min(pace[LEEWAY] * pace[LEEWAY], 1e200)
    pace[FLOOR], pace[TOUCHES] = (floor / pace[LEEWAY] if pace[LEEWAY] < 1e100 else 0.0), 0.0
    for slot in range(place.size):
        if place[slot] == IDLE and table[slot, GRADIENTS] != 0.0:
            merit = _merit(slot, t, table, params)
            place[slot] = PLAYS if merit > 0.0 and merit >= pace[FLOOR] else IDLE
    play_all(out, t, seen, params)


@helper
def _exchange(trees, t, seen, params):
    """While the best feature not kept is above the worst one kept, exchange them."""
    kept, out, pace, _ = trees
    table, ids, place = seen
    while True:
        best, worst = np.int64(out[1][1]), np.int64(kept[1][1])
        least = _merit(worst, t, table, params)
        if least < pace[FLOOR]:
            _lower(least, out, pace, t, seen, params)
            continue
        if pace[TOUCHES] > place.size:
            pace[LEEWAY], pace[TOUCHES] = max(math.sqrt(pace[LEEWAY]), NEAREST), 0.0
        pace[FLOOR] = max(pace[FLOOR], least / pace[LEEWAY])
        if best < 0:
            return
        most = _merit(best, t, table, params)
        if most < least or (most == least and ids[best] < ids[worst]):
            return
        place[best], place[worst] = place[worst], PLAYS
        kept[0][place[best]] = best
        _climb(np.int64(place[best]), kept, t, seen, params)
        _climb(best, out, t, seen, params)
        _climb(worst, out, t, seen, params)


@helper
def _touch(row, rows, pull, t, seen, trees, full, params):
    """Add the gradients of an example; returns how many of its features, now in ``todo``, have matches to replay."""
    _, begins, slots, values, _, _ = rows
    table, _, place = seen
    pace, todo = trees[2], trees[3]
    step, delta, cut, growth = params[STEP], params[DELTA], params[L1] * t, params[L2] * params[STEP] * t
    floor, count, touches = pace[FLOOR], 0, 0
    for e in range(begins[row], begins[row + 1]):
        gradient, slot = -pull * values[e], slots[e]
        total, squares = table[slot, GRADIENTS] + gradient, table[slot, SQUARES] + gradient * gradient
        table[slot, GRADIENTS], table[slot, SQUARES] = total, squares
        was = place[slot]
        if full and was < 0:
            scale = delta + math.sqrt(squares)
            z = _weight(total, scale, cut, growth, step)
            merit = scale * (z * z)
            now = PLAYS if merit > 0.0 and merit >= floor else IDLE
            touches += 1
            if was != now:
                place[slot] = now
            if was == IDLE and now == IDLE:
                continue
        todo[count] = slot
        count += 1
    pace[TOUCHES] += touches
    return count if full else 0


@compiled(config=LIGHT, uses=descent)
def dual_averaging(rows, seen, trees, clock, params, scores):
    """B-ARDA (l2) and l1-ARDA (l1).

    ``trees`` are (leaf, winner, until) of features kept and of those not kept, the pace, and room for the features of
    an example.
    """
    order, begins, slots, values, signs, weights = rows
    table, _, place = seen
    moves = params[L1] > 0.0 or params[L2] > 0.0
    for k in range(order.size):
        row, score, t = order[k], 0.0, clock[ROUNDS]
        for e in range(begins[row], begins[row + 1]):
            if place[slots[e]] >= 0:
                score += _averaged(np.int64(slots[e]), t, table, params) * values[e]
        scores[k] = score + clock[SHIFT]
        pull = judged(scores[k], signs[k], weights[k], clock, params)
        if np.isnan(pull):
            return k
        t = clock[ROUNDS]
        full, touched = clock[KEPT] == params[BUDGET], 0
        if pull != 0.0:
            touched = _touch(row, rows, pull, t, seen, trees, full, params)
            if params[INTERCEPT] > 0.0:
                clock[SHIFT_SUM] -= pull
                clock[SHIFT_SPREAD] += pull * pull
                clock[SHIFT] = -params[STEP] * clock[SHIFT_SUM] / (params[DELTA] + math.sqrt(clock[SHIFT_SPREAD]))
            if not full:
                _fill(row, begins, slots, trees, t, seen, clock, params)
        if full and MANY * touched < place.size:
            if moves:
                _renew(trees[0], t, seen, params)
                _renew(trees[1], t, seen, params)
            _play_touched(trees[3], touched, trees, t, seen, params)
        elif full:
            play_all(trees[0], t, seen, params)
            play_all(trees[1], t, seen, params)
        if clock[KEPT] == params[BUDGET]:
            _exchange(trees, t, seen, params)
    return order.size


@compiled(config=LIGHT)
def averaged_weights(clock, seen, params, weights):
    """Write the weights of all features into ``weights``; returns the truncation error."""
    table, _, place = seen
    error = 0.0
    for slot in range(weights.size):
        z = _averaged(slot, clock[ROUNDS], table, params)
        weights[slot] = z if place[slot] >= 0 else 0.0
        if place[slot] < 0:
            error += _scale(slot, table, params) * (z * z)
    return math.sqrt(error)
