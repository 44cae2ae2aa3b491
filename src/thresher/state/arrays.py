"""Arrays of a document: small ones are lists in it, large ones members of a container; sorted ids, and their parts."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thresher.state.checks import INT64, fields, increasing, integer, need, real, required, shown

INLINE = 1_000_000  # bytes, eight for each entry: larger arrays go into the container
INLINE_TOTAL = 16_000_000  # bytes of all lists together: documents stay far below the limit for reading
REFERENCE_FIELDS = required("npz", "dtype", "shape")


class ArrayWriter:
    """Collects the arrays of a document: ``put`` returns what the document contains for each.

    Arrays of up to ``inline`` bytes become lists; None: ``INLINE``, as long as all lists together are not too long.
    """

    def __init__(self, inline: int | None = None):
        self.members: dict[str, np.ndarray] = {}
        self.inline, self._listed = inline, 0

    def put(self, name: str, array: ArrayLike, dtype: str) -> Any:
        """A list or, if the array is large, a reference to the member ``name`` of the container."""
        array = np.asarray(array, dtype=dtype)
        if self.inlines(8 * array.size, INLINE if self.inline is None else self.inline):
            return listed(array)
        unique, suffix = name, len(self.members)
        while unique in self.members:
            unique, suffix = f"{name}.{suffix}", suffix + 1
        self.members[unique] = np.ascontiguousarray(array)
        return {"npz": unique, "dtype": dtype, "shape": list(array.shape)}

    def inlines(self, size: int, limit: int) -> bool:
        """Whether an array of ``size`` bytes becomes a list, which is then counted."""
        fits = size <= limit and self._listed + size <= INLINE_TOTAL
        self._listed += size * fits
        return fits


def listed(array: np.ndarray) -> list:
    """The array as lists; non-finite values, which JSON lacks, as "nan", "inf", "-inf"."""
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return array.tolist()
    if array.ndim > 1:
        return [listed(part) for part in array]
    return [entry if abs(entry) < np.inf else str(entry) for entry in array.tolist()]


class ArrayReader:
    """Reads the arrays that ``ArrayWriter.put`` wrote. ``container`` is None if no array is large."""

    def __init__(self, container: Any = None):
        self.container = container

    def get(self, value: Any, dtype: str, shape: tuple[int | None, ...], what: str, finite: bool = True) -> np.ndarray:
        """The array that ``value`` stands for; None in ``shape`` is any length."""
        if isinstance(value, dict):
            array = self._member(value, dtype, what)
        else:
            array = _from_lists(value, dtype, shape, what, finite)
        fits = len(shape) == array.ndim and all(b in (None, a) for a, b in zip(array.shape, shape, strict=True))
        need(fits, f"{what} has shape {shown(array.shape)}, expected {shown(shape)}")
        valid = not finite or array.dtype.kind != "f" or bool(np.isfinite(array).all())
        need(valid, f"{what} contains NaN or infinity")
        return array

    def get_flat(self, value: Any, dtype: str, what: str) -> np.ndarray:
        """The entries, perhaps not finite, of a list or of a member of any shape, in C order."""
        if isinstance(value, dict):
            return self._member(value, dtype, what).reshape(-1)
        return _from_lists(value, dtype, (None,), what, finite=False)

    def _member(self, value: Any, dtype: str, what: str) -> np.ndarray:
        value = fields(value, REFERENCE_FIELDS, what)
        need(value["dtype"] == dtype, f"{what} has dtype {shown(value['dtype'])}, expected {dtype}")
        shape = value["shape"]
        need(isinstance(shape, list) and len(shape) in (1, 2), f"{what} has an invalid shape, {shown(shape)}")
        shape = tuple(integer(length, f"the shape of {what}") for length in shape)
        need(self.container is not None, f"{what} must be in an .npz, but the document names none")
        return self.container.array(value["npz"], dtype, shape, what)

    def check_all_read(self) -> None:
        """Raise Damaged unless every member of the container has been read."""
        if self.container is not None:
            self.container.check_all_read()


def _from_lists(value: Any, dtype: str, shape: tuple[int | None, ...], what: str, finite: bool) -> np.ndarray:
    """The array of a list, or of a list of lists of one length, which is that in ``shape`` if there are none."""
    need(isinstance(value, list), f"{what} must be a list, got {shown(value)}")
    flat, lengths = value, [len(value)]
    if len(shape) == 2:
        need(all(isinstance(row, list) for row in value), f"{what} must be a list of lists")
        need(len({len(row) for row in value}) <= 1, f"{what} has rows of different lengths")
        flat = [entry for row in value for entry in row]
        lengths.append(len(value[0]) if value else shape[1] or 0)
    types = set(map(type, flat))
    if dtype == "<f8":
        if not types <= {float}:
            flat = [real(entry, f"an entry of {what}", finite) for entry in flat]
    else:
        least, most = {"<i8": (-INT64, INT64 - 1), "<u8": (0, 2 * INT64 - 1), "|u1": (0, 255)}[dtype]
        need(types <= {int}, f"{what} must contain integers only")
        need(not flat or (min(flat) >= least and max(flat) <= most), f"{what} contains an integer out of range")
    return np.array(flat, dtype=np.dtype(dtype).newbyteorder("=")).reshape(lengths)


def need_ids(ids: Any, what: str, count: int = INT64) -> np.ndarray:
    """``ids`` if they are integers from 0 to ``count`` - 1, sorted and unique."""
    need(isinstance(ids, np.ndarray) and ids.dtype == np.int64 and ids.ndim == 1, f"{what} are not a list of integers")
    increasing(ids, what)
    need(ids.size == 0 or (ids[0] >= 0 and ids[-1] < count), f"{what} must be between 0 and {count - 1}")
    return ids


def need_floats(array: Any, what: str, shape: tuple[int, ...], least: float = -np.inf) -> None:
    """Raise Damaged unless ``array`` has this shape and finite float64 numbers, none of them below ``least``."""
    valid = isinstance(array, np.ndarray) and array.dtype == np.float64
    need(valid and array.shape == shape, f"{what} is not an array of numbers of shape {shape}")
    need(bool(np.isfinite(array).all()), f"{what} contains NaN or infinity")
    need(bool((array >= least).all()), f"{what} contains a number below {least:g}")


def get_ids(reader: ArrayReader, value: Any, what: str, count: int = INT64) -> np.ndarray:
    """As ``need_ids``."""
    return need_ids(reader.get(value, "<i8", (None,), what), what, count)


def get_begins(
    reader: ArrayReader, value: Any, n_parts: int | None, size: int, what: str, *, filled: bool = False
) -> np.ndarray:
    """Where the parts of ``size`` entries begin, and their end; ``filled``: none of them is empty.

    None as ``n_parts`` is any number.
    """
    begins = reader.get(value, "<i8", (None if n_parts is None else n_parts + 1,), f"the begins of {what}")
    need(begins.size > 0 and begins[0] == 0 and begins[-1] == size, f"the begins of {what} do not cover all of them")
    need(bool((begins[1:] >= begins[:-1]).all()), f"the begins of {what} decrease")
    need(not filled or bool((begins[1:] > begins[:-1]).all()), f"a part of {what} is empty")
    return begins


def get_parts(
    reader: ArrayReader, begins: Any, ids: Any, n_parts: int, what: str, *, count: int = INT64, filled: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """(begins, ids): part s, ids below ``count``, sorted and unique, lies from begins[s] to begins[s + 1]."""
    ids = reader.get(ids, "<i8", (None,), what)
    begins = get_begins(reader, begins, n_parts, ids.size, what, filled=filled)
    need(bool(((ids >= 0) & (ids < count)).all()), f"{what} contain a number out of range")
    need(bool((ids[1:] > ids[:-1])[steps_inside(begins)].all()), f"{what} are not sorted and unique")
    return begins, ids


def steps_inside(begins: np.ndarray) -> np.ndarray:
    """Mask of the steps from one entry to the next that do not leave a part."""
    return np.diff(np.repeat(np.arange(begins.size - 1), np.diff(begins))) == 0


def put_parts(parts: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(begins, ids) of parts, as ``get_parts`` returns them."""
    begins = np.concatenate([[0], np.cumsum([part.size for part in parts], dtype=np.int64)])
    return begins, np.concatenate([np.zeros(0, dtype=np.int64), *parts])
