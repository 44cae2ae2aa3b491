"""Bags as users give them: one value for each row, labels and weights that agree within a bag, and scores by bag."""

import importlib
from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metadata_routing import MetadataRequest
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import column_or_1d

from thresher.errors import InvalidDataError
from thresher.estimators.shared import parameters as check
from thresher.features.instances.design import Bags, by_rows
from thresher.optim.measures.base import Measure


class Grouped(NamedTuple):
    """The bags of some rows, and what they are called: sorted, one for each."""

    bags: Bags
    names: np.ndarray

    @property
    def first_rows(self) -> np.ndarray:
        """The first row of each bag."""
        return self.bags.order[self.bags.starts]

    def each(self, what: str, values: np.ndarray) -> np.ndarray:
        """One value for each bag; InvalidDataError, which names the bag, if its rows have several."""
        conflict = self.conflict(values)
        if conflict is not None:
            row, bag = conflict.row, conflict.bag
            raise InvalidDataError(
                f"{what} must be equal for all rows of a bag, but bag {bag!r} has {conflict.first!r} and "
                f"{conflict.other!r} (row {row})"
            )
        return values[self.first_rows]

    def conflict(self, values: np.ndarray) -> "Conflict | None":
        """The first row whose value is not that of the first row of its bag; None if there is none."""
        first = values[self.first_rows]
        wrong = np.flatnonzero(values != first[self.bags.codes])
        if not wrong.size:
            return None
        row = int(wrong[0])
        bag = int(self.bags.codes[row])
        before = int(self.first_rows[bag])
        return Conflict(self.names[bag : bag + 1].tolist()[0], before, row, *values[[before, row]].tolist())


class Conflict(NamedTuple):
    """A bag, two of its rows, and their values, which differ."""

    bag: Any
    first_row: int
    row: int
    first: Any
    other: Any


def grouped(bags: ArrayLike | None, n_rows: int) -> Grouped:
    """The bags that the values ``bags``, one for each of ``n_rows`` rows, describe; None: each row is a bag."""
    if bags is None:
        return Grouped(Bags(np.arange(n_rows), n_rows), np.arange(n_rows))
    given = _as_given(bags)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.ndim == 0:
        raise InvalidDataError(
            f"bags must have one value for each row, got {bags!r}: pass the column itself, such as frame['bag']"
        )
    if given.ndim != 1:
        raise InvalidDataError(f"bags must have one value for each row, got an array of shape {given.shape}")
    if given.size != n_rows:
        raise InvalidDataError(f"bags has {given.size} values, but X has {n_rows} rows: it needs one for each row")
    missing = np.flatnonzero(_is_missing(given))
    if missing.size:
        raise InvalidDataError(
            f"bags has {missing.size} missing value{'' if missing.size == 1 else 's'}, first in row {missing[0]}: each "
            "row must belong to a bag"
        )
    try:
        names, codes = np.unique(given, return_inverse=True)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(f"bags has values that cannot be compared: {error}; use numbers or strings") from error
    return Grouped(Bags(codes, names.size), names)


class BagSample(NamedTuple):
    """Training data: rows (an array or a CSR matrix) in bags; of each bag the number of its class, and its weight."""

    X: Any
    bags: Bags
    classes: np.ndarray
    codes: np.ndarray
    weights: np.ndarray

    @property
    def row_codes(self) -> np.ndarray:
        """The number of the class of each row."""
        return self.codes[self.bags.codes]

    @property
    def row_weights(self) -> np.ndarray:
        """The weight of each row: that of its bag."""
        return self.weights[self.bags.codes]


def bag_sample(
    X: Any, y: np.ndarray, sample_weight: ArrayLike | None, bags: ArrayLike | None, class_weight: dict | str | None
) -> BagSample:
    """The BagSample of a validated X and y, with weights and bags as users give them."""
    own = grouped(bags, X.shape[0])
    classes, row_codes = check.classes_of(y)
    if own.names.size < 2:
        raise InvalidDataError("bags has only one value: at least two bags, of different labels, are needed")
    own.each("y", y)
    codes = row_codes[own.first_rows]
    given = own.each("sample_weight", check.sample_weights(sample_weight, X.shape[0]))
    weights = check.row_weights(given, class_weight, codes, classes)
    return BagSample(by_rows(X), own.bags, classes, codes, weights)


def _as_given(bags: Any) -> np.ndarray:
    """``bags`` as an array of the same values: of a list of strings and numbers, numpy would make strings of all."""
    if np.ma.is_masked(bags):
        return np.where(np.ma.getmaskarray(bags), np.array(None), np.asarray(bags, dtype=object))
    values = np.asarray(bags)
    if values.dtype.kind not in "US" or hasattr(bags, "dtype"):
        return values
    objects = np.asarray(bags, dtype=object)
    return values if all(isinstance(value, (str, bytes)) for value in objects.ravel().tolist()) else objects


def _is_missing(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "O":
        return np.array([_is_none(value) for value in values.tolist()], dtype=bool)
    return np.asarray(values != values) if values.dtype.kind in "fcmMT" else np.zeros(values.size, dtype=bool)


def _is_none(value: Any) -> bool:
    """Whether it is None, NaN or the NA of pandas, which is neither equal to itself nor different."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True
    except ValueError:  # an array, which cannot be compared with others
        return False


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


class _Unset(Enum):
    """What ``bags`` is where nobody passed it."""

    UNSET = "not passed"


UNSET = _Unset.UNSET


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

    def __call__(self, estimator: Any, X: Any, y: ArrayLike, bags: ArrayLike | _Unset | None = UNSET) -> float:
        """The score of an estimator whose ``predict`` takes ``bags``; with None each row is a bag."""
        if isinstance(bags, _Unset):  # rows would be scored in place of bags, and nobody would notice
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


def _has(name: str) -> Callable[[Any], bool]:
    return lambda self: hasattr(self.estimator, name)


class OfBags(ClassifierMixin, BaseEstimator):
    """An estimator with the bags of the X that it will be asked about, for scorers that know of no bags."""

    def __init__(self, estimator: Any = None, bags: Any = None):
        self.estimator, self.bags = estimator, bags

    @property
    def classes_(self) -> np.ndarray:
        """Class labels."""
        return self.estimator.classes_

    def predict(self, X: Any) -> np.ndarray:
        """Labels of the bags."""
        return self.estimator.predict(X, bags=self.bags)

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the bags."""
        return self.estimator.decision_function(X, bags=self.bags)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the bags."""
        return self.estimator.predict_proba(X, bags=self.bags)
