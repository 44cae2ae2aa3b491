"""Strings, and arrays with their dtype, as parts of a document and back."""

import itertools
import math
import re

import numpy as np

from thresher.models import arrays as store
from thresher.models.checks import Damaged, fields, need, required, rising, shown, text, whole

DTYPE = re.compile(r"[<>|]([biuf][1248]|U\d{1,6})|O")
MOST_TEXT = 2**26  # bytes that strings of fixed width may take, however few bytes of the file they are
MOST_PADDED = 64  # and how many times their bytes in the file beyond that
WIDEST = {"i": "<i8", "u": "<u8", "f": "<f8", "b": "|u1"}
MOST_AXES = 8
STRINGS = required("utf8", "begins")
TYPED = required("dtype", "values") | {"shape": None}  # None: a vector


def put_strings(writer, name, strings):
    """A list of strings or, where they are many, their UTF-8 bytes and where each begins."""
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    size = sum(map(len, encoded))
    if writer.inlines(size + 8 * len(encoded), store.INLINE):
        return list(strings)
    begins = np.concatenate([[0], np.cumsum([len(each) for each in encoded])])
    return {
        "utf8": writer.put(f"{name}.utf8", np.frombuffer(b"".join(encoded), dtype=np.uint8), "|u1"),
        "begins": writer.put(f"{name}.begins", begins, "<i8"),
    }


def get_strings(reader, value, count, what):
    """The strings that ``put_strings`` was given; None as ``count`` is any number."""
    if isinstance(value, list):
        need(all(isinstance(each, str) for each in value), f"{what} hold something that is not a string")
        found = value
    else:
        value = fields(value, STRINGS, what)
        data = reader.get(value["utf8"], "|u1", (None,), what).tobytes()
        begins = reader.get(value["begins"], "<i8", (None,), f"the beginnings of {what}")
        need(begins.size > 0 and begins[0] == 0 and begins[-1] == len(data), f"{what} do not fill their bytes")
        need(bool((begins[1:] >= begins[:-1]).all()), f"the beginnings of {what} fall")
        ends = begins.tolist()
        try:
            found = [data[a:b].decode("utf-8", "surrogatepass") for a, b in itertools.pairwise(ends)]
        except UnicodeDecodeError as error:
            raise Damaged(f"{what} are not UTF-8") from error
    need(count is None or len(found) == count, f"{what} are {len(found)}, not {count}")
    return found


def put_typed(writer, name, array):
    """An array of numbers, booleans or strings with its dtype, and its shape where it is not a vector.

    TypeError for anything else.
    """
    array = np.asarray(array)
    if array.ndim > MOST_AXES:
        raise TypeError(f"an array of {array.ndim} dimensions cannot be written to a model file")
    kind, flat = array.dtype.kind, array.reshape(-1)
    if kind in WIDEST and array.dtype.itemsize <= 8:
        dtype, values = array.dtype.str, writer.put(name, flat, WIDEST[kind])
    elif kind == "U" or (kind == "O" and all(isinstance(each, str) for each in flat)):
        dtype = "O" if kind == "O" else array.dtype.str
        values = put_strings(writer, name, [str(each) for each in flat.tolist()])
    else:
        odd = next((type(each).__name__ for each in flat if not isinstance(each, str)), "") if kind == "O" else ""
        what = f"dtype {array.dtype}{odd and f' that holds {odd}'}"
        raise TypeError(f"an array of {what} cannot be written to a model file")
    shape = {} if array.ndim == 1 else {"shape": list(array.shape)}
    return {"dtype": dtype, **shape, "values": values}


def get_typed(reader, value, what):
    """The array that ``put_typed`` was given."""
    value = fields(value, TYPED, what)
    name = text(value["dtype"], f"the dtype of {what}", 20)
    need(DTYPE.fullmatch(name), f"{what} has dtype {shown(name)}")
    try:
        dtype = np.dtype(name)
    except TypeError as error:
        raise Damaged(f"{what} has dtype {shown(name)}") from error
    if dtype.kind in "UO":
        flat = _string_array(get_strings(reader, value["values"], None, what), dtype, what)
    else:
        wide = reader.get(value["values"], WIDEST[dtype.kind], (None,), what, finite=False)
        with np.errstate(over="ignore"):
            flat = wide.astype(dtype)
        need(np.array_equal(flat, wide, equal_nan=dtype.kind == "f"), f"{what} holds values that its dtype does not")
    return flat if value["shape"] is None else _reshaped(flat, value["shape"], what)


def _string_array(found, dtype, what):
    size = sum(len(string) for string in found) + 8 * len(found)
    small = dtype.kind == "O" or len(found) * dtype.itemsize <= max(MOST_TEXT, MOST_PADDED * size)
    need(small, f"{what} takes too much memory for what it holds")
    array = np.empty(len(found), dtype)
    array[:] = found
    need(array.tolist() == found, f"{what} holds strings longer than its dtype")
    return array


def _reshaped(flat, shape, what):
    need(isinstance(shape, list) and len(shape) <= MOST_AXES, f"{what} has shape {shown(shape)}")
    lengths = [whole(length, f"the shape of {what}") for length in shape]
    need(math.prod(lengths) == flat.size, f"{what} has {flat.size} entries, not those of shape {shown(shape)}")
    try:
        return flat.reshape(lengths)
    except ValueError as error:  # without entries, and of lengths that no array has
        raise Damaged(f"{what} has shape {shown(shape)}") from error


def get_classes(reader, value):
    """Labels, sorted and unique, at least two."""
    classes = get_typed(reader, value, "classes")
    need(classes.ndim == 1, "classes are not a vector")
    need(classes.size >= 2, "there are fewer than two classes")
    return rising(classes, "classes")
