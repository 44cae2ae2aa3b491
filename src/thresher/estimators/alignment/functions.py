"""Alignments of kernels with the labels, and their path, without a model."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thresher.data.input.validation import as_design, check_finite
from thresher.data.workers import Workers, count_workers
from thresher.errors import InvalidDataError
from thresher.estimators.alignment.kernel_choice import checked_kernel, checked_units, is_list, kernel_source
from thresher.estimators.shared import parameters as check
from thresher.estimators.shared.base import FeatureEstimator, MatrixLike
from thresher.families.alignment.path import (
    DIVERGENCES,
    LARGEST_EPS,
    Divergence,
    Formulation,
    OtherDivergence,
    auto_lambda2,
    follow,
    lambda2_to_begin_with,
)
from thresher.results import AlignmentPath

MOST_POINTS = 100_000  # of a path


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
        Number of threads. None: as many as are worthwhile, at most all cores available to the process; -1: all of
        these, -2: all but one. The result does not depend on it.

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
    checked = checked_units if is_list(kernel) else checked_kernel
    checked(kernel, gamma, degree, coef0)  # before X is read
    with Workers(count_workers(n_jobs)) as workers:
        design = as_design(X, workers, to_csc=True)
        check_finite(design.statistics(weights)[1], design, checker.fitted_features_.called)
        source = kernel_source(kernel, gamma, degree, coef0, design)
        return source.aligned(targets_of(codes, classes.size), weights, None).values.mean(axis=0)


def targets_of(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Labels +-1, (samples, 1) for two classes, else (samples, classes): each class against all others."""
    return np.atleast_2d(check.signs_of(codes, n_classes)).T


def alignment_path(
    kernels: Iterable[ArrayLike],
    y: ArrayLike,
    *,
    lambda1: float | str = "auto",
    lambda2: float | str = "auto",
    eps: float = 1e-4,
    p_start: float = 2.0,
    p_end: float = 1.0,
    step: float = 0.01,
    divergence: Any = "euclidean",
    predictor: int = 1,
    exact: bool = False,
    sample_weight: ArrayLike | None = None,
) -> AlignmentPath:
    """The path of generalised lp-KTA for kernel matrices: their weights for p from 2 down to 1.

    Minimises lambda1 sum B_F(eta_i) + lambda2 sum eta_i^p - sum eta_i a_i over eta >= 0, where a_i = y'K_i y / n of the
    kernel K_i, which is centred and then divided by its trace here. A weight that has fallen to ``eps`` stays zero.

    Parameters
    ----------
    kernels : iterable of array-like of shape (n_samples, n_samples)
        Symmetric kernel matrices.
    y : array-like of shape (n_samples,)
        Class labels; of more than two classes the mean alignment over classes, each against all others.
    lambda1 : float or "auto", default="auto"
        Weight of the divergence; "auto": ``lambda2`` for "euclidean", a tenth of it for "kl".
    lambda2 : float or "auto", default="auto"
        Weight of the norm; "auto": the tenth largest alignment a_i, of fewer than 100 kernels that of the top tenth.
    eps : float, default=1e-4
        Weights that are not above it are set to zero; below 1/e.
    p_start, p_end, step : float, default=2.0, 1.0, 0.01
        The norms: from p_start down to p_end, which is at least 1.
    divergence : {"euclidean", "kl"} or object, default="euclidean"
        B_F: squares of differences from 0; generalised Kullback-Leibler divergence from 0.01; or an object with methods
        ``slope(eta)`` and ``curvature(eta)``, F' and F'' of arrays, and a number ``start``.
    predictor : {0, 1, 2}, default=1
        Order of the predictor; the path does not depend on it, but the number of Newton steps does.
    exact : bool, default=False
        Whether to go on with all kernels at every point, for comparison. Weights up to ``eps`` are then counted in the
        objective, but still not shown.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights; integers count as repeated samples.

    Returns
    -------
    AlignmentPath
        ``p``, ``weights``, ``n_features``, ``objective`` and ``deviation_bound`` of every point.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import alignment_path
    >>> y = np.array([1, 1, -1, -1])
    >>> x = np.array([[2.0, 1.0, -1.0, -2.0], [1.0, -1.0, 1.0, -1.2], [1.0, 2.0, 2.0, 1.0]])
    >>> path = alignment_path([np.outer(column, column) for column in x], y, lambda2=0.2)
    >>> path
    AlignmentPath(101 points, p 2 to 1; features 2 to 1)
    >>> path.at(1).features, path.alignments.round(3)
    (array([0]), array([0.9  , 0.002, 0.   ]))
    """
    options = checked_formulation(lambda1, lambda2, eps, p_start, p_end, step, divergence, predictor, exact)
    classes, codes = check.classes_of(y)
    weights = check.row_weights(sample_weight, None, codes, classes)
    targets = targets_of(codes, classes.size)
    found = [_alignment(K, i, targets, weights) for i, K in enumerate(kernels)]
    if not found:
        raise InvalidDataError("kernels is empty: pass at least one kernel matrix")
    exists = np.array([each is not None for each in found])
    a = np.array([0.0 if each is None else each for each in found]) / weights.sum()
    return follow(formulation_of(options, a), a, exists=exists)


def _alignment(given: ArrayLike, place: int, targets: np.ndarray, w: np.ndarray) -> float | None:
    """Alignment of a kernel matrix, centred and divided by its trace; None if nothing is left of it."""
    try:
        K = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(f"kernels[{place}] must be a matrix of numbers: {error}") from error
    n = w.size
    if K.shape != (n, n):
        raise InvalidDataError(f"kernels[{place}] has shape {K.shape}, but y has {n} labels: it must be ({n}, {n})")
    if not np.isfinite(K).all():
        raise InvalidDataError(f"kernels[{place}] contains NaN or infinity")
    largest = np.abs(K).max(initial=0.0)
    if not np.allclose(K, K.T, rtol=1e-8, atol=1e-8 * largest):
        raise InvalidDataError(f"kernels[{place}] is not symmetric; pass (K + K.T) / 2 if that is rounding")
    mean = K @ w / w.sum()
    K = K - mean - mean[:, None] + w @ mean / w.sum()
    trace, V = float(w @ np.diag(K)), w[:, None] * targets
    if trace <= 1e-12 * largest * w.sum():  # a constant kernel, up to rounding
        return None
    return max(0.0, float(np.mean(np.sum(V * (K @ V), axis=0)))) / trace


def checked_formulation(
    lambda1: Any, lambda2: Any, eps: Any, p_start: Any, p_end: Any, step: Any, divergence: Any, predictor: Any,
    exact: Any = False,
) -> dict[str, Any]:  # fmt: skip
    """The parameters of the path, checked; lambdas may still be "auto". ValueError names an invalid one."""
    for name, value in (("lambda1", lambda1), ("lambda2", lambda2)):
        if value != "auto" if isinstance(value, str) else not check.is_real(value):
            raise ValueError(f"{name} must be 'auto' or a non-negative number, got {value!r}")
        if not isinstance(value, str):
            check.positive(name, value, zero=True)
    if check.positive("eps", eps) >= LARGEST_EPS:
        raise ValueError(f"eps must be below 1/e = {LARGEST_EPS:.4f}: a weight above that may rise again; got {eps!r}")
    start, end = check.positive("p_start", p_start), check.positive("p_end", p_end)
    if end < 1.0:
        raise ValueError(f"p_end must be at least 1, got {p_end!r}")
    if start <= end:
        raise ValueError(f"p_start must be above p_end={p_end!r}, got {p_start!r}")
    if (start - end) / check.positive("step", step) > MOST_POINTS:
        raise ValueError(f"step={step!r} gives a path of more than {MOST_POINTS:,} points: use a larger step")
    if lambda1 == 0 and lambda2 == 0:
        raise ValueError("lambda1 and lambda2 must not both be 0")
    if lambda1 == 0 and end == 1.0:
        raise ValueError("lambda1=0 needs p_end above 1: at p = 1 the problem has no solution; use p_end=1.01")
    if not check.is_integer(predictor) or predictor not in (0, 1, 2):
        raise ValueError(f"predictor must be 0, 1 or 2, got {predictor!r}")
    if not isinstance(exact, (bool, np.bool_)):
        raise ValueError(f"exact must be True or False, got {exact!r}")
    return {
        "lambda1": lambda1, "lambda2": lambda2, "eps": float(eps), "p_start": start, "p_end": end,
        "step": float(step), "divergence": checked_divergence(divergence),
        "predictor": int(predictor), "exact": bool(exact),
    }  # fmt: skip


def checked_divergence(given: Any) -> Divergence:
    """A Divergence by name, or around an object with F' and F''."""
    if isinstance(given, Divergence):
        return given
    if isinstance(given, str) or not all(hasattr(given, name) for name in ("slope", "curvature", "start")):
        if not isinstance(given, str) or given not in DIVERGENCES:
            raise ValueError(
                f"divergence must be 'euclidean', 'kl' or an object with slope, curvature and start, got {given!r}"
            )
        return DIVERGENCES[given]()
    return OtherDivergence(given)


@dataclass(frozen=True)
class ToBeginWith:
    """As lambda2: such that the path begins with about ``count`` features; "auto" where that cannot be."""

    count: int


def formulation_of(options: dict[str, Any], a: np.ndarray) -> Formulation:
    """The Formulation for alignments ``a``, divided by the number of samples, from which "auto" follows."""
    lambda1, lambda2 = options["lambda1"], options["lambda2"]
    if isinstance(lambda2, ToBeginWith):
        given = None if isinstance(lambda1, str) else float(lambda1)
        settings = (given, options["divergence"], options["eps"], options["p_start"])
        lambda2 = lambda2_to_begin_with(lambda2.count, a, *settings)
    if lambda2 is None or isinstance(lambda2, str):
        lambda2 = auto_lambda2(a)
    if isinstance(lambda1, str):
        lambda1 = options["divergence"].ratio * (lambda2 or auto_lambda2(a))
    return Formulation(**options | {"lambda1": float(lambda1), "lambda2": float(lambda2)})
