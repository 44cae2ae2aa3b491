"""Columns that look like the index of a table: they are left out of training data unless they are kept by name.

An index tells the order of the rows. Where files are sorted by class it separates the classes, and means nothing for
new data.
"""

import re

import numpy as np

from thresher.io.table import in_short

FEWEST_ROWS = 10  # fewer rows may rise by one by chance
# as pandas calls columns without a name when it reads csv, and an index in Parquet
UNNAMED = re.compile(r"Unnamed: \d+(\.\d+)*(_level_\d+)?|__index_level_\d+__")
KEEP_ADVICE = "to keep a column, name it with keep (--keep NAME)"


def with_names(fields):
    """The names of all columns; one without a name is called as pandas does, by its position."""
    names, taken = [], {field for field in fields if field}
    for position, field in enumerate(fields):
        name = field or f"Unnamed: {position}"
        while not field and name in taken:
            name += ".1"
        taken.add(name)
        names.append(name)
    return names


def found_by_name(wanted, fields, names):
    """``wanted`` names of columns; an empty one stands for all columns without a name, "a,b" for a and b."""
    unnamed = [name for name, field in zip(names, fields, strict=True) if not field]
    wanted = [name for each in wanted for name in ([each] if each in names or each in fields else each.split(","))]
    return [name for each in wanted for name in (unnamed if each == "" and unnamed else [each])]


def is_unnamed(name):
    """Whether a name says that the column has none."""
    return UNNAMED.fullmatch(name) is not None


def counting_columns(parts):
    """Positions of the columns of integers that rise by one from each row to the next; ``parts`` are blocks of rows."""
    if sum(map(len, parts)) < FEWEST_ROWS:
        return []
    start, row = parts[0][0].astype(np.float64), 0
    places = np.flatnonzero(start == np.rint(start))
    for part in parts:
        for place in (0, -1):  # two rows rule out nearly all columns
            places = places[part[place, places] == start[places] + (row + place % len(part))]
        expected = start[places] + np.arange(row, row + len(part))[:, None]
        places = places[(part[:, places] == expected).all(axis=0)]
        row += len(part)
    return places.tolist()


def remarks_on(unnamed, counting, numbered):
    """Warnings about the columns that were left out."""
    of = " (columns are numbered from 0)" if numbered else ""
    remarks = []
    if unnamed:
        what = "it has no name and looks" if len(unnamed) == 1 else "they have no names and look"
        remarks.append(f"left out column {in_short(unnamed)}: {what} like an index; {KEEP_ADVICE}")
    if counting:
        values = "its values rise by one in each row, so it looks"
        values = values if len(counting) == 1 else "their values rise by one in each row, so they look"
        remarks.append(f"left out column {in_short(counting)}{of}: {values} like an index; {KEEP_ADVICE}")
    return remarks
