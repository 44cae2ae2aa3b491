"""Files of the commands: data for a model, feature names, and what is to be written."""

import os
import shutil
import tempfile
import warnings
from functools import cached_property

import numpy as np

from thresher.cli.app import WrongUsage
from thresher.cli.start import in_one_line
from thresher.errors import ColumnsLeftOutWarning, InvalidDataError, LeakWarning, did_you_mean
from thresher.features.instances.bags import grouped
from thresher.io.delimited import lines_of_rows
from thresher.io.reading import kind_of, read
from thresher.io.svmlight import path_name
from thresher.io.table import Layout
from thresher.models import read as read_model
from thresher.models import save, unsaved

TABLES = ("csv", "parquet")


def used_columns(clf):
    """Numbers of the columns of X that a model reads: all, if it compares rows."""
    if not clf.fitted_features_.of_rows:
        return list(range(clf.n_features_in_))
    return clf.get_support(indices=True).tolist()


def data_of(reporter, file, options, jobs, **more):
    """The Table of a file, read with a group of ``options``; what was corrected or ignored in it becomes a warning."""
    given = {name: value for name, value in vars(options).items() if value is not None and value is not False}
    kind = given.setdefault("kind", kind_of(file))
    of_tables = {"label_column": "--label-column", "ignore": "--ignore", "keep": "--keep", "one_hot": "--one-hot"}
    wrong = [option for name, option in of_tables.items() if name in given]
    if kind not in TABLES and wrong:
        needs = "needs" if len(wrong) == 1 else "need"
        raise WrongUsage(f"{' and '.join(wrong)} {needs} a csv or Parquet file, got {kind}: {file}")
    if kind == "svmlight" and "impute" in given:
        raise WrongUsage(f"--impute needs a table or an array, got svmlight text: {file}")
    if kind != "svmlight" and "index_base" in given:
        raise WrongUsage(f"--index-base needs svmlight text, got {kind}: {file}")
    with reporter.catching_warnings():
        warnings.simplefilter("ignore", ColumnsLeftOutWarning)  # it is among the remarks
        table = read(file, n_jobs=jobs, **more | given)
    for remark in table.remarks:
        reporter.warn(f"{file}: {remark}")
    return table


def more_data(reporter, model, file, used, options, jobs):
    """Data for a model that uses the columns ``used``, read as the training data was, so that columns match."""
    kind, source = options.kind or kind_of(file), model.source
    names = None if model.names is None else tuple(model.names)
    layout = Layout(
        int(model.estimator.n_features_in_), names, source.index_base, tuple(used), source.label_column,
        open_ended=source.open_ended, left_out=tuple(source.left_out), bag_column=source.bag_column,
        encoding=source.encoding,
    )  # fmt: skip
    if layout.open_ended and kind != "svmlight":
        raise ValueError(
            f"{file}: expected svmlight text, got {kind}: the model was trained on a stream of svmlight text and "
            "identifies features by their indices"
        )
    if layout.open_ended and options.index_base is not None:
        raise WrongUsage("--index-base cannot be used with models of thresher stream: indices are used as they are")
    if kind == "svmlight" and layout.index_base is None and options.index_base is None:
        raise ValueError(
            f"{file}: the model was not fitted on svmlight text; set the index of the first column with --index-base"
        )
    return data_of(reporter, file, options, jobs, layout=layout)


def refuse(wrong):
    """Raise the first of the errors {message: whether options are wrong in this way} that applies."""
    for message, is_wrong in wrong.items():
        if is_wrong:
            raise WrongUsage(message)


def check_out(out, *inputs, option="--out"):
    """Raise an error, before any work is done, if ``out`` cannot be written or is an input."""
    if not out or os.path.isdir(out):
        raise WrongUsage(f"{option} must be the name of a file to write, got {out!r}")
    for path in inputs:
        if path not in (None, "-") and os.path.exists(out) and os.path.exists(path) and os.path.samefile(out, path):
            raise WrongUsage(f"{option} {out} is an input file and would be overwritten")
    folder = os.path.dirname(os.path.abspath(out))
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(f"{out}: cannot be written: {error.strerror}") from None


def saved(clf, out, *, names, source):
    """(the Model, None) if it could be written, else (the Model as it was fitted, the error to raise after the report).

    What was learnt may have taken hours: where ``out`` cannot be written, a copy in the folder for temporary files is
    tried. An existing file ``out`` stays as it was.
    """
    try:
        save(clf, out, names=names, source=source)
        return read_model(out), None
    except OSError as error:
        copy = _copied(clf, os.path.basename(out), names, source)
        if copy is None:
            advice = "free some space or name a file on another disk with --out, and run the command again"
        else:
            advice = f"the model is in {copy} instead: move it to a safe place"
        return unsaved(clf, names=names, source=source), not_written(out, error, advice)


def _copied(clf, name, names, source):
    """The path of a copy in a new folder for temporary files; None if it cannot be written there either."""
    folder = None
    try:
        folder = tempfile.mkdtemp(prefix="thresher-")
        save(clf, os.path.join(folder, name), names=names, source=source)
        return os.path.join(folder, name)
    except OSError:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        return None


def not_written(path, error, advice):
    """The error of a file that cannot be written: its name, why, and what to do."""
    reason = error.strerror or in_one_line(error)
    return OSError(f"{path}: cannot be written: {reason}; {advice}")


def known_labels(reporter, y, classes):
    """(labels in the type of the classes, which of them are classes of the model), with a warning of the others.

    A single string among numbers makes strings of all labels in a file: those are matched with the classes as strings.
    """
    strings, named = y.astype(str), classes.astype(str)
    known = np.isin(strings, named) if (y.dtype.kind in "US") != (classes.dtype.kind in "USO") else np.isin(y, classes)
    unknown = np.unique(y[~known])
    if unknown.size:
        shown = ", ".join(map(str, unknown[:5])) + (", ..." if unknown.size > 5 else "")
        reporter.warn(f"{int((~known).sum()):,} of {y.size:,} labels were not seen in fit: {shown}")
    if y.dtype.kind in "US" and classes.dtype.kind not in "USO":
        place = dict(zip(named, classes, strict=True))
        other = classes.max() + 1  # a label that no class has
        y = np.array([place.get(string, other) for string in strings])
    return (strings if classes.dtype.kind in "USO" else y), known


def check_bags_agree(file, table, labels=None):
    """Raise an error that names the file and the rows, or lines, if a bag has two labels."""
    conflict = grouped(table.bags, table.X.shape[0]).conflict(table.y)
    if conflict is None:
        return
    places = [f"row {row} (from 0)" for row in (conflict.row, conflict.first_row)]
    if table.kind == "csv" and file != "-" and labels is None:
        places = [f"line {line}" for line in lines_of_rows(file, (conflict.row, conflict.first_row))]
    here, before = repr(conflict.other), repr(conflict.first)
    raise InvalidDataError(
        f"{path_name(file)}: {places[0]}: bag {conflict.bag!r} has the label {here} here, but {before} in {places[1]}; "
        "all rows of a bag must have the same label"
    )


class Names:
    """Names of columns: their names if known, else their svmlight indices, else their column numbers."""

    def __init__(self, names, index_base):
        self.names, self.base = names, index_base

    @cached_property
    def places(self):
        """{name: number} of columns with names."""
        return {str(name): j for j, name in enumerate(self.names or ())}

    def of(self, j):
        """The name of column ``j``."""
        if self.names is not None:
            return str(self.names[j])
        return str(int(j) + (self.base or 0))

    def in_warning(self, warning):
        """A warning of a fit in words, with the name of the column that it is about."""
        if not isinstance(warning, LeakWarning):
            return str(warning)
        name = self.of(warning.column)
        label = f"{self.head} {name}" if self.names is None else f"column {name!r}"
        return str(LeakWarning(warning.column, label, warning.percent))

    @property
    def head(self):
        """Header of a column of names."""
        return "feature" if self.names is not None else "column" if self.base is None else "index"

    def place(self, name, n_columns):
        """The number of the column with this name, or with this number; None if there is none."""
        if name in self.places:
            return self.places[name]
        number = int(name) - (self.base or 0) if name.isdigit() else -1
        return number if 0 <= number < n_columns else None

    def column(self, name, n_columns):
        """The number of the column with this name, or with this number."""
        place = self.place(name, n_columns)
        if place is None:
            base = self.base or 0
            numbers = f"a number from {base} to {base + n_columns - 1}"
            expected = numbers if self.names is None else f"the name of a column, or {numbers}"
            near = did_you_mean(name, self.places) or f"; expected {expected}"
            raise ValueError(f"no feature named {name!r}{near}")
        return place
