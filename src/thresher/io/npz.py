"""Arrays from untrusted .npz and .npy files: sizes are checked before memory is allocated.

Files of other programs, in all their forms. What thresher itself writes has one form, and a stricter reader of its own
(``thresher.models.storage``).
"""

import os
import struct
import zipfile
import zlib

import numpy as np

from thresher.errors import InvalidDataError

MOST_MEMBERS = 64
MOST_COMPRESSED = 1100  # the compression ratio of deflate is at most 1032
COPY = "copy it again, or write it anew"
OBJECTS_ADVICE = "save numbers or strings, for example labels.astype(str)"
# what zipfile and numpy raise for archives that are damaged, encrypted or compressed in an unsupported way
BROKEN = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError,
    KeyError, OverflowError, SyntaxError,
)  # fmt: skip


def read_npz(path):
    """{name: array} of a file; InvalidDataError if it is damaged, contains objects or declares sizes it cannot have."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) > MOST_MEMBERS:
                raise InvalidDataError(f"{path}: contains {len(members)} arrays; at most {MOST_MEMBERS} are supported")
            _check_room(path, sum(member.file_size for member in members), os.path.getsize(path))
            return {member.filename.removesuffix(".npy"): _array(archive, member) for member in members}
    except InvalidDataError:
        raise
    except BROKEN as error:
        raise InvalidDataError(f"{path}: cannot read the .npz file: {_line(error)}") from None


def npz_names(path):
    """The names of the arrays of a file."""
    try:
        with zipfile.ZipFile(path) as archive:
            return [member.filename.removesuffix(".npy") for member in archive.infolist()]
    except BROKEN as error:
        raise InvalidDataError(f"{path}: cannot read the .npz file: {_line(error)}") from None


def read_npy(path):
    """The array of an .npy file, memory-mapped."""
    try:
        _check_whole(path)
        return np.lib.format.open_memmap(path, mode="r")
    except InvalidDataError:
        raise
    except ValueError as error:
        reason = f"it contains Python objects; {OBJECTS_ADVICE}" if "Python objects" in str(error) else _line(error)
        raise InvalidDataError(f"{path}: cannot read the .npy file: {reason}") from None
    except BROKEN as error:
        raise InvalidDataError(f"{path}: cannot read the .npy file: {_line(error)}") from None


def _check_whole(path):
    """Reject files that are shorter than their header says."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        try:
            header = _header(file)
        except ValueError as error:
            if "EOF" not in str(error):
                raise
            raise InvalidDataError(f"{path}: the file is truncated: it ends after {size:,} bytes, {COPY}") from None
        whole = file.tell() + _bytes(*header)
    if size < whole:
        shape = " x ".join(map(str, header[0]))
        raise InvalidDataError(
            f"{path}: the file is truncated: an array of {shape} values of {header[2]} takes {whole:,} bytes with its "
            f"header, but the file has {size:,}; {COPY}"
        )


def _header(stream):
    """(shape, whether in Fortran order, dtype) of an .npy stream, which is then at its values."""
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"it has format version {version}")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return read(stream)


def _bytes(shape, fortran, dtype):
    """The size of the values of an array."""
    return int(np.prod(shape, dtype=object)) * dtype.itemsize


def _check_room(path, claimed, size):
    """Reject archives that declare more than they can contain, or than fits in memory."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 2**40
    if claimed > min(MOST_COMPRESSED * size, memory):
        raise InvalidDataError(
            f"{path}: its arrays would take {claimed / 2**30:.3g} GiB, but the file has {size:,} bytes: "
            "it is damaged, or too large for this machine"
        )


def _array(archive, member):
    """One array; its shape and the length of the member must agree."""
    with archive.open(member) as stream:
        shape, fortran, dtype = _header(stream)
        if dtype.hasobject:
            raise ValueError(f"{member.filename} contains Python objects; {OBJECTS_ADVICE}")
        size = _bytes(shape, fortran, dtype)
        if size != member.file_size - stream.tell():
            raise ValueError(f"{member.filename} declares {size} bytes, but has {member.file_size - stream.tell()}")
        content = stream.read(size)
        if len(content) != size:
            raise ValueError(f"{member.filename} is truncated")
    array = np.frombuffer(content, dtype=dtype)
    return array.reshape(shape, order="F" if fortran else "C")


def _line(error):
    """The message of an error in one line."""
    return " ".join(str(error).split()) or type(error).__name__
