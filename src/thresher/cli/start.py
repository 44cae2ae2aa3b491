"""Entry point of the command line: errors as one line, and exit codes."""

import importlib
import os
import re
import shlex
import signal
import sys
import threading
import traceback
import warnings

from thresher.errors import UnusableColumnsError

DONE, BAD_DATA, BAD_USAGE, INTERRUPTED = 0, 1, 2, 130
FITTING_COMMANDS = ("select", "grid", "path")
COMMANDS = (*FITTING_COMMANDS, "stream", "predict", "inspect", "demo", "warmup")
OPTION_OF_PARAMETER = {  # of estimators, as their messages name them
    "n_features_to_select": "--features", "n_instances_to_select": "--features", "always_include": "--always",
    "max_features": "--max-features", "n_jobs": "--jobs", "class_weight": "--balanced",
}  # fmt: skip
STANDARD_INPUT = "\0-"  # the parser would take a lone "-" for an option; no shell can pass this value


def main(arguments=None):
    """Run a command line and return its exit code; user errors never end in a traceback."""
    arguments = [STANDARD_INPUT if word == "-" else word for word in (sys.argv[1:] if arguments is None else arguments)]
    if threading.current_thread() is threading.main_thread():  # batch systems send it: like Ctrl-C
        signal.signal(signal.SIGTERM, _interrupt)
    try:
        importlib.import_module("thresher.cli.options.commands")
        app = importlib.import_module("thresher.cli.app")
    except ModuleNotFoundError as error:
        if error.name not in ("cyclopts", "rich"):
            raise
        return complain("the command line needs more packages: pip install 'thresher[cli]'", BAD_USAGE)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = in_a_line
            code = app.run(arguments)
        sys.stdout.flush()
        return code
    except app.WrongUsage as error:
        return complain(f"{in_one_line(error)} (see thresher {of_command(arguments)}--help)", BAD_USAGE)
    except KeyboardInterrupt:
        return complain("interrupted before there was a model to save", INTERRUPTED)
    except BrokenPipeError:  # the reader closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except MemoryError as error:
        return complain(
            f"not enough memory: {in_one_line(error) or 'the data is too large for this machine'}", BAD_DATA
        )
    except (ValueError, TypeError, OSError) as error:
        if isinstance(error, UnusableColumnsError) and error.options:
            given = ["-" if word == STANDARD_INPUT else word for word in arguments]
            works = shlex.join(["thresher", *given, *error.options])
            return complain(f"{in_one_line(error.complaints)}\nThis works: {works}", BAD_DATA)
        if os.environ.get("THRESHER_DEBUG"):
            traceback.print_exc()
        return complain(with_options(in_one_line(error), arguments), BAD_DATA)


def in_a_line(message, *_, **__):
    """Write a warning that no command has taken, without the place in the source."""
    sys.stderr.write(f"thresher: warning: {' '.join(str(message).split())}\n")


def _interrupt(*_):
    raise KeyboardInterrupt


def in_one_line(error):
    """The message of an error, its lines joined."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split())


def with_options(message, arguments):
    """The message of a fit, with the option of the command after each parameter that has another name there."""
    for name, option in OPTION_OF_PARAMETER.items() if arguments[:1] and arguments[0] in FITTING_COMMANDS else ():
        if option not in message:
            message = re.sub(rf"\b{name}\b(=[^\s,;:]+)?", rf"\g<0> ({option})", message, count=1)
    return message


def of_command(arguments):
    """The name of the command, if it is known, with a space."""
    known = bool(arguments) and arguments[0] in COMMANDS
    return f"{arguments[0]} " if known else ""


def complain(message, code):
    """Write a line to standard error; return the exit code."""
    sys.stderr.write(f"thresher: error: {message}\n")
    return code
