"""Strings, and arrays with their dtype, as parts of a document and back."""

import itertools
import math
import re

import numpy as np

from thresher.state import arrays as store
from thresher.state.checks import Damaged, fields, integer, need, required, shown, string

DTYPE = re.compile(r"[<>|]([biuf][1248]|U\d{1,6})|O")
MOST_TEXT = 2**26  # bytes that strings of fixed width may take in memory, however small they are in the file
MOST_PADDED = 64  # beyond that, at most so many times their bytes in the file
STORED_AS = {"i": "<i8", "u": "<u8", "f": "<f8", "b": "|u1"}
MOST_AXES = 8
STRINGS = required("utf8", "begins")
TYPED = required("dtype", "values") | {"shape": None}  # None: a vector


def put_strings(writer, name, strings):
    """A list of strings or, if there are many, their UTF-8 bytes and where each begins."""
    encoded = [entry.encode("utf-8", "surrogatepass") for entry in strings]
    size = sum(map(len, encoded))
    if writer.inlines(size + 8 * len(encoded), store.INLINE):
        return list(strings)
    begins = np.concatenate([[0], np.cumsum([len(part) for part in encoded])])
    return {
        "utf8": writer.put(f"{name}.utf8", np.frombuffer(b"".join(encoded), dtype=np.uint8), "|u1"),
        "begins": writer.put(f"{name}.begins", begins, "<i8"),
    }


def get_strings(reader, value, count, what):
    """The strings that ``put_strings`` was given; None as ``count`` is any number."""
    if isinstance(value, list):
        need(all(isinstance(entry, str) for entry in value), f"{what} must be strings")
        strings = value
    else:
        value = fields(value, STRINGS, what)
        data = reader.get(value["utf8"], "|u1", (None,), what).tobytes()
        begins = reader.get(value["begins"], "<i8", (None,), f"the begins of {what}")
        need(begins.size > 0 and begins[0] == 0 and begins[-1] == len(data), f"{what} do not cover their bytes")
        need(bool((begins[1:] >= begins[:-1]).all()), f"the begins of {what} decrease")
        ends = begins.tolist()
        try:
            strings = [data[a:b].decode("utf-8", "surrogatepass") for a, b in itertools.pairwise(ends)]
        except UnicodeDecodeError as error:
            raise Damaged(f"{what} are not UTF-8") from error
    need(count is None or len(strings) == count, f"expected {count} {what}, got {len(strings)}")
    return strings


def put_typed(writer, name, array):
    """An array of numbers, booleans or strings with its dtype, and its shape where it is not a vector.

    TypeError for anything else.
    """
    array = np.asarray(array)
    if array.ndim > MOST_AXES:
        raise TypeError(f"an array of {array.ndim} dimensions cannot be written to a model file")
    kind, flat = array.dtype.kind, array.reshape(-1)
    if kind in STORED_AS and array.dtype.itemsize <= 8:
        dtype, values = array.dtype.str, writer.put(name, flat, STORED_AS[kind])
    elif kind == "U" or (kind == "O" and all(isinstance(entry, str) for entry in flat)):
        dtype = "O" if kind == "O" else array.dtype.str
        values = put_strings(writer, name, [str(entry) for entry in flat.tolist()])
    else:
        other = next((type(entry).__name__ for entry in flat if not isinstance(entry, str)), "") if kind == "O" else ""
        what = f"dtype {array.dtype}{other and f' that contains {other}'}"
        raise TypeError(f"an array of {what} cannot be written to a model file")
    shape = {} if array.ndim == 1 else {"shape": list(array.shape)}
    return {"dtype": dtype, **shape, "values": values}


def get_typed(reader, value, what):
    """The array that ``put_typed`` was given."""
    value = fields(value, TYPED, what)
    name = string(value["dtype"], f"the dtype of {what}", 20)
    need(DTYPE.fullmatch(name), f"{what} has the unsupported dtype {shown(name)}")
    try:
        dtype = np.dtype(name)
    except TypeError as error:
        raise Damaged(f"{what} has the unsupported dtype {shown(name)}") from error
    if dtype.kind in "UO":
        flat = _string_array(get_strings(reader, value["values"], None, what), dtype, what)
    else:
        wide = reader.get_flat(value["values"], STORED_AS[dtype.kind], what)
        with np.errstate(over="ignore"):
            flat = wide.astype(dtype)
        need(np.array_equal(flat, wide, equal_nan=dtype.kind == "f"), f"{what} has values that do not fit its dtype")
    return flat if value["shape"] is None else _reshaped(flat, value["shape"], what)


def _string_array(strings, dtype, what):
    size = sum(map(len, strings)) + 8 * len(strings)
    small = dtype.kind == "O" or len(strings) * dtype.itemsize <= max(MOST_TEXT, MOST_PADDED * size)
    need(small, f"{what} takes too much memory for its content")
    array = np.empty(len(strings), dtype)
    array[:] = strings
    need(array.tolist() == strings, f"{what} contains strings longer than its dtype")
    return array


def _reshaped(flat, shape, what):
    need(isinstance(shape, list) and len(shape) <= MOST_AXES, f"{what} has an invalid shape, {shown(shape)}")
    lengths = [integer(length, f"the shape of {what}") for length in shape]
    need(math.prod(lengths) == flat.size, f"{what} has {flat.size} entries, expected the shape {shown(shape)}")
    try:
        return flat.reshape(lengths)
    except ValueError as error:  # no entries, but dimensions too large for any array
        raise Damaged(f"{what} has an invalid shape, {shown(shape)}") from error
