"""How laws are reported that do not hold, and the laws of everything that can be the value of a parameter."""

import dataclasses
import pickle
from typing import Any

import numpy as np


def require(holds: Any, subject: Any, law: str, numbers: str) -> None:
    """Raise an AssertionError with the law and the numbers unless it holds."""
    if not holds:
        raise AssertionError(f"{subject!r}: {law}: {numbers}")


def require_everywhere(holds: np.ndarray, subject: Any, law: str, arguments: np.ndarray, values: np.ndarray) -> None:
    """The same of a function: the numbers are the first argument at which it does not hold, and the value there."""
    first = int(np.argmin(holds))
    require(holds.all(), subject, law, f"at {arguments[first]} got {values[first]}")


def require_close(found: Any, expected: Any, subject: Any, law: str, allowed: Any = 0.0, where: str = "") -> None:
    """The same of numbers or arrays, whose entries may differ by as much as ``allowed``."""
    close = np.shape(found) == np.shape(expected) and np.all(np.abs(np.subtract(found, expected)) <= allowed)
    require(close, subject, law, f"{where}got {found}, expected {expected}")


def check_value(value: Any, base: type, package: str) -> None:
    """A frozen dataclass of a subclass of ``base``, equal to its copies, with their hash; pickles give such copies."""
    cls = type(value)
    required = f"it must be a value of a subclass of thresher.{package}.{base.__name__}"
    require(isinstance(value, base), value, required, "it is not")
    frozen = dataclasses.is_dataclass(cls) and cls.__dataclass_params__.frozen  # type: ignore[attr-defined]
    require(frozen, value, "the class must be a frozen dataclass", f"got {cls.__name__}; use @dataclass(frozen=True)")
    given = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
    try:
        pickled = pickle.loads(pickle.dumps(value))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise AssertionError(f"{value!r}: it must pickle; define its class at the top of a module: {error}") from error
    copies = {"made again of the same fields": cls(**given), "pickled": pickled}
    for how, copy in copies.items():
        require(copy == value, value, f"it must be equal to a copy that was {how}", f"got {copy!r}")
        require(hash(copy) == hash(value), value, f"its hash must be that of a copy that was {how}", f"got {copy!r}")
    named = isinstance(value.name, str) and value.name and isinstance(value.title, str)
    require(named, value, "name and title must be strings", f"got {value.name!r} and {value.title!r}")
