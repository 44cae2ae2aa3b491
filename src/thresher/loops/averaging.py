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
MERIT_ROUNDING = 1e-13  # relative; rounding of scores stays well below
UNDERFLOW = 1e-290  # scores below may be on the way to underflow
IDLE, PLAYS = -1, -2  # in ``place``, of features not kept: below the floor, or in the tree
FLOOR, TOUCHES, LEEWAY, STALE, PACE = range(5)  # positions in ``pace``, and its length
FIRST, NEAREST = 1.5, 1.1  # leeway: how far below the worst feature kept the floor is, as a factor
REPLAY_SHARE = 8  # if more than one in REPLAY_SHARE features has matches to replay, all matches are replayed


@helper
def _weight(total, scale, cut, growth, step):
    """The weight for a sum of gradients, before truncation; ``cut`` is l1 t, ``growth`` is l2 step t."""
    rest = abs(total) - cut
    z = step * rest / (growth + scale) if rest > 0.0 else 0.0
    return -z if total > 0.0 else z


@helper
def _merit(slot, t, table, rates):
    """What a feature is ranked by after ``t`` rounds: H z^2 of its weight z before truncation."""
    step, l1, l2, delta = rates
    scale = delta + math.sqrt(table[slot, SQUARES])
    z = _weight(table[slot, GRADIENTS], scale, l1 * t, l2 * step * t, step)
    return scale * (z * z)


@helper
def _holds(high, low, t, table, rates):
    """A round up to which ``high`` stays above ``low`` for certain, if neither is updated; at least ``t``."""
    step, l1, l2, delta = rates
    growth = l2 * step
    a, b = abs(table[high, GRADIENTS]), abs(table[low, GRADIENTS])
    h, k = delta + math.sqrt(table[high, SQUARES]), delta + math.sqrt(table[low, SQUARES])
    rest, other = a - l1 * t, b - l1 * t
    if (l1 == 0.0 and growth == 0.0) or (a == b and h == k) or rest <= 0.0:  # in the last case both stay zero
        return np.inf
    h_t, k_t, root_h, root_k = h + growth * t, k + growth * t, math.sqrt(h), math.sqrt(k)
    z = step * rest / h_t
    if z * z < UNDERFLOW or h * (z * z) < UNDERFLOW:
        return t
    falls = l1 * root_k * h_t  # of the lower one, times the other's denominator
    if other <= 0.0:
        other, falls = 0.0, 0.0
    p, q, both = root_h * rest, root_k * other, l1 * (root_h * k_t + root_k * h_t)
    lead = p * k_t - q * h_t - MERIT_ROUNDING * (p * k_t + q * h_t + t * both)
    if lead < 0.0:
        return t
    gain = growth * (p - q) - l1 * root_h * k_t + falls - MERIT_ROUNDING * (growth * (p + q) + both)
    rounds = np.inf if gain >= 0.0 else lead / -gain
    if l1 > 0.0 and rounds > rest / l1:
        rounds = rest / l1
    return np.inf if rounds >= 1e15 else t + math.floor(rounds) - 1.0 if rounds >= 2.0 else t


@helper
def _leaf(at, leaf, place):
    """The feature at a leaf, or -1; a tree without an array of leaves has one for each feature not kept."""
    if leaf.size > 0:
        return np.int64(leaf[at])
    return np.int64(at) if place[at] == PLAYS else np.int64(-1)


@helper
def _settle(node, tree, t, seen, rates):
    """Play the match of a node between the winners below it, and find a round up to which its result holds."""
    leaf, winner, until = tree
    table, ids, place = seen
    left, last = 2 * node, np.inf
    if left < winner.size:
        a, b, last = np.int64(winner[left]), np.int64(winner[left + 1]), until[left]
        if until[left + 1] < last:
            last = until[left + 1]
    else:
        a, b = _leaf(left - winner.size, leaf, place), _leaf(left + 1 - winner.size, leaf, place)
    if a < 0 or b < 0:
        winner[node], until[node] = a if b < 0 else b, last
        return
    merit_a, merit_b = _merit(a, t, table, rates), _merit(b, t, table, rates)
    if merit_a < merit_b or (merit_a == merit_b and ids[a] < ids[b]):
        a, b = b, a
    stands = _holds(a, b, t, table, rates)
    winner[node] = a if leaf.size == 0 else b
    until[node] = stands if stands < last else last


@helper
def _climb(at, slot, tree, t, seen, rates):
    """Replay the matches that a change of ``slot``, at leaf ``at``, can affect."""
    _, winner, until = tree
    node = (at + winner.size) >> 1
    while node >= 1:
        before, ran_out = winner[node], until[node]
        _settle(node, tree, t, seen, rates)
        if winner[node] == before and before != slot and until[node] >= ran_out:
            until[node] = ran_out  # expiring too early is harmless, and nothing above changes
            return
        node >>= 1


@helper
def _replay(everything, tree, t, seen, rates):
    """Replay the matches whose results expired before round ``t``, or all.

    All: for a tree that has grown, was read from a file, or has changed in many places.
    """
    _, winner, until = tree
    node = np.int64(winner.size - 1 if everything else 1)
    while node >= 1:
        left = 2 * node
        if everything:
            _settle(node, tree, t, seen, rates)
            node -= 1
        elif until[node] >= t:
            node >>= 1
        elif left < winner.size and until[left] < t:
            node = left
        elif left < winner.size and until[left + 1] < t:
            node = left + 1
        else:
            _settle(node, tree, t, seen, rates)
            node >>= 1


@helper
def _fill(row, begins, slots, leaf, place, clock, params):
    """Until the budget is used up, keep all updated features; the others enter the tree."""
    for e in range(begins[row], begins[row + 1]):
        slot = slots[e]
        if place[slot] < 0 and clock[KEPT] < params[BUDGET]:
            place[slot] = np.int64(clock[KEPT])
            leaf[place[slot]] = slot
            clock[KEPT] += 1.0
        elif place[slot] < 0:
            place[slot] = PLAYS


@helper
def _lower(floor, pace, t, table, place, rates):
    """Lower the floor below ``floor``; features between the new and the old one enter the tree, by a scan of all.

    The new floor is further below the worst feature kept than the old one, and closer again after as many updates as
    there is room for features: in the long run scans cost no more than updates.
    """
    pace[TOUCHES] = 0.0
    if pace[LEEWAY] < 1e100:
        pace[LEEWAY] *= pace[LEEWAY]
    pace[FLOOR] = floor / pace[LEEWAY] if pace[LEEWAY] < 1e100 else 0.0
    for slot in range(place.size):
        if place[slot] == IDLE and table[slot, GRADIENTS] != 0.0:
            merit = _merit(slot, t, table, rates)
            place[slot] = PLAYS if merit > 0.0 and merit >= pace[FLOOR] else IDLE


@helper
def _exchange(trees, t, seen, rates):
    """While the best feature not kept is above the worst one kept, exchange them."""
    kept, out, pace, _ = trees
    table, ids, place = seen
    while True:
        best, worst = np.int64(out[1][1]), np.int64(kept[1][1])
        least = _merit(worst, t, table, rates)
        fell = least < pace[FLOOR]
        if fell:
            _lower(least, pace, t, table, place, rates)
            _replay(fell, out, t, seen, rates)  # not a literal, for which it would be compiled once more
            continue
        if pace[TOUCHES] > place.size:
            pace[TOUCHES] = 0.0
            if pace[LEEWAY] > NEAREST:
                pace[LEEWAY] = math.sqrt(pace[LEEWAY])
        if pace[FLOOR] < least / pace[LEEWAY]:
            pace[FLOOR] = least / pace[LEEWAY]
        if best < 0:
            return
        most = _merit(best, t, table, rates)
        if most < least or (most == least and ids[best] < ids[worst]):
            return
        place[best], place[worst] = place[worst], PLAYS
        kept[0][place[best]] = best
        _climb(np.int64(place[best]), best, kept, t, seen, rates)
        _climb(best, best, out, t, seen, rates)
        _climb(worst, worst, out, t, seen, rates)


@helper
def _touch(row, rows, pull, t, table, place, pace, todo, full, rates):
    """Add the gradients of an example; returns how many of its features, now in ``todo``, have matches to replay."""
    _, begins, slots, values, _, _ = rows
    step, l1, l2, delta = rates
    cut, growth = l1 * t, l2 * step * t
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
    kept, out, pace, todo = trees
    step, l1, l2, delta = params[STEP], params[L1], params[L2], params[DELTA]
    rates, moves = (step, l1, l2, delta), l1 > 0.0 or l2 > 0.0
    for k in range(order.size):
        row, score, t = order[k], 0.0, clock[ROUNDS]
        for e in range(begins[row], begins[row + 1]):
            slot = slots[e]
            if place[slot] >= 0:
                scale = delta + math.sqrt(table[slot, SQUARES])
                score += _weight(table[slot, GRADIENTS], scale, l1 * t, l2 * step * t, step) * values[e]
        scores[k] = score + clock[SHIFT]
        pull = judged(scores[k], signs[k], weights[k], clock, params)
        if math.isnan(pull):
            return k
        t = clock[ROUNDS]
        full, touched = clock[KEPT] == params[BUDGET], 0
        if pull != 0.0:
            touched = _touch(row, rows, pull, t, table, place, pace, todo, full, rates)
            if params[INTERCEPT] > 0.0:
                clock[SHIFT_SUM] -= pull
                clock[SHIFT_SPREAD] += pull * pull
                clock[SHIFT] = -step * clock[SHIFT_SUM] / (delta + math.sqrt(clock[SHIFT_SPREAD]))
            if not full:
                _fill(row, begins, slots, kept[0], place, clock, params)
                pace[STALE] = 1.0
        if clock[KEPT] < params[BUDGET]:
            continue
        everything = pace[STALE] > 0.0 or REPLAY_SHARE * touched >= place.size
        pace[STALE] = 0.0
        if everything or moves:
            for tree in (kept, out):
                _replay(everything, tree, t, seen, rates)
        if not everything:
            for j in range(touched):  # they are kept, in the tree, or have just left it
                slot = np.int64(todo[j])
                inside = place[slot] >= 0
                at, tree = np.int64(place[slot]) if inside else slot, kept if inside else out
                _climb(at, slot, tree, t, seen, rates)
        _exchange(trees, t, seen, rates)
    return order.size
