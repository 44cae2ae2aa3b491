"""Values of the user's own, which options name. Only what a command line names is imported, never what a file names."""

import importlib
import os
import sys

from thresher.cli.app import WrongUsage
from thresher.cli.start import in_one_line
from thresher.errors import did_you_mean
from thresher.state import ArrayWriter, put_value

MISSING = object()


def imported(option, name):
    """The module that an option names, from the current folder or installed; WrongUsage if it cannot be imported."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # where ``python -m`` looks, too
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and error.name and f"{name}.".startswith(f"{error.name}."):
            raise WrongUsage(
                f"{option}: no module named {error.name!r} in the current folder or installed; name a module as an "
                "import statement has it, such as package.module"
            ) from None
        raise WrongUsage(
            f"{option}: importing {name!r} failed: {type(error).__name__}: {in_one_line(error)}"
        ) from error


def import_all(names):
    """Import the modules that --import names: classes of models are known once they are defined."""
    for name in names or ():
        imported("--import", name)


def own_value(option, path, *kinds):
    """The value that ``path``, module:Name, stands for: an instance of one of ``kinds``, or a class without arguments.

    WrongUsage for anything else, and for a value that a model file could not have.
    """
    module_name, _, name = path.partition(":")
    module = imported(option, module_name)
    value = getattr(module, name, MISSING)
    if value is MISSING:
        near = did_you_mean(name, [known for known in vars(module) if not known.startswith("_")])
        raise WrongUsage(f"{option}: {module_name} has no {name!r}{near}")
    if isinstance(value, type) and issubclass(value, kinds):
        try:
            value = value()
        except Exception as error:
            raise WrongUsage(
                f"{option} {path}: {name}() failed: {type(error).__name__}: {in_one_line(error)}; define a "
                "value with its arguments in the module, and name that"
            ) from error
    if not isinstance(value, kinds):
        expected = " or ".join(kind.__name__ for kind in kinds)
        raise WrongUsage(
            f"{option} {path} must be a {expected}, or a class of them that needs no arguments; got {value!r}"
        )
    try:
        put_value(ArrayWriter(), option, value)
    except TypeError as error:
        raise WrongUsage(f"{option} {path}: {error}") from None
    return value
