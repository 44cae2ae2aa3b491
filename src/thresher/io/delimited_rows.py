"""Rows of delimited text, read by pyarrow, and where that fails field by field, to say why and where.

Both ways accept the same text and give the same numbers: pyarrow also takes nan, text after a closing quote and a quote
that is never closed, so pieces with unusual quotes are kept from it, and what it gives is checked.
"""

import csv
import io
import re
from typing import NamedTuple

import numpy as np

from thresher.io.foreign import not_utf8
from thresher.io.frames import EXCLUDE, TableRows
from thresher.io.parquet import pyarrow_for
from thresher.io.text import BadText, narrowed

NEWLINE = 10
STAND_IN = "\x1f"  # a delimiter that texts hardly ever contain
BY_COLUMNS_MOST = 1000  # features; of more, pyarrow takes longer for the columns of a piece than for its fields
MISSING = {"na", "nan", "n/a", "null", "none", "?", "-", ".", "inf", "-inf", "+inf"}
NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
THOUSANDS = re.compile("[+-]?\\d{1,3}([,.' \u00a0\u202f\ufffd]\\d{3})+([.,]\\d+)?")  # the last: a blank of Latin-1
WITH_POINTS = (
    "numbers must have a decimal point: pandas.read_csv(path, sep=';', decimal=',').to_csv('new.csv', index=False)"
)
WITHOUT_THOUSANDS = (
    "numbers must have no thousands separators: pandas.read_csv(path, thousands=',').to_csv('new.csv', index=False)"
)


class Field(NamedTuple):
    """A field of a row: where its text begins, the text without quotes around it, and whether it has some."""

    byte: int
    text: bytes
    quoted: bool


class RowReader:
    """Reads the ``columns`` of pieces of a DelimitedText; with ``may_lack_labels`` all labels may be missing."""

    def __init__(self, text, columns, *, may_lack_labels):
        self.text, self.columns, self.may_lack_labels = text, columns, may_lack_labels
        self.pa = pyarrow_for(text.name)
        self.numbered = [str(j) for j in range(len(columns.fields))]
        self.types = {str(j): self.pa.float64() for j in columns.features}
        self.types |= {str(j): self.pa.string() for j in (columns.label, columns.bag) if j is not None}
        gaps = np.flatnonzero(np.diff(columns.features) > 1) + 1
        self.runs = [(run[0], run[-1]) for run in np.split(columns.features, gaps) if run.size]

    def read(self, piece):
        """The TableRows of a piece, by pyarrow."""
        by_fields = len(self.columns.features) > BY_COLUMNS_MOST
        try:
            found = self._rows(*(self._by_fields(piece) if by_fields else self._by_columns(piece)))
        except (ValueError, csv.Error):  # among them those of pyarrow and of UTF-8
            return self.read_serially(piece)
        wrong = not np.isfinite(found.X).all() or (found.bags is not None and "" in found.bags)
        may_lack = (0, len(found.X)) if self.may_lack_labels else (0,)
        return self.read_serially(piece) if wrong or found.missing not in may_lack else found

    def _frame(self, text, names, types, **parsing):
        """The columns that have ``types``, by pyarrow: read in one block, on this thread."""
        return self.pa.csv.read_csv(
            self.pa.BufferReader(text),
            self.pa.csv.ReadOptions(use_threads=False, column_names=names, block_size=len(text) + 1),
            self.pa.csv.ParseOptions(**parsing),
            self.pa.csv.ConvertOptions(
                column_types=types, include_columns=list(types), null_values=[], strings_can_be_null=False
            ),
        )

    def _by_columns(self, piece):
        frame = self._frame(piece, self.numbered, self.types, delimiter=self.text.delimiter)
        values = np.empty((frame.num_rows, len(self.columns.features)))
        for place, j in enumerate(self.columns.features):
            values[:, place] = frame.column(str(j)).to_numpy()
        texts = [[] if j is None else frame.column(str(j)).to_pylist() for j in (self.columns.label, self.columns.bag)]
        return values, *texts

    def _by_fields(self, piece):
        """Like ``_by_columns``, with all numbers in one column: a column of its own costs as much as 100 fields."""
        mark = self.text.delimiter
        unquoted = self.text.simple_quotes.sub(rb"\1", piece) if b'"' in piece else piece
        if b'"' in unquoted:
            rows = csv.reader(io.StringIO(piece.decode(), newline=""), delimiter=mark)
            mark = STAND_IN
            if mark.encode() in piece:
                raise ValueError("the stand-in for the delimiter is in the text")
            lines = [mark.join(fields).encode() for fields in rows if fields]
        else:
            lines = [line for line in unquoted.splitlines() if line.strip(self.text.blank)]
        numbers: list[bytearray] = []
        texts: tuple[list[str], list[str]] = ([], [])
        for row in map(bytearray, lines):
            line = np.frombuffer(row, dtype=np.uint8)
            marks = np.flatnonzero(line == ord(mark))
            if marks.size + 1 != len(self.columns.fields):
                raise ValueError("a row of another length")
            line[marks] = NEWLINE
            begins, ends = np.append(0, marks + 1), np.append(marks, line.size)
            numbers += [row[begins[first] : ends[last]] for first, last in self.runs]
            for found, j in zip(texts, (self.columns.label, self.columns.bag), strict=True):
                found += [] if j is None else [row[begins[j] : ends[j]].decode()]
        frame = self._frame(
            b"\n".join([*numbers, b""]), ["value"], {"value": self.pa.float64()}, ignore_empty_lines=False
        )
        return frame.column(0).to_numpy().reshape(len(lines), len(self.columns.features)), *texts

    def _rows(self, values, labels, bags):
        labels = None if self.columns.label is None else np.array([text.strip() for text in labels], dtype=str)
        bags = None if self.columns.bag is None else np.array([text.strip() for text in bags], dtype=str)
        missing = 0 if labels is None else int(np.count_nonzero(labels == ""))
        return TableRows(narrowed(values, np.float32), labels, bags, missing)

    def read_serially(self, piece):
        """The TableRows of a piece, field by field; BadText where a field is wrong."""
        values, labels, bags, rows = [], [], [], 0
        features = set(self.columns.features)
        for column, field in self._fields(piece):
            rows += column == 0
            if column in features:
                values.append(self._number(field, column))
            elif column == self.columns.label:
                labels.append(field)
            elif column == self.columns.bag:
                bags.append(field)
        X = np.array(values, dtype=np.float64).reshape(rows, len(features))
        found = self._rows(X, *([_text(field) for field in fields] for fields in (labels, bags)))
        if found.missing and (found.missing < rows or not self.may_lack_labels):
            raise BadText("missing label", labels[np.argmax(found.labels == "")].byte)
        if found.bags is not None and "" in found.bags:
            name = self.columns.fields[self.columns.bag]
            raise BadText(f"missing value in the bag column {name!r}", bags[np.argmax(found.bags == "")].byte)
        return found

    def _fields(self, piece):
        """(column, Field) of all fields; BadText after the last one of a row that has not as many as the table."""
        dialect, names = self.text, self.columns.fields
        at = dialect.blank_lines.match(piece).end()
        column = 0
        while at < len(piece):
            match = dialect.field.match(piece, at)
            quoted = match[1] is not None
            if quoted and not match[2]:
                raise BadText(f"unclosed quote in column {names[column]!r}", match.start(1))
            text = match[1] if quoted else match[3].rstrip(dialect.blank)
            field = Field(match.start(1 if quoted else 3), text, quoted)
            yield column, field
            end = piece[match.end() : match.end() + 1]
            self._check_end(column, field, end, match.end())
            at = match.end() + 1
            column += 1
            if end == b"\n":
                at = dialect.blank_lines.match(piece, at).end()
                column = 0

    def _check_end(self, column, field, end, byte):
        """Raise BadText if the byte ``end`` must not follow a field."""
        count, mark = len(self.columns.fields), self.text.delimiter
        if end not in (b"\n", mark.encode()):
            raise BadText(
                f"text after the closing quote in column {self.columns.fields[column]!r}, got {_shortened(field)!r}; a "
                "quote within quotes is written twice",
                field.byte,
            )
        if end == b"\n" and column + 1 < count:
            raise BadText(f"expected {count} fields as in the first line, got {column + 1}", byte)
        if end != b"\n" and column + 1 == count:
            commas = ", and numbers must have decimal points, not commas" if mark == "," else ""
            raise BadText(
                f"expected {count} fields as in the first line, got more; text with {mark!r} must be quoted{commas}",
                byte,
            )

    def _number(self, field, column):
        if not NUMBER.fullmatch(field.text):
            raise BadText(_number_error(field, self.columns.fields[column]), field.byte)
        value = float(field.text)
        if np.isinf(value):
            name = self.columns.fields[column]
            raise BadText(f"the number {_shortened(field)!r} in column {name!r} is too large for float64", field.byte)
        return value


def _text(field):
    """The text of a label or of a bag."""
    try:
        text = field.text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadText(not_utf8(field.text, error.start), field.byte) from None
    return text.replace('""', '"') if field.quoted else text


def _shortened(field):
    return field.text.decode("utf-8", errors="replace")[:40]


def _number_error(field, name):
    """What is wrong with a field that should be a number."""
    word = _shortened(field)
    if not word.strip() or word.strip().lower() in MISSING:
        given = f" ({word!r})" if word.strip() else ""
        return f"missing value{given} in column {name!r}; fill in or drop missing values first"
    decimal, thousands = DECIMAL_COMMA.fullmatch(word), THOUSANDS.fullmatch(word)
    if decimal or thousands:
        what = "a decimal comma" if not thousands else "thousands separators"
        what = "a decimal comma or a thousands separator" if decimal and thousands else what
        ways = [WITH_POINTS] if decimal else []
        ways += [WITHOUT_THOUSANDS] if thousands else []
        return f"column {name!r}: {word!r} has {what}; {'; '.join(ways)}"
    hint = "; is a quote not closed?" if field.quoted and b"\n" in field.text else ""
    return f"column {name!r} must be numeric, got {word!r}{hint}; {EXCLUDE}"
