"""Columns of words as columns of numbers, and one message about all that cannot be: with the options that would do."""

import re
from typing import NamedTuple

import numpy as np

from thresher.data.input.encoding import MOST_LEVELS, Encoding
from thresher.errors import UnseenLevelsWarning, UnusableColumnsError, warn
from thresher.io.table import in_short
from thresher.io.words import TEXT, WordColumn

DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
THOUSANDS = re.compile("[+-]?\\d{1,3}([,.' \u00a0\u202f\ufffd]\\d{3})+([.,]\\d+)?")  # the last: a blank of Latin-1
WITH_POINTS = (
    "numbers must have a decimal point: pandas.read_csv(path, sep=';', decimal=',').to_csv('new.csv', index=False)"
)
WITHOUT_THOUSANDS = (
    "numbers must have no thousands separators: pandas.read_csv(path, thousands=',').to_csv('new.csv', index=False)"
)
MOST_COMPLAINTS = 8  # columns named with a line each
IGNORE, ONE_HOT, IMPUTE, MEND = "ignore", "one_hot", "impute", "mend the file"


class Complaint(NamedTuple):
    """What is wrong with a column, first in ``row``, and the option of ``read`` that would do."""

    column: str
    row: int
    what: str
    remedy: str


def encoding_of(columns, n_rows, options, places, name, remarks):
    """The Encoding of training data, or of the model, without fills; UnusableColumnsError for all columns that fail.

    ``places`` gives words for where rows are.
    """
    layout = options.layout
    known = None if layout is None else layout.encoding or Encoding()
    may_miss = options.impute is not None if known is None else known.fills is not None
    levels, complaints = {} if known is None else dict(known.levels), list[Complaint]()
    for column in columns.values():
        if known is None and column.kind == TEXT and options.one_hot and len(found := column.levels()) <= MOST_LEVELS:
            levels[column.name] = found
        elif column.name not in levels:
            may = may_miss and (known is not None or column.missing.size < n_rows)  # something to impute from
            complaints += _complaints(column, n_rows, may, options.one_hot)
    if complaints:
        raise _unusable(complaints, places, name, remarks, training=known is None)
    return Encoding(levels) if known is None else known


def _complaints(column, n_rows, may_miss, one_hot):
    """What is wrong with a column of numbers and words."""
    name = repr(column.name)
    if column.kind == TEXT:
        return [_of_text(column, n_rows, one_hot)]
    if column.infinite.size:
        what = f"infinite value in column {name} ({_rows(column.infinite.size)})"
        return [Complaint(column.name, int(column.infinite.min()), what, IGNORE)]
    if column.missing.size and not may_miss:
        row = int(column.missing.min())
        text = column.found[int(column.codes[np.flatnonzero(column.rows == row)[0]])]
        given = f" ({text!r})" if text else ""
        empty = column.missing.size == n_rows
        count = "it has no values" if empty else _rows(column.missing.size)
        return [
            Complaint(column.name, row, f"missing value{given} in column {name} ({count})", (IMPUTE, IGNORE)[empty])
        ]
    return []


def _of_text(column, n_rows, one_hot):
    """What is wrong with a column of text."""
    name, (row, text) = repr(column.name), column.first_text()
    mistake = mistake_in(text)
    if mistake:
        return Complaint(column.name, row, f"column {name}: {text[:40]!r} {mistake}", MEND)
    levels = len(column.levels())
    most = f", {levels:,} different values: one_hot (--one-hot) takes {MOST_LEVELS}" if one_hot else ""
    count = _rows(column.rows.size - column.missing.size)
    what = f"column {name} must be numeric, got {text[:40]!r} (text in {count}{most})"
    is_id = levels == n_rows > 2 or levels > MOST_LEVELS
    return Complaint(column.name, row, what, IGNORE if is_id or one_hot else ONE_HOT)


def _rows(count):
    return f"{count:,} row{'' if count == 1 else 's'}"


def mistake_in(text):
    """What a text is that was meant as a number, and what to do about it; empty if it may be a text."""
    decimal, thousands = DECIMAL_COMMA.fullmatch(text), THOUSANDS.fullmatch(text)
    if decimal or thousands:
        what = "a decimal comma" if not thousands else "thousands separators"
        what = "a decimal comma or a thousands separator" if decimal and thousands else what
        ways = [WITH_POINTS] if decimal else []
        ways += [WITHOUT_THOUSANDS] if thousands else []
        return f"has {what}; {'; '.join(ways)}"
    return "must be numeric; is a quote not closed?" if "\n" in text else ""


def _unusable(complaints, places, name, remarks, *, training):
    """The error about all complaints."""
    shown = complaints[:MOST_COMPLAINTS]
    wheres = places([complaint.row for complaint in shown])
    found = "; ".join(f"{where}: {complaint.what}" for where, complaint in zip(wheres, shown, strict=True))
    rest = [complaint.column for complaint in complaints[MOST_COMPLAINTS:]]
    found += f"; and the same of {in_short(rest)}" if rest else ""
    count = f"{len(complaints)} columns cannot be used as they are: " if len(complaints) > 1 else ""
    also = f"; {'; '.join(remarks)}" if remarks else ""
    message = f"{name}: {count}{found}{also}"
    if not training:
        filled = any(complaint.remedy == IMPUTE for complaint in complaints)
        advice = "; fill in or drop missing values first, or fit the model with impute (--impute)" if filled else ""
        return UnusableColumnsError(message + advice)
    if any(complaint.remedy == MEND for complaint in complaints):
        return UnusableColumnsError(message)
    ignore = [complaint.column for complaint in complaints if complaint.remedy == IGNORE]
    remedies = {complaint.remedy for complaint in complaints}
    ways = [f"ignore={ignore[:5]}" + (" and more" if len(ignore) > 5 else "")] if ignore else []
    ways += ["one_hot=True"] if ONE_HOT in remedies else []
    ways += ["impute='median', or fill in or drop missing values first"] if IMPUTE in remedies else []
    options = ["--ignore", ",".join(ignore)] if ignore else []
    if any("," in column for column in ignore):
        options = [word for column in ignore for word in ("--ignore", column)]
    options += ["--one-hot"] if ONE_HOT in remedies else []
    options += ["--impute", "median"] if IMPUTE in remedies else []
    return UnusableColumnsError(message, f"read it with {', '.join(ways)}", options)


def encoded(X, names, columns, encoding):
    """(X, its names, for each column of it the column of the table); X is changed, or copied where text has levels."""
    for column in columns.values():
        if column.name not in encoding.levels:
            column.set_numbers()
    if not any(name in encoding.levels for name in names):
        return X, names, names
    new = [encoding.names(name) for name in names]
    wide = np.zeros((len(X), sum(map(len, new))), dtype=X.dtype, order="C" if X.flags.c_contiguous else "F")
    first = 0
    for place, (name, made) in enumerate(zip(names, new, strict=True)):
        if name not in encoding.levels:
            wide[:, first] = X[:, place]
        else:
            none = np.zeros(0, dtype=np.int64)
            column = columns.get(name) or WordColumn(name, none, none, [], X[:, place])
            for offset, level in enumerate(encoding.levels[name]):
                wide[:, first + offset] = column.matches(level)
        first += len(made)
    origins = tuple(name for name, made in zip(names, new, strict=True) for _ in made)
    return wide, tuple(name for made in new for name in made), origins


def warn_of_unseen(columns, encoding, name):
    """Warn of texts that the training data did not have: they are zero in all columns."""
    for column in columns.values():
        unseen = sorted(set(column.levels()) - set(encoding.levels.get(column.name, column.levels())))
        if unseen:
            of = "text" if len(unseen) == 1 else "texts"
            warn(
                f"{name}: column {column.name!r} has {len(unseen)} {of} that the training data did not have, "
                f"{in_short(unseen)}: they are zero in all of its columns",
                UnseenLevelsWarning,
            )
