"""First calls of what compiles loops, on a little data: what ``thresher warmup`` runs in a process of its own."""

import logging
import warnings

import numpy as np
from scipy import sparse

from thresher.estimators.alignment.classifier import AlignmentPathClassifier
from thresher.estimators.fgm.classifier import FGMClassifier
from thresher.estimators.sparse_svm.path import SparseSVCPath
from thresher.estimators.stream.classifier import StreamClassifier
from thresher.io.text import svmlight_rows

ROWS, COLUMNS = 120, 30


def warm():
    """Fit estimators to data of each type and storage, so that the loops of first calls are compiled and cached."""
    logging.getLogger("thresher").setLevel(logging.ERROR)  # it need not say that it compiles
    warnings.simplefilter("ignore", UserWarning)  # of fits that mean nothing
    svmlight_rows(b"1 1:0.5 7:2\n-1 3:1\n")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, COLUMNS))
    y = X[:, :3].sum(axis=1) + rng.standard_normal(ROWS) > 0
    for dtype in (np.float64, np.float32):
        dense = X.astype(dtype)
        for stored in (dense, np.asfortranarray(dense), sparse.csr_array(dense), sparse.csc_array(dense)):
            FGMClassifier(3).fit(stored, y).predict(stored)
            SparseSVCPath(n_betas=2, n_alphas=2, cv=2).fit(stored, y).predict(stored)
        for stored in (dense, sparse.csr_array(dense)):
            StreamClassifier(budget=3).partial_fit(stored, y, classes=[False, True]).predict(stored)
        AlignmentPathClassifier(max_features=3).fit(dense, y).predict(dense)
