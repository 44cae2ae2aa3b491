"""What a fit of AlignmentPathClassifier needs of its parameters, checked."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from thresher.errors import FewerFoldsWarning, InvalidDataError
from thresher.estimators.alignment.functions import ToBeginWith, checked_formulation
from thresher.estimators.alignment.judging import Options
from thresher.estimators.alignment.kernel_choice import checked_kernel, checked_units, is_list
from thresher.estimators.shared import parameters as check
from thresher.estimators.shared.folds import held_out_parts

MOST_SAMPLES = 20_000  # a kernel matrix of 3.2 GB
SVMS = ("kernel", "linear", None)
KEEPS = ("path", "support")
AUTO_CS, AUTO_C = (0.3, 3.0, 30.0), 10.0


def checked_options(clf: Any) -> Options:
    """The Options of the parameters of an AlignmentPathClassifier; ValueError for invalid ones."""
    kernels = checked_units if is_list(clf.kernel) else checked_kernel
    kernels(clf.kernel, clf.gamma, clf.degree, clf.coef0)
    most = None if clf.max_features is None else check.integer("max_features", clf.max_features)
    check.one_of("svm", clf.svm, SVMS)
    check.one_of("keep", clf.keep, KEEPS)
    if not callable(clf.verbose):
        check.integer("verbose", int(clf.verbose) if isinstance(clf.verbose, bool) else clf.verbose, least=0)
    judged = clf.cv is not None and clf.svm is not None
    given = (AUTO_CS if judged else AUTO_C) if isinstance(clf.C, str) and clf.C == "auto" else clf.C
    Cs = check.one_or_more("C", given, AUTO_C, check.SMALLEST, check.LARGEST)
    formulations = _formulations(clf)
    if not judged and (len(Cs) > 1 or len(formulations) > 1):
        raise ValueError("a list of C or lambda2 is chosen from by cross-validation: set cv, or pass one value")
    if judged and most is not None and isinstance(clf.lambda2, str) and clf.lambda1 != 0:
        formulations.append(formulations[0] | {"lambda2": ToBeginWith(most)})
    return Options(formulations, Cs, clf.svm, most)


def _formulations(clf: Any) -> list[dict[str, Any]]:
    """The options of the path, for each lambda2."""
    lambdas = list(clf.lambda2) if isinstance(clf.lambda2, (list, tuple, np.ndarray)) else [clf.lambda2]
    if not lambdas:
        raise ValueError("lambda2 is an empty list: pass a number, 'auto' or a list of these")
    rest = (clf.eps, clf.p_start, clf.p_end, clf.step, clf.divergence, clf.predictor)
    return [checked_formulation(clf.lambda1, each, *rest) for each in lambdas]


def check_samples(n_samples: int, svm: str | None) -> None:
    """Raise InvalidDataError if a kernel matrix would be too large."""
    if svm == "kernel" and n_samples > MOST_SAMPLES:
        raise InvalidDataError(
            f"X has {n_samples:,} samples, so that a kernel matrix takes {8e-9 * n_samples**2:.1f} GB; at most "
            f"{MOST_SAMPLES:,} are supported. Use svm='linear' for a linear SVM on explicit columns of the kernels, "
            "svm=None for the path alone, or fit on a sample of the rows"
        )


def held_out(cv: Any, svm: str | None, codes: np.ndarray, weights: np.ndarray) -> list[np.ndarray]:
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
