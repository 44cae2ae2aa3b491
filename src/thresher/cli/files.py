"""Files as the commands see them: data that fits a model, and names for features."""

import numpy as np

from thresher.cli.start import STANDARD_INPUT
from thresher.io.reading import kind_of, read
from thresher.io.table import Layout


def path_of(text):
    """A file as it was given; "-" is standard input."""
    return None if text is None else text.replace(STANDARD_INPUT, "-")


def data_of(voice, file, *, kind=None, **options):
    """The Table of a file; what was made good on the way is told as warnings."""
    file = path_of(file)
    table = read(file, kind=kind, **options)
    for remark in table.remarks:
        voice.warn(f"{file}: {remark}")
    return table


def layout_of(model):
    """What the columns of new data must be for a model that was read."""
    estimator = model.estimator
    names = None if model.names is None else tuple(model.names)
    used = tuple(int(j) for j in estimator.selection_.features)
    source = model.source
    return Layout(int(estimator.n_features_in_), names, source.get("index_base"), used, source.get("label_column"))


def more_data(voice, model, file, *, kind=None, **options):
    """Data for a model: read as the training data was, so that no column can shift."""
    layout, kind = layout_of(model), kind or kind_of(path_of(file))
    if kind == "svmlight" and layout.index_base is None:  # fitted to a matrix: the first feature may be 0 or 1
        raise ValueError(
            f"{path_of(file)}: the model was not fitted to svmlight text, so the index of its first feature is not "
            "known; give data of the kind that it was fitted to"
        )
    return data_of(voice, file, kind=kind, layout=layout, **options)


class Names:
    """What features are called: by their names, else as svmlight text numbers them, else by column."""

    def __init__(self, names, index_base):
        self.names, self.base = names, index_base

    def of(self, j):
        """The name of column ``j``."""
        if self.names is not None:
            return str(self.names[j])
        return str(int(j) + (self.base or 0))

    @property
    def head(self):
        """What kind of name it is."""
        return "feature" if self.names is not None else "column" if self.base is None else "index"

    def number(self, word):
        """The column that ``word`` names."""
        if self.names is not None and word in self.names:
            return self.names.index(word)
        try:
            return int(word) - (self.base or 0)
        except ValueError:
            raise ValueError(f"no feature is called {word!r}") from None


def by_weight(selection):
    """Places of the features in ``selection``, the heaviest first."""
    weights = selection.weights.reshape(selection.features.size, -1)
    return np.argsort(-np.linalg.norm(weights, axis=1), kind="stable")
