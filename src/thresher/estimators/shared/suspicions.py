"""What makes a fit look too good: columns that are an index of the rows, or that alone separate the classes."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np

from thresher.data.input.index_columns import counting_columns, is_unnamed
from thresher.errors import IndexColumnWarning, LeakWarning, warn

ENOUGH = 0.99  # balanced accuracy of one threshold
FEWEST_OF_A_CLASS = 30  # of fewer, one of many columns may separate the classes by chance
MOST_COLUMNS = 20  # that are looked at, the most important ones
MOST_ROWS = 50_000
MOST_NAMED = 5


def warn_of_index(parts: Sequence[np.ndarray], names: Sequence[str] | None) -> None:
    """Warn of columns that look like an index of the rows, by name or by value; ``parts`` are blocks of rows."""
    numbers = {} if names is None else {j: name for j, name in enumerate(names) if is_unnamed(str(name))}
    unnamed = sorted(numbers)
    counting = counting_columns(parts)
    found = sorted({*unnamed, *counting})
    if found:
        shown = ", ".join(str(j) if names is None else repr(str(names[j])) for j in found[:MOST_NAMED])
        shown += f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
        why = "values that rise by one in each row" if counting else "no name"
        what = f"column {shown} of X looks" if len(found) == 1 else f"columns {shown} of X look"
        warn(
            f"{what} like an index of the rows ({why}), which says nothing of new rows: drop such columns, unless the "
            "order of the rows is known of new data, too",
            IndexColumnWarning,
        )


def warn_of_leak(columns: Iterable[tuple[int, np.ndarray]], codes: np.ndarray, name: Callable[[int], str]) -> None:
    """Warn of a column that alone separates the classes: with a threshold between each two of them.

    ``columns`` are (number, values); ``name`` is called with a number.
    """
    counts = np.bincount(codes)
    if counts.size < 2 or counts.min() < FEWEST_OF_A_CLASS:
        return
    rows = rows_of_classes(codes, counts)
    found = {column: separation(values[rows], codes[rows]) for column, values in columns}
    best = max(found, key=found.__getitem__, default=None)
    if best is not None and found[best] >= ENOUGH:
        percent = min(int(1000 * found[best]) / 10, 100.0)
        warn(LeakWarning(best, f"column {name(best)}", percent))


def rows_of_classes(codes: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Rows to look at: of each class as many, evenly spaced, and all rows of a small class."""
    most = max(FEWEST_OF_A_CLASS, MOST_ROWS // counts.size)
    by_class = np.split(np.argsort(codes, kind="stable"), np.cumsum(counts)[:-1])
    return np.concatenate([rows[np.linspace(0, rows.size - 1, min(rows.size, most)).astype(int)] for rows in by_class])


def separation(values: np.ndarray, codes: np.ndarray) -> float:
    """The balanced accuracy of one column with the best threshold between each two neighbouring classes: the least."""
    means = np.bincount(codes, weights=values) / np.bincount(codes)
    order = np.argsort(means)
    least = 1.0
    for low, high in pairwise(order):
        least = min(least, _of_two(values[codes == low], values[codes == high]))
        if least < ENOUGH:
            break
    return least


def _of_two(low: np.ndarray, high: np.ndarray) -> float:
    """The best balanced accuracy of a threshold, with ``low`` below it and ``high`` above."""
    low, high = np.sort(low), np.sort(high)
    below = np.searchsorted(low, low, side="right") / low.size  # of low, at most each threshold
    wrong = np.searchsorted(high, low, side="right") / high.size
    return float(np.max(1.0 + below - wrong)) / 2.0
