"""What a model file says is checked here, value by value, before it is believed."""

import copy
import reprlib

INT64 = 2**63


class Damaged(Exception):
    """What is wrong with a model file; becomes a ModelFileError once the file's name is known."""


def need(good, what):
    """Raise Damaged with ``what`` unless ``good``."""
    if not good:
        raise Damaged(what)


class _Required:
    """The default of a field that has none."""

    def __repr__(self):
        return "REQUIRED"


REQUIRED = _Required()


def required(*names):
    """The table of an object whose fields must all be there; ``required("a") | {"b": 0}`` has one that may be absent.

    A table lists the fields of an object of a document, each with REQUIRED or with the default that an absent one has.
    A field that a later version of thresher adds is one more entry with a default: files without it can still be read.
    """
    return dict.fromkeys(names, REQUIRED)


def fields(value, table, what):
    """All fields of the object ``value``, absent ones with their defaults; others are refused by name."""
    need(isinstance(value, dict), f"{what} is {shown(value)}, not an object")
    missing = [name for name, default in table.items() if default is REQUIRED and name not in value]
    need(not missing, f"{what} lacks {shown(min(missing, default=''))}")
    unknown = set(value) - set(table)
    need(not unknown, f"{what} has an unknown field, {shown(min(unknown, default=''))}")
    return {name: value[name] if name in value else copy.deepcopy(default) for name, default in table.items()}


def whole(value, what, least=0, most=INT64 - 1):
    """``value`` if it is an integer in that range."""
    good = type(value) is int and least <= value <= most
    need(good, f"{what} is {shown(value)}, not an integer in the allowed range")
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
    need(isinstance(value, str) and len(value) <= most, f"{what} is {shown(value)}, not a string of the allowed length")
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


def in_one_line(error, most=200):
    """The message of an error of our own, which may quote what a file holds, on one line of limited length."""
    found = " ".join(str(error).split())
    found = found if found.isprintable() else ascii(found)[1:-1]
    return found if len(found) <= most else found[: most - 3] + "..."


def shown_path(name):
    """A file's name on one line."""
    return name if name.isprintable() else ascii(name)
