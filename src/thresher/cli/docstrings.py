"""Docstrings under ``python -OO``, which strips them: the help texts of the commands are made of them."""

import ast
import inspect
import sys


def restore():
    """Read the docstrings of all options and commands from their sources, if the interpreter strips them."""
    modules = [name for name in sys.modules if name.startswith(("thresher.cli.app", "thresher.cli.options."))]
    for module in modules if sys.flags.optimize == 2 else ():
        namespace = vars(sys.modules[module])
        for node in ast.parse(inspect.getsource(sys.modules[module])).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                namespace[node.name].__doc__ = ast.get_docstring(node, clean=False)
