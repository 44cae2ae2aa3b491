"""The judge: test accuracy against number of features, by SVMs on sums of kernels, for weights from anywhere."""

import warnings

import numpy as np
from scipy import sparse
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.svm import LinearSVC

from benchmarks.linear.data import SETS, real_set
from thresher import AlignmentPath, AlignmentPathClassifier, KernelPath
from thresher.data.input.validation import as_design, checked_sparse
from thresher.estimators.alignment.svm import FoldSVMs, TrainingSet
from thresher.features.kernels.columns import ColumnKernel
from thresher.features.kernels.sources import ColumnKernelSource

TRAINING_ROWS = ("arcene", "madelon", "dorothea")  # the paper uses the training rows of these
NAMES = ("arcene", "madelon", "relathe", "basehock_asu", "dorothea")
CS = [0.3, 3.0, 30.0]
L1_CS = tuple((10.0 ** np.arange(-4, 2.1, 0.5)).tolist())


def data(name, quick=False):
    """(X, y) of a set of the paper, y in 0 and 1, with ``quick`` a part of it; None if it is missing."""
    found = real_set(name)
    if found is None:
        return None
    X, y = found
    if name in TRAINING_ROWS:
        split = SETS / name / "split.npy"
        part = np.load(split) if split.exists() else np.load(SETS / name / "data.npz")["split"]
        X, y = X[part == 0], y[part == 0]
    X = sparse.csc_array(X).astype(np.float64) if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    if quick:
        X, y = X[::6, ::12], y[::6]
    return X, (y > 0).astype(int)


def five_folds(y):
    """Five stratified folds in random order."""
    return list(StratifiedKFold(5, shuffle=True, random_state=0).split(y, y))


def halves(y, times):
    """Random halves: one to train, one to test."""
    return list(StratifiedShuffleSplit(times, test_size=0.5, random_state=0).split(y, y))


def best(numbers, accuracies):
    """(best mean accuracy, number of features there) of accuracies (folds, settings, points); all folds count."""
    mean = accuracies.mean(axis=0)
    setting, point = np.unravel_index(np.nanargmax(mean), mean.shape)
    return 100.0 * float(mean[setting, point]), float(np.mean(numbers, axis=0)[point])


def along_the_path(X, y, folds, kernel, step, most=None):
    """(best accuracy, number of features there, all of the path): over points, values of C and of lambda2.

    One fit, whose cross-validation computes alignments, path and SVMs of each fold from its training rows alone, on
    all cores. Numbers of features are those of the path on all rows. All of the path: numbers of features and
    accuracies, the best of C.
    """
    clf = AlignmentPathClassifier(
        kernel, path=KernelPath(step=step), C=CS, cv=folds, max_features=most, store_training_columns=False
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf.fit(X, y)
    results = clf.cv_results_
    shape = (-1, len(CS), clf.path_.p.size)  # of lambda2, C and points
    splits = [results[f"split{fold}_test_score"].reshape(shape) for fold in range(len(folds))]
    scores = np.array([np.concatenate(split, axis=1) for split in splits])
    numbers = results["n_features"].reshape(shape)[:, 0].ravel()
    accuracy, number = best([numbers], scores)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of points that no fold has
        along = 100.0 * np.nanmax(scores.mean(axis=0), axis=0)
    return accuracy, number, np.stack([numbers, along])


def by_ranking(X, y, folds, rank, counts, kernel):
    """Best accuracy with the k columns that ``rank(X, y)`` scores highest, equal weights, and the same SVM."""
    scores = []
    for train, test in folds:
        score = np.nan_to_num(rank(X[train], y[train]), nan=-np.inf)
        order = np.argsort(-score, kind="stable")[: np.count_nonzero(score > -np.inf)]
        choices = [np.sort(order[:k]) for k in counts]
        scores.append(svm_scores(X, y, train, test, choices, kernel))
    return best([counts] * len(folds), np.array(scores))


def by_weights(X, y, folds, weigh, kernel):
    """Accuracy with the weights of kernels that ``weigh(X, y)`` gives; number of those above 1e-4 of the top."""
    scores, numbers = [], []
    for train, test in folds:
        weights = weigh(X[train], y[train])
        chosen = np.flatnonzero(weights > 1e-4 * weights.max())
        scores.append(svm_scores(X, y, train, test, [chosen], kernel, weights))
        numbers.append([chosen.size])
    return best(numbers, np.array(scores))


def svm_scores(X, y, train, test, choices, kernel, eta=None):
    """Accuracy (Cs, choices) of SVMs on the sum of the kernels of the columns of each choice, of weights ``eta``."""
    weights = np.zeros(y.size)
    weights[train] = 1.0
    X = checked_sparse(X) if sparse.issparse(X) else np.asfortranarray(X)
    source = ColumnKernelSource(as_design(X), ColumnKernel(kernel))
    aligned = source.aligned(np.where(y == 1, 1.0, -1.0)[:, None], weights)
    choices = [ids[aligned.trace[ids] > 0.0] for ids in choices]  # constant columns have no kernel
    begins, ids = np.concatenate([[0], np.cumsum([each.size for each in choices])]), np.concatenate(choices)
    zeros, values = np.zeros(len(choices)), np.ones(ids.size) if eta is None else eta[ids]
    path = AlignmentPath(-np.arange(len(choices)), begins, ids, values, zeros, zeros, aligned.values[0])
    used = np.unique(ids)
    kernels = source.layout.fitted(used, aligned.gamma[used])
    training = TrainingSet(used, source.columns(used), kernels, aligned.trace[used], y, weights)
    svms = FoldSVMs([path], training, test)
    out = np.empty((len(CS), len(choices)))
    for place in range(len(choices)):
        for setting, decision in enumerate(svms.decisions(0, place, CS)):
            out[setting, place] = np.mean((decision[test] > 0) == y[test])
    return out


def l1_svm(X, y, folds, Cs=L1_CS, most=np.inf):
    """Best accuracy along the path of LIBLINEAR's l1-SVM; columns are divided by their largest |x|."""
    top = np.abs(X).max(axis=0)
    top = np.asarray(top.todense()).ravel() if sparse.issparse(top) else top
    Z = X @ sparse.diags_array(1.0 / np.maximum(top, 1e-300)) if sparse.issparse(X) else X / np.maximum(top, 1e-300)
    Z = sparse.csr_array(Z)
    Z.indices, Z.indptr = Z.indices.astype(np.int32), Z.indptr.astype(np.int32)
    scores, numbers = np.full((len(folds), 1, len(Cs)), np.nan), np.zeros((len(folds), len(Cs)))
    for fold, (train, test) in enumerate(folds):
        for place, C in enumerate(Cs):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = LinearSVC(penalty="l1", dual=False, C=C, random_state=0, max_iter=300).fit(Z[train], y[train])
            numbers[fold, place] = np.count_nonzero(model.coef_)
            scores[fold, 0, place] = model.score(Z[test], y[test]) if numbers[fold, place] <= most else np.nan
    scores[:, :, np.isnan(scores[:, 0]).any(axis=0)] = np.nan
    return best(numbers, scores) if not np.isnan(scores).all() else (np.nan, np.nan)
