"""What model files and checkpoints are on disk: JSON for people, containers of arrays, atomic replacement.

A container is a zip of .npy members that are stored, not compressed. A member is then never larger than the file, so
that the memory that a hostile file can make us allocate is bounded by its own size. Weights hardly compress anyway.
The container of a model is named, with its sha256, by the document next to it; a checkpoint is one file that ends with
its own: the comment of the zip, its last 64 bytes, is the sha256 of all bytes before (the *seal*).

``thresher.io.npz`` reads archives too, and is another reader on purpose: it takes what other programs wrote (any dtype,
order and version of .npy, compressed or not, all members at once) and looks for a matrix. Here only one form is
written, the document describes each array before it is read, and every difference is damage.

Files are replaced atomically: after a crash at any moment the old or the new one is there, complete. A file is written
under another name, synced, and moved into place; then the folder is synced, so that the name lasts.
"""

import contextlib
import errno
import hashlib
import json
import math
import os
import re
import secrets
import stat
import zipfile

import numpy as np

from thresher.io.npz import BROKEN
from thresher.state import Damaged, need, reported, shown, string

SHA256_DIGITS = 64  # of a sha256 in hexadecimal
SHA256 = re.compile(f"[0-9a-f]{{{SHA256_DIGITS}}}")
DIGEST_BLOCK = 1 << 20  # bytes read together
MAGIC = b"\x93NUMPY\x01\x00"
HEADER = re.compile(rb"\{'descr': '([<|][a-z]\d)', 'fortran_order': False, 'shape': \(([0-9, ]{0,60})\), \} *\n")
MOST_BYTES = 64_000_000
MOST_PARTS = 2_000_000  # brackets and colons: protects against small files with huge numbers of objects
MOST_DEPTH = 32


def parse_json(data):
    """The JSON in ``data``, which is not too large, not too deep, and has no duplicate key."""
    need(len(data) <= MOST_BYTES, f"it is larger than {MOST_BYTES // 10**6} MB")
    need(sum(data.count(mark) for mark in (b"[", b"{", b":")) <= MOST_PARTS, "it has too many parts")
    try:
        document = json.loads(data.decode("utf-8"), object_pairs_hook=_unique_keys, parse_constant=_no_constant)
    except RecursionError as error:
        raise Damaged("it is nested too deeply") from error
    except UnicodeDecodeError as error:
        raise Damaged(f"it is not UTF-8 text (byte {error.start})") from error
    except json.JSONDecodeError as error:
        raise Damaged(f"it is not JSON ({error.msg} in line {error.lineno}), it may be truncated") from error
    except ValueError as error:
        raise Damaged("it contains a number with too many digits") from error
    _check_depth(document, MOST_DEPTH)
    return document


def _unique_keys(pairs):
    entries = dict(pairs)
    need(len(entries) == len(pairs), "it contains a duplicate key")
    return entries


def _no_constant(name):
    raise Damaged(f"it contains {name}, which is not valid JSON")


def _check_depth(value, depth):
    need(depth > 0, "it is nested too deeply")
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        if type(part) in (dict, list):
            _check_depth(part, depth - 1)


def as_text(value, indent=0):
    """JSON that a person can read: objects and lists of lists over several lines, other lists on one."""
    pad = "\n" + " " * (indent + 1)
    if isinstance(value, dict) and value:
        inner = (f"{json.dumps(key, ensure_ascii=False)}: {as_text(part, indent + 1)}" for key, part in value.items())
        return "{" + pad + f",{pad}".join(inner) + pad[:-1] + "}"
    if isinstance(value, list) and any(isinstance(part, (dict, list)) for part in value):
        return "[" + pad + f",{pad}".join(as_text(part, indent + 1) for part in value) + pad[:-1] + "]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def json_dict(value, name):
    """``value``, a dict or None, as a dict of JSON values; TypeError for an invalid argument ``name``."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise TypeError(f"{name} must be a dict, got {type(value).__name__}")
    try:
        plain = json.loads(json.dumps(value, allow_nan=False, default=_python_scalar))
        _check_depth(plain, MOST_DEPTH - 2)  # it is nested in an object of a document
    except (TypeError, ValueError, RecursionError, Damaged) as error:
        raise TypeError(f"{name} must be JSON-serializable: {error}") from error
    return plain


def _python_scalar(value):
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        return value.item()
    raise TypeError(f"{type(value).__name__} is not supported")


def write_members(file, members, comment=b""):
    """Write all arrays of ``members``, by name, to an open file; the same arrays always give the same bytes."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in members.items():
            info = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            with archive.open(info, "w", force_zip64=array.nbytes >= 2**31 - 1024) as member:
                np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
        archive.comment = comment


def write_sealed(file, members):
    """As ``write_members``, with the seal at the end."""
    write_members(file, members, comment=b"0" * SHA256_DIGITS)
    length = file.tell() - SHA256_DIGITS
    seal = digest(file, length)
    file.seek(length)
    file.write(seal.encode())


def check_seal(file):
    """Raise Damaged unless an open file ends with the digest of all that comes before."""
    length = file.seek(0, os.SEEK_END) - SHA256_DIGITS
    need(length > 0, "it is truncated")
    same = digest(file, length).encode() == file.read()
    need(same, "checksum mismatch: it is damaged or truncated")


def digest(file, length=None):
    """sha256 of the first ``length`` bytes of an open file, or of all; the next byte read is the one after."""
    left, sha256 = file.seek(0, os.SEEK_END) if length is None else length, hashlib.sha256()
    file.seek(0)
    while left:
        block = file.read(min(DIGEST_BLOCK, left))
        need(block, "it changed while it was read")
        sha256.update(block)
        left -= len(block)
    return sha256.hexdigest()


def sha256_string(value, what):
    """``value`` if it is a sha256 as ``digest`` returns it."""
    need(SHA256.fullmatch(string(value, what, SHA256_DIGITS)), f"{what} is not a hexadecimal sha256")
    return value


def open_file(path, what="it"):
    """An open file to read; pipes, directories and devices are rejected."""
    need(stat.S_ISREG(os.stat(path).st_mode), f"{what} is not a file")
    return open(path, "rb")


def member_names(path):
    """Names of the members of a zip file, none if it is damaged; None for any other file."""
    with open(path, "rb") as file:
        if file.read(2) != b"PK":
            return None
        try:
            with zipfile.ZipFile(file) as archive:
                return archive.namelist()
        except BROKEN:
            return []


class Container:
    """The members of an archive in an open file, each read at most once."""

    def __init__(self, file):
        self.left = file.seek(0, os.SEEK_END)  # bytes that members may still take: overlapping ones take too many
        with reported("its .npz is not a valid zip file", BROKEN):
            self.archive = zipfile.ZipFile(file)
            members = self.archive.infolist()
        self.unread = {info.filename: info for info in members}
        need(len(self.unread) == len(members), "its .npz has a duplicate member")

    def array(self, name, dtype, shape, what):
        """The array in the member ``name``, which must have this dtype and shape; None is a vector of any length."""
        info = self.unread.pop(f"{name}.npy", None) if isinstance(name, str) else None
        if info is None:
            raise Damaged(f"{what} is missing from the .npz, which has no member {shown(name)}")
        need(info.compress_type == zipfile.ZIP_STORED, f"{what} is compressed in the .npz")
        need(0 <= info.file_size == info.compress_size <= self.left, f"{what} is larger than the .npz that contains it")
        self.left -= info.file_size
        with reported(f"{what} cannot be read from the .npz", BROKEN), self.archive.open(info) as member:
            return _read_array(member, info.file_size, np.dtype(dtype), shape, what)

    def check_all_read(self):
        """Raise Damaged unless every member has been read: there must be no others."""
        need(not self.unread, f"its .npz has the member {shown(min(self.unread, default=''))}, unknown to the document")


def _read_array(member, size, dtype, shape, what):
    """The array in an open .npy member of ``size`` bytes; its header is checked before memory is allocated."""
    start = member.read(len(MAGIC) + 2)
    need(start[:-2] == MAGIC, f"{what} is not stored as an array")
    length = int.from_bytes(start[-2:], "little")
    header = HEADER.fullmatch(member.read(length))
    if header is None:
        raise Damaged(f"{what} has an invalid .npy header")
    declared = tuple(int(part) for part in header[2].replace(b" ", b"").split(b",") if part)
    shape = declared[:1] if shape is None else shape
    same = header[1].decode() == dtype.str and declared == shape
    need(same, f"{what} does not match its dtype and shape in the document")
    n_bytes = math.prod(shape) * dtype.itemsize
    need(n_bytes == size - len(start) - length, f"the length of {what} does not match its shape")
    array = np.empty(shape, dtype)
    filled = member.readinto(array.reshape(-1).data.cast("B")) if n_bytes else 0
    need(filled == array.nbytes, f"{what} is truncated")
    need(not member.read(1), f"{what} is too long")
    return array.astype(dtype.newbyteorder("="), copy=False)


def replaceable(path):
    """The path with all links resolved; OSError if its folder does not exist, or it exists and is no regular file."""
    path = os.path.realpath(path)
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, "the folder does not exist", folder)
    if os.path.lexists(path) and not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(f"{path} is not a regular file and cannot be replaced")
    return path


@contextlib.contextmanager
def scratch_names(folder, count):
    """A list of unused file names in ``folder``; files with these names are deleted at the end."""
    names = [os.path.join(folder, f".thresher-{secrets.token_hex(8)}.tmp") for _ in range(count)]
    try:
        yield names
    finally:
        for name in names:
            with contextlib.suppress(OSError):
                os.unlink(name)


def write_synced(path, fill):
    """Write a new file by ``fill(file)``, and wait until it is on the disk."""
    with open(path, "x+b") as file:
        fill(file)
        file.flush()
        os.fsync(file.fileno())


def move(scratch, path):
    """Rename ``scratch`` to ``path``, and sync the folder."""
    os.replace(scratch, path)
    sync_folder(os.path.dirname(path))


def sync_folder(folder):
    """Make the new names in ``folder`` persistent, if the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
