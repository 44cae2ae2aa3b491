"""Other methods of selection, in a few plain lines where no package can be used: rankings and weights of columns."""

import contextlib
import importlib
import io
import warnings

import numpy as np
from scipy import sparse
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls
from sklearn.feature_selection import f_classif

from thresher import alignments
from thresher.data.input.validation import as_design, checked_sparse
from thresher.features.kernels.columns import ColumnKernel
from thresher.features.kernels.explicit import ExplicitColumns
from thresher.features.kernels.sources import ColumnKernelSource

NEIGHBOURS = 10  # of ReliefF
LARGEST = 1 << 29  # entries of what pyHSICLasso or BAHSIC hold or compute at a time


def dense(X):
    """X as an array."""
    return X.toarray() if sparse.issparse(X) else X


def mutual_information(X, y):
    """scikit-learn's for discrete columns, of all at once; continuous columns are put into ten bins of equal share."""
    if not sparse.issparse(X):
        cuts = np.quantile(X, np.linspace(0.1, 0.9, 9), axis=0)
        X = np.stack([np.searchsorted(cut, column) for cut, column in zip(cuts.T, X.T, strict=True)], axis=1)
    A, totals = sparse.csc_array(X), np.bincount(y, minlength=2)
    column = np.repeat(np.arange(A.shape[1]), np.diff(A.indptr))
    order = np.lexsort((A.data, column))
    values, column, labels = A.data[order], column[order], y[A.indices[order]]
    new = np.ones(values.size, dtype=bool)  # where the next value of a column, or the next column, begins
    new[1:] = (values[1:] != values[:-1]) | (column[1:] != column[:-1])
    counts = np.bincount(2 * (np.cumsum(new) - 1) + labels, minlength=2 * np.count_nonzero(new)).reshape(-1, 2)
    stored = np.stack([np.bincount(column[labels == c], minlength=A.shape[1]) for c in (0, 1)], axis=1)
    counts = np.concatenate([counts, totals - stored]).astype(float)  # then the zeros of each column
    owner = np.concatenate([column[new], np.arange(A.shape[1])])
    expected = counts.sum(axis=1, keepdims=True) * totals / y.size
    terms = counts * np.log(np.maximum(counts, 1e-300) / np.maximum(expected, 1e-300))
    return np.bincount(owner, terms.sum(axis=1), minlength=A.shape[1]) / y.size


def fisher(X, y):
    """F values; constant columns have none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.nan_to_num(f_classif(X, y)[0])


def ranks(order, p):
    """Scores that put the columns ``order`` first, in this order."""
    out = np.full(p, -np.inf)
    out[order] = -np.arange(len(order))
    return out


def mrmr(X, y, most=200):
    """mRMR: F value over the mean |correlation| with the columns chosen before (the quotient FCQ)."""
    relevance, p = fisher(X, y), X.shape[1]
    mean = np.asarray(X.mean(axis=0)).ravel()
    square = np.asarray((X.multiply(X) if sparse.issparse(X) else X * X).mean(axis=0)).ravel()
    deviation = np.sqrt(np.maximum(square - mean**2, 1e-300))
    chosen, redundancy = [int(np.argmax(relevance))], np.zeros(p)
    while len(chosen) < min(most, np.count_nonzero(relevance)):
        last = chosen[-1]
        column = dense(X[:, [last]]).ravel()
        products = np.asarray(X.T @ (column - mean[last])).ravel() / len(y)
        redundancy += np.abs(products / (deviation * deviation[last]))
        score = relevance / np.maximum(redundancy / len(chosen), 1e-3)
        score[chosen] = -np.inf
        chosen.append(int(np.argmax(score)))
    return ranks(chosen, p)


def relieff(X, y):
    """ReliefF with ten hits and misses for each row; columns are scaled to 0..1."""
    A = dense(X).astype(np.float32)
    low, width = A.min(axis=0), np.ptp(A, axis=0)
    A = (A - low) / np.where(width > 0.0, width, 1.0)
    score = np.zeros(A.shape[1])
    for i in range(len(A)):
        away = np.abs(A - A[i])
        distance = away.sum(axis=1)
        distance[i] = np.inf
        for same, sign in ((True, -1.0), (False, 1.0)):
            others = np.flatnonzero((y == y[i]) == same)
            near = others[np.argsort(distance[others])[:NEIGHBOURS]]
            score += sign * away[near].mean(axis=0)
    return score


def hsic_lasso(X, y, most=200):
    """pyHSICLasso, blocks of 20 rows. It asks for a module that numpy 2 has not, which is put in its place."""
    if X.shape[0] * 20 * X.shape[1] > LARGEST:
        raise ValueError("too large")
    np.linalg.linalg = np.linalg
    lasso = importlib.import_module("pyHSICLasso").HSICLasso()
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        lasso.input(dense(X), y)
        lasso.classification(most, B=20, M=1, n_jobs=1)
    return ranks(np.array(lasso.get_index(), dtype=int), X.shape[1])


def bahsic(X, y, share=0.1):
    """BAHSIC: one joint RBF kernel; the tenth of the columns goes whose removal leaves the largest HSIC, and so on."""
    A = dense(X).astype(np.float32)
    A = (A - A.mean(axis=0)) / np.maximum(A.std(axis=0), 1e-6)
    left, gone = np.arange(A.shape[1]), []
    signs = np.where(y == 1, 1.0, -1.0)
    L = np.outer(signs - signs.mean(), signs - signs.mean()).astype(np.float32)
    while left.size > 1:
        gamma = np.float32(1.0 / (2.0 * left.size))
        squares = (A[:, left] ** 2).sum(axis=1)
        distance = squares[:, None] + squares[None] - 2.0 * (A[:, left] @ A[:, left].T)
        kernel = np.exp(-gamma * distance) * L
        without = np.empty(left.size)
        for place, j in enumerate(left):
            difference = A[:, [j]] - A[:, j][None]
            without[place] = np.vdot(kernel, np.exp(gamma * difference * difference))
        order = np.argsort(-without)[: max(1, int(share * left.size))]
        gone.append(left[order])
        left = np.delete(left, order)
    return ranks(np.concatenate([left, *gone[::-1]]), A.shape[1])


def feasible_bahsic(X, y):
    """BAHSIC, where it takes minutes: ten sweeps over n^2 p values."""
    if 10.0 * X.shape[0] ** 2 * X.shape[1] > 6e9:
        raise ValueError("too large")
    return bahsic(X, y)


RANKINGS = {
    "alignment": lambda X, y: alignments(X, y),
    "mutual information": mutual_information,
    "chi-squared": lambda X, y: chi_squared(X, y),
    "Fisher score": fisher,
    "mRMR": mrmr,
    "ReliefF": relieff,
    "HSIC Lasso": hsic_lasso,
    "BAHSIC": feasible_bahsic,
}


def chi_squared(X, y):
    """scikit-learn's, of columns that begin at 0."""
    chi2 = importlib.import_module("sklearn.feature_selection").chi2
    return chi2(X - X.min(axis=0) if not sparse.issparse(X) else X, y)[0]


def source_of(X, kernel="rbf"):
    """X with a kernel for each column."""
    return ColumnKernelSource(as_design(checked_sparse(X) if sparse.issparse(X) else np.asfortranarray(X)),
                              ColumnKernel(kernel))  # fmt: skip


def centred_alignment(X, y, most):
    """Cortes et al.: the weights that maximise the alignment of the sum, among the columns of largest alignment.

    A quadratic program over products of kernels, min mu'M mu - 2 mu'a over mu >= 0, by non-negative least squares.
    """
    signs = np.where(y == 1, 1.0, -1.0)
    source = source_of(X)
    aligned = source.aligned(signs[:, None], np.ones(y.size))
    ids = np.sort(np.argsort(-aligned.values[0], kind="stable")[:most])
    ids = ids[aligned.values[0][ids] > 0.0]
    explicit = ExplicitColumns(source.columns(ids), source.layout.fitted(ids, aligned.gamma[ids]))
    phi = dense(explicit.phi)
    phi = (phi - phi.mean(axis=0)) / np.sqrt(aligned.trace[ids][explicit.owner])
    squares = (phi.T @ phi) ** 2
    begins = np.searchsorted(explicit.owner, np.arange(ids.size))
    M = np.add.reduceat(np.add.reduceat(squares, begins, axis=0), begins, axis=1)
    root = cholesky(M + 1e-10 * np.trace(M) / ids.size * np.eye(ids.size), lower=True)
    out = np.zeros(X.shape[1])
    out[ids] = nnls(root.T, solve_triangular(root, aligned.values[0][ids], lower=True))[0]
    return out


def easy_mkl(X, y, penalty=0.1, steps=300):
    """EasyMKL, MKLpy's method: weights v'K_i v, where v is the best dual point of the sum of all kernels.

    v = y gamma, gamma in a simplex for each class, minimises (1 - penalty) v'(sum K_i)v + penalty ||v||^2; by
    Frank and Wolfe's steps.
    """
    source, signs = source_of(X), np.where(y == 1, 1.0, -1.0)
    aligned = source.aligned(signs[:, None], np.ones(y.size))
    ids = np.flatnonzero(aligned.trace > 0.0)
    explicit = ExplicitColumns(source.columns(ids), source.layout.fitted(ids, aligned.gamma[ids]))
    K = explicit.for_svm(1.0 / aligned.trace[ids])
    K = (1.0 - penalty) * K * (y.size / np.trace(K)) + penalty * np.eye(y.size)
    gamma = np.where(y == 1, 1.0 / np.sum(y == 1), 1.0 / np.sum(y != 1))
    for _ in range(steps):
        slope = signs * (K @ (signs * gamma))
        corner = np.zeros(y.size)
        for label in (1, 0):
            rows = np.flatnonzero(y == label)
            corner[rows[np.argmin(slope[rows])]] = 1.0
        move = corner - gamma
        bend = (signs * move) @ K @ (signs * move)
        gamma = gamma + min(1.0, max(0.0, -(slope @ move) / max(bend, 1e-300))) * move
    return source.aligned((signs * gamma)[:, None], np.ones(y.size)).values[0]
