"""Cross-validation inside a fit: scikit-learn's scorers on decision values, and ``cv_results_``."""

import importlib
import inspect
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin

from thresher.errors import brief, did_you_mean, warn
from thresher.estimators.shared.base import Attribute
from thresher.estimators.shared.parameters import ensure, sample_weights
from thresher.state import ArrayReader, ArrayWriter, fields, need, required
from thresher.targets.classes import ClassLabels

SCORING = "accuracy"  # the default
FLAGS = ("elimination",)  # parameters that are True or False
FoldScore = Callable[[np.ndarray, np.ndarray], float]  # of (scores of all rows, rows of a fold)


def fold_score(
    scoring: Any,
    classes: np.ndarray,
    codes: np.ndarray,
    folds: list[np.ndarray],
    sample_weight: ArrayLike | None,
    owner: str,
    rows: np.ndarray | None = None,
) -> FoldScore:
    """A scorer of scikit-learn as a function of (scores of all rows, a fold), tried on all folds before any is solved.

    ``sample_weight`` is what was given; ``owner`` is the class that messages name. ``rows`` are numbers that scorers
    are told instead of those of the rows here.
    """
    weights = None if sample_weight is None else sample_weights(sample_weight, codes.size)
    scorer = _checked_scorer(scoring, classes)
    accepts = inspect.signature(scorer).parameters
    weighted = "sample_weight" in accepts or any(option.kind == option.VAR_KEYWORD for option in accepts.values())
    y, n_outputs = classes[codes], ClassLabels(classes).n_outputs

    def score(scores: np.ndarray, test: np.ndarray) -> float:
        options = {"sample_weight": weights[test]} if weighted and weights is not None else {}
        scores = scores[:, 0] if n_outputs == 1 and scores.ndim > 1 else scores
        if rows is None:
            return scorer(PrecomputedScores(classes, scores), test, y[test], **options)
        known = np.zeros((rows[-1] + 1, *scores.shape[1:]))
        known[rows] = scores
        return scorer(PrecomputedScores(classes, known), rows[test], y[test], **options)

    blank = np.zeros(y.shape if n_outputs == 1 else (y.size, n_outputs))
    trial = _tried(lambda: [score(blank, test) for test in folds], scoring, classes, owner)
    undefined = np.flatnonzero(np.isnan(trial))
    if undefined.size:
        raise ValueError(f"scoring={scoring!r} is undefined (NaN) on fold {undefined[0]} of cv: use larger folds")
    return score


def _tried(trial: Callable[[], list[float]], scoring: Any, classes: np.ndarray, owner: str) -> list[float]:
    """The scores of a trial; ValueError that says what to do if the scorer is not for these classes or models."""
    try:
        return trial()
    except ValueError as error:
        macro = f"{scoring}_macro"
        if not isinstance(scoring, str) or macro not in importlib.import_module("sklearn.metrics").get_scorer_names():
            raise
        labels = f"{classes.size} classes" if classes.size > 2 else f"the classes {classes.tolist()}"
        raise ValueError(
            f"scoring={scoring!r} is of class 1 of two classes, but y has {labels}; use {macro!r}, the mean over the "
            "classes"
        ) from error
    except AttributeError as error:
        raise ValueError(
            f"scoring={scoring!r} cannot be used: {owner} has decision_function and predict only ({error})"
        ) from error


def warn_of_scoring(scoring: Any, cv: Any) -> None:
    """Warn of a score other than the default that nothing is chosen by."""
    if cv is None and scoring != SCORING:
        warn(f"scoring={brief(scoring)} has no effect without cv: set cv=5 (--cv 5), or leave scoring out")


def _checked_scorer(scoring: Any, classes: np.ndarray) -> Callable[..., float]:
    """The scorer of this name, or the callable."""
    metrics = importlib.import_module("sklearn.metrics")  # on demand: it takes a third of a second to load
    if isinstance(scoring, str) and scoring not in metrics.get_scorer_names():
        hint = did_you_mean(scoring, metrics.get_scorer_names()) or "; use for example 'accuracy' or 'roc_auc'"
        raise ValueError(f"scoring={scoring!r} is not the name of a scorer of scikit-learn{hint}")
    ensure(isinstance(scoring, str) or callable(scoring), f"scoring must be a string or a callable, got {scoring!r}")
    return metrics.check_scoring(PrecomputedScores(classes), scoring=scoring)


class PrecomputedScores(ClassifierMixin, BaseEstimator):
    """A classifier with precomputed scores, for scorers: X is an array of row numbers."""

    def __init__(self, classes: np.ndarray | None = None, scores: np.ndarray | None = None):
        self.classes_: Any = classes
        self.scores: Any = scores

    def fit(self, X: Any, y: Any) -> Self:
        """Do nothing: the scores are given."""
        return self

    def decision_function(self, rows: np.ndarray) -> Any:
        """The scores of the rows."""
        return self.scores[rows]

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """The classes of the rows."""
        return ClassLabels(self.classes_).predict(self.scores[rows])


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
        and ties share the smaller rank. Candidates that were left out after some folds have NaN on the others, means
        over those that they were scored on, and rank after all that were scored on more.
    """
    scores = np.asarray(scores, dtype=np.float64)
    names = dict.fromkeys(name for candidate in params for name in candidate)
    results: dict[str, Any] = {f"param_{name}": _param_column(params, name) for name in names}
    results["params"] = [dict(candidate) for candidate in params]
    for fold, of_fold in enumerate(scores):
        results[f"split{fold}_test_score"] = of_fold.copy()
    counts = np.count_nonzero(~np.isnan(scores), axis=0)
    results["mean_test_score"] = _over_folds(np.mean, scores)
    results["std_test_score"] = _over_folds(np.std, scores)
    results["rank_test_score"] = _ranks(results["mean_test_score"], counts)
    return results


def _param_column(params: Sequence[Mapping[str, Any]], name: str) -> np.ma.MaskedArray:
    """The values of a parameter, as numbers where all are numbers; masked for candidates without it."""
    values = [candidate[name] for candidate in params if name in candidate]
    numeric = all(isinstance(value, (bool, int, float, np.number, np.bool_)) for value in values)
    column = np.ma.masked_all(len(params), dtype=np.asarray(values).dtype if numeric else object)
    for position, candidate in enumerate(params):
        if name in candidate:
            column[position] = candidate[name]
    return column


def _over_folds(statistic: Callable[[np.ndarray], float], scores: np.ndarray) -> np.ndarray:
    """A statistic of each candidate's scores on the folds that it was scored on; NaN where there are none."""
    known = [column[~np.isnan(column)] for column in scores.T]
    return np.array([statistic(column) if column.size else np.nan for column in known])


def _ranks(means: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """1 and how many candidates are better: those left out earlier are worse, and those never scored are last."""
    keys = list(zip((-counts).tolist(), (-np.nan_to_num(means)).tolist(), strict=True))
    first = {key: place for place, key in reversed(list(enumerate(sorted(keys))))}
    return np.array([1 + first[key] for key in keys], dtype=np.int32)


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
        columns = [list(map(bool, c)) if key in FLAGS else c for key, c in zip(table, columns, strict=True)]
        axes.append([dict(zip(table, row, strict=True)) for row in zip(*columns, strict=True)])
    count = math.prod(map(len, axes))
    scores = reader.get(part["scores"], "<f8", (None, count), f"the scores of {name}", finite=False)
    need(scores.size > 0, f"{name} has no scores")  # else there could be any number of candidates
    params = [dict(itertools.chain.from_iterable(map(dict.items, each))) for each in itertools.product(*axes)]
    return cv_results(params, scores)


CV_RESULTS = Attribute(put_cv_results, get_cv_results, optional=True)
