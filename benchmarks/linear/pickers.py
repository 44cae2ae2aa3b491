"""Those who pick columns: each takes training rows and gives the columns that it picks, for every k asked for.

SVM-RFE has its own solver here, so that it shares nothing with the elimination of thresher.
"""

import warnings

import numpy as np
from scipy import linalg, sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import chi2, f_classif
from sklearn.svm import LinearSVC

from benchmarks.linear.cuts import columns
from thresher import FGMClassifier
from thresher.errors import FewerFeaturesWarning

C = 1.0  # of SVM-RFE, as of FGM
DENSE_BELOW = 1000  # columns; sparse matrices narrower than this are made dense
ONE_BY_ONE = 100  # below this number of columns they are dropped one by one
TOL = 1e-8  # of the objective
BISECTIONS = 14


def fgm(X, y, ks, **options):
    """FGM with its defaults, on one thread."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerFeaturesWarning)
        return {k: FGMClassifier(k, n_jobs=1, **options).fit(X, y).selection_.features for k in ks}


def growth(X, y, ks):
    """FGM without elimination."""
    return fgm(X, y, ks, C=None, elimination=False)


def rfe(X, y, ks, C=C):
    """SVM-RFE from all columns; a tenth a step, half a step while there are more than 5000 of a p above 30000."""
    ids = np.arange(X.shape[1])
    if sparse.issparse(X):
        X = sparse.csc_matrix(X)
        while ids.size > DENSE_BELOW:
            w = liblinear(X[:, ids].tocsr(), y, C)
            share = 0.5 if X.shape[1] > 30000 and ids.size > 5000 else 0.1
            ids = ids[heaviest(w, ids.size - drops(ids.size, share))]
    return eliminated(columns(X, ids), y, ids, ks, C)


def l1_svm(X, y, ks):
    """LIBLINEAR's l1-SVM with C bisected to k columns; the k heaviest where it has a few more."""
    known, found = {}, {}
    for k in ks:
        low, high = -12.0, 8.0  # log2 C: too few columns, enough
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            if middle not in known:
                known[middle] = liblinear(X, y, 2.0**middle, penalty="l1", dual=False, tol=1e-3, max_iter=300)
            count = np.count_nonzero(known[middle])
            low, high = (middle, high) if count < k else (low, middle)
            if k <= count <= 1.05 * k:
                break
        w = known[min((at for at in known if np.count_nonzero(known[at]) >= k), default=max(known))]
        best = heaviest(w, k)
        found[k] = best[w[best] != 0.0]
    return found


def k_best(X, y, ks):
    """The best columns one at a time: chi2 for sparse data, the F test for dense data."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # columns without spread
        scores = np.nan_to_num((chi2 if sparse.issparse(X) else f_classif)(X, y)[0], nan=-1.0)
    order = np.argsort(-scores, kind="stable")
    return {k: order[:k] for k in ks}


PICKERS = {"FGM": fgm, "FGM, growth alone": growth, "SVM-RFE": rfe, "l1-SVM": l1_svm, "SelectKBest": k_best}
ONE_K_A_FIT = ("FGM", "FGM, growth alone")  # all others pick for every k in one run


def liblinear(X, y, C, dual="auto", **options):
    """Weights of LIBLINEAR's squared-hinge SVM."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LinearSVC(C=C, random_state=0, dual=dual, **options).fit(X, y).coef_.ravel()


def heaviest(w, k):
    """Places of the k largest |w|, in order of place."""
    return np.sort(np.argsort(-np.abs(w), kind="stable")[:k])


def drops(left, share=0.1):
    """How many columns go next when ``left`` are left."""
    return 1 if left <= ONE_BY_ONE else max(1, min(int(share * left), left - ONE_BY_ONE))


def eliminated(X, y, ids, stops, C=C):
    """Drop columns of smallest |w| until min(stops) are left; {k: the ids left at k} for every k in ``stops``."""
    w, b, found = None, 0.0, {}
    stops = sorted(stops, reverse=True)
    while stops:
        if ids.size <= stops[0]:
            found[stops.pop(0)] = ids
            continue
        w, b = ridge_svm(X, y, w, b, C)
        keep = heaviest(w, max(ids.size - drops(ids.size), stops[0]))
        X, ids, w = X[:, keep], ids[keep], w[keep]
    return found


def ridge_svm(X, y, w=None, b=0.0, C=C, most=50):
    """(w, b) of the squared-hinge SVM: Newton's method on the set of rows inside the margin, from (w, b)."""
    w = np.zeros(X.shape[1]) if w is None else w
    z = X @ w + b
    value = objective(w, z, y, C)
    for _ in range(most):
        active = y * z < 1.0
        if not active.any():  # every row has its margin: shrink until one has not
            w, b, z = 0.5 * w, 0.5 * b, 0.5 * z
            value = objective(w, z, y, C)
            continue
        w_new, b_new = least_squares(X[active], y[active], C)
        z_new = X @ w_new + b_new
        step, before = 1.0, value
        while step > 1e-6:
            trial = w + step * (w_new - w), b + step * (b_new - b), z + step * (z_new - z)
            value = objective(trial[0], trial[2], y, C)
            if value <= before:
                break
            step *= 0.5
        else:
            break
        w, b, z = trial
        if before - value <= TOL * before or (step == 1.0 and np.array_equal(active, y * z < 1.0)):
            break
    return w, b


def objective(w, z, y, C=C):
    """1/2 ||w||^2 + C sum 1/2 max(0, 1 - y z)^2."""
    return 0.5 * float(w @ w) + 0.5 * C * float(np.sum(np.maximum(1.0 - y * z, 0.0) ** 2))


def least_squares(A, y, C=C):
    """(w, b) of the ridge regression on the active rows ``A``: where Newton's method steps to."""
    n, m = A.shape
    mean, shift = A.mean(axis=0), y.mean()
    A, y = A - mean, y - shift
    if m <= n:
        H = A.T @ A
        H.flat[:: m + 1] += 1.0 / C
        w = linalg.solve(H, A.T @ y, assume_a="pos", overwrite_a=True, check_finite=False)
    else:
        K = A @ A.T
        K.flat[:: n + 1] += 1.0 / C
        w = A.T @ linalg.solve(K, y, assume_a="pos", overwrite_a=True, check_finite=False)
    return w, shift - mean @ w
