"""Plain values, arrays, matrices and frozen dataclasses as parts of a document and back.

JSON values are written as they are, others as an object whose only key is their kind: ``float`` (nan and
infinities), ``tuple``, ``pairs`` (a dict), ``array``, ``sparse``, ``list`` and ``tuple`` of one type (long ones) and
``value``: a frozen dataclass of those in ``VALUE_TYPES``, by the name of its class, with its fields.
"""

import dataclasses
import numbers
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from thresher.state import arrays as store
from thresher.state.arrays import ArrayReader, ArrayWriter
from thresher.state.checks import (
    INT64,
    REQUIRED,
    fields,
    integer,
    need,
    real,
    reported,
    required,
    shown,
    string,
)
from thresher.state.typed import get_typed, put_typed

MOST_NESTED = 8  # levels
COMPRESSED = {cls.__name__: cls for cls in (sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix)}
PARTS = ("data", "indices", "indptr")  # of a compressed matrix
SPARSE = required("type", "shape", *PARTS)
VALUE = required("type", "fields")
T = TypeVar("T")
SCALARS = (type(None), bool, int, float, str)


VALUE_TYPES: dict[str, type] = {}  # the registered classes, by name


def register(cls: type[T]) -> type[T]:
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


def put_value(writer: ArrayWriter, name: str, value: Any, depth: int = MOST_NESTED) -> Any:
    """A value as a part of a document; large arrays go to ``writer`` as ``name``.

    Raises TypeError for a value that has no form, or is nested too deeply.
    """
    if depth == 0:
        raise TypeError(f"it is nested more than {MOST_NESTED} levels deep")
    if value is None or isinstance(value, (bool, np.bool_)):
        return value if value is None else bool(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, numbers.Integral) and abs(int(value)) < INT64:
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else {"float": str(float(value))}
    if type(value) in (list, tuple):
        return _put_sequence(writer, name, value, depth)
    if type(value) is dict:
        return {"pairs": [[put_value(writer, name, part, depth - 1) for part in pair] for pair in value.items()]}
    if type(value) is np.ndarray:
        return {"array": put_typed(writer, name, value)}
    kind = type(value).__name__
    if COMPRESSED.get(kind) is type(value):
        parts = {part: put_typed(writer, f"{name}.{part}", getattr(value, part)) for part in PARTS}
        return {"sparse": {"type": kind, "shape": [int(length) for length in value.shape]} | parts}
    if VALUE_TYPES.get(kind) is type(value):
        init = [field.name for field in dataclasses.fields(VALUE_TYPES[kind]) if field.init]
        written = {key: put_value(writer, f"{name}.{key}", getattr(value, key), depth - 1) for key in init}
        return {"value": {"type": kind, "fields": written}}
    raise TypeError(f"a value of the type {kind} cannot be written to a file")


def _put_sequence(writer, name, value, depth):
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


def _list(reader, content, what, depth):
    array = get_typed(reader, content, what)
    need(array.ndim == 1, f"{what} must be a list")
    return array.tolist()


def _tuple(reader, content, what, depth):
    if isinstance(content, dict):
        return tuple(_list(reader, content, what, depth))
    need(isinstance(content, list), f"{what} must be a list, got {shown(content)}")
    return tuple(get_value(reader, entry, what, depth - 1) for entry in content)


def _dict(reader, content, what, depth):
    need(isinstance(content, list), f"{what} must be a list of pairs, got {shown(content)}")
    pairs = [get_value(reader, pair, what, depth - 1) for pair in content]
    valid = all(isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], SCALARS) for pair in pairs)
    need(valid, f"{what} must contain pairs of key and value only")
    entries = dict(pairs)
    need(len(entries) == len(pairs), f"{what} contains a duplicate key")
    return entries


def _sparse(reader, content, what, depth):
    content = fields(content, SPARSE, what)
    kind, shape = string(content["type"], f"the type of {what}", 20), content["shape"]
    need(kind in COMPRESSED, f"{what} has the unknown type of sparse matrix {shown(kind)}")
    need(isinstance(shape, list) and len(shape) == 2, f"{what} has an invalid shape, {shown(shape)}")
    shape = tuple(integer(length, f"the shape of {what}") for length in shape)
    parts = [get_typed(reader, content[part], f"{part} of {what}") for part in PARTS]
    kinds = [part.dtype.kind if part.ndim == 1 else "" for part in parts]
    need(kinds[0] in set("biuf") and {*kinds[1:]} <= set("iu"), f"{what} is not a sparse matrix of numbers")
    with reported(f"{what} is an invalid sparse matrix"):
        matrix = COMPRESSED[kind](tuple(parts), shape=shape)
        matrix.check_format(full_check=True)
    return matrix


def _value(reader, content, what, depth):
    content = fields(content, VALUE, what)
    kind = string(content["type"], f"the type of {what}", 100)
    need(kind in VALUE_TYPES, f"{what} has the unknown type {shown(kind)}")
    init = [field for field in dataclasses.fields(VALUE_TYPES[kind]) if field.init]
    fields(content["fields"], {field.name: default_of(field) for field in init}, f"{kind} of {what}")
    given = {key: get_value(reader, part, f"{key} of {what}", depth - 1) for key, part in content["fields"].items()}
    with reported(f"{what} is not a valid {kind}"):
        return VALUE_TYPES[kind](**given)


def default_of(field):
    """REQUIRED for a field of a dataclass that has no default, else None: an absent one then has that default."""
    missing = field.default is field.default_factory is dataclasses.MISSING
    return REQUIRED if missing else None


READERS = {
    "float": lambda reader, content, what, depth: real(content, what, finite=False),
    "array": lambda reader, content, what, depth: get_typed(reader, content, what),
    "list": _list,
    "tuple": _tuple,
    "pairs": _dict,
    "sparse": _sparse,
    "value": _value,
}
