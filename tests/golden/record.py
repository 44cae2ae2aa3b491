"""Two records of a fit side by side: where they differ, and by how much."""

import pathlib
import reprlib

import numpy as np

FILE = pathlib.Path(__file__).parent / "record.json"


def differences(old, new, place, rtol=0.0, atol=0.0):
    """Lines that say where two nested records of lists, dicts, numbers and texts differ by more than allowed."""
    if isinstance(old, dict) and isinstance(new, dict):
        keys = list(old | new)
        return [x for key in keys for x in differences(old.get(key), new.get(key), f"{place}: {key}", rtol, atol)]
    if isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            return [f"{place}: {len(old)} entries were, {len(new)} are"]
        if old and all(type(each) is int for each in old + new):  # numbers of features: never a little different
            return [] if old == new else [f"{place}: {reprlib.repr(old)} was, {reprlib.repr(new)} is"]
        if all(type(each) in (int, float) for each in old + new) and old:
            return _numbers(np.array(old, dtype=float), np.array(new, dtype=float), place, rtol, atol)
        pairs = enumerate(zip(old, new, strict=True))
        return [line for at, (a, b) in pairs for line in differences(a, b, f"{place}[{at}]", rtol, atol)]
    if isinstance(old, float) and isinstance(new, float):
        return _numbers(np.array([old]), np.array([new]), place, rtol, atol)
    return [] if old == new else [f"{place}: {reprlib.repr(old)} was, {reprlib.repr(new)} is"]


def _numbers(old, new, place, rtol, atol):
    far = ~((np.abs(old - new) <= atol + rtol * np.abs(old)) | (np.isnan(old) & np.isnan(new)) | (old == new))
    if not far.any():
        return []
    worst = int(np.argmax(np.where(far, np.abs(old - new), -1.0)))
    return [f"{place}: {int(far.sum())} of {old.size} numbers differ, most at {worst}: {old[worst]!r}, {new[worst]!r}"]
