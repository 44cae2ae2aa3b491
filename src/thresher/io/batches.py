"""Text that is too long for memory, or does not end, in batches."""

import os
from collections.abc import Iterator

import numpy as np
from scipy import sparse

from thresher.io.svmlight import path_name
from thresher.io.table import tidy_labels
from thresher.io.text import opened
from thresher.io.text_stream import TextStream


def batches(path: str | os.PathLike[str], *, skip_bad: bool = False) -> Iterator[tuple[sparse.csr_array, np.ndarray]]:
    r"""Iterate over svmlight text in batches (X, y), for ``partial_fit`` of an open-ended StreamClassifier.

    A batch has some thousand lines; from standard input, what has arrived so far. X is a CSR matrix whose column
    numbers are the indices in the file (as ``read`` returns with ``index_base=0``), as wide as the largest of them
    requires. Files compressed by gzip or bzip2 are decompressed.

    Parameters
    ----------
    path : str or path-like
        The file; "-" is standard input.
    skip_bad : bool, default=False
        Whether to skip lines that cannot be parsed. Otherwise the first one raises InvalidDataError with its line
        number, after the batch of the lines before it.

    Returns
    -------
    iterator of (X, y)
        A sparse matrix of shape (n_lines, largest index + 1) and an array of labels of shape (n_lines,) for each batch.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from thresher import StreamClassifier
    >>> from thresher.io import batches
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "three.svm"
    >>> _ = file.write_text("+1 1:0.5 7000000000:2\n-1 3:1  # a comment\n+1 7000000000:4\n")
    >>> clf = StreamClassifier(budget=2, open_ended=True)
    >>> for X, y in batches(file):
    ...     clf = clf.partial_fit(X, y, classes=[-1, 1])
    >>> clf.selection_.features
    array([         3, 7000000000])
    """
    with opened(path) as stream:
        for batch in TextStream(stream, path_name(path), skip_bad=skip_bad, live=str(path) == "-"):
            if batch.labels.size:
                yield batch.X, tidy_labels(batch.labels)
