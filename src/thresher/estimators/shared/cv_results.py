"""``cv_results_`` of estimators that choose among candidates by cross-validation, in the form of scikit-learn."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thresher.estimators.shared.saved import Attribute
from thresher.state import ArrayReader, ArrayWriter, fields, need, required


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


def put_cv_results(writer: ArrayWriter, name: str, results: Mapping[str, Any]) -> dict[str, Any]:
    """What ``cv_results_`` follows from: the parameters of the candidates, which are numbers, and all scores."""
    params = results["params"]
    axis = {key: writer.put(f"{name}.{key}", [candidate[key] for candidate in params], "<f8") for key in params[0]}
    n_folds = sum(key.startswith("split") for key in results)
    scores = [results[f"split{fold}_test_score"] for fold in range(n_folds)]
    return {"axes": [axis], "scores": writer.put(f"{name}.scores", scores, "<f8")}


def get_cv_results(reader: ArrayReader, part: Any, name: str, estimator: Any = None) -> dict[str, Any]:
    """``cv_results_``; the candidates are the product of all axes, and an axis is a table of parameters."""
    part = fields(part, required("axes", "scores"), name)
    tables = part["axes"]
    valid = isinstance(tables, list) and tables and all(isinstance(table, dict) for table in tables)
    need(valid, f"the axes of {name} must be objects")
    axes = []
    for table in tables:
        columns = [reader.get(column, "<f8", (None,), f"{key} of {name}").tolist() for key, column in table.items()]
        axes.append([dict(zip(table, row, strict=True)) for row in zip(*columns, strict=True)])
    count = math.prod(map(len, axes))
    scores = reader.get(part["scores"], "<f8", (None, count), f"the scores of {name}", finite=False)
    need(scores.size > 0, f"{name} has no scores")  # else there could be any number of candidates
    params = [dict(itertools.chain.from_iterable(map(dict.items, each))) for each in itertools.product(*axes)]
    return cv_results(params, scores)


CV_RESULTS = Attribute(put_cv_results, get_cv_results, optional=True)
