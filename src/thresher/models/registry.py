"""Which estimators a model file can hold. A new one adds one entry to ``KINDS``."""

from dataclasses import dataclass

from sklearn.utils.validation import check_is_fitted

from thresher.estimators.fgm import FGMClassifier
from thresher.estimators.selector import SelectorClassifier
from thresher.results import Trace


@dataclass(frozen=True)
class Kind:
    """A type of estimator, what else it sets in fit (name: "number", "whole", "vector" or "table"), and its check.

    ``optional`` attributes may be missing; ``check(estimator)`` raises ValueError for parameters that cannot be.
    """

    cls: type[SelectorClassifier]
    extras: dict
    optional: tuple
    check: object


KINDS = {
    "FGMClassifier": Kind(
        FGMClassifier,
        {"C_": "number", "n_iter_": "whole", "Cs_": "vector", "scores_": "table"},
        optional=("Cs_", "scores_"),
        check=lambda estimator: estimator._options(Trace()),
    ),
}


def kind_of(estimator):
    """(name, Kind) of a fitted estimator; TypeError where it has none, NotFittedError where it is not fitted."""
    name = type(estimator).__name__
    if name not in KINDS or KINDS[name].cls is not type(estimator):
        raise TypeError(
            f"only {', '.join(KINDS)} can be saved, not {name}; of a pipeline or a search, save the fitted thresher "
            "estimator inside it"
        )
    check_is_fitted(estimator)
    return name, KINDS[name]
