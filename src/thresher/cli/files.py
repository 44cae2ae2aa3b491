"""Files as the commands see them: data that fits a model, names for features, and what may be written where."""

import os
import tempfile

import numpy as np

from thresher.cli.app import WrongUsage
from thresher.cli.start import STANDARD_INPUT
from thresher.io.reading import kind_of, read
from thresher.io.table import Layout

TABLES = ("csv", "parquet")


def path_of(text):
    """A file as it was given; "-" is standard input."""
    return None if text is None else text.replace(STANDARD_INPUT, "-")


def data_of(voice, file, *, kind=None, label_column=None, ignore=(), index_base=None, **options):
    """The Table of a file; what was made good on the way is told as warnings."""
    file = path_of(file)
    kind = kind or kind_of(file)
    if kind not in TABLES and (label_column is not None or ignore):
        raise WrongUsage(f"--label-column and --ignore are for csv and Parquet files, and {file} is {kind}")
    if kind != "svmlight" and index_base is not None:
        raise WrongUsage(f"--index-base is for svmlight text, and {file} is {kind}")
    table = read(file, kind=kind, label_column=label_column, ignore=ignore, index_base=index_base, **options)
    for remark in table.remarks:
        voice.warn(f"{file}: {remark}")
    return table


def more_data(voice, model, file, used, *, kind=None, index_base=None, **options):
    """Data for a model that looks at the columns ``used``: read as the training data was, so that none can shift."""
    kind, source = kind or kind_of(path_of(file)), model.source
    names = None if model.names is None else tuple(model.names)
    layout = Layout(
        int(model.estimator.n_features_in_), names, source.index_base, tuple(used), source.label_column,
        open_ended=source.open_ended,
    )  # fmt: skip
    if layout.open_ended and kind != "svmlight":
        raise ValueError(
            f"{path_of(file)} is {kind}, but the model was learnt from a stream of svmlight text and knows features by "
            "their indices there: give it svmlight text"
        )
    if layout.open_ended and index_base is not None:
        raise WrongUsage("--index-base is not for models of thresher stream: indices are taken as they are")
    if kind == "svmlight" and layout.index_base is None and index_base is None:
        raise ValueError(
            f"{path_of(file)}: the model was not fitted to svmlight text; say with --index-base which index its first "
            "column has here"
        )
    return data_of(voice, file, kind=kind, layout=layout, index_base=index_base, **options)


def check_out(out, *inputs, option="--out"):
    """Refuse, before any work is done, a place where nothing can be written or where an input is."""
    if not out or os.path.isdir(out):
        raise WrongUsage(f"{option} {out!r} is no name of a file to write")
    for each in inputs:
        if each not in (None, "-") and os.path.exists(out) and os.path.exists(each) and os.path.samefile(out, each):
            raise WrongUsage(f"{option} {out} is a file to be read; it would be lost")
    folder = os.path.dirname(os.path.abspath(out))
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(f"{out}: cannot be written: {error.strerror}") from None


def known_labels(voice, y, classes):
    """(labels in the type of the classes, which of them the model knows), with a warning of the others.

    A single word among numbers makes words of all labels in a file: those that name a class still do.
    """
    words, named = y.astype(str), classes.astype(str)
    known = np.isin(words, named) if (y.dtype.kind in "US") != (classes.dtype.kind in "USO") else np.isin(y, classes)
    strange = np.unique(y[~known])
    if strange.size:
        shown = ", ".join(map(str, strange[:5])) + (", ..." if strange.size > 5 else "")
        voice.warn(f"{int((~known).sum()):,} of {y.size:,} labels are none of the model's classes: {shown}")
    if y.dtype.kind in "US" and classes.dtype.kind not in "USO":
        place = dict(zip(named, classes, strict=True))
        other = classes.max() + 1  # a label that no class has
        y = np.array([place.get(word, other) for word in words])
    return (words if classes.dtype.kind in "USO" else y), known


class Names:
    """What columns are called: by their names, else as svmlight text numbers them, else by column."""

    def __init__(self, names, index_base):
        self.names, self.base = names, index_base

    def of(self, j):
        """The name of column ``j``."""
        if self.names is not None:
            return str(self.names[j])
        return str(int(j) + (self.base or 0))

    def features(self, space, ids):
        """What the features ``ids`` of a model are called."""
        return space.names(ids, self.of)

    @property
    def head(self):
        """What kind of name it is."""
        return "feature" if self.names is not None else "column" if self.base is None else "index"

    def number(self, word, n_features):
        """The column that ``word`` names."""
        if self.names is not None and word in self.names:
            return self.names.index(word)
        base = self.base or 0
        if not word.isdigit() or not base <= int(word) < base + n_features:
            raise ValueError(f"no feature is called {word!r}; numbers run from {base} to {base + n_features - 1}")
        return int(word) - base


def by_weight(selection):
    """Places of the features in ``selection``, the heaviest first."""
    if not selection.features.size:
        return np.zeros(0, dtype=np.int64)
    weights = selection.weights.reshape(selection.features.size, -1)
    return np.argsort(-np.linalg.norm(weights, axis=1), kind="stable")
