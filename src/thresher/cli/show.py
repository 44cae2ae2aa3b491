"""Output of the commands: reports and tables on standard output, progress and warnings on standard error."""

import json
import logging
import sys
import time
import warnings
from contextlib import contextmanager
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from thresher.cli.app import Pipe
from thresher.results import rounded
from thresher.results.words import turn_details

OUT = Pipe(highlight=False, soft_wrap=True)
ERR = Console(stderr=True, highlight=False, soft_wrap=True)
LONGEST_NUMBER = 14  # words of a table up to this length are never broken
LOG_SECONDS = 60.0  # between two lines of progress where standard error is no terminal
FOLDED, GAP = 24, 2  # room for names that are folded; blanks between columns


class Reporter:
    """Prints the report of a command, as ``--quiet`` and ``--json`` require; collects warnings."""

    def __init__(self, quiet, as_json, console=OUT):
        self.quiet, self.as_json, self.console, self.warnings = quiet, as_json, console, []
        # the library logs a line when loops are compiled: standard error is silent only if that is asked for
        logging.getLogger("thresher").setLevel(logging.ERROR if quiet else logging.NOTSET)

    @property
    def prints(self):
        """Whether the report is printed as text."""
        return not (self.quiet or self.as_json)

    def say(self, text="", **options):
        """Print a line of the report, without markup."""
        if self.prints:
            self.console.print(text, markup=False, **options)

    @property
    def updates(self):
        """Whether the report goes to a terminal, where what is under way is shown by a bar."""
        return self.console.is_terminal

    def say_now(self, text):
        """Print a line of the report that a reader of a pipe or a file gets at once."""
        if self.prints:
            self.say(text)
            self.console.file.flush()

    def table(self, heads, rows, title=None):
        """Print a table, its first column aligned left; where it is too wide names are folded, but no numbers."""
        table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
        for j, cells in enumerate(zip(heads, *rows, strict=True)):
            side: Any = "right" if j else "left"
            table.add_column(cells[0], justify=side, overflow="fold", min_width=unbroken_width(cells))
        for cells in rows:
            table.add_row(*(str(cell).replace("[", r"\[") for cell in cells))  # brackets are not markup
        if self.prints:
            self.console.print(table)

    def warn(self, message):
        """Print a warning on standard error, and keep it for the JSON report."""
        self.warnings.append(" ".join(str(message).split()))
        sys.stderr.write(f"thresher: warning: {self.warnings[-1]}\n")

    def report(self, **values):
        """Print the report as JSON."""
        if self.as_json:
            text = json.dumps(values | {"warnings": self.warnings}, default=lambda array: array.tolist())
            finite = json.loads(text, parse_constant=lambda _: None)  # nan and infinities become null
            sys.stdout.write(json.dumps(finite) + "\n")

    @contextmanager
    def catching_warnings(self, in_words=str):
        """Python's warnings inside become warnings of the command, ``in_words``, also if the block is interrupted."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                yield
            finally:
                for warning in caught:
                    if issubclass(warning.category, UserWarning):
                        self.warn(in_words(warning.message))


class _Bar:
    """A progress bar on standard error; where that is no terminal, a line a minute."""

    def __init__(self, shown, first):
        self.shown, self.drawn = shown, shown and ERR.is_terminal
        self.written_at = time.monotonic()
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(24),
            TextColumn("{task.fields[state]}"),
            console=ERR,
            transient=True,
            disable=not self.drawn,
        )
        self.task = self.bar.add_task(first, total=None, state="")

    def __enter__(self):
        self.bar.start()
        return self

    def __exit__(self, *_):
        self.bar.stop()

    def update(self, description, state, **numbers):
        """Show where the fit stands."""
        self.bar.update(self.task, description=description, state=state, **numbers)
        if self.shown and not self.drawn and time.monotonic() - self.written_at >= LOG_SECONDS:
            self.written_at = time.monotonic()
            sys.stderr.write(f"{description}: {state}\n")
            sys.stderr.flush()


class Turns(_Bar):
    """Progress bar over the turns of a fit, which takes what ``noun`` names."""

    def __init__(self, shown, first, noun):
        super().__init__(shown, first)
        self.count, self.noun = 0, noun

    def __call__(self, turn, target):
        """Show the progress of the fit."""
        self.count += 1
        share = min(1.0, turn.taken / target) if target else 0.0
        state = (
            f"{turn.taken}{f' of {target}' if target else ''} {self.noun}s, {turn.features} in the model, objective "
            f"{turn.objective:.4g}, gap {turn.gap:.1e}, {rounded(turn.passes)} passes, "
            f"{turn_details(turn, ', ')}{turn.seconds:.1f} s{left(turn, share)}"
        )
        self.update(f"turn {self.count}", state, total=target, completed=min(turn.taken, target or 0))


class Points(_Bar):
    """Progress bar over points of a grid or path, and before over folds that are prepared for cross-validation."""

    def __init__(self, shown, noun):
        super().__init__(shown, "reading columns")
        self.noun = noun

    def folds(self, done, count, seconds):
        """Show how many folds are prepared."""
        state = f"{done} of {count} folds prepared, {seconds:.1f} s"
        self.update("folds", state, total=count, completed=done)

    def __call__(self, turn, total):
        """Show the progress of the fit."""
        gap = "" if np.isnan(turn.gap) else f"gap {turn.gap:.1e}, "
        state = (
            f"{turn.taken:,} of {total:,} points, {turn.features} features, {gap}{rounded(turn.passes)} passes, "
            f"{turn.seconds:.1f} s{left(turn, turn.taken / total)}"
        )
        self.update(self.noun, state, total=total, completed=turn.taken)


class Examples(_Bar):
    """Progress bar over the examples of a stream."""

    def __init__(self, shown):
        super().__init__(shown, "waiting for lines")

    def tell(self, text):
        """Show what is being done."""
        self.bar.update(self.task, description=text, refresh=True)

    def __call__(self, standing, speed):
        """Show the progress of the stream."""
        state = f"{speed:,.0f} per second, accuracy {standing.accuracy:.4f}, {standing.features} features"
        self.update(f"{standing.examples:,} examples", state)


def left(turn, share):
    """The estimated remaining time, given the share that is done."""
    return f", {turn.seconds * (1.0 / share - 1.0):.0f} s left" if 0.0 < share < 1.0 else ""


def unbroken_width(cells):
    """The width that a column needs so that no number in it, and no short word, is broken over two lines."""
    lengths = (len(word) for cell in cells for word in str(cell).split())
    return max((length for length in lengths if length <= LONGEST_NUMBER), default=1)


def number_that_fit(columns, others, width):
    """How many of ``columns`` a table of this width can have next to ``others``, all as lists of cells; at least one.

    Names in ``others`` may be folded.
    """
    room = width - sum(
        GAP + max(unbroken_width(cells), min(FOLDED, max(map(len, map(str, cells))))) for cells in others
    )
    ends = np.cumsum([GAP + unbroken_width(cells) for cells in columns])
    return max(1, int(np.count_nonzero(ends <= room + GAP)))  # there is no gap after the last


def spread(numbers, most, also):
    """Positions of about ``most`` numbers, evenly spaced in their logarithms, and those of ``also``."""
    wanted = np.geomspace(max(1, numbers[0]), max(1, numbers[-1]), most)
    return sorted({int(np.abs(numbers - number).argmin()) for number in wanted} | {int(place) for place in also})
