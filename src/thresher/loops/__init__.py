"""Compiled loops over plain arrays: no classes, no callables as arguments, no bounds checks.

Whoever calls a loop has validated its arrays. Loops that call each other live in one file, because Numba's cache
does not notice changes in other files.
"""
