"""The parser of the command line, and the types of options that commands share."""

import difflib
import gc
import importlib
import math
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Annotated, Any, Literal

from cyclopts import App, CycloptsError, Group, Parameter, UnknownOptionError, UnusedCliTokensError, validators
from rich.console import Console

from thresher._garbage import uncollected
from thresher._version import __version__
from thresher.cli.postponed import postpone
from thresher.cli.start import COMMANDS, STANDARD_INPUT

EXIT_CODES = """
Exit codes: 0 success; 1 invalid file or data; 2 invalid options; 130 interrupted (Ctrl-C, SIGTERM): select, grid,
path and stream have then written the model fitted so far, if there was one.
"""


class Pipe(Console):
    """A console whose output may be closed by its reader."""

    def on_broken_pipe(self):
        """Raise the error, which ``start`` handles."""
        raise BrokenPipeError


def to_integer(_, tokens):
    """An integer; floats are not rounded."""
    if not tokens[0].value.lstrip("+-").isdigit():
        raise ValueError(f"must be an integer, got {tokens[0].value!r}")
    return int(tokens[0].value)


def positive_number(_, value):
    """Require a positive finite number; strings have been checked."""
    if not (value is None or isinstance(value, str) or (math.isfinite(value) and value > 0)):
        raise ValueError(f"must be a positive finite number, got {value}")


def all_non_negative(_, values):
    """Require finite numbers >= 0."""
    for value in values or ():
        if not (math.isfinite(value) and value >= 0):
            raise ValueError(f"must be finite and >= 0, got {value}")


app = App(
    name="thresher",
    help="Select the few features that matter in very wide data, with a certificate of the training objective.",
    help_epilogue=EXIT_CODES,
    version=__version__,
    default_parameter=Parameter(negative=""),
    console=Pipe(),
    suppress_keyboard_interrupt=False,
)
NEAR = 0.8  # likeness of names of options, of which 1.0 is equal
LISTS = ("--ignore", "--keep", "--always", "--exclude")  # options that may have several values
FILES, MODEL, OUTPUT = Group("Reading", sort_key=1), Group("Model", sort_key=2), Group("Output", sort_key=3)

FileKind = Annotated[Literal["svmlight", "npz", "npy", "csv", "parquet"] | None, Parameter(group=FILES)]
Text = Annotated[str | None, Parameter(group=FILES)]
Words = Annotated[list[str] | None, Parameter(group=FILES, consume_multiple=False)]
Flag = Annotated[bool, Parameter(group=OUTPUT)]
Count = Parameter(converter=to_integer, validator=validators.Number(gte=1))
FeatureCount = Annotated[int | None, Parameter(alias="-k", group=MODEL), Count]
Jobs = Annotated[int | None, Parameter(alias="-j", group=MODEL), Count]
Point = Annotated[tuple[int, int] | None, Parameter(group=MODEL)]
Numbers = Annotated[list[float] | None, Parameter(group=MODEL, consume_multiple=False, validator=all_non_negative)]
Imports = Annotated[list[str] | None, Parameter(name="--import", group=FILES, consume_multiple=False)]
IndexBase = Annotated[Literal[0, 1] | None, Parameter(group=FILES)]


@Parameter(name="*")  # its fields are options of their own, with their plain names
@dataclass(frozen=True, kw_only=True)
class Reading:
    """How training data is read.

    Parameters
    ----------
    kind
        Format of FILE; inferred from its extension if not given.
    labels
        A file of labels, if they are not in FILE: .npy, or text with one label per line.
    label_column
        Name of the label column in csv and Parquet files; "label" if not given.
    ignore
        Columns of a csv or Parquet file to ignore, by name: a,b or a b, or repeated.
    keep
        Columns of a csv or Parquet file that are features though they look like an index, by name, as for --ignore.
        Otherwise columns without a name, and integers that rise by one in each row, are left out with a warning.
    names
        A text file with the feature names, one per line.
    index_base
        Index of the first feature in svmlight text; if not given, 0 if any index is 0, else 1.
    impute
        What stands for missing values: the mean or the median of the column in the training data, which the model keeps
        for new data.
    one_hot
        Make columns of zeros and ones of each column of text (csv and Parquet; at most 50 different texts): one for
        each text. select takes them together, as one group, that counts as one of --features.
    """

    kind: FileKind = None
    labels: Text = None
    label_column: Text = None
    ignore: Words = None
    keep: Words = None
    names: Text = None
    index_base: IndexBase = None
    impute: Annotated[Literal["mean", "median"] | None, Parameter(group=FILES)] = None
    one_hot: Annotated[bool, Parameter(group=FILES)] = False


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Fitting:
    """Options of every fit on a file.

    Parameters
    ----------
    balanced
        Weight classes inversely to their size (class_weight="balanced").
    jobs
        Number of threads; if not given, as many as are worthwhile, at most all available cores.
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
        Print only warnings and errors.
    json
        Print the report as JSON on standard output.
    """

    quiet: Flag = False
    json: Flag = False


READING, FITTING, REPORTING = Reading(), Fitting(), Reporting()


class WrongUsage(Exception):
    """Invalid options."""


def run(arguments):
    """Parse the arguments, run the command, and return its exit code."""
    try:
        return _run(arguments)
    except UnusedCliTokensError as error:
        more = one_by_one(arguments)
        if more == arguments:
            raise WrongUsage(error) from None
        with suppress(CycloptsError):
            return _run(more)
        raise WrongUsage(error) from None
    except UnknownOptionError as error:
        raise WrongUsage(about_unknown(error)) from None
    except CycloptsError as error:
        raise WrongUsage(error) from None


def about_unknown(error):
    """The message about an option that the command does not have: commands that do, or an option with a near name."""
    command, option = error.command_chain[0], (error.token.keyword or error.token.value).split("=")[0]
    commands = [name for name in COMMANDS if option in options_of(app[name])]
    if commands:
        of = " and ".join([", ".join(commands[:-1]), commands[-1]] if len(commands) > 1 else commands)
        return f"{option} is an option of {of}, not of {command}"
    near = difflib.get_close_matches(option, options_of(app[command]), 1, NEAR)
    return f"Unknown option: {option}.{f' Did you mean {near[0]}?' if near else ''}"


def options_of(command):
    """The names of all options of a command."""
    arguments = command.assemble_argument_collection()
    return [name for argument in arguments if argument.parse for name in argument.names if name.startswith("-")]


def _run(arguments):
    return app(arguments, exit_on_error=False, print_error=False, result_action="return_value") or 0


def one_by_one(arguments):
    """``--ignore a b`` as ``--ignore a --ignore b``, where words up to the next option are more of its values."""
    given, option = [], None
    for place, word in enumerate(arguments):
        if word.startswith("-"):
            option = word if word in LISTS else None
        elif option is not None and arguments[place - 1] != option:
            given.append(option)
        given.append(word)
    return given


def later(module, **options):
    """Import ``thresher.cli.commands.<module>`` and run it."""
    postpone()
    with uncollected():
        command = importlib.import_module(f"thresher.cli.commands.{module}")
    gc.freeze()  # what was imported stays: looking through it at exit would take 0.3 s
    return command.run(**{name: with_dashes(value) for name, value in options.items()})


def with_dashes(value: Any):
    """An option, or a group of them, with "-" for standard input."""
    if is_dataclass(value) and not isinstance(value, type):
        changed = {field.name: with_dashes(getattr(value, field.name)) for field in fields(value)}
        return replace(value, **changed)
    return value.replace(STANDARD_INPUT, "-") if isinstance(value, str) else value
