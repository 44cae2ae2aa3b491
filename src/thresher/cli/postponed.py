"""Modules that are loaded when a command first uses them, not when a library names them in an import."""

import importlib.util
import sys
import threading
from types import ModuleType
from typing import Any

# scikit-learn imports these; most commands never use them, and they take two thirds of its loading time.
RARELY_USED = ("pandas", "scipy.stats")
_LOCK = threading.RLock()


class _Postponed(ModuleType):
    """A module whose code runs when an attribute is first asked for."""

    def __getattr__(self, name):
        with _LOCK:
            if type(self) is _Postponed:
                loader: Any = self.__loader__
                object.__setattr__(self, "__class__", ModuleType)  # a module like any other, also while its code runs
                try:
                    loader.exec_module(self)
                except BaseException:
                    sys.modules.pop(self.__name__, None)  # so that the next import raises the same error
                    raise
        return getattr(self, name)


def postpone(names: tuple[str, ...] = RARELY_USED) -> None:
    """Let ``import name`` load nothing until the module is used; only for a process that is ours alone."""
    for name in names:
        if name in sys.modules or (spec := importlib.util.find_spec(name)) is None:
            continue
        module = _Postponed(name)
        module.__spec__, module.__loader__, module.__package__ = spec, spec.loader, name
        module.__file__ = spec.origin
        if spec.submodule_search_locations is not None:
            module.__path__ = spec.submodule_search_locations
        sys.modules[name] = module
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)
