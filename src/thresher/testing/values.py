"""The laws of everything that can be the value of a parameter."""

import dataclasses
import pickle
from typing import Any


def require(holds: Any, subject: Any, law: str, numbers: str) -> None:
    """Raise an AssertionError with the law and the numbers unless it holds."""
    if not holds:
        raise AssertionError(f"{subject!r}: {law}: {numbers}")


def check_value(value: Any) -> None:
    """A frozen dataclass that is equal to, and hashes as, its copies; pickles give such copies."""
    cls = type(value)
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
