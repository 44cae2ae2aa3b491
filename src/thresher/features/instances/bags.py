"""Bags: which rows belong together, and how users say it: one value for each row."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from thresher.errors import InvalidDataError
from thresher.features.samples import are_missing


@dataclass(frozen=True, eq=False)
class Bags:
    """Which rows belong together: row i is in bag ``codes[i]``, a number below ``count``; no bag is empty."""

    codes: np.ndarray
    count: int

    @cached_property
    def order(self) -> np.ndarray:
        """The rows bag by bag, in their order within each."""
        return np.argsort(self.codes, kind="stable")

    @cached_property
    def starts(self) -> np.ndarray:
        """Where each bag starts in ``order``."""
        sizes = np.bincount(self.codes, minlength=self.count)
        return np.cumsum(sizes) - sizes

    def parts(self, step: int) -> Iterator[tuple[slice, slice, np.ndarray]]:
        """(places in ``order``, bags that have some of them, where each of these begins there), ``step`` at a time."""
        for lo in range(0, self.codes.size, step):
            hi = min(lo + step, self.codes.size)
            first = int(np.searchsorted(self.starts, lo, side="right")) - 1
            last = int(np.searchsorted(self.starts, hi, side="left"))
            yield slice(lo, hi), slice(first, last), np.maximum(self.starts[first:last] - lo, 0)


class Grouped(NamedTuple):
    """The bags of some rows, and their names: sorted, one for each."""

    bags: Bags
    names: np.ndarray

    @property
    def first_rows(self) -> np.ndarray:
        """The first row of each bag."""
        return self.bags.order[self.bags.starts]

    def each(self, what: str, values: np.ndarray) -> np.ndarray:
        """One value for each bag; InvalidDataError, which names the bag, if its rows have several."""
        conflict = self.conflict(values)
        if conflict is not None:
            raise InvalidDataError(
                f"{what} must be equal for all rows of a bag, but bag {conflict.bag!r} has {conflict.first!r} and "
                f"{conflict.other!r} (row {conflict.row})"
            )
        return values[self.first_rows]

    def conflict(self, values: np.ndarray) -> "Conflict | None":
        """The first row whose value is not that of the first row of its bag; None if there is none."""
        first = values[self.first_rows]
        wrong = np.flatnonzero(values != first[self.bags.codes])
        if not wrong.size:
            return None
        row = int(wrong[0])
        bag = int(self.bags.codes[row])
        before = int(self.first_rows[bag])
        return Conflict(self.names[bag : bag + 1].tolist()[0], before, row, *values[[before, row]].tolist())


class Conflict(NamedTuple):
    """A bag, two of its rows, and their values, which differ."""

    bag: Any
    first_row: int
    row: int
    first: Any
    other: Any


def grouped(bags: ArrayLike | None, n_rows: int, name: str = "bags") -> Grouped:
    """The bags that the values ``bags``, one for each of ``n_rows`` rows, describe; None: each row is a bag.

    ``name`` is what messages call the values.
    """
    if bags is None:
        return Grouped(Bags(np.arange(n_rows), n_rows), np.arange(n_rows))
    given = _as_given(bags)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.ndim == 0:
        raise InvalidDataError(
            f"{name} must have one value for each row, got {bags!r}: pass the column itself, such as "
            f"frame[{name[:-1]!r}]"
        )
    if given.ndim != 1:
        raise InvalidDataError(f"{name} must have one value for each row, got an array of shape {given.shape}")
    if given.size != n_rows:
        raise InvalidDataError(f"{name} has {given.size} values, but X has {n_rows} rows: it needs one for each row")
    missing = np.flatnonzero(are_missing(given))
    if missing.size:
        raise InvalidDataError(
            f"{name} has {missing.size} missing value{'' if missing.size == 1 else 's'}, first in row {missing[0]}: "
            f"each row must belong to a {name[:-1]}"
        )
    try:
        names, codes = np.unique(given, return_inverse=True)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(f"{name} has values that cannot be compared: {error}; use numbers or strings") from error
    return Grouped(Bags(codes, names.size), names)


def _as_given(bags: Any) -> np.ndarray:
    """``bags`` as an array of the same values: of a list of strings and numbers, numpy would make strings of all."""
    if np.ma.is_masked(bags):
        return np.where(np.ma.getmaskarray(bags), np.array(None), np.asarray(bags, dtype=object))
    values = np.asarray(bags)
    if values.dtype.kind not in "US" or hasattr(bags, "dtype"):
        return values
    objects = np.asarray(bags, dtype=object)
    return values if all(isinstance(value, (str, bytes)) for value in objects.ravel().tolist()) else objects
