"""Fields of tables that are no numbers: words, and what kinds of columns they make.

A table keeps zeros in their places, and the words besides, by row, column and code.
"""

from typing import NamedTuple

import numpy as np

MISSING = {"", "na", "nan", "n/a", "null", "none", "?", "-", "."}
INFINITE = {"inf", "-inf", "+inf", "infinity", "-infinity", "+infinity"}
BOOLEANS = {"true": 1.0, "True": 1.0, "TRUE": 1.0, "false": 0.0, "False": 0.0, "FALSE": 0.0}
NUMBER, BOOLEAN, TEXT = "number", "boolean", "text"


class Words(NamedTuple):
    """Places of words: ``rows``, ``columns``, and for each the number of its text in ``texts``."""

    rows: np.ndarray
    columns: np.ndarray
    codes: np.ndarray
    texts: list[str]

    def among(self, order):
        """The words of the columns ``order`` alone, numbered by their places in it."""
        place = np.full(max(self.columns.max(initial=-1), order.max(initial=-1)) + 1, -1)
        place[order] = np.arange(order.size)
        kept = place[self.columns] >= 0
        return Words(self.rows[kept], place[self.columns[kept]], self.codes[kept], self.texts)


NONE = np.zeros(0, dtype=np.int64)
NO_WORDS = Words(NONE, NONE, NONE, [])


def words_of(rows, columns, texts):
    """The Words with these texts."""
    known: dict[str, int] = {}
    codes = [known.setdefault(text, len(known)) for text in texts]
    return Words(np.asarray(rows), np.asarray(columns), np.array(codes, dtype=np.int64), list(known))


def joined(blocks, lengths):
    """The Words of blocks of so many rows as one, each text once."""
    known: dict[str, int] = {}
    rows, columns, codes = [], [], []
    for words, first in zip(blocks, np.cumsum([0, *lengths]), strict=False):
        code_of = np.array([known.setdefault(text, len(known)) for text in words.texts], dtype=np.int64)
        rows.append(words.rows + first)
        columns.append(words.columns)
        codes.append(code_of[words.codes])
    if not known:
        return NO_WORDS
    return Words(np.concatenate(rows), np.concatenate(columns), np.concatenate(codes), list(known))


class WordColumn:
    """The words of one column, whose other ``values`` are numbers: what kind of column they make."""

    def __init__(self, name, rows, codes, texts, values):
        self.name, self.rows, self.codes, self.texts, self.values = name, rows, codes, texts, values
        self.found = {int(code): texts[code] for code in np.unique(codes)}
        self.missing = self.rows_of(lambda text: text.lower() in MISSING)
        self.infinite = self.rows_of(lambda text: text.lower() in INFINITE)
        booleans = self.rows_of(BOOLEANS.__contains__)
        others = rows.size - self.missing.size - self.infinite.size - booleans.size
        self.kind = NUMBER if not (booleans.size or others) else TEXT
        if booleans.size and not others and not self.infinite.size and np.isin(self._numbers(), (0.0, 1.0)).all():
            self.kind = BOOLEAN

    def rows_of(self, belongs):
        """Rows whose texts belong: those for which ``belongs`` is true."""
        codes = [code for code, text in self.found.items() if belongs(text)]
        return self.rows[np.isin(self.codes, codes)]

    def _numbers(self):
        """The values that are numbers."""
        return np.delete(self.values, self.rows)

    def levels(self):
        """The different texts, sorted; numbers among them as they are shown."""
        return sorted(set(self.found.values()) | {shown(value) for value in np.unique(self._numbers()).tolist()})

    def first_text(self, rows=None):
        """(row, text) of the first word in ``rows``, or of the first that is not a missing value."""
        text = ~np.isin(self.rows, self.missing) if rows is None else np.isin(self.rows, rows)
        first = np.flatnonzero(text)[np.argmin(self.rows[text])]
        return int(self.rows[first]), self.found[int(self.codes[first])]

    def set_numbers(self):
        """Put numbers in the places of booleans, and NaN in those of missing values."""
        numbers = {code: BOOLEANS.get(text, np.nan) for code, text in self.found.items()}
        self.values[self.rows] = [numbers[code] for code in self.codes.tolist()]

    def matches(self, level):
        """Which rows have the text ``level``."""
        try:
            number = float(level)
            rows = (self.values == number) & (shown(number) == level)
        except ValueError:
            rows = np.zeros(self.values.size, dtype=bool)
        rows[self.rows] = False
        codes = [code for code, text in self.found.items() if text == level]
        rows[self.rows[np.isin(self.codes, codes)]] = True
        return rows


def is_numeral(text):
    """Whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def shown(value):
    """A number among texts, as a text."""
    return f"{value:.15g}"


def word_columns(words, X, names, also=()):
    """{name: WordColumn} of the columns of X that have words, and of those named in ``also``."""
    order = np.argsort(words.columns, kind="stable")
    places, begins = np.unique(words.columns[order], return_index=True)
    parts = np.split(order, begins[1:]) if places.size else []
    part_of = dict(zip(places.tolist(), parts, strict=True))
    part_of |= {place: NONE for place, name in enumerate(names) if name in also and place not in part_of}
    return {
        names[place]: WordColumn(names[place], words.rows[part], words.codes[part], words.texts, X[:, place])
        for place, part in part_of.items()
    }
