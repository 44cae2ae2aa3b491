"""Searches for labellings and rankings that are most violated."""

from thresher.loops.jit import compiled


@compiled
def place_negatives(positives, negatives, above):
    """Write to ``above`` how many positives the most violated ranking has above each negative.

    ``positives`` and ``negatives`` are scores that fall. With j negatives above it instead of j - 1, the m-th positive
    loses m / (m + j - 1) - m / (m + j) of its precision, and the pair's margin is lost: negative j is above all
    positives from that m on where the sum over them is largest. Of equal sums that of the fewest positives is taken.
    The j between two others are looked for between what these found, half as many apart in each round.
    """
    n_positive, n_negative = positives.size, negatives.size
    apart = 1
    while apart < n_negative:
        apart *= 2
    while apart >= 1:
        for at in range(apart - 1, n_negative, 2 * apart):
            low = above[at - apart] if at >= apart else 0
            high = above[at + apart] if at + apart < n_negative else n_positive
            j = at + 1.0
            best, chosen, total = 0.0, high, 0.0
            for m in range(high, low, -1):
                total += m / ((m + j - 1.0) * (m + j)) - (positives[m - 1] - negatives[at]) / n_negative
                if total > best:
                    best, chosen = total, m - 1
            above[at] = chosen
        apart //= 2


@compiled
def false_positives(true, low, high, negatives, rows, square, base, out):
    """Write to ``out`` for each number a of ``true`` positives the best number b of false ones, from low to high.

    ``negatives`` are scores that fall, of ``rows`` rows in all; the loss rises by (1 + square) a / ((a + b + base)
    (a + b + 1 + base)) from b to b + 1, which is worth it while that exceeds minus the next score by the rows.
    """
    for at in range(true.size):
        a, first, last = true[at], low, high
        reached, top = a + base, (1.0 + square) * a
        while first < last:
            middle = (first + last) // 2
            here = reached + middle
            if top / (here * (here + 1.0)) + negatives[middle] / rows > 0.0:
                first = middle + 1
            else:
                last = middle
        out[at] = first
