"""Columns that look like the index of a table: left out of training data unless they are kept by name."""

from thresher.io.table import in_short

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
