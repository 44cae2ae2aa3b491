"""The parser of the command line, and the kinds of options that commands share."""

import importlib
import math
from dataclasses import dataclass
from typing import Annotated, Literal

from cyclopts import App, CycloptsError, Group, Parameter
from rich.console import Console

from thresher._version import __version__

EXIT_CODES = """
Exit codes: 0 done; 1 a file or its data cannot be used; 2 wrong options; 130 interrupted (Ctrl-C, SIGTERM), where
select, grid and stream have written what they had, if there was anything.
"""


class Pipe(Console):
    """A console whose reader may have seen enough."""

    def on_broken_pipe(self):
        """Leave it to ``start``."""
        raise BrokenPipeError


def whole(_, tokens):
    """A whole number; others are not rounded."""
    if not tokens[0].value.lstrip("+-").isdigit():
        raise ValueError(f"{tokens[0].value!r} is no whole number")
    return int(tokens[0].value)


def at_least_one(_, value):
    """Counts begin at 1."""
    if value is not None and value < 1:
        raise ValueError("must be at least 1")


def at_least_two(_, value):
    """One fold is none."""
    if value is not None and value < 2:
        raise ValueError("must be at least 2")


def positive(_, value):
    """A finite number above zero; words have been checked."""
    if not (value is None or isinstance(value, str) or (math.isfinite(value) and value > 0)):
        raise ValueError("must be a finite number above 0")


def all_positive(_, values):
    """Finite numbers, not below zero."""
    for value in values or ():
        if not (math.isfinite(value) and value >= 0):
            raise ValueError("must be finite and not below 0")


app = App(
    name="thresher",
    help="Pick the few features that matter out of very wide data, with a proof of how good the pick is.",
    help_epilogue=EXIT_CODES,
    version=__version__,
    default_parameter=Parameter(negative=""),
    console=Pipe(),
    suppress_keyboard_interrupt=False,
)
FILES, MODEL, OUTPUT = Group("Reading", sort_key=1), Group("Model", sort_key=2), Group("Output", sort_key=3)

Kind = Annotated[Literal["svmlight", "npz", "npy", "csv", "parquet"] | None, Parameter(group=FILES)]
Text = Annotated[str | None, Parameter(group=FILES)]
Words = Annotated[list[str] | None, Parameter(group=FILES, consume_multiple=False)]
Flag = Annotated[bool, Parameter(group=OUTPUT)]
Count = Parameter(converter=whole, validator=at_least_one)
Features = Annotated[int | None, Parameter(alias="-k", group=MODEL), Count]
Jobs = Annotated[int | None, Parameter(alias="-j", group=MODEL), Count]
Point = Annotated[tuple[int, int] | None, Parameter(group=MODEL)]
Numbers = Annotated[list[float] | None, Parameter(group=MODEL, consume_multiple=False, validator=all_positive)]
Method = Annotated[Literal["b-arda", "b-amd", "ofs", "sofs", "l1-arda", "ada-fobos"] | None, Parameter(group=MODEL)]
Loss = Annotated[Literal["squared_hinge", "hinge", "logistic"] | None, Parameter(group=MODEL)]
IndexBase = Annotated[Literal[0, 1] | None, Parameter(group=FILES)]


@Parameter(name="*")  # its fields are options of their own, with their plain names
@dataclass(frozen=True, kw_only=True)
class Reading:
    """How training data is read.

    Parameters
    ----------
    kind
        What the file is, if its name does not tell.
    labels
        A file of labels, if they are not in FILE: .npy, or text with one a line.
    label_column
        The column with the labels in csv and Parquet files ("label" if not given).
    ignore
        A column of a csv or Parquet file to leave out; may be repeated.
    names
        A text file with the names of the features, one a line.
    index_base
        Index of the first feature in svmlight text: 0 if any is 0, else 1, if not given.
    """

    kind: Kind = None
    labels: Text = None
    label_column: Text = None
    ignore: Words = None
    names: Text = None
    index_base: IndexBase = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Fitting:
    """What every fit on a file can be told.

    Parameters
    ----------
    balanced
        Give both large and small classes the same weight.
    jobs
        Threads; if not given, as many as the work pays for, at most all cores granted to the process.
    """

    balanced: Annotated[bool, Parameter(group=MODEL)] = False
    jobs: Jobs = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Reporting:
    """How a command reports.

    Parameters
    ----------
    quiet
        Say nothing but warnings and errors.
    json
        Report as JSON on standard output.
    """

    quiet: Flag = False
    json: Flag = False


READING, FITTING, REPORTING = Reading(), Fitting(), Reporting()


class WrongUsage(Exception):
    """Options that do not fit."""


def run(arguments):
    """Parse, run the command, and return its exit code."""
    try:
        return app(arguments, exit_on_error=False, print_error=False, result_action="return_value") or 0
    except CycloptsError as error:
        raise WrongUsage(error) from None


def later(module, **options):
    """Import ``thresher.cli.<module>`` and run it."""
    return importlib.import_module(f"thresher.cli.{module}").run(**options)
