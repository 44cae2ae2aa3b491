"""Errors and warnings of thresher, and what their messages say of misspelt names.

Every error derives from the built-in exception that scikit-learn's users expect, so that ``except ValueError``
keeps working.
"""

import difflib
from collections.abc import Iterable
from itertools import islice

LONGEST_SHOWN = 60  # characters of a value in a message
MOST_COMPARED = 20_000  # names: more would take seconds


class InvalidDataError(ValueError):
    """X, y or sample_weight is invalid: wrong shape, corrupt sparse structure, NaN or infinity."""


class InvalidDataTypeError(TypeError):
    """X or a parameter has an unsupported type."""


class UnusableColumnsError(InvalidDataError):
    """Columns of a table have texts or missing values; the message names all of them.

    ``complaints`` is the message without its advice; ``options`` are those of the command line with which it works.
    """

    def __init__(self, complaints: str, advice: str = "", options: Iterable[str] = ()) -> None:
        self.complaints, self.options = complaints, list(options)
        words = f" ({' '.join(self.options)})" if self.options else ""
        super().__init__(f"{complaints}; {advice}{words}" if advice else complaints)


class ModelFileError(ValueError):
    """A model file is invalid: damaged, truncated, malicious, or written by a newer version."""


class InconsistentResultError(ValueError):
    """A result, or the state of an online learner, is inconsistent; raised by its ``check``."""


class FewerFeaturesWarning(UserWarning):
    """Fewer features than requested were selected; the message states the reason."""


class FewerFoldsWarning(UserWarning):
    """Cross-validation has fewer folds than requested, since the smallest class has fewer samples."""


class ContinuousLabelsWarning(UserWarning):
    """The labels look continuous: there are more classes than a tenth of the samples."""


class MissingBagsWarning(UserWarning):
    """A model that was fitted to bags of rows got rows without bags; each of them counts as a bag."""


class ColumnsLeftOutWarning(UserWarning):
    """Columns of a file that look like an index were left out; the message says how to keep them."""


class IndexColumnWarning(UserWarning):
    """A column of X looks like an index of the rows; it is used all the same."""


class LeakWarning(UserWarning):
    """A selected column alone separates the classes of the training data."""


class UnseenLevelsWarning(UserWarning):
    """A column of text has values that the training data did not have; they are zero in all of its columns."""


class CompilationCacheWarning(UserWarning):
    """Compiled loops cannot be cached on disk; every new process compiles them again."""


class UnsupportedDesignError(TypeError):
    """A design lacks what an estimator needs; the message states what is missing and an alternative."""


def brief(value: object) -> str:
    """A value in a message: its ``repr`` on one line, shortened."""
    text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 3]}..."


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """``; did you mean 'mean radius'?`` for a misspelt name, case aside; empty if no known name is near."""
    called: dict[str, str] = {}
    for each in islice(known, MOST_COMPARED):
        called.setdefault(str(each).lower(), str(each))
    near = difflib.get_close_matches(str(name).lower(), called, 3)
    return f"; did you mean {' or '.join(repr(called[each]) for each in near)}?" if near else ""
