"""Columns that look like the index of a table, by their names or their values.

An index tells the order of the rows. Where rows are sorted by class it separates the classes, and means nothing for
new data.
"""

import re
from collections.abc import Sequence

import numpy as np

FEWEST_ROWS = 10  # fewer rows may rise by one by chance
# as pandas calls columns without a name when it reads csv, and an index in Parquet
UNNAMED = re.compile(r"Unnamed: \d+(\.\d+)*(_level_\d+)?|__index_level_\d+__")


def is_unnamed(name: str) -> bool:
    """Whether a name says that the column has none."""
    return UNNAMED.fullmatch(name) is not None


def counting_columns(parts: Sequence[np.ndarray]) -> list[int]:
    """Positions of the columns of integers that rise by one from each row to the next; ``parts`` are blocks of rows."""
    n_rows = sum(map(len, parts))
    if n_rows < FEWEST_ROWS:
        return []
    with np.errstate(invalid="ignore", over="ignore"):  # two rows rule out nearly all columns
        places = np.flatnonzero(parts[-1][-1] - parts[0][0] == n_rows - 1)
    start, row = parts[0][0, places].astype(np.float64), 0
    whole = start == np.rint(start)
    places, start = places[whole], start[whole]
    for part in parts:
        expected = start + np.arange(row, row + len(part))[:, None]
        kept = (part[:, places] == expected).all(axis=0)
        places, start = places[kept], start[kept]
        row += len(part)
    return places.tolist()
