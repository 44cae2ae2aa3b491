"""``cv_results_`` of estimators that choose among candidates by cross-validation, in the form of scikit-learn."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def cv_results(params: Sequence[Mapping[str, Any]], scores: ArrayLike) -> dict[str, Any]:
    """The candidates and their scores, under the keys of ``cv_results_`` of scikit-learn's ``GridSearchCV``.

    Parameters
    ----------
    params : sequence of mapping
        The parameters of each candidate.
    scores : array-like of shape (n_folds, n_candidates)
        The score of each candidate on each fold; NaN where there is none.

    Returns
    -------
    dict
        ``params``, a list of dicts; ``param_NAME``, a masked array for each parameter, masked for candidates without
        it; ``split{i}_test_score``, ``mean_test_score``, ``std_test_score`` and ``rank_test_score``: 1 is the best,
        ties share the smaller rank, and candidates without a mean are last.
    """
    scores = np.asarray(scores, dtype=np.float64)
    names = dict.fromkeys(name for candidate in params for name in candidate)
    results: dict[str, Any] = {f"param_{name}": _column(params, name) for name in names}
    results["params"] = [dict(candidate) for candidate in params]
    for fold, of_fold in enumerate(scores):
        results[f"split{fold}_test_score"] = of_fold.copy()
    results["mean_test_score"] = scores.mean(axis=0)
    results["std_test_score"] = scores.std(axis=0)
    results["rank_test_score"] = _ranks(results["mean_test_score"])
    return results


def _column(params: Sequence[Mapping[str, Any]], name: str) -> np.ma.MaskedArray:
    """The values of a parameter, as numbers where all are numbers; masked for candidates without it."""
    values = [candidate[name] for candidate in params if name in candidate]
    numeric = all(isinstance(value, (bool, int, float, np.number, np.bool_)) for value in values)
    column = np.ma.masked_all(len(params), dtype=np.asarray(values).dtype if numeric else object)
    for position, candidate in enumerate(params):
        if name in candidate:
            column[position] = candidate[name]
    return column


def _ranks(means: np.ndarray) -> np.ndarray:
    """1 and how many candidates are better; those with mean NaN are worse than all others."""
    losses = np.where(np.isnan(means), np.inf, -means)
    return (1 + np.searchsorted(np.sort(losses), losses)).astype(np.int32)
