"""Bags as users give them: one value for each row, labels and weights that agree within a bag, and scores by bag."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metadata_routing import MetadataRequest
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import column_or_1d

from thresher.features.instances.bags import grouped
from thresher.optim.measures.base import Measure

NOT_PASSED: Any = object()  # what ``bags`` is then


def bag_scorer(metric: str | Callable[..., float] | Measure) -> "BagScorer":
    """A scorer that counts bags instead of rows, for scikit-learn's ``cross_val_score`` and searches.

    It receives ``bags`` by metadata routing, which must be on: ``sklearn.set_config(enable_metadata_routing=True)``.

    Parameters
    ----------
    metric : str, callable or Measure
        Name of one of scikit-learn's scorers, such as "f1" or "roc_auc", a function of (labels of the bags, predicted
        labels) of which larger values are better, or a measure such as ``PrecisionAtK(10)``.

    Returns
    -------
    BagScorer
        A scorer, to be called with (estimator, X, y, bags=bags).

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import MILESClassifier, bag_scorer
    >>> X, y, bags = np.array([[0.0], [9.0], [0.5], [1.0]]), np.array([1, 1, 0, 0]), np.array([0, 0, 1, 1])
    >>> clf = MILESClassifier(1, sigma=1.0).fit(X, y, bags=bags)
    >>> float(bag_scorer("accuracy")(clf, X, y, bags=bags))
    1.0
    """
    return BagScorer(metric)


class BagScorer:
    """See ``bag_scorer``.

    Parameters
    ----------
    metric : str, callable or Measure
        As there.
    """

    def __init__(self, metric: str | Callable[..., float] | Measure):
        if not isinstance(metric, (str, Measure)) and not callable(metric):
            raise ValueError(f"metric must be the name of a scorer, a function or a measure, got {metric!r}")
        self.metric = metric
        metrics = importlib.import_module("sklearn.metrics")  # on demand: it takes a third of a second to load
        if isinstance(metric, Measure):
            self.scorer: Any = metric.scorer()
        else:
            self.scorer = metrics.get_scorer(metric) if isinstance(metric, str) else metrics.make_scorer(metric)

    def __call__(self, estimator: Any, X: Any, y: ArrayLike, bags: ArrayLike | None = NOT_PASSED) -> float:
        """The score of an estimator whose ``predict`` takes ``bags``; with None each row is a bag."""
        if bags is NOT_PASSED:  # rows would silently be scored in place of bags
            raise ValueError(
                f"{self!r} received no bags: call sklearn.set_config(enable_metadata_routing=True) and pass "
                "params={'bags': bags}, or bags=bags to the fit of a search"
            )
        labels = column_or_1d(y)
        own = grouped(bags, labels.size)
        return self.scorer(OfBags(estimator, bags), X, own.each("y", labels))

    def get_metadata_routing(self) -> MetadataRequest:
        """What scikit-learn's metadata routing hands over: ``bags``."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="bags", alias=True)
        return request

    def __repr__(self) -> str:
        return f"bag_scorer({self.metric!r})"


class OfBags(ClassifierMixin, BaseEstimator):
    """An estimator together with the bags of X, for scorers that have no ``bags`` argument."""

    def __init__(self, estimator: Any = None, bags: Any = None):
        self.estimator = estimator
        self.bags = bags

    @property
    def classes_(self) -> np.ndarray:
        """Class labels."""
        return self.estimator.classes_

    def predict(self, X: Any) -> np.ndarray:
        """Labels of the bags."""
        return self.estimator.predict(X, bags=self.bags)

    @available_if(lambda self: hasattr(self.estimator, "decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the bags."""
        return self.estimator.decision_function(X, bags=self.bags)

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the bags."""
        return self.estimator.predict_proba(X, bags=self.bags)
