"""By which columns rows are told apart, and digests of what several rows hold together."""

import numpy as np

from thresher.data.designs.base import Design
from thresher.loops.digests import column_keys, mixed
from thresher.loops.moments import NONZERO

MOST_ENTRIES = 1 << 26  # about so many non-zero entries are hashed, at most
ENOUGH, ENOUGH_OF_A_ROW = 1 << 24, 64  # ... and no more than these, and these of each row
PARTS = 1 << 16  # shares of non-zero entries are counted in so many parts, so that rounding of sums does not matter


def digested_columns(design: Design, table: np.ndarray, total: float, n_rows: int) -> np.ndarray | None:
    """The columns of a design by which rows are told apart, sorted; None: by all.

    Those with the largest share of non-zero entries, by weight, until ``n_rows`` rows have enough of them, but at
    least one column. Of equal shares those come first whose key is less, so that they are spread over X.
    ``table`` has the statistics of the columns, ``total`` is the sum of the weights.
    """
    share = table[NONZERO] / total
    most = min(MOST_ENTRIES, max(ENOUGH, ENOUGH_OF_A_ROW * n_rows))
    if share.sum() * n_rows <= most:
        return None
    parts = np.where(share > 0.0, np.maximum(1, np.rint(PARTS * share)), 0).astype(np.int64)
    counts = np.bincount(parts, minlength=PARTS + 1)
    each = np.maximum(1, np.arange(counts.size) * n_rows // PARTS)  # entries of a column, by its parts
    counts[0] = 0  # columns of zeros
    above = np.cumsum((counts * each)[::-1])[::-1]
    last = int(np.flatnonzero(above > most)[-1]) if above[0] > most else 0  # of these not all
    taken = np.flatnonzero(parts > last)
    tied = np.flatnonzero(parts == last) if last else taken[:0]
    room = max((most - int((counts * each)[last + 1 :].sum())) // int(each[last]), 1 - taken.size)
    first = np.argsort(column_keys(design.ids_in_X(tied)), kind="stable")[: max(0, room)]
    return np.sort(np.concatenate([taken, tied[first]]))


def combined(digests: np.ndarray, owner: np.ndarray, count: int) -> np.ndarray:
    """A digest for each of ``count`` owners of some rows, by the digests of these in any order."""
    out = np.zeros(count, dtype=np.uint64)
    np.add.at(out, owner, mixed(digests + np.uint64(1)))
    return out
