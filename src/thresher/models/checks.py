"""What a model file says is checked here, value by value, before it is believed."""

import reprlib

INT64 = 2**63


class Damaged(Exception):
    """What is wrong with a model file; becomes a ModelFileError once the file's name is known."""


def need(good, what):
    """Raise Damaged with ``what`` unless ``good``."""
    if not good:
        raise Damaged(what)


def keys(value, names, what):
    """``value`` if it is an object with exactly the keys ``names``."""
    need(isinstance(value, dict), f"{what} is {shown(value)}, not an object")
    missing, unknown = set(names) - set(value), set(value) - set(names)
    need(not missing, f"{what} lacks {shown(min(missing, default=''))}")
    need(not unknown, f"{what} has a key that is not known, {shown(min(unknown, default=''))}")
    return value


def whole(value, what, least=0, most=INT64 - 1):
    """``value`` if it is a whole number in that range."""
    need(
        type(value) is int and least <= value <= most, f"{what} is {shown(value)}, not a whole number of the right size"
    )
    return value


def number(value, what, finite=True):
    """A float; where it need not be finite, "nan", "inf" and "-inf" are known."""
    if not finite and value in ("nan", "inf", "-inf"):
        return float(value)
    need(type(value) in (int, float) and abs(value) < float("inf"), f"{what} is {shown(value)}, not a finite number")
    need(type(value) is float or abs(value) < INT64, f"{what} is {shown(value)}, not a finite number")
    return float(value)


def text(value, what, most=10_000):
    """``value`` if it is a string of at most ``most`` characters."""
    need(isinstance(value, str) and len(value) <= most, f"{what} is {shown(value)}, not a text of the right length")
    return value


def boolean(value, what):
    """``value`` if it is true or false."""
    need(isinstance(value, bool), f"{what} is {shown(value)}, not true or false")
    return value


def rising(array, what):
    """``array`` if each entry is larger than the one before."""
    need(bool((array[1:] > array[:-1]).all()), f"{what} are not sorted and unique")
    return array


def shown(value):
    """``value`` in a few characters on one line, whatever it is."""
    found = ascii(reprlib.repr(value))[1:-1] if not isinstance(value, str) else reprlib.repr(value)
    return found if len(found) <= 80 else found[:77] + "..."
