"""What a fit of AlignmentPathClassifier needs of its parameters, checked."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from thresher.errors import FewerFoldsWarning, InvalidDataError
from thresher.estimators.alignment.kernel_choice import KernelChoice
from thresher.estimators.alignment.kernel_path import BeginsWith, KernelPath, checked_path
from thresher.estimators.shared import parameters as check
from thresher.estimators.shared.folds import held_out_parts

MOST_SAMPLES = 20_000  # a kernel matrix of 3.2 GB
SVMS = ("kernel", "linear", None)
AUTO_CS, AUTO_C = (0.3, 3.0, 30.0), 10.0


@dataclass(frozen=True)
class PathOptions:
    """The path and its values of lambda2, those of C, which SVM, the most features that a point may have."""

    path: KernelPath
    lambda2s: tuple[float | str | BeginsWith, ...]
    Cs: list[float]
    svm: str | None
    max_features: int | None


def checked_options(clf: Any) -> PathOptions:
    """The PathOptions of the parameters of an AlignmentPathClassifier; ValueError for invalid ones."""
    KernelChoice(clf.kernel, clf.gamma, clf.degree, clf.coef0).layout()
    path = checked_path(clf.path)
    most = None if clf.max_features is None else check.integer("max_features", clf.max_features)
    check.one_of("svm", clf.svm, SVMS)
    if not isinstance(clf.store_training_columns, (bool, np.bool_)):
        raise ValueError(f"store_training_columns must be True or False, got {clf.store_training_columns!r}")
    if not callable(clf.verbose):
        check.integer("verbose", int(clf.verbose) if isinstance(clf.verbose, bool) else clf.verbose, least=0)
    validates = clf.cv is not None and clf.svm is not None
    C = clf.C
    if isinstance(C, str) and C == "auto":
        C = AUTO_CS if validates else AUTO_C
    Cs = check.one_or_more("C", C, AUTO_C, check.SMALLEST, check.LARGEST)
    lambda2s: tuple[float | str | BeginsWith, ...] = path.lambda2s
    if not validates and (len(Cs) > 1 or len(lambda2s) > 1):
        raise ValueError("a list of C or lambda2 is chosen from by cross-validation: set cv, or pass one value")
    if validates and most is not None and isinstance(path.lambda2, str) and path.lambda1 != 0:
        lambda2s += (BeginsWith(most),)
    return PathOptions(path, lambda2s, Cs, clf.svm, most)


def check_n_samples(n_samples: int, svm: str | None) -> None:
    """Raise InvalidDataError if a kernel matrix would be too large."""
    if svm == "kernel" and n_samples > MOST_SAMPLES:
        raise InvalidDataError(
            f"X has {n_samples:,} samples, so that a kernel matrix takes {8e-9 * n_samples**2:.1f} GB; at most "
            f"{MOST_SAMPLES:,} are supported. Use svm='linear' for a linear SVM on explicit columns of the kernels, "
            "svm=None for the path alone, or fit on a sample of the rows"
        )


def held_out_rows(cv: Any, svm: str | None, codes: np.ndarray, weights: np.ndarray) -> list[np.ndarray]:
    """Test rows of each fold; none if no choice is to be made.

    An integer is lowered, with a warning, to the size of the smallest class.
    """
    if cv is None or svm is None:
        return []
    if check.is_integer(cv):
        check.integer("cv", cv, least=2)
        fewest = int(np.bincount(codes[weights > 0.0]).min())
        if fewest < 2:
            message = "a class has only one sample, so nothing can be held out: no point is chosen by cv"
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
            return []
        if cv > fewest:
            message = f"cv={cv} is reduced to {fewest} folds: the smallest class has {fewest} samples"
            warnings.warn(message, FewerFoldsWarning, stacklevel=3)
            cv = fewest
    return held_out_parts(cv, codes, weights)
