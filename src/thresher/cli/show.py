"""How commands talk: reports and tables on standard output, progress and warnings on standard error."""

import json
import sys
import warnings
from contextlib import contextmanager

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from thresher.cli.app import Pipe

OUT = Pipe(highlight=False, soft_wrap=True)
ERR = Console(stderr=True, highlight=False, soft_wrap=True)


class Voice:
    """Says what a command has to say, as ``--quiet`` and ``--json`` want it; collects warnings."""

    def __init__(self, quiet, as_json, console=OUT):
        self.quiet, self.as_json, self.console, self.warnings = quiet, as_json, console, []

    @property
    def speaks(self):
        """Whether there is a report for people."""
        return not (self.quiet or self.as_json)

    def say(self, text="", **options):
        """A line of the report; markup is not looked for in it."""
        if self.speaks:
            self.console.print(text, markup=False, **options)

    def table(self, table):
        """A table of the report."""
        if self.speaks:
            self.console.print(table)

    def warn(self, message):
        """A warning, on standard error and in the JSON."""
        self.warnings.append(" ".join(str(message).split()))
        sys.stderr.write(f"thresher: warning: {self.warnings[-1]}\n")

    def report(self, **values):
        """The report for machines."""
        if self.as_json:
            sys.stdout.write(json.dumps(plain(values | {"warnings": self.warnings}), allow_nan=False) + "\n")

    @contextmanager
    def heard(self):
        """Python's warnings inside become warnings of the command; an interrupted block tells them, too."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                yield
            finally:
                for each in caught:
                    if issubclass(each.category, UserWarning):
                        self.warn(each.message)


class _Bar:
    """A bar on standard error; nothing where that is no terminal."""

    def __init__(self, shown, first):
        self.shown = shown and ERR.is_terminal
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(24),
            TextColumn("{task.fields[state]}"),
            console=ERR,
            transient=True,
            disable=not self.shown,
        )
        self.task = self.bar.add_task(first, total=None, state="")

    def __enter__(self):
        self.bar.start()
        return self

    def __exit__(self, *_):
        self.bar.stop()


class Turns(_Bar):
    """Moved by each turn of a fit."""

    number = 0

    def __call__(self, turn, target):
        """Show where the fit stands."""
        self.number += 1
        share = min(1.0, turn.taken / target) if target else 0.0
        state = (
            f"{turn.taken}{f' of {target}' if target else ''} columns, {turn.features} in the model, objective "
            f"{turn.objective:.4g}, gap {turn.gap:.1e}, {turn.passes:.3g} passes, {turn.seconds:.1f} s"
            f"{left(turn, share)}"
        )
        self.bar.update(
            self.task,
            description=f"turn {self.number}",
            total=target,
            completed=min(turn.taken, target or 0),
            state=state,
        )


class Points(_Bar):
    """Moved by each point of a grid."""

    def __init__(self, shown):
        super().__init__(shown, "reading columns")

    def __call__(self, turn, total):
        """Show where the fit stands."""
        state = (
            f"{turn.taken:,} of {total:,} points, {turn.features} features, gap {turn.gap:.1e}, {turn.passes:.3g} "
            f"passes, {turn.seconds:.1f} s{left(turn, turn.taken / total)}"
        )
        self.bar.update(self.task, description="grid", total=total, completed=turn.taken, state=state)


class Examples(_Bar):
    """Moved by the examples of a stream."""

    def __init__(self, shown):
        super().__init__(shown, "waiting for lines")

    def __call__(self, standing, speed):
        """Show where the stream stands."""
        state = f"{speed:,.0f} a second, accuracy {standing.accuracy:.4f}, {standing.features} features"
        self.bar.update(self.task, description=f"{standing.examples:,} examples", state=state)


def left(turn, share):
    """The time that is left, judged by the share that is done."""
    return f", {turn.seconds * (1.0 / share - 1.0):.0f} s left" if 0.0 < share < 1.0 else ""


def grid(*heads, title=None):
    """An empty table; the first column stands left, the others right."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for at, head in enumerate(heads):
        table.add_column(head, justify="left" if at == 0 else "right", overflow="fold")
    return table


def add(table, *cells):
    """A row of text, in which brackets are no markup."""
    table.add_row(*(str(cell).replace("[", r"\[") for cell in cells))


def plain(value):
    """Numbers, words, lists and dicts that JSON knows; nan and infinities become null."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def number(count, noun):
    """``1 row``, ``1,234 rows``."""
    return f"{count:,} {noun}{'' if count == 1 else 'es' if noun.endswith('s') else 's'}"
