"""Walks through a tree whose nodes are in the order of a walk from the roots: node v is followed by those below it."""

from thresher.loops.jit import LIGHT, compiled, helper

SUM_ROUNDING = 1.0 + 1e-9  # sums of parts may exceed the sum of all by rounding errors


@compiled(config=LIGHT)
def least_below(skip, least):
    """Turn the weight of each node in ``least`` into the smallest one of it and those below it, v to skip[v] - 1."""
    for v in range(least.size - 1, -1, -1):
        child = v + 1
        while child < skip[v]:
            if least[child] < least[v]:
                least[v] = least[child]
            child = skip[child]


@helper
def _sink(units, scores, count, at):
    """Restore the heap, whose root is the worst one kept, after its place ``at`` has got a better one."""
    while True:
        worst, left = at, 2 * at + 1
        for child in range(left, left + 2):
            if child < count and _worse(units[child], scores[child], units[worst], scores[worst]):
                worst = child
        if worst == at:
            return
        units[at], units[worst] = units[worst], units[at]
        scores[at], scores[worst] = scores[worst], scores[at]
        at = worst


@helper
def _worse(unit, score, other, its_score):
    """Whether a unit ranks behind another: a lower score, or the same and a higher number."""
    return score < its_score or (score == its_score and unit > other)


@compiled(config=LIGHT)
def best_nodes(squares, start, stop, skip, unit, omega, least, free, units, scores):
    """The nodes with the largest scores into ``units`` and ``scores``, in no order; (how many, nodes visited).

    The score of v is the sum of squares[start[v] : stop[v]] over omega[v]; only ``free`` nodes count. What is below a
    node is skipped where its sum over the ``least`` weight there is below the worst score kept.
    """
    count, visited, v, bar = 0, 0, 0, 0.0
    while v < unit.size and units.size > 0:
        visited += 1
        total = 0.0
        for t in range(start[v], stop[v]):
            total += squares[t]
        score = total / omega[v]
        if free[v] and score > 0.0:
            if count < units.size:
                units[count], scores[count] = unit[v], score
                count += 1
                if count == units.size:
                    for at in range(count // 2, -1, -1):
                        _sink(units, scores, count, at)
            elif _worse(units[0], scores[0], unit[v], score):
                units[0], scores[0] = unit[v], score
                _sink(units, scores, count, 0)
            if count == units.size:
                bar = scores[0]
        v = skip[v] if total * SUM_ROUNDING / least[v] < bar or total == 0.0 else v + 1
    return count, visited
