"""Errors and warnings of thresher, and what their messages say of misspelt names.

Every error derives from the built-in exception that scikit-learn's users expect, so that ``except ValueError``
keeps working.
"""

import difflib
import sys
import warnings
from collections.abc import Iterable
from itertools import islice
from types import FrameType

LONGEST_SHOWN = 60  # characters of a value in a message
MOST_COMPARED = 20_000  # names: more would take seconds
NOT_CALLERS = ("thresher", "sklearn", "contextlib")  # what a warning does not point into


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
    """Cross-validation has fewer folds than requested, since the smallest class has fewer different samples."""


class ContinuousLabelsWarning(UserWarning):
    """The labels look continuous: there are more classes than a tenth of the samples."""


class MissingBagsWarning(UserWarning):
    """A model that was fitted to bags of rows got rows without bags; each of them counts as a bag."""


class ColumnsLeftOutWarning(UserWarning):
    """Columns of a file that look like an index were left out; the message says how to keep them."""


class IndexColumnWarning(UserWarning):
    """A column of X looks like an index of the rows; it is used all the same."""


class LeakWarning(UserWarning):
    """A selected column alone separates the classes of the training data.

    ``column`` is its number in X, ``label`` what it is called, and ``percent`` the balanced accuracy.
    """

    def __init__(self, column: int, label: str, percent: float) -> None:
        super().__init__(column, label, percent)
        self.column, self.label, self.percent = column, label, percent

    def __str__(self) -> str:
        return (
            f"{self.label} alone explains {self.percent:g} % (balanced accuracy on the training data): is it a leak of "
            "the labels? If it is not known of new data, drop it"
        )


class UnseenLevelsWarning(UserWarning):
    """A column of text has values that the training data did not have; they are zero in all of its columns."""


class CompilationCacheWarning(UserWarning):
    """Compiled loops cannot be cached on disk; every new process compiles them again."""


class UnsupportedDesignError(TypeError):
    """A design lacks what an estimator needs; the message states what is missing and an alternative."""


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """As ``warnings.warn``, of the line that called thresher, however many calls of its own are in between."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in NOT_CALLERS:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


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
