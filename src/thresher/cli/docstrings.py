"""Docstrings under ``python -OO``, which strips them: the help texts of the commands are made of them."""

import ast
import sys


def restored(namespace):
    """Read the docstrings of the functions and classes of a module from its source, if the interpreter strips them.

    Parameters
    ----------
    namespace : dict
        The ``globals()`` of the module, at its end.
    """
    if sys.flags.optimize < 2:
        return
    with open(namespace["__file__"], encoding="utf-8") as file:
        tree = ast.parse(file.read())
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            namespace[node.name].__doc__ = ast.get_docstring(node, clean=False)
