"""What ``thresher select``, ``grid`` and ``path`` have in common: read a file, fit, save the model, and report."""

import os
import time
import warnings

import numpy as np

from thresher.cli.app import WrongUsage
from thresher.cli.commands.inspect import facts
from thresher.cli.files import TABLES, Names, check_bags_agree, check_out, data_of, saved
from thresher.cli.show import Reporter
from thresher.cli.start import DONE, INTERRUPTED, in_one_line
from thresher.errors import IndexColumnWarning, InvalidDataError, ModelFileError
from thresher.io.table import Source
from thresher.models import is_checkpoint
from thresher.models import read as read_model
from thresher.results import counted
from thresher.state import UnknownClass


def check_paths(out, *inputs):
    """Raise errors that would otherwise occur only after a long fit."""
    given = [path for path in inputs if path is not None]
    if out == "-":
        raise WrongUsage("the model cannot be written to standard output; name a file with --out")
    if given.count("-") > 1:
        raise WrongUsage("standard input can be read only once")
    check_out(out, *given)
    for path in given:
        if path != "-" and not os.path.exists(path):
            raise FileNotFoundError(f"{path}: no such file")
    if os.path.exists(out) and os.path.getsize(out):
        if is_checkpoint(out):
            raise WrongUsage(f"--out {out} is a checkpoint of a stream and would be overwritten; use another name")
        try:
            read_model(out)
        except ModelFileError as error:
            if not isinstance(error.__cause__, UnknownClass):  # a model of classes that are not imported is a model
                raise WrongUsage(f"--out {out} exists and is not a model file; use another name") from None


class FitCommand:
    """A fit to a file: ``read``, ``fit`` and ``finish`` in this order."""

    def __init__(self, file, out, reading, fitting, reporting, bag_column=None):
        self.file, self.out, self.bag_column = file, out, bag_column
        self.reading, self.fitting = reading, fitting
        self.reporter = Reporter(reporting.quiet, reporting.json)

    def read(self, *others):
        """The Table of the training data, which must have labels; ``others`` are paths that are read later."""
        check_paths(self.out, self.file, self.reading.labels, self.reading.names, *others)
        begun = time.perf_counter()
        table = data_of(self.reporter, self.file, self.reading, self.fitting.jobs, bag_column=self.bag_column)
        if table.y is None:
            raise InvalidDataError(f"{self.file}: missing labels; name a file of labels with --labels")
        if table.bags is not None:
            check_bags_agree(self.file, table, self.reading.labels)
        rows, columns = table.X.shape
        bags = "" if table.bags is None else f" in {counted(np.unique(table.bags).size, 'bag')}"
        values, counts = np.unique(table.y, return_counts=True)
        shown = ", ".join(f"{value} ({count:,})" for value, count in zip(values[:6], counts[:6], strict=True))
        self.reporter.say(
            f"{self.file}: {counted(rows, 'row')}{bags}, {counted(columns, 'column')}, "
            f"{counted(table.entries, 'value')}, labels {shown}{', ...' if values.size > 6 else ''}; "
            f"{time.perf_counter() - begun:.2f} s"
        )
        return table

    def fit(self, clf, table, bar):
        """The Model as saved; ``interrupted`` says whether Ctrl-C ended the fit, ``lost`` why it could not be saved."""
        self.interrupted, names = False, Names(table.names, table.index_base)
        with self.reporter.catching_warnings(names.in_warning), bar:
            if table.kind in TABLES:  # it was looked for in the file, and left out or kept
                warnings.simplefilter("ignore", IndexColumnWarning)
            clf.verbose = bar
            try:
                clf.fit(table.X, table.y, **({} if self.bag_column is None else {"bags": table.bags}))
            except KeyboardInterrupt:
                if not clf.__sklearn_is_fitted__():
                    raise
                self.interrupted = True
        clf.verbose = 0
        source = Source(
            os.path.basename(self.file), table.kind, table.index_base, self.reading.label_column,
            left_out=list(table.left_out), bag_column=self.bag_column, encoding=table.encoding,
        )  # fmt: skip
        model, self.lost = saved(clf, self.out, names=table.names, source=source)
        return model

    def finish(self, model, whole, part, failed=None, **more):
        """Report where the model is, ``whole`` or in ``part``; the exit code, or the error of saving or testing."""
        if self.lost is None:
            self.reporter.say(f"\n{f'interrupted; {part}' if self.interrupted else whole} in {self.out}")
        values = facts(model) | more
        self.reporter.report(**where(self.out, self.lost), interrupted=self.interrupted, **values)
        raise_first(self.lost, failed)
        return INTERRUPTED if self.interrupted else DONE


def where(out, lost):
    """The part of the JSON report that says where the model is, or why it is not there."""
    return {"model": out} if lost is None else {"model": None, "save_error": in_one_line(lost)}


def raise_first(*errors):
    """Raise the first error that there is, after the report."""
    for error in errors:
        if error is not None:
            raise error
