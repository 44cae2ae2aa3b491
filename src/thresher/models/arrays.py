"""Arrays of a model: small ones as lists in the JSON document, large ones in an .npz beside it.

The .npz is a zip of .npy members that are stored, not compressed: a member is then never larger than the file, so that
what a hostile file can make us allocate is bounded by its own size. Weights hardly compress anyway.
"""

import hashlib
import os
import re
import stat
import zipfile

import numpy as np

from thresher.io.npz import BROKEN
from thresher.models.checks import INT64, Damaged, keys, need, number, shown, whole

INLINE = 1_000_000  # bytes: larger arrays go into the .npz
MAGIC = b"\x93NUMPY\x01\x00"
HEADER = re.compile(rb"\{'descr': '([<|][a-z]\d)', 'fortran_order': False, 'shape': \(([0-9, ]{0,60})\), \} *\n")


class ArrayWriter:
    """Collects the arrays of a document: ``put`` gives what it says of each. Up to ``inline`` bytes become lists."""

    def __init__(self, inline=None):
        self.members, self.inline = {}, inline

    def put(self, name, array, dtype):
        """A list, or, where the array is large, a reference to the member ``name`` of the .npz."""
        array = np.asarray(array, dtype=dtype)
        if array.nbytes <= (INLINE if self.inline is None else self.inline):
            return listed(array)
        name = name if name not in self.members else f"{name}.{len(self.members)}"
        self.members[name] = np.ascontiguousarray(array)
        return {"npz": name, "dtype": dtype, "shape": list(array.shape)}

    def write(self, file):
        """All members into an open file; the same arrays give the same bytes at any time."""
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            self.write_into(archive)

    def write_into(self, archive):
        """All members into an archive."""
        for name, array in self.members.items():
            info = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            with archive.open(info, "w", force_zip64=array.nbytes >= 2**31 - 1024) as member:
                np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)


def listed(array):
    """The array as lists; numbers that JSON does not know as "nan", "inf", "-inf"."""
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return array.tolist()
    return [listed(part) for part in array] if array.ndim > 1 else [plain(entry) for entry in array.tolist()]


def plain(value):
    """A float as JSON knows it, or its name."""
    return value if abs(value) < float("inf") else str(float(value))


class ArrayReader:
    """Gives back what ``ArrayWriter.put`` was given. ``path`` is the .npz or None where no array is large."""

    def __init__(self, path=None, sha256=None):
        self.file = self.archive = None
        self.unread, self.left = {}, 0
        if path is not None:
            need(stat.S_ISREG(os.stat(path).st_mode), "its .npz is not a file")
            self.file = open(path, "rb")  # noqa: SIM115  closed by __exit__
            try:
                found = hashlib.file_digest(self.file, "sha256").hexdigest()
                need(found == sha256, "its .npz is not the one it was saved with (sha256 differs)")
                self._open()
            except BaseException:
                self.file.close()
                raise

    @classmethod
    def of(cls, file):
        """A reader of an .npz that is open, and that was found to be as it was written."""
        reader = cls()
        reader.file = file
        file.seek(0, os.SEEK_END)
        reader._open()
        return reader

    def _open(self):
        self.left = self.file.tell()
        try:
            self.archive = zipfile.ZipFile(self.file)
            members = self.archive.infolist()
        except BROKEN as error:
            raise Damaged(f"its .npz is not a sound zip file ({shown(str(error))})") from error
        self.unread = {info.filename: info for info in members}
        need(len(self.unread) == len(members), "its .npz holds a member twice")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.file is not None:
            self.file.close()

    def take(self, name):
        """The bytes of the member ``name``, a vector of bytes."""
        info = self.unread.pop(f"{name}.npy", None)
        need(info is not None, f"it lacks its {name}")
        good = info.compress_type == zipfile.ZIP_STORED and info.file_size == info.compress_size <= self.left
        need(good, f"its {name} is larger than the file")
        try:
            with self.archive.open(info) as member:
                content = member.read()
        except BROKEN as error:
            raise Damaged(f"its {name} cannot be read ({shown(str(error))})") from error
        start = len(MAGIC) + 2
        length = int.from_bytes(content[start - 2 : start], "little")
        header, body = HEADER.fullmatch(content[start : start + length]), content[start + length :]
        good = content.startswith(MAGIC) and header is not None and header[1] == b"|u1"
        need(good and header[2].rstrip(b",") == b"%d" % len(body), f"its {name} is no vector of bytes")
        return body

    def close_checked(self):
        """Raise unless every member has been asked for."""
        need(not self.unread, f"its .npz holds {shown(min(self.unread, default=''))}, which the document does not name")

    def get(self, value, dtype, shape, what, finite=True):
        """The array that ``value`` stands for; None in ``shape`` is any length."""
        if isinstance(value, dict):
            array = self._member(value, dtype, what)
        else:
            array = _from_lists(value, dtype, len(shape), what, finite)
            if len(shape) == 2 and array.size == 0 and len(array) == 0:
                array = array.reshape(0, shape[1] or 0)
        fits = len(shape) == array.ndim and all(b in (None, a) for a, b in zip(array.shape, shape, strict=True))
        need(fits, f"{what} has shape {shown(array.shape)}, not {shown(shape)}")
        need(
            not finite or array.dtype.kind != "f" or bool(np.isfinite(array).all()), f"{what} holds numbers not finite"
        )
        return array

    def _member(self, value, dtype, what):
        keys(value, ("npz", "dtype", "shape"), what)
        need(value["dtype"] == dtype, f"{what} has dtype {shown(value['dtype'])}, not {dtype}")
        shape = value["shape"]
        need(isinstance(shape, list) and len(shape) in (1, 2), f"{what} has shape {shown(shape)}")
        shape = tuple(whole(length, f"the shape of {what}") for length in shape)
        info = self.unread.pop(f"{value['npz']}.npy", None) if isinstance(value["npz"], str) else None
        need(info is not None, f"{what} is to lie in the .npz as {shown(value['npz'])}, where it is not")
        need(info.compress_type == zipfile.ZIP_STORED, f"{what} is compressed in the .npz")
        need(0 <= info.file_size == info.compress_size <= self.left, f"{what} is larger than the .npz that holds it")
        self.left -= info.file_size
        try:
            with self.archive.open(info) as member:
                return _from_member(member, info.file_size, np.dtype(dtype), shape, what)
        except BROKEN as error:
            raise Damaged(f"{what} cannot be read from the .npz ({shown(str(error))})") from error


def _from_member(member, size, dtype, shape, what):
    """The array in an open .npy member, whose header must say what the document says."""
    start = member.read(len(MAGIC) + 2)
    need(start[:-2] == MAGIC, f"{what} is not stored as an array")
    length = int.from_bytes(start[-2:], "little")
    header = HEADER.fullmatch(member.read(length))
    need(header is not None, f"{what} has a header that is not one of a plain array")
    declared = tuple(int(part) for part in header[2].replace(b" ", b"").split(b",") if part)
    need((header[1].decode(), declared) == (dtype.str, shape), f"{what} is another array than the document says")
    count = 1
    for entries in shape:
        count *= entries
    need(count * dtype.itemsize == size - len(start) - length, f"{what} has not the length that its shape asks for")
    array = np.empty(shape, dtype)
    filled = member.readinto(memoryview(array.reshape(-1)).cast("B")) if count else 0
    need(filled == array.nbytes, f"{what} is cut short")
    need(not member.read(1), f"{what} is too long")
    return array.astype(dtype.newbyteorder("="), copy=False)


def _from_lists(value, dtype, dimensions, what, finite):
    """The array of a list, or of a list of lists of one length."""
    need(isinstance(value, list), f"{what} is {shown(value)}, not a list")
    if dimensions == 2:
        need(all(isinstance(row, list) for row in value), f"{what} is not a list of lists")
        need(len({len(row) for row in value}) <= 1, f"{what} has rows of several lengths")
        flat = [entry for row in value for entry in row]
        shape = (len(value), len(value[0]) if value else 0)
    else:
        flat, shape = value, (len(value),)
    if dtype == "<f8":
        if not set(map(type, flat)) <= {float}:
            flat = [number(entry, f"an entry of {what}", finite) for entry in flat]
        return np.array(flat, dtype=np.float64).reshape(shape)
    least, most = {"<i8": (-INT64, INT64 - 1), "<u8": (0, 2 * INT64 - 1), "|u1": (0, 255)}[dtype]
    need(set(map(type, flat)) <= {int}, f"{what} holds something that is not a whole number")
    need(not flat or (min(flat) >= least and max(flat) <= most), f"{what} holds a number that is too large or small")
    return np.array(flat, dtype=np.dtype(dtype).newbyteorder("=")).reshape(shape)
