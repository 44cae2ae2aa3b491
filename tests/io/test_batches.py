"""svmlight text batch by batch: what ``read`` gives, in any pieces, up to the first bad line or without bad ones."""

import bz2
import gzip
import io
import itertools
import os
import sys
import threading
import time

import numpy as np
import pytest
from scipy import sparse

from thresher import StreamClassifier
from thresher.errors import InvalidDataError
from thresher.io import batches, read
from thresher.io import text as text_module
from thresher.io.text import svmlight_lines
from thresher.io.text_stream import TextStream

AWKWARD = (
    b"# a comment first\n\n"
    b"+1 1:0.5 3:-1e-3 # and one here\r\n"
    b"   \t\n"
    b"-1 qid:7 2:1\t3:.25\n"
    b"-1\n"
    b"\r\n"
    b"0.5 +1:1 7:5.\f\n"
    b"1 4:0#glued\n"
    b"2 9:1 2:3 9:0.1234567890123456789\n"
    b"   -1   5:17976931348623157e292   # far\n"
    b"# the end"
)
BAD = {
    "label": b"x 1:1",
    "labels": b"1,2 1:1",
    "index": b"1 x:1",
    "negative index": b"1 -3:1",
    "fraction of an index": b"1 1.5:1",
    "an index without end": b"1 99999999999999999999:1",
    "no colon": b"1 1:1 5",
    "no value": b"1 1: 2:1",
    "nan": b"1 1:nan",
    "inf": b"1 1:inf",
    "label of nan": b"nan 1:1",
    "overflow": b"1 1:1e999",
    "overflow, written out": b"1 1:" + b"9" * 400,
    "label that overflows": b"1e999 1:1",
    "words": b"this is no data",
    "bytes": b"\xff\xfe\x00",
}  # fmt: skip


def written(folder, content, name="data.svm"):
    path = folder / name
    path.write_bytes(content)
    return path


def made(rows=200, seed=0, base=1):
    """Text of random rows; the indices rise."""
    rng, lines = np.random.default_rng(seed), []
    for _ in range(rows):
        ids = np.sort(rng.choice(50, rng.integers(1, 8), replace=False)) + base
        values = rng.standard_normal(ids.size) * 10.0 ** rng.integers(-5, 5, ids.size)
        pairs = " ".join(f"{j}:{float(x)!r}" for j, x in zip(ids, values, strict=True))
        lines.append(f"{rng.choice([-1, 1])} {pairs}\n")
    return "".join(lines).encode()


class Slow(io.RawIOBase):
    """Gives a few bytes at a time, as a pipe does."""

    def __init__(self, content, step):
        self.content, self.step, self.at = content, step, 0

    def readable(self):
        return True

    def readinto(self, room):
        part = self.content[self.at : self.at + min(self.step, len(room))]
        room[: len(part)] = part
        self.at += len(part)
        return len(part)


def joined(parts):
    """(X, y) of batches, one below the other."""
    parts = list(parts)
    width = max(X.shape[1] for X, _ in parts)
    wide = [sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width)) for X, _ in parts]
    return sparse.csr_array(sparse.vstack(wide)), np.concatenate([y for _, y in parts])


def same(ours, theirs, base):
    """Columns of ``ours`` are indices as they are written; of ``theirs`` they begin at ``base``."""
    assert np.array_equal(ours[0].indptr, theirs.X.indptr)
    assert np.array_equal(ours[0].indices, theirs.X.indices.astype(np.int64) + base)
    assert ours[0].data.astype(np.float64).tobytes() == theirs.X.data.astype(np.float64).tobytes()
    assert ours[0].shape == (theirs.X.shape[0], theirs.X.shape[1] + base)
    assert np.array_equal(ours[1], theirs.y)


@pytest.mark.parametrize("base", [0, 1])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
def test_equal_to_read(pack, base, tmp_path, monkeypatch):
    """Plain or packed, in one batch or in many; columns are the indices."""
    path = written(tmp_path, pack(made(base=base)))
    table = read(path, index_base=base)
    whole = list(batches(path))
    assert len(whole) == 1
    same(joined(whole), table, base)
    monkeypatch.setattr(text_module, "PIECE", 999)
    several = list(batches(path))
    assert len(several) > 5
    same(joined(several), table, base)


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_any_size_of_pieces_gives_the_same_rows_and_line_numbers(end, tmp_path, monkeypatch):
    """Comments, blank lines, query numbers, both line ends, no end of the last line; pieces of 1 to 50 bytes."""
    path = written(tmp_path, AWKWARD + end)
    table = read(path)
    for piece in (*range(1, 51), 1 << 22):
        monkeypatch.setattr(text_module, "PIECE", piece)
        same(joined(batches(path)), table, 1)
        with open(path, "rb") as stream:
            found = list(TextStream(stream, "x"))
        numbers = np.concatenate([batch.lines for batch in found]).tolist()
        assert numbers == [3, 5, 6, 8, 9, 10, 11]
        assert found[-1].done == 12
        done = [batch.done for batch in found]
        assert all(batch.lines.max(initial=0) <= batch.done for batch in found)
        assert done == sorted(done)


@pytest.mark.parametrize("step", [1, 2, 3, 4, 100])
def test_a_mark_of_utf8_is_passed_over_however_it_comes_in(step, tmp_path, monkeypatch):
    """In pieces of any size, from a file and from a pipe."""
    content = b"\xef\xbb\xbf1 1:1\n-1 2:1\n"
    live = TextStream(io.BufferedReader(Slow(content, step)), "x", live=True)
    assert [label for batch in live for label in batch.labels] == [1, -1]
    monkeypatch.setattr(text_module, "PIECE", step)
    assert joined(batches(written(tmp_path, content)))[1].tolist() == [1, -1]


def until_error(parts):
    """(what came before an error, its text)."""
    found = []
    with pytest.raises(InvalidDataError) as told:
        found.extend(parts)
    return found, str(told.value)


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_line_ends_the_stream_after_what_stands_before_it(kind, tmp_path, monkeypatch):
    """With its number, whatever the pieces; nothing that stands behind it is given."""
    good = made(12).splitlines(keepends=True)
    content = b"# head\n" + b"".join(good[:7]) + BAD[kind] + b"\n" + b"".join(good[7:])
    path, before = written(tmp_path, content), read(written(tmp_path, b"".join(good[:7]), "good.svm"), index_base=0)
    for piece in (1, 2, 3, 7, 31, 50, 200, 1 << 22):
        monkeypatch.setattr(text_module, "PIECE", piece)
        found, told = until_error(batches(path))
        same(joined(found), before, 0)
        assert told.startswith(f"{path}: line 9: ")
        assert told.isprintable()
        with open(path, "rb") as stream:
            parts, told = until_error(TextStream(stream, "x"))
        assert told.startswith("x: line 9: ")
        assert parts[-1].done == 8
    path.write_bytes(BAD[kind] + b"\n1 1:1\n")
    found, told = until_error(batches(path))
    assert found == []
    assert told.startswith(f"{path}: line 1: ")


def test_skip_bad_leaves_out_exactly_the_bad_lines_and_counts_them(tmp_path, monkeypatch):
    """Of every kind, between good ones, also the first and the last; the first five are told."""
    good, content, kept, number = made(2 * len(BAD)).splitlines(keepends=True), b"", b"", []
    for at, bad in enumerate(BAD.values()):
        number.append(3 * at + 1)
        content += bad + b"\n" + good[2 * at] + good[2 * at + 1]
        kept += good[2 * at] + good[2 * at + 1]
    path, table = written(tmp_path, content + b"1 nothing"), read(written(tmp_path, kept, "good.svm"), index_base=0)
    for piece in (1, 5, 17, 50, 300, 1 << 22):
        monkeypatch.setattr(text_module, "PIECE", piece)
        same(joined(batches(path, skip_bad=True)), table, 0)
        with open(path, "rb") as file:
            stream = TextStream(file, "x", skip_bad=True)
            parts = list(stream)
        assert stream.bad == len(BAD) + 1
        assert [told.split(": ")[1] for told in stream.complaints] == [f"line {n}" for n in number[:5]]
        lines = np.concatenate([part.lines for part in parts]).tolist()
        assert lines == [n for n in range(1, 3 * len(BAD) + 1) if n not in number]
        assert parts[-1].done == 3 * len(BAD) + 1


def test_a_line_with_several_faults_is_one_bad_line():
    """Numbers beyond float64 are found after the others, and counted by line."""
    for text in (b"1 1:1e999 2:1e999\n1 1:1\n", b"1e999 1:1e999\n1 1:1\n"):
        stream = TextStream(io.BytesIO(text), "x", skip_bad=True)
        (batch,) = stream
        assert batch.lines.tolist() == [2]
        assert stream.bad == 1
        assert len(stream.complaints) == 1
    rows, starts, bad, told = svmlight_lines(b"1 1:1e999 2:1e999\nx\n1 1:1\n")
    assert starts.tolist() == [20]
    assert rows.labels.tolist() == [1.0]
    assert bad.size == len(told) == 2


def test_only_bad_lines_and_nothing_at_all(tmp_path):
    """No batch, and no error unless one is asked for."""
    for content in (b"", b"# nothing\n\n", b"\xef\xbb\xbf", b"\n" * 100):
        assert list(batches(written(tmp_path, content))) == []
    path = written(tmp_path, b"x\n" * 7)
    assert list(batches(path, skip_bad=True)) == []
    assert until_error(batches(path))[1].startswith(f"{path}: line 1: ")


@pytest.mark.parametrize("bad", [b"1 x:1\n", b"1 1:1e999\n", b"x\n"])
def test_many_bad_lines_take_time_in_proportion(bad):
    """100,000 of them in one piece, between as many good ones."""

    def seconds(count):
        stream = TextStream(io.BytesIO((bad + b"1 1:1 3:2\n") * count), "x", skip_bad=True)
        begun = time.process_time()
        rows = sum(batch.labels.size for batch in stream)
        assert (rows, stream.bad, len(stream.complaints)) == (count, count, 5)
        return time.process_time() - begun

    seconds(100)
    assert seconds(100_000) < 5.0


def test_the_first_lines_are_passed_over_for_every_number_of_them(monkeypatch):
    """In any pieces; lines that are blank, comments or bad count as lines."""
    content = AWKWARD.replace(b"-1\n\r\n", b"-1\nbad line\n")
    numbers = [3, 5, 6, 8, 9, 10, 11]
    for piece, seen in itertools.product((1, 3, 10, 50, 1 << 22), range(13)):
        monkeypatch.setattr(text_module, "PIECE", piece)
        stream = TextStream(io.BytesIO(content), "x", skip_bad=True, lines_seen=seen)
        parts = list(stream)
        found = [int(n) for part in parts for n in part.lines]
        assert found == [n for n in numbers if n > seen]
        assert stream.bad == (seen < 7)
        assert all(part.done > seen for part in parts)
        assert not parts or parts[-1].done == 12
    with pytest.raises(InvalidDataError, match="x: line 7: "):
        list(TextStream(io.BytesIO(content), "x", lines_seen=6))
    with pytest.raises(InvalidDataError, match="x: ends after 12 lines, but 13 were already learnt"):
        list(TextStream(io.BytesIO(content), "x", lines_seen=13))
    assert sum(part.labels.size for part in TextStream(io.BytesIO(content), "x", lines_seen=7)) == 4


@pytest.mark.parametrize("top", [2**31 - 2, 2**31 - 1, 2**31, 2**53 + 1, 2**61])
def test_indices_of_any_size(top, tmp_path):
    """The columns are the indices, exactly, and cost no memory; a classifier learns from them."""
    path = written(tmp_path, f"1 {top}:2 7:1\n-1 7:-1\n1 0:1 {top}:1\n".encode())
    ((X, y),) = batches(path)
    assert X.shape == (3, top + 1)
    assert X.has_canonical_format
    assert sorted(set(X.indices.tolist())) == [0, 7, top]
    assert X[[0], [top]].tolist() == [2.0]
    clf = StreamClassifier(2, open_ended=True).partial_fit(X, y, classes=[-1, 1])
    assert clf.selection_.features.tolist() == [7, top]
    assert clf.decision_function(X).shape == (3,)


def test_labels_and_types_of_a_batch(tmp_path):
    """Whole numbers are int64; repeated indices are added up and sorted."""
    ((X, y),) = batches(written(tmp_path, b"3 5:1 2:1 5:0.5\n-2 1:1\n"))
    assert y.dtype == np.int64
    assert y.tolist() == [3, -2]
    assert X.toarray()[0].tolist() == [0, 0, 1, 0, 0, 1.5]
    assert X.has_canonical_format
    ((_, y),) = batches(written(tmp_path, b"0.5 1:1\n1 1:1\n"))
    assert y.tolist() == [0.5, 1.0]


@pytest.mark.parametrize("pack", [gzip.compress, lambda text: bz2.compress(text, 1)], ids=["gzip", "bzip2"])
@pytest.mark.parametrize("piece", [500, 1 << 22])
def test_a_packed_file_that_is_cut_off(pack, piece, tmp_path, monkeypatch):
    """The whole lines before the cut are given first; then a clear error."""
    monkeypatch.setattr(text_module, "PIECE", piece)
    text = made(4000)
    packed = pack(text)
    found, told = until_error(batches(written(tmp_path, packed[: 3 * len(packed) // 4])))
    assert "cannot be decompressed" in told
    assert "truncated or damaged" in told
    rows = sum(y.size for _, y in found)
    assert rows > 0
    whole = read(written(tmp_path, b"".join(text.splitlines(keepends=True)[:rows]), "whole.svm"), index_base=0)
    same(joined(found), whole, 0)


def test_a_packed_file_with_a_wrong_byte_ends_in_the_same_error(tmp_path):
    packed = bytearray(gzip.compress(made(2000)))
    packed[-6] ^= 1  # the checksum
    assert "cannot be decompressed" in until_error(batches(written(tmp_path, bytes(packed))))[1]


@pytest.mark.parametrize("step", [1, 2, 7, 100])
def test_a_live_stream_gives_what_has_come_in(step):
    """Line after line, never waiting for a whole piece; the same rows and numbers as at once."""
    parts = list(TextStream(io.BufferedReader(Slow(AWKWARD + b"\n", step)), "x", live=True))
    (whole,) = TextStream(io.BytesIO(AWKWARD + b"\n"), "x")
    assert len(parts) > (1 if step == 100 else 3)
    assert np.concatenate([part.lines for part in parts]).tolist() == whole.lines.tolist()
    assert np.concatenate([part.labels for part in parts]).tolist() == whole.labels.tolist()
    X = joined((part.X, part.labels) for part in parts)[0]
    assert X.toarray().tolist() == whole.X.toarray().tolist()


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_rows_come_out_of_a_pipe_before_it_is_closed(pack, monkeypatch):
    """Each line is written when the one before has come out."""
    out, into = os.pipe()
    told, done = [], threading.Event()

    def reads():
        with os.fdopen(out, "rb") as pipe:

            class Stdin:
                buffer = pipe

            monkeypatch.setattr(sys, "stdin", Stdin)
            for X, y in batches("-"):
                told.append((X.indices.tolist(), y.tolist()))
                done.set()

    reader = threading.Thread(target=reads, daemon=True)
    reader.start()
    for number in range(5):
        done.clear()
        os.write(into, pack(f"{(-1) ** number} {number}:1\n".encode()))
        if pack is bytes:
            assert done.wait(10.0), "nothing came out"
            assert len(told) == number + 1
    os.close(into)
    reader.join(10.0)
    assert [ids for part, _ in told for ids in part] == [0, 1, 2, 3, 4]
    assert [label for _, part in told for label in part] == [1, -1, 1, -1, 1]


def test_a_packed_stream_that_comes_in_byte_by_byte_is_known_as_one(monkeypatch):
    """The first look at a pipe may show a single byte."""

    class Stdin:
        buffer = io.BufferedReader(Slow(gzip.compress(b"1 1:1\n-1 2:1\n"), 1))

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert joined(batches("-"))[1].tolist() == [1, -1]


def test_one_reading_is_enough_for_a_classifier(tmp_path, monkeypatch):
    """Batches of any size and the whole table give the same weights."""
    path = written(tmp_path, made(500, base=1))
    table = read(path, index_base=0)
    whole = StreamClassifier(9, open_ended=True).partial_fit(table.X, table.y, classes=[-1, 1])
    monkeypatch.setattr(text_module, "PIECE", 777)
    clf, count = StreamClassifier(9, open_ended=True), 0
    for X, y in batches(path):
        clf.partial_fit(X, y, classes=[-1, 1])
        count += 1
    assert count > 10
    assert clf.selection_.features.tolist() == whole.selection_.features.tolist()
    assert clf.selection_.weights.tobytes() == whole.selection_.weights.tobytes()


def test_the_file_is_closed_when_nobody_wants_more(tmp_path, monkeypatch):
    """Also when reading ends early; ResourceWarning would be an error."""
    monkeypatch.setattr(text_module, "PIECE", 50)
    stream = batches(written(tmp_path, made(100)))
    next(stream)
    stream.close()
    with pytest.raises(FileNotFoundError):
        next(batches(tmp_path / "absent.svm"))
