"""Sorted ids as parts of a document, some alone and some in parts that lie end to end; checks of arrays."""

from typing import Any

import numpy as np

from thresher.state.arrays import ArrayReader
from thresher.state.checks import INT64, increasing, need


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
    reader: ArrayReader, value: Any, n_parts: int, size: int, what: str, *, filled: bool = False
) -> np.ndarray:
    """Where the parts of ``size`` entries begin, and their end; ``filled``: none of them is empty."""
    begins = reader.get(value, "<i8", (n_parts + 1,), f"the begins of {what}")
    need(begins[0] == 0 and begins[-1] == size, f"the begins of {what} do not cover all of them")
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
    inside = np.ones(max(ids.size - 1, 0), dtype=bool)
    cuts = begins[1:-1] - 1
    inside[cuts[(cuts >= 0) & (cuts < inside.size)]] = False
    need(bool((ids[1:] > ids[:-1])[inside].all()), f"{what} are not sorted and unique")
    return begins, ids


def put_parts(parts: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(begins, ids) of parts, as ``get_parts`` returns them."""
    begins = np.concatenate([[0], np.cumsum([part.size for part in parts], dtype=np.int64)])
    return begins, np.concatenate([np.zeros(0, dtype=np.int64), *parts])
