"""Validation of what is read from a model file, value by value, before it is used."""

import contextlib
import copy
import reprlib
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

INT64 = 2**63
MOST_SHOWN = 200  # characters of a message of an error


class Damaged(Exception):
    """What is wrong with a model file; becomes a ModelFileError once the file's name is known."""


class UnknownClass(Damaged):
    """A value is of a class that is not known: no module is imported because a file names it."""

    def __init__(self, message: str):
        remedy = "if it is a class of your own, import the module that defines it before loading (--import MODULE)"
        super().__init__(f"{message}; {remedy}")


INVALID = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)  # what code may raise for odd values


@contextlib.contextmanager
def reported(what: str, errors: type[Exception] | tuple[type[Exception], ...] = INVALID) -> Iterator[None]:
    """Raise Damaged, which says ``what`` is wrong, for errors of these types."""
    try:
        yield
    except errors as error:
        raise Damaged(f"{what} ({error_line(error)})") from error


def need(valid: object, message: str) -> None:
    """Raise Damaged with ``message`` unless ``valid``."""
    if not valid:
        raise Damaged(message)


REQUIRED = object()  # the default of a field that has none


def required(*names: str) -> dict[str, Any]:
    """The table of an object whose fields are all required; ``required("a") | {"b": 0}`` has one that may be absent.

    A table lists the fields of an object of a document, each with REQUIRED or with the default that an absent one has.
    A field that a later version of thresher adds is one more entry with a default: files without it can still be read.
    """
    return dict.fromkeys(names, REQUIRED)


def fields(value: Any, table: dict[str, Any], what: str) -> dict[str, Any]:
    """All fields of the object ``value``, absent ones with their defaults; Damaged names unknown ones."""
    need(isinstance(value, dict), f"{what} must be an object, got {shown(value)}")
    missing = [name for name, default in table.items() if default is REQUIRED and name not in value]
    need(not missing, f"{what} is missing the field {shown(min(missing, default=''))}")
    unknown = set(value) - set(table)
    need(not unknown, f"{what} has an unknown field, {shown(min(unknown, default=''))}")
    return {name: value[name] if name in value else copy.deepcopy(default) for name, default in table.items()}


def integer(value: Any, what: str, least: int = 0, most: int = INT64 - 1) -> int:
    """``value`` if it is an integer in that range."""
    valid = type(value) is int and least <= value <= most
    need(valid, f"{what} is {shown(value)}, not an integer in the allowed range")
    return value


def real(value: Any, what: str, finite: bool = True) -> float:
    """A float; with ``finite=False`` also "nan", "inf" and "-inf"."""
    if not finite and value in ("nan", "inf", "-inf"):
        return float(value)
    need(type(value) in (int, float) and abs(value) < float("inf"), f"{what} is {shown(value)}, not a finite number")
    need(type(value) is float or abs(value) < INT64, f"{what} is {shown(value)}, not a finite number")
    return float(value)


def string(value: Any, what: str, most: int = 10_000) -> str:
    """``value`` if it is a string of at most ``most`` characters."""
    need(isinstance(value, str) and len(value) <= most, f"{what} is {shown(value)}, not a string of the allowed length")
    return value


def boolean(value: Any, what: str) -> bool:
    """``value`` if it is true or false."""
    need(isinstance(value, bool), f"{what} is {shown(value)}, not true or false")
    return value


def increasing(array: np.ndarray, what: str) -> np.ndarray:
    """``array`` if each entry is larger than the one before."""
    need(bool((array[1:] > array[:-1]).all()), f"{what} are not sorted and unique")
    return array


def shown(value: Any) -> str:
    """``value`` in a few characters on one line, whatever it is."""
    short = ascii(reprlib.repr(value))[1:-1] if not isinstance(value, str) else reprlib.repr(value)
    return short if len(short) <= 80 else short[:77] + "..."


def error_line(error: object) -> str:
    """The message of an error, which may quote the content of a file, on one line of limited length."""
    message = " ".join(str(error).split())
    message = message if message.isprintable() else ascii(message)[1:-1]
    return message if len(message) <= MOST_SHOWN else message[: MOST_SHOWN - 3] + "..."


def shown_path(name: str) -> str:
    """A file's name on one line."""
    return name if name.isprintable() else ascii(name)


class OfKind:
    """A value of a class that files know by its ``kind``: ``class Mine(Base, kind="mine")``.

    Without one the kind is the full name of the class, so that kinds of different packages are different. A base class
    has ``kinds = {}``, where its subclasses are found once they are defined: no module is imported for a file.
    """

    kind: ClassVar[str]
    kinds: ClassVar[dict[str, type]]

    def __init_subclass__(cls, kind: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.kind = kind or f"{cls.__module__}.{cls.__qualname__}"
        cls.kinds[cls.kind] = cls

    @classmethod
    def class_of(cls, state: Any, what: str) -> Any:
        """The class of the kind that a part of a document names."""
        need(isinstance(state, dict) and "kind" in state, f"the kind of {what} is missing")
        kind = string(state["kind"], f"the kind of {what}", 1000)
        if kind not in cls.kinds:
            raise UnknownClass(f"unknown kind '{error_line(kind)}' of {what}")
        return cls.kinds[kind]
