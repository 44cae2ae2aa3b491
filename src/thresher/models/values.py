"""Values of many kinds as JSON and back: strings, arrays with their dtype, constructor parameters."""

import itertools
import numbers
import re

import numpy as np

from thresher.models import arrays as store
from thresher.models.checks import INT64, Damaged, keys, need, number, rising, shown, text

DTYPE = re.compile(r"[<>|]([biuf][1248]|U\d{1,6})|O")
MOST_TEXT = 2**26  # bytes that labels of fixed width may take
WIDEST = {"i": "<i8", "u": "<u8", "f": "<f8", "b": "|u1"}
DEEPEST = 8


class Unwritable(Exception):
    """A parameter that has no form in a model file."""


def put_strings(writer, name, strings):
    """A list of strings or, where they are many, their UTF-8 bytes and where each begins."""
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    size = sum(map(len, encoded))
    if size + 8 * len(encoded) <= store.INLINE:
        return list(strings)
    begins = np.concatenate([[0], np.cumsum([len(each) for each in encoded])])
    return {
        "utf8": writer.put(f"{name}.utf8", np.frombuffer(b"".join(encoded), dtype=np.uint8), "|u1"),
        "begins": writer.put(f"{name}.begins", begins, "<i8"),
    }


def get_strings(reader, value, count, what):
    """The strings that ``put_strings`` was given; None as ``count`` is any number."""
    if isinstance(value, list):
        need(all(isinstance(each, str) for each in value), f"{what} hold something that is not a text")
        found = value
    else:
        keys(value, ("utf8", "begins"), what)
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
    """A vector of numbers, booleans or strings with its dtype; TypeError for anything else."""
    array, kind = np.asarray(array), np.asarray(array).dtype.kind
    if array.ndim == 1 and kind in WIDEST and array.dtype.itemsize <= 8:
        return {"dtype": array.dtype.str, "values": writer.put(name, array, WIDEST[kind])}
    if array.ndim == 1 and (kind == "U" or (kind == "O" and all(isinstance(each, str) for each in array))):
        dtype = "O" if kind == "O" else array.dtype.str
        return {"dtype": dtype, "values": put_strings(writer, name, [str(each) for each in array.tolist()])}
    odd = next((type(each).__name__ for each in array.flat if not isinstance(each, str)), "none") if kind == "O" else ""
    raise TypeError(f"an array of dtype {array.dtype}{odd and f' that holds {odd}'} cannot be written to a model file")


def get_typed(reader, value, what):
    """The vector that ``put_typed`` was given."""
    keys(value, ("dtype", "values"), what)
    name = text(value["dtype"], f"the dtype of {what}", 20)
    need(DTYPE.fullmatch(name), f"{what} has dtype {shown(name)}")
    try:
        dtype = np.dtype(name)
    except TypeError as error:
        raise Damaged(f"{what} has dtype {shown(name)}") from error
    if dtype.kind in "UO":
        found = get_strings(reader, value["values"], None, what)
        need(dtype.kind == "O" or len(found) * dtype.itemsize <= MOST_TEXT, f"{what} takes too much room")
        array = np.empty(len(found), dtype)
        array[:] = found
        need(array.tolist() == found, f"{what} holds texts longer than its dtype")
        return array
    wide = reader.get(value["values"], WIDEST[dtype.kind], (None,), what, finite=False)
    with np.errstate(over="ignore"):
        array = wide.astype(dtype)
    need(np.array_equal(array, wide, equal_nan=dtype.kind == "f"), f"{what} holds values that its dtype does not")
    return array


def put_parameter(writer, name, value):
    """A constructor parameter; what has no form here is left out, and says so."""
    try:
        return _put(writer, f"parameters.{name}", value, DEEPEST)
    except Unwritable:
        return {"left_out": repr(value)[:200]}


def _put(writer, name, value, depth):
    if depth == 0:
        raise Unwritable
    if value is None or isinstance(value, (bool, np.bool_)):
        return value if value is None else bool(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, numbers.Integral) and abs(int(value)) < INT64:
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else {"float": str(float(value))}
    if type(value) in (list, tuple):
        found = [_put(writer, name, each, depth - 1) for each in value]
        return found if type(value) is list else {"tuple": found}
    if type(value) is dict:
        pairs = [[_put(writer, name, part, depth - 1) for part in pair] for pair in value.items()]
        return {"pairs": pairs}
    if type(value) is np.ndarray and value.ndim == 1:
        try:
            return {"array": put_typed(writer, name, value)}
        except TypeError as error:
            raise Unwritable from error
    raise Unwritable


def get_parameter(reader, value, what, depth=DEEPEST):
    """The parameter that ``put_parameter`` was given; it was not left out."""
    need(depth > 0, f"{what} is nested too deep")
    if value is None or type(value) in (bool, str):
        return value
    if type(value) in (int, float):
        return value if type(value) is int and abs(value) < INT64 else number(value, what)
    if isinstance(value, list):
        return [get_parameter(reader, each, what, depth - 1) for each in value]
    need(len(value) == 1, f"{what} is {shown(value)}, of no known kind")
    (kind, held), *_ = value.items()
    if kind == "float":
        return number(held, what, finite=False)
    if kind == "array":
        return get_typed(reader, held, what)
    need(kind in ("tuple", "pairs") and isinstance(held, list), f"{what} is {shown(value)}, of no known kind")
    found = [get_parameter(reader, each, what, depth - 1) for each in held]
    return tuple(found) if kind == "tuple" else _dict(found, what)


def _dict(pairs, what):
    simple = (type(None), bool, int, float, str)
    good = all(isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], simple) for pair in pairs)
    need(good, f"{what} holds something that is not a pair of key and value")
    found = dict(pairs)
    need(len(found) == len(pairs), f"{what} has a key twice")
    return found


def get_classes(reader, value):
    """Labels, sorted and unique, at least two."""
    classes = get_typed(reader, value, "classes")
    need(classes.size >= 2, "there are fewer than two classes")
    return rising(classes, "classes")
