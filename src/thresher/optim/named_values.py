"""What losses and measures have in common: they are values with a name, and some have a parameter."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np


class Named:
    """A class whose ``name`` is that of the class, unless it sets another one."""

    name: ClassVar[str]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" not in cls.__dict__:
            cls.name = cls.__name__

    @property
    def title(self) -> str:
        """The name in words."""
        return self.name.replace("_", " ")


def is_positive(value: Any) -> bool:
    """Whether a parameter is a finite number above 0."""
    return isinstance(value, Real) and not isinstance(value, bool) and 0.0 < float(value) < np.inf
