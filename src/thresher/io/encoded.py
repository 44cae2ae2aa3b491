"""Columns of words as columns of numbers, and one message about all that cannot be: with the options that would do."""

import re
from typing import NamedTuple

import numpy as np

from thresher.data.input.encoding import MOST_LEVELS, Encoding
from thresher.errors import InvalidDataError, UnseenLevelsWarning, UnusableColumnsError, warn
from thresher.io.table import in_short
from thresher.io.words import TEXT

DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
BYTE = r"(25[0-5]|2[0-4]\d|1?\d?\d)"
ADDRESS = rf"({BYTE}\.){{3}}{BYTE}"  # of the internet: 192.168.100.200
THOUSANDS = re.compile(  # the last separator: a blank of Latin-1
    f"(?!{ADDRESS}$)[+-]?\\d{{1,3}}([,.' \u00a0\u202f\ufffd]\\d{{3}})+([.,]\\d+)?"
)
WITH_POINTS = (
    "numbers must have a decimal point: pandas.read_csv(path, sep=';', decimal=',').to_csv('new.csv', index=False)"
)
WITHOUT_THOUSANDS = (
    "numbers must have no thousands separators: pandas.read_csv(path, thousands=',').to_csv('new.csv', index=False)"
)
MOSTLY_NUMBERS = (
    "correct it, or clear the field and read with impute (--impute); if the numbers are names of levels, put a letter "
    "before them"
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
        meant = _of_numbers(column) if known is None and column.kind == TEXT else None
        if meant is not None:
            complaints.append(meant)
        elif known is None and column.kind == TEXT and options.one_hot and len(column.levels()) <= MOST_LEVELS:
            levels[column.name] = column.levels()
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


def _of_numbers(column):
    """What is wrong with a column of text that was meant as one of numbers; None if it may have levels."""
    row, text = column.first_text()
    name, mistaken = repr(column.name), column.rows_of(number_mistake)
    numbers = column.values.size - column.rows.size
    texts = column.rows.size - column.missing.size - mistaken.size
    mostly = numbers + mistaken.size > texts
    if mistaken.size and (mostly or row in mistaken):
        row, text = column.first_text(mistaken)
        return Complaint(column.name, row, f"column {name}: {text[:40]!r} {number_mistake(text)}", MEND)
    if not mostly:
        return None
    what = f"column {name} must be numeric, got {text[:40]!r} (text in {_rows(texts)}, but numbers in {numbers:,}): "
    return Complaint(column.name, row, what + MOSTLY_NUMBERS, MEND)


def _of_text(column, n_rows, one_hot):
    """What is wrong with a column of text."""
    name, (row, text) = repr(column.name), column.first_text()
    mistake = number_mistake(text) or ("must be numeric; is a quote not closed?" if "\n" in text else "")
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


def number_mistake(text):
    """What is wrong with a text that was meant as a number, and what to do about it; empty if it may be a text."""
    decimal, thousands = DECIMAL_COMMA.fullmatch(text), THOUSANDS.fullmatch(text)
    if decimal or thousands:
        what = "a decimal comma" if not thousands else "thousands separators"
        what = "a decimal comma or a thousands separator" if decimal and thousands else what
        ways = [WITH_POINTS] if decimal else []
        ways += [WITHOUT_THOUSANDS] if thousands else []
        return f"has {what}; {'; '.join(ways)}"
    return ""


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
    names = ignore if any("," in column for column in ignore) else [",".join(ignore)] if ignore else []
    options = [word for each in names for word in _given("--ignore", each)]
    options += ["--one-hot"] if ONE_HOT in remedies else []
    options += ["--impute", "median"] if IMPUTE in remedies else []
    return UnusableColumnsError(message, f"read it with {', '.join(ways)}", options)


def _given(option, value):
    """The words of an option with a value, which may begin as options do."""
    return [f"{option}={value}"] if value.startswith("-") else [option, value]


def encoded(X, names, columns, encoding, name):
    """(X, its names, for each column of it the column of the table); X is changed, or copied where text has levels.

    InvalidDataError if two columns would have one name.
    """
    for column in columns.values():
        if column.name not in encoding.levels:
            column.set_numbers()
    if not any(column in encoding.levels for column in names):
        return X, names, names
    new = [encoding.names(column) for column in names]
    _check_names(names, new, name)
    wide = np.zeros((len(X), sum(map(len, new))), dtype=X.dtype, order="C" if X.flags.c_contiguous else "F")
    first = 0
    for place, (column, made) in enumerate(zip(names, new, strict=True)):
        if column not in encoding.levels:
            wide[:, first] = X[:, place]
        else:
            for offset, level in enumerate(encoding.levels[column]):
                wide[:, first + offset] = columns[column].matches(level)
        first += len(made)
    origins = tuple(column for column, made in zip(names, new, strict=True) for _ in made)
    return wide, tuple(each for made in new for each in made), origins


def _check_names(names, new, name):
    """Raise an error if columns of text make columns whose names others have."""
    makers = dict[str, str]()
    for column, made in zip(names, new, strict=True):
        for each in made:
            if each in makers:
                raise InvalidDataError(
                    f"{name}: one_hot (--one-hot) makes two columns named {each!r}, of columns {makers[each]!r} and "
                    f"{column!r}: rename or ignore one of them"
                )
            makers[each] = column


def warn_of_unseen(columns, encoding, name):
    """Warn of texts that the training data did not have: they are zero in all columns."""
    for column in columns.values():
        levels = encoding.levels.get(column.name)
        unseen = [] if levels is None else sorted(set(column.levels()) - set(levels))
        if unseen:
            of = "text" if len(unseen) == 1 else "texts"
            warn(
                f"{name}: column {column.name!r} has {len(unseen)} {of} that the training data did not have, "
                f"{in_short(unseen)}: they are zero in all of its columns",
                UnseenLevelsWarning,
            )
