"""The fitted attributes that a model file has of an estimator, besides its selection, its features and its target."""

from collections.abc import Callable
from typing import Any, NamedTuple

from thresher.state import ArrayReader, ArrayWriter, integer, real


class Attribute(NamedTuple):
    """How a fitted attribute is written and read.

    ``put(writer, name, value)`` returns a part of a document; ``get(reader, part, name, estimator)`` returns the value.
    The estimator then has its parameters, features, target and selection, and the attributes before this one.
    """

    put: Callable[[ArrayWriter, str, Any], Any]
    get: Callable[[ArrayReader, Any, str, Any], Any]
    optional: bool = False  # whether it may be missing


REAL = Attribute(lambda writer, name, value: float(value), lambda reader, part, name, estimator: real(part, name))
INTEGER = Attribute(lambda writer, name, value: int(value), lambda reader, part, name, estimator: integer(part, name))
