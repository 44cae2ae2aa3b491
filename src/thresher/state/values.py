"""Strings, typed arrays, plain values, matrices, frozen dataclasses and lists of these as parts of a document.

JSON values are written as they are, others as an object whose only key is their kind: ``float`` (nan and
infinities), ``tuple``, ``pairs`` (a dict), ``array``, ``sparse``, ``list`` and ``tuple`` of one type (long ones) and
``value``: a frozen dataclass of those in ``VALUE_TYPES``, by the name of its class, with its fields. Records are lists
of frozen dataclasses of numbers and strings; a document has a column for each field.
"""

import dataclasses
import re
from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from thresher.state import arrays as store
from thresher.state.arrays import ArrayReader, ArrayWriter, get_begins
from thresher.state.checks import (
    INT64,
    REQUIRED,
    UnknownClass,
    fields,
    integer,
    need,
    real,
    reported,
    required,
    shown,
    string,
)

DTYPE = re.compile(r"[<>|]([biuf][1248]|U\d{1,6})|O")
MOST_TEXT = 2**26  # bytes that strings of fixed width may take in memory, however small they are in the file
MOST_PADDED = 64  # beyond that, at most so many times their bytes in the file
STORED_AS = {"i": "<i8", "u": "<u8", "f": "<f8", "b": "|u1"}
MOST_AXES = 8
STRINGS_FIELDS = required("utf8", "begins")
TYPED_FIELDS = required("dtype", "values") | {"shape": None}  # None: a vector
MOST_NESTED = 8  # levels
SPARSE_TYPES = {cls.__name__: cls for cls in (sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix)}
SPARSE_PARTS = ("data", "indices", "indptr")  # of a compressed matrix
SPARSE_FIELDS = required("type", "shape", *SPARSE_PARTS)
VALUE_FIELDS = required("type", "fields")
Registered = TypeVar("Registered")
SCALARS = (type(None), bool, int, float, str)
DTYPES: dict[Any, str] = {int: "<i8", float: "<f8"}  # of the fields of records
VALUE_TYPES: dict[str, Any] = {}  # the registered classes, by name


def register(cls: type[Registered]) -> type[Registered]:
    """Let values of a frozen dataclass be written to files and read from them; a class is known by its name.

    Every field of ``__init__`` is written, in the same forms as a parameter. A field that a file lacks has the default
    of the class. A ValueError of ``__post_init__`` is reported as damage.

    Parameters
    ----------
    cls : type
        A frozen dataclass.

    Returns
    -------
    type
        The same, so that this can be used as a decorator.
    """
    if not (dataclasses.is_dataclass(cls) and cls.__dataclass_params__.frozen):  # type: ignore[attr-defined]
        raise TypeError(f"{cls.__name__} must be a frozen dataclass")
    if VALUE_TYPES.setdefault(cls.__name__, cls) is not cls:
        raise ValueError(f"another class is already registered as {cls.__name__}")
    return cls


def put_strings(writer: ArrayWriter, name: str, strings: Sequence[str]) -> Any:
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


def get_strings(reader: ArrayReader, value: Any, count: int | None, what: str) -> list[str]:
    """The strings that ``put_strings`` was given; None as ``count`` is any number."""
    if isinstance(value, list):
        need(all(isinstance(entry, str) for entry in value), f"{what} must be strings")
        strings = value
    else:
        value = fields(value, STRINGS_FIELDS, what)
        data = reader.get(value["utf8"], "|u1", (None,), what).tobytes()
        begins = get_begins(reader, value["begins"], None, len(data), what)
        with reported(f"{what} are not UTF-8"):
            strings = [data[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(begins.tolist())]
    need(count is None or len(strings) == count, f"expected {count} {what}, got {len(strings)}")
    return strings


def put_typed(writer: ArrayWriter, name: str, array: ArrayLike) -> dict[str, Any]:
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


def get_typed(reader: ArrayReader, value: Any, what: str) -> np.ndarray:
    """The array that ``put_typed`` was given."""
    value = fields(value, TYPED_FIELDS, what)
    name = string(value["dtype"], f"the dtype of {what}", 20)
    need(DTYPE.fullmatch(name), f"{what} has the unsupported dtype {shown(name)}")
    with reported(f"{what} has an unsupported dtype"):
        dtype = np.dtype(name)
    if dtype.kind in "UO":
        flat = _string_array(get_strings(reader, value["values"], None, what), dtype, what)
    else:
        wide = reader.get_flat(value["values"], STORED_AS[dtype.kind], what)
        with np.errstate(over="ignore"):
            flat = wide.astype(dtype)
        need(np.array_equal(flat, wide, equal_nan=dtype.kind == "f"), f"{what} has values that do not fit its dtype")
    return flat if value["shape"] is None else _reshaped(flat, value["shape"], what)


def _string_array(strings: list[str], dtype: np.dtype, what: str) -> np.ndarray:
    size = sum(map(len, strings)) + 8 * len(strings)
    small = dtype.kind == "O" or len(strings) * dtype.itemsize <= max(MOST_TEXT, MOST_PADDED * size)
    need(small, f"{what} takes too much memory for its content")
    array = np.empty(len(strings), dtype)
    array[:] = strings
    need(array.tolist() == strings, f"{what} contains strings longer than its dtype")
    return array


def _reshaped(flat: np.ndarray, shape: Any, what: str) -> np.ndarray:
    need(isinstance(shape, list) and len(shape) <= MOST_AXES, f"{what} has an invalid shape, {shown(shape)}")
    lengths = [integer(length, f"the shape of {what}") for length in shape]
    with reported(f"{what} has another shape"):
        return flat.reshape(lengths)


def put_value(writer: ArrayWriter, name: str, value: Any, depth: int = MOST_NESTED) -> Any:
    """A value as a part of a document; large arrays go to ``writer`` as ``name``.

    Raises TypeError for a value that has no form, or is nested too deeply.
    """
    if depth == 0:
        raise TypeError(f"it is nested more than {MOST_NESTED} levels deep")
    if value is None or isinstance(value, (bool, np.bool_, str, Integral, float, np.floating)):
        return _put_scalar(value)
    if type(value) in (list, tuple):
        return _put_sequence(writer, name, value, depth)
    if type(value) is dict:
        return {"pairs": [[put_value(writer, name, part, depth - 1) for part in pair] for pair in value.items()]}
    if type(value) is np.ndarray:
        return {"array": put_typed(writer, name, value)}
    kind = type(value).__name__
    if SPARSE_TYPES.get(kind) is type(value):
        return {"sparse": _put_sparse(writer, name, value)}
    if VALUE_TYPES.get(kind) is type(value):
        return {"value": _put_dataclass(writer, name, value, depth)}
    raise TypeError(
        f"a value of the type {kind} cannot be written to a file; if it is a frozen dataclass, make its class known by "
        f"thresher.features.register({kind})"
    )


def _put_scalar(value: Any) -> Any:
    """None, a boolean, a string or a number."""
    if value is None:
        return None
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Integral):
        if abs(int(value)) >= INT64:
            raise TypeError(f"an integer of {int(value).bit_length()} bits cannot be written to a file: at most 63")
        return int(value)
    return float(value) if np.isfinite(value) else {"float": str(float(value))}


def _put_sparse(writer: ArrayWriter, name: str, value: Any) -> dict[str, Any]:
    parts = {part: put_typed(writer, f"{name}.{part}", getattr(value, part)) for part in SPARSE_PARTS}
    return {"type": type(value).__name__, "shape": [int(length) for length in value.shape], **parts}


def _put_dataclass(writer: ArrayWriter, name: str, value: Any, depth: int) -> dict[str, Any]:
    init = [field.name for field in dataclasses.fields(value) if field.init]
    written = {key: put_value(writer, f"{name}.{key}", getattr(value, key), depth - 1) for key in init}
    return {"type": type(value).__name__, "fields": written}


def _put_sequence(writer: ArrayWriter, name: str, value: Any, depth: int) -> Any:
    """A list or tuple; a long one of integers, floats or strings only is written as an array."""
    kind, types = type(value).__name__, set(map(type, value)) if 8 * len(value) > store.INLINE else ()
    dtype = {int: np.int64, float: np.float64, str: object}.get(next(iter(types))) if len(types) == 1 else None
    if dtype is not None and (dtype is not np.int64 or max(map(abs, value)) < INT64):
        return {kind: put_typed(writer, name, np.array(value, dtype=dtype))}
    entries = [put_value(writer, name, entry, depth - 1) for entry in value]
    return entries if kind == "list" else {kind: entries}


def get_value(reader: ArrayReader, value: Any, what: str, depth: int = MOST_NESTED) -> Any:
    """The value that ``put_value`` was given."""
    need(depth > 0, f"{what} is nested too deeply")
    if value is None or type(value) in (bool, str):
        return value
    if type(value) in (int, float):
        return value if type(value) is int and abs(value) < INT64 else real(value, what)
    if isinstance(value, list):
        return [get_value(reader, entry, what, depth - 1) for entry in value]
    known = len(value) == 1 and next(iter(value)) in READERS
    need(known, f"{what} is {shown(value)}, of unknown kind")
    (kind, content), *_ = value.items()
    return READERS[kind](reader, content, what, depth)


def _get_list(reader: ArrayReader, content: Any, what: str, depth: int) -> list:
    array = get_typed(reader, content, what)
    need(array.ndim == 1, f"{what} must be a list")
    return array.tolist()


def _get_tuple(reader: ArrayReader, content: Any, what: str, depth: int) -> tuple:
    if isinstance(content, dict):
        return tuple(_get_list(reader, content, what, depth))
    need(isinstance(content, list), f"{what} must be a list, got {shown(content)}")
    return tuple(get_value(reader, entry, what, depth - 1) for entry in content)


def _get_dict(reader: ArrayReader, content: Any, what: str, depth: int) -> dict:
    need(isinstance(content, list), f"{what} must be a list of pairs, got {shown(content)}")
    pairs = [get_value(reader, pair, what, depth - 1) for pair in content]
    valid = all(isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], SCALARS) for pair in pairs)
    need(valid, f"{what} must contain pairs of key and value only")
    entries = dict(pairs)
    need(len(entries) == len(pairs), f"{what} contains a duplicate key")
    return entries


def _get_sparse(reader: ArrayReader, content: Any, what: str, depth: int) -> Any:
    content = fields(content, SPARSE_FIELDS, what)
    kind, shape = string(content["type"], f"the type of {what}", 20), content["shape"]
    need(kind in SPARSE_TYPES, f"{what} has the unknown type of sparse matrix {shown(kind)}")
    need(isinstance(shape, list) and len(shape) == 2, f"{what} has an invalid shape, {shown(shape)}")
    shape = tuple(integer(length, f"the shape of {what}") for length in shape)
    parts = [get_typed(reader, content[part], f"{part} of {what}") for part in SPARSE_PARTS]
    kinds = [part.dtype.kind if part.ndim == 1 else "" for part in parts]
    need(kinds[0] in set("biuf") and {*kinds[1:]} <= set("iu"), f"{what} is not a sparse matrix of numbers")
    with reported(f"{what} is an invalid sparse matrix"):
        matrix = SPARSE_TYPES[kind](tuple(parts), shape=shape)
        matrix.check_format(full_check=True)
    return matrix


def _get_dataclass(reader: ArrayReader, content: Any, what: str, depth: int) -> Any:
    content = fields(content, VALUE_FIELDS, what)
    kind = string(content["type"], f"the type of {what}", 100)
    if kind not in VALUE_TYPES:
        raise UnknownClass(f"{what} has the unknown type {shown(kind)}")
    init = [field for field in dataclasses.fields(VALUE_TYPES[kind]) if field.init]
    fields(content["fields"], {field.name: default_of(field) for field in init}, f"{kind} of {what}")
    given = {key: get_value(reader, part, f"{key} of {what}", depth - 1) for key, part in content["fields"].items()}
    with reported(f"{what} is not a valid {kind}"):
        return VALUE_TYPES[kind](**given)


def default_of(field: dataclasses.Field) -> Any:
    """REQUIRED for a field of a dataclass that has no default, else None: an absent one then has that default."""
    missing = field.default is field.default_factory is dataclasses.MISSING
    return REQUIRED if missing else None


READERS = {
    "float": lambda reader, content, what, depth: real(content, what, finite=False),
    "array": lambda reader, content, what, depth: get_typed(reader, content, what),
    "list": _get_list,
    "tuple": _get_tuple,
    "pairs": _get_dict,
    "sparse": _get_sparse,
    "value": _get_dataclass,
}


def put_records(writer: ArrayWriter, name: str, cls: Any, records: list[Any]) -> dict[str, Any]:
    """Records of the class ``cls`` as a part of a document."""
    columns = {}
    for field in dataclasses.fields(cls):
        column, member = [getattr(record, field.name) for record in records], f"{name}.{field.name}"
        if field.type is str:
            columns[field.name] = put_strings(writer, member, column)
        else:
            columns[field.name] = writer.put(member, column, DTYPES[field.type])
    return columns


def get_records(reader: ArrayReader, value: Any, cls: Any, what: str, *, finite: bool = False) -> list[Any]:
    """The records that ``put_records`` was given; a column that is absent has the default of its field."""
    known: Any = {field.name: field for field in dataclasses.fields(cls)}
    value = fields(value, {name: default_of(field) for name, field in known.items()}, what)
    columns, count = {}, None
    for name, field in known.items():
        if value[name] is None and default_of(field) is None:
            continue
        if field.type is str:
            columns[name] = get_strings(reader, value[name], count, f"{name} of {what}")
        else:
            column = reader.get(value[name], DTYPES[field.type], (count,), f"{name} of {what}", finite=finite)
            columns[name] = column.tolist()
        count = len(columns[name])
    return [cls(**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]
