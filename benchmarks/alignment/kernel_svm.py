"""The SVM on a kernel matrix against libsvm: the same matrices and tolerance, seconds, and decision values."""

import time

import numpy as np
from sklearn.svm import SVC

from benchmarks import alone
from benchmarks.book import table
from thresher.optim.solvers.kernel_svm import solve_kernel_svm

SIZES, CS, TIMES = (250, 1000, 2000), (0.3, 3.0, 30.0), 3
TOLERANCES = (1e-3, 1e-6)  # libsvm's default, and that of AlignmentPathClassifier
N_KERNELS = 20
GRAIN = 2.0**20  # values are rounded to this, since libsvm keeps them in single precision
LABELS = ("signal", "permuted")
HEAD = ("labels", "samples", "C", "tolerance", "thresher s", "libsvm s", "ratio", "support rows", "largest difference")


def problem(n, labels):
    """(The centred sum of Gaussian kernels of single columns, +-1): as at a point of the path."""
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, N_KERNELS))
    y = np.where(X[:, 0] ** 2 + X[:, 1] ** 2 + X[:, 2] + rng.standard_normal(n) > 2.0, 1.0, -1.0)
    K = np.zeros((n, n))
    for x in X.T:
        K += np.exp(-0.5 * np.subtract.outer(x, x) ** 2) / N_KERNELS
    mean = K.mean(axis=0)
    K += mean.mean() - mean - mean[:, None]
    return np.round(K * GRAIN) / GRAIN, rng.permutation(y) if labels == "permuted" else y


def ours(K, y, C, tol):
    """(Decision values, number of support rows) of our solver."""
    svm = solve_kernel_svm(K, y, np.full(y.size, C), tol)
    return K @ svm.dual + svm.intercept, np.count_nonzero(svm.dual)


def libsvm(K, y, C, tol):
    """The same of scikit-learn's SVC."""
    svm = SVC(kernel="precomputed", C=C, tol=tol, cache_size=1000).fit(K, y)
    return K[:, svm.support_] @ svm.dual_coef_[0] + svm.intercept_[0], svm.support_.size


def row(labels, n, C, tol):
    """A row of the table, and the ratio."""
    K, y = problem(n, labels)
    seconds, results = {ours: np.inf, libsvm: np.inf}, {}
    for _ in range(TIMES):
        for solve in seconds:  # in turns
            begun = time.process_time()
            results[solve] = solve(K, y, C, tol)
            seconds[solve] = min(seconds[solve], time.process_time() - begun)
    ratio, difference = seconds[ours] / seconds[libsvm], np.abs(results[ours][0] - results[libsvm][0]).max()
    cells = [labels, f"{n:,}", f"{C:g}", f"{tol:g}", f"{seconds[ours]:.3f}", f"{seconds[libsvm]:.3f}", f"{ratio:.2f}"]
    return [*cells, f"{results[ours][1]:,}", f"{difference:.0e}"], ratio


def report(quick):
    """The table."""
    solve_kernel_svm(*problem(50, "signal"), np.ones(50), 1e-3)  # loops are compiled
    sizes = SIZES[:1] if quick else SIZES
    made = [row(labels, n, C, tol) for labels in LABELS for n in sizes for C in CS for tol in TOLERANCES]
    ratios = np.array([ratio for _, ratio in made])
    text = (
        "The kernel SVM of the alignment path against libsvm (scikit-learn's SVC) on the same kernel matrices, sums "
        f"of {N_KERNELS} Gaussian kernels, with the same tolerance of the optimality conditions; seconds of "
        f"computing, the best of {TIMES} in turns. Labels of a signal in three columns with noise, and the same "
        "permuted. The last column: "
        "the largest difference of the decision values, which are of order one. Ratio of seconds: "
        f"{np.exp(np.log(ratios).mean()):.2f} in the geometric mean, {ratios.max():.2f} at most."
    )
    return f"## The SVM on a kernel matrix, against libsvm\n\n{text}\n\n{table(HEAD, [cells for cells, _ in made])}"


if __name__ == "__main__":
    alone.run(report, __doc__)
