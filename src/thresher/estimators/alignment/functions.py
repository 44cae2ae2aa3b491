"""Alignments of kernels with the labels, and their path, without a model."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from thresher.data.input.validation import as_design, check_finite
from thresher.data.workers import Workers, count_workers
from thresher.errors import InvalidDataError
from thresher.estimators.alignment.kernel_path import (
    KernelPath,
    as_kernel_path,
    formulation_of,
    kernel_layout,
    kernel_source,
)
from thresher.estimators.alignment.svm import targets_of
from thresher.estimators.shared import FeatureEstimator, MatrixLike, check
from thresher.families.alignment.path import follow
from thresher.results import AlignmentPath


def alignments(
    X: MatrixLike,
    y: ArrayLike,
    kernel: str | list = "rbf",
    *,
    gamma: float | str | ArrayLike = "scale",
    degree: int = 3,
    coef0: float = 1.0,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Alignment y'K_i y of every column's kernel K_i, centred and of unit trace, with the labels y = +-1.

    It lies between 0 and the number of samples: 0 for constant columns and for columns independent of the labels. No
    n x n matrix is held. With more than two classes it is the mean over the classes, each against all others, which
    is the alignment with one kernel of the labels.

    Parameters
    ----------
    X : array, sparse matrix, data frame or Design of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,)
        Class labels.
    kernel : {"rbf", "laplace", "polynomial", "linear"} or list of (kernel, columns), default="rbf"
        exp(-gamma (x - z)^2), exp(-gamma abs(x - z)), (gamma x z + coef0)^degree or x z. A list of tuples, each of the
        name of a kernel and one or more column numbers, has one kernel for each entry. Of several columns together:
        (x - z)^2, abs(x - z) and x z are summed over them, so that "rbf" depends on their Euclidean distance; that
        takes time in proportion to the square of the number of samples. A column may be in several entries.
    gamma : float, "scale" or array-like of shape (n_features,), default="scale"
        For all kernels or for each. "scale": by the variance of the column, 1 / (2 variance) for "rbf",
        1 / sqrt(variance) for "laplace", 1 / variance for "polynomial"; variances and their roots are summed over
        several columns. "linear" does not depend on it.
    degree : int, default=3
        Of "polynomial".
    coef0 : float, default=1.0
        Of "polynomial", not negative.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights; integers count as repeated samples.
    n_jobs : int, default=None
        Number of threads. None: as many as are worthwhile (in scikit-learn: one), at most all cores available to the
        process; -1: all of these, -2: all but one. The result does not depend on it.

    Returns
    -------
    ndarray of shape (n_features,) or (n_kernels,)
        The alignments of the columns, or of the kernels that are listed. Those of RBF kernels of columns with more than
        128 distinct values may differ by 1e-9 times the number of samples, all others by rounding only.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import alignments
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> alignments(X, X[:, 1] ** 2 > 1).round(1)  # no linear method sees column 1
    array([ 0.1, 40.5,  0.1])
    """
    checker = FeatureEstimator()
    X, y = checker._structured(X, reset=True, y=y)
    classes, codes = check.classes_of(y)
    weights = check.row_weights(sample_weight, None, codes, classes)
    layout = kernel_layout(kernel, gamma, degree, coef0, checker.n_features_in_)
    with Workers(count_workers(n_jobs)) as workers:
        design = as_design(X, workers, to_csc=True)
        check_finite(design.statistics(weights)[1], design, checker.fitted_features_.shown_name)
        return kernel_source(layout, gamma, design).aligned(targets_of(codes), weights, None).values.mean(axis=0)


def alignment_path(
    kernels: Iterable[ArrayLike],
    y: ArrayLike,
    path: KernelPath | None = None,
    *,
    exact: bool = False,
    sample_weight: ArrayLike | None = None,
) -> AlignmentPath:
    """The path of generalised lp-KTA for kernel matrices: their weights for p from 2 down to 1.

    Minimises lambda1 sum B_F(eta_i) + lambda2 sum eta_i^p - sum eta_i a_i over eta >= 0, where a_i = y'K_i y / n of the
    kernel K_i, which is centred and then divided by its trace here. A weight that has fallen to ``path.eps`` stays
    zero.

    Parameters
    ----------
    kernels : iterable of array-like of shape (n_samples, n_samples)
        Symmetric kernel matrices.
    y : array-like of shape (n_samples,)
        Class labels; of more than two classes the mean alignment over classes, each against all others.
    path : KernelPath, default=None
        Values of p, lambda1 and lambda2, divergence and accuracy. None: ``KernelPath()``.
    exact : bool, default=False
        Whether to go on with all kernels at every point, for comparison. Weights up to ``path.eps`` are then counted in
        the objective, but still not shown.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights; integers count as repeated samples.

    Returns
    -------
    AlignmentPath
        ``p``, ``weights``, ``n_features``, ``objective`` and ``deviation_bound`` of every point.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import KernelPath, alignment_path
    >>> y = np.array([1, 1, -1, -1])
    >>> x = np.array([[2.0, 1.0, -1.0, -2.0], [1.0, -1.0, 1.0, -1.2], [1.0, 2.0, 2.0, 1.0]])
    >>> path = alignment_path([np.outer(column, column) for column in x], y, KernelPath(lambda2=0.2))
    >>> path
    AlignmentPath(101 points, p 2 to 1; features 2 to 1)
    >>> path.at(1).features, path.alignments.round(3)
    (array([0]), array([0.9  , 0.002, 0.   ]))
    """
    spec = as_kernel_path("path", path)
    if len(spec.lambda2s) > 1:
        raise ValueError(f"alignment_path needs one lambda2, got {spec!r}")
    classes, codes = check.classes_of(y)
    weights = check.row_weights(sample_weight, None, codes, classes)
    targets = targets_of(codes)
    alignments = [_alignment(matrix, place, targets, weights) for place, matrix in enumerate(kernels)]
    if not alignments:
        raise InvalidDataError("kernels is empty: pass at least one kernel matrix")
    exists = np.array([alignment is not None for alignment in alignments])
    a = np.array([alignment or 0.0 for alignment in alignments]) / weights.sum()
    return follow(formulation_of(spec, spec.lambda2s[0], a, exact=check.as_boolean("exact", exact)), a, exists=exists)


def _alignment(given: ArrayLike, place: int, targets: np.ndarray, w: np.ndarray) -> float | None:
    """Alignment of a kernel matrix, centred and divided by its trace; None if it is constant."""
    K = _checked_matrix(given, place, w.size)
    largest = np.abs(K).max(initial=0.0)
    mean = K @ w / w.sum()
    K = K - mean - mean[:, None] + w @ mean / w.sum()
    trace = float(w @ np.diag(K))
    if trace <= 1e-12 * largest * w.sum():  # a constant kernel, up to rounding
        return None
    V = w[:, None] * targets
    return max(0.0, float(np.mean(np.sum(V * (K @ V), axis=0)))) / trace


def _checked_matrix(given: ArrayLike, place: int, n: int) -> np.ndarray:
    """A kernel matrix in float64; InvalidDataError if it is not finite, symmetric and of shape (n, n)."""
    try:
        K = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(f"kernels[{place}] must be a matrix of numbers: {error}") from error
    if K.shape != (n, n):
        raise InvalidDataError(f"kernels[{place}] has shape {K.shape}, but y has {n} labels: it must be ({n}, {n})")
    if not np.isfinite(K).all():
        raise InvalidDataError(f"kernels[{place}] contains NaN or infinity")
    if not np.allclose(K, K.T, rtol=1e-8, atol=1e-8 * np.abs(K).max(initial=0.0)):
        raise InvalidDataError(f"kernels[{place}] is not symmetric; pass (K + K.T) / 2 if that is due to rounding")
    return K
