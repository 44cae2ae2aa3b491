"""Rows of delimited text, read by pyarrow, and where that fails field by field, to say why and where.

Both ways accept the same text and give the same numbers and words: pyarrow also takes nan, text after a closing quote
and a quote that is never closed, so pieces with unusual quotes are kept from it, and what it gives is checked.
"""

import csv
import io
import re
from typing import NamedTuple

import numpy as np

from thresher.io.encoded import THOUSANDS
from thresher.io.foreign import not_utf8
from thresher.io.frames import TableRows
from thresher.io.parquet import pyarrow_for
from thresher.io.text import BadText, narrowed
from thresher.io.words import NO_WORDS, words_of

NEWLINE = 10
STAND_IN = "\x1f"  # a delimiter that texts hardly ever contain
BY_COLUMNS_MOST = 1000  # features; of more, pyarrow takes longer for the columns of a piece than for its fields
NUMERAL = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
NUMBER = re.compile(NUMERAL.encode())
BLANKS = " \t\n\r\v\f"  # around a number


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
        self.kinds = [self.pa.float64(), self.pa.string()]
        self.types = {str(j): self.pa.string() for j in (columns.label, columns.bag) if j is not None}
        gaps = np.flatnonzero(np.diff(columns.features) > 1) + 1
        self.runs = [(run[0], run[-1]) for run in np.split(columns.features, gaps) if run.size]

    def read(self, piece):
        """The TableRows of a piece, by pyarrow: all numbers at first, with words where that fails."""
        by = self._by_fields if len(self.columns.features) > BY_COLUMNS_MOST else self._by_columns
        for kind in self.kinds:
            try:
                found = self._rows(*by(piece, kind))
            except (ValueError, csv.Error):  # among them those of pyarrow and of UTF-8
                continue
            wrong = not np.isfinite(found.X).all() or (found.bags is not None and "" in found.bags)
            may_lack = (0, len(found.X)) if self.may_lack_labels else (0,)
            if not wrong and found.missing in may_lack:
                if kind == self.kinds[-1]:  # where there are words there will be more; other threads see it, too
                    self.kinds = [kind]
                return found
        return self.read_serially(piece)

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

    def _by_columns(self, piece, kind):
        types = dict.fromkeys(map(str, self.columns.features), kind) | self.types
        frame = self._frame(piece, self.numbered, types, delimiter=self.text.delimiter)
        values, words = np.empty((frame.num_rows, len(self.columns.features))), []
        for place, j in enumerate(self.columns.features):
            values[:, place], rows, texts = self._numbers(frame.column(str(j)), kind)
            words.append((rows, np.full(rows.size, place), texts))
        texts = [[] if j is None else frame.column(str(j)).to_pylist() for j in (self.columns.label, self.columns.bag)]
        rows, places, found = zip(*words, strict=True) if words else ((), (), ())
        return values, _words(rows, places, [text for texts in found for text in texts]), *texts

    def _numbers(self, fields, kind):
        """(numbers, with zeros for words, where words are, their texts) of a column of pyarrow."""
        if kind == self.pa.float64():
            return fields.to_numpy(), np.zeros(0, dtype=np.int64), []
        compute = self.pa.compute
        trimmed = compute.utf8_trim(fields.combine_chunks(), characters=BLANKS)
        numeric = compute.match_substring_regex(trimmed, f"^{NUMERAL}$")
        values = compute.if_else(numeric, trimmed, "0").cast(self.pa.float64()).to_numpy(zero_copy_only=False)
        texts = trimmed.filter(compute.invert(numeric)).to_pylist()
        places = np.flatnonzero(~numeric.to_numpy(zero_copy_only=False))
        return values, places, texts

    def _by_fields(self, piece, kind):
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
        options = {"ignore_empty_lines": False, "quote_char": False}
        frame = self._frame(b"\n".join([*numbers, b""]), ["value"], {"value": kind}, **options)
        values, places, found = self._numbers(frame.column(0), kind)
        width = len(self.columns.features)
        return values.reshape(len(lines), width), _words([places // width], [places % width], found), *texts

    def _rows(self, values, words, labels, bags):
        labels = None if self.columns.label is None else np.array([text.strip() for text in labels], dtype=str)
        bags = None if self.columns.bag is None else np.array([text.strip() for text in bags], dtype=str)
        missing = 0 if labels is None else int(np.count_nonzero(labels == ""))
        return TableRows(narrowed(values, np.float32), labels, bags, missing, words)

    def read_serially(self, piece):
        """The TableRows of a piece, field by field; BadText where a field is wrong."""
        values, labels, bags, rows, words = [], [], [], 0, []
        places = {int(j): place for place, j in enumerate(self.columns.features)}
        for column, field in self._fields(piece):
            rows += column == 0
            if column in places:
                values.append(self._number(field, column))
                if values[-1] is None:
                    words.append((rows - 1, places[column], _word(field)))
                    values[-1] = 0.0
            elif column == self.columns.label:
                labels.append(field)
            elif column == self.columns.bag:
                bags.append(field)
        X = np.array(values, dtype=np.float64).reshape(rows, len(places))
        at = [[row for row, _, _ in words]], [[place for _, place, _ in words]]
        found_words = _words(*at, [text for _, _, text in words])
        found = self._rows(X, found_words, *([_text(field) for field in fields] for fields in (labels, bags)))
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
            self._check_end(column, field, end, match.end(), piece)
            at = match.end() + 1
            column += 1
            if end == b"\n":
                at = dialect.blank_lines.match(piece, at).end()
                column = 0

    def _check_end(self, column, field, end, byte, piece):
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
                f"expected {count} fields as in the first line, got {count + self._fields_after(piece, byte)}; "
                f"text with {mark!r} must be quoted{commas}",
                byte,
            )

    def _fields_after(self, piece, byte):
        """How many more fields the row has after the delimiter at ``byte``."""
        found = 0
        while piece[byte : byte + 1] == self.text.delimiter.encode():
            byte = self.text.field.match(piece, byte + 1).end()
            found += 1
        return found

    def _number(self, field, column):
        """The number in a field; None if it is a word."""
        text = field.text.strip()
        if not NUMBER.fullmatch(text):
            return None
        value = float(text)
        if np.isinf(value):
            name = self.columns.fields[column]
            raise BadText(f"the number {_shortened(field)!r} in column {name!r} is too large for float64", field.byte)
        return value


def _words(rows, places, texts):
    """The Words of lists of arrays of rows and places, and their texts."""
    if not texts:
        return NO_WORDS
    return words_of(np.concatenate(rows), np.concatenate(places), [text.strip() for text in texts])


def _text(field):
    """The text of a label, of a bag or of a word."""
    try:
        text = field.text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadText(not_utf8(field.text, error.start), field.byte) from None
    return text.replace('""', '"') if field.quoted else text


def _word(field):
    """The text of a word; of Latin-1 numbers with blanks between thousands, which get a message of their own."""
    word = _shortened(field)
    return word if THOUSANDS.fullmatch(word) else _text(field)


def _shortened(field):
    return field.text.decode("utf-8", errors="replace")[:40]
