"""Which estimators a model file can hold, and which values as their parameters.

A new estimator adds one entry to ``KINDS``; a new frozen value is named in a call of ``register``.
"""

from dataclasses import dataclass

from sklearn.utils.validation import check_is_fitted

from thresher.estimators.fgm import FGMClassifier
from thresher.estimators.selector import SelectorClassifier
from thresher.estimators.sparse_svm import SparseSVC
from thresher.estimators.sparse_svm_path import SparseSVCPath
from thresher.estimators.stream import StreamClassifier
from thresher.results import Trace


@dataclass(frozen=True)
class Kind:
    """A type of estimator, what else it sets in fit (name: a form that ``extras`` knows), and its check.

    ``optional`` attributes may be missing; ``check(estimator)`` raises ValueError for parameters that cannot be.
    ``after(estimator)``, where there is one, sets what follows from the rest. ``proven``: it has a certificate.
    """

    cls: type[SelectorClassifier]
    extras: dict
    optional: tuple
    check: object
    after: object = None
    proven: bool = True


KINDS = {
    "FGMClassifier": Kind(
        FGMClassifier,
        {"C_": "number", "n_iter_": "whole", "Cs_": "vector", "scores_": "table"},
        optional=("Cs_", "scores_"),
        check=lambda estimator: estimator._options(Trace()),
    ),
    "SparseSVC": Kind(
        SparseSVC,
        {"n_iter_": "whole", "features_removed_": "whole", "samples_removed_": "whole"},
        optional=(),
        check=lambda estimator: estimator._checked_options(),
    ),
    "SparseSVCPath": Kind(
        SparseSVCPath,
        {
            "n_iter_": "whole",
            "path_": "grid",
            "scores_": "cube",
            "supports_": "supports",
            "best_index_": "places",
            "best_score_": "number",
        },
        optional=("scores_", "supports_", "best_index_", "best_score_"),
        check=lambda estimator: estimator._checked_options(),
        after=lambda estimator: estimator._restore(),
    ),
    "StreamClassifier": Kind(
        StreamClassifier,
        {
            "n_examples_": "whole",
            "progressive_loss_": "number",
            "progressive_accuracy_": "number",
            "setting_": "setting",
            "settings_": "settings",
            "trace_": "milestones",
        },
        optional=(),
        check=lambda estimator: estimator._checked_options(),
        proven=False,
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


VALUE_TYPES: dict[str, type] = {}  # by name: frozen dataclasses that may be constructor parameters


def register(*classes: type) -> None:
    """Let instances of frozen dataclasses be parameters in model files; a class is known by its name.

    Every field of ``__init__`` is written, in the same forms as a parameter. A field that a file lacks has the default
    of the class. What ``__post_init__`` refuses with a ValueError is refused as damage.
    """
    for cls in classes:
        how = getattr(cls, "__dataclass_params__", None)  # of a dataclass
        if how is None or not how.frozen:
            raise TypeError(f"{cls.__name__} must be a frozen dataclass")
        if VALUE_TYPES.setdefault(cls.__name__, cls) is not cls:
            raise ValueError(f"another class is registered as {cls.__name__}")
