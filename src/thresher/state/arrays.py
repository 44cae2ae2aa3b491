"""Arrays of a document: small ones as lists in it, large ones as members of a container."""

import numpy as np

from thresher.state.checks import INT64, fields, integer, need, real, required, shown

INLINE = 1_000_000  # bytes, eight for each entry: larger arrays go into the container
INLINE_TOTAL = 16_000_000  # bytes of all lists together: documents stay far below the limit for reading
REFERENCE = required("npz", "dtype", "shape")


class ArrayWriter:
    """Collects the arrays of a document: ``put`` returns what the document contains for each.

    Arrays of up to ``inline`` bytes become lists; None: ``INLINE``, as long as all lists together are not too long.
    """

    def __init__(self, inline=None):
        self.members, self.inline, self._listed = {}, inline, 0

    def put(self, name, array, dtype):
        """A list or, if the array is large, a reference to the member ``name`` of the container."""
        array = np.asarray(array, dtype=dtype)
        if self.inlines(8 * array.size, INLINE if self.inline is None else self.inline):
            return listed(array)
        unique, suffix = name, len(self.members)
        while unique in self.members:
            unique, suffix = f"{name}.{suffix}", suffix + 1
        self.members[unique] = np.ascontiguousarray(array)
        return {"npz": unique, "dtype": dtype, "shape": list(array.shape)}

    def inlines(self, size, limit):
        """Whether an array of ``size`` bytes becomes a list, which is then counted."""
        fits = size <= limit and self._listed + size <= INLINE_TOTAL
        self._listed += size * fits
        return fits


def listed(array):
    """The array as lists; non-finite values, which JSON lacks, as "nan", "inf", "-inf"."""
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return array.tolist()
    return [listed(part) for part in array] if array.ndim > 1 else [plain(entry) for entry in array.tolist()]


def plain(value):
    """A finite float as it is, others by name."""
    return value if abs(value) < float("inf") else str(float(value))


class ArrayReader:
    """Reads the arrays that ``ArrayWriter.put`` wrote. ``container`` is None if no array is large."""

    def __init__(self, container=None):
        self.container = container

    def get(self, value, dtype, shape, what, finite=True):
        """The array that ``value`` stands for; None in ``shape`` is any length."""
        if isinstance(value, dict):
            array = self._member(value, dtype, what)
        else:
            array = _from_lists(value, dtype, len(shape), what, finite)
            if len(shape) == 2 and array.size == 0 and len(array) == 0:
                array = array.reshape(0, shape[1] or 0)
        fits = len(shape) == array.ndim and all(b in (None, a) for a, b in zip(array.shape, shape, strict=True))
        need(fits, f"{what} has shape {shown(array.shape)}, expected {shown(shape)}")
        valid = not finite or array.dtype.kind != "f" or bool(np.isfinite(array).all())
        need(valid, f"{what} contains NaN or infinity")
        return array

    def get_flat(self, value, dtype, what):
        """The entries, perhaps not finite, of a list or of a member of any shape, in C order."""
        if isinstance(value, dict):
            return self._member(value, dtype, what).reshape(-1)
        return self.get(value, dtype, (None,), what, finite=False)

    def _member(self, value, dtype, what):
        value = fields(value, REFERENCE, what)
        need(value["dtype"] == dtype, f"{what} has dtype {shown(value['dtype'])}, expected {dtype}")
        shape = value["shape"]
        need(isinstance(shape, list) and len(shape) in (1, 2), f"{what} has an invalid shape, {shown(shape)}")
        shape = tuple(integer(length, f"the shape of {what}") for length in shape)
        need(self.container is not None, f"{what} must be in an .npz, but the document names none")
        return self.container.array(value["npz"], dtype, shape, what)

    def check_all_read(self):
        """Raise Damaged unless every member of the container has been read."""
        if self.container is not None:
            self.container.check_all_read()


def _from_lists(value, dtype, dimensions, what, finite):
    """The array of a list, or of a list of lists of one length."""
    need(isinstance(value, list), f"{what} must be a list, got {shown(value)}")
    if dimensions == 2:
        need(all(isinstance(row, list) for row in value), f"{what} must be a list of lists")
        need(len({len(row) for row in value}) <= 1, f"{what} has rows of different lengths")
        flat = [entry for row in value for entry in row]
        shape: tuple[int, ...] = (len(value), len(value[0]) if value else 0)
    else:
        flat, shape = value, (len(value),)
    if dtype == "<f8":
        if not set(map(type, flat)) <= {float}:
            flat = [real(entry, f"an entry of {what}", finite) for entry in flat]
        return np.array(flat, dtype=np.float64).reshape(shape)
    least, most = {"<i8": (-INT64, INT64 - 1), "<u8": (0, 2 * INT64 - 1), "|u1": (0, 255)}[dtype]
    need(set(map(type, flat)) <= {int}, f"{what} must contain integers only")
    need(not flat or (min(flat) >= least and max(flat) <= most), f"{what} contains an integer out of range")
    return np.array(flat, dtype=np.dtype(dtype).newbyteorder("=")).reshape(shape)
