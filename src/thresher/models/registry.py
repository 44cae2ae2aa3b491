"""Which estimators can be saved to model files, and which values as their parameters.

A new estimator adds one entry to ``KINDS``; a new frozen value is named in a call of ``register``.
"""

from dataclasses import dataclass

from sklearn.utils.validation import check_is_fitted

from thresher.estimators.alignment.classifier import AlignmentPathClassifier
from thresher.estimators.alignment.kernel_path import KernelPath
from thresher.estimators.fgm.classifier import FGMClassifier
from thresher.estimators.fgm.goals import MEASURE_TYPES
from thresher.estimators.fgm.options import made_by, options_of
from thresher.estimators.miles.classifier import MILESClassifier
from thresher.estimators.shared.base import SpaceEstimator
from thresher.estimators.sparse_svm.path import SparseSVCPath
from thresher.estimators.sparse_svm.svc import SparseSVC
from thresher.estimators.stream.classifier import StreamClassifier
from thresher.features.additive.spec import AdditiveChi2, AdditiveGaussian, Intersection
from thresher.features.groups.spec import Groups, Tree
from thresher.features.polynomial.spec import Polynomial
from thresher.results import Trace


@dataclass(frozen=True)
class Kind:
    """A type of estimator, its fitted attributes other than the selection (name: a form of ``extras``), and its check.

    ``optional`` attributes may be missing; ``check(estimator)`` raises ValueError for invalid parameters.
    ``after(estimator)``, if given, sets what follows from the rest. ``proven``: it has a certificate.
    """

    cls: type[SpaceEstimator]
    extras: dict
    optional: tuple
    check: object
    after: object = None
    proven: bool = True
    linear: bool = True  # whether weights are coefficients: with many classes one for each
    of_bags: bool = False  # whether it has ``instances_``


KINDS = {
    "FGMClassifier": Kind(
        FGMClassifier,
        {"C_": "real", "n_iter_": "integer", "Cs_": "vector", "scores_": "table"},
        optional=("Cs_", "scores_"),
        check=lambda estimator: options_of(estimator, made_by(estimator.features)[0], Trace()),
    ),
    "MILESClassifier": Kind(
        MILESClassifier,
        {"C_": "real", "n_iter_": "integer", "Cs_": "vector", "sigmas_": "vector", "scores_": "choices"},
        optional=("Cs_", "sigmas_", "scores_"),
        check=lambda estimator: estimator._checked_options(Trace()),
        of_bags=True,
    ),
    "SparseSVC": Kind(
        SparseSVC,
        {"n_iter_": "integer", "features_removed_": "integer", "samples_removed_": "integer"},
        optional=(),
        check=lambda estimator: estimator._checked_options(),
    ),
    "SparseSVCPath": Kind(
        SparseSVCPath,
        {
            "n_iter_": "integer",
            "path_": "grid",
            "scores_": "cube",
            "supports_": "supports",
            "best_index_": "indices",
            "best_score_": "real",
        },
        optional=("scores_", "supports_", "best_index_", "best_score_"),
        check=lambda estimator: estimator._checked_options(),
        after=lambda estimator: estimator._restore(),
    ),
    "StreamClassifier": Kind(
        StreamClassifier,
        {
            "n_examples_": "integer",
            "progressive_loss_": "real",
            "progressive_accuracy_": "real",
            "setting_": "setting",
            "settings_": "settings",
            "trace_": "milestones",
        },
        optional=(),
        check=lambda estimator: estimator._checked_options(),
        proven=False,
    ),
    "AlignmentPathClassifier": Kind(
        AlignmentPathClassifier,
        {
            "C_": "real",
            "point_": "integer",
            "path_": "alignment_path",
            "training_": "training",
            "svm_": "kernel_svm",
            "cv_results_": "results",
            "best_index_": "integer",
            "best_score_": "real",
        },
        optional=("training_", "svm_", "cv_results_", "best_index_", "best_score_"),
        check=lambda estimator: estimator._checked_options(),
        after=lambda estimator: estimator._restore(),
        linear=False,
    ),
}


def kind_of(estimator):
    """(name, Kind) of a fitted estimator; TypeError if it has none, NotFittedError if it is not fitted."""
    name = type(estimator).__name__
    if name not in KINDS or KINDS[name].cls is not type(estimator):
        raise TypeError(
            f"only {', '.join(KINDS)} can be saved, got {name}; for a pipeline or a search, save the fitted thresher "
            "estimator inside it"
        )
    check_is_fitted(estimator)
    return name, KINDS[name]


VALUE_TYPES: dict[str, type] = {}  # by name: frozen dataclasses that may be constructor parameters


def register(*classes: type) -> None:
    """Let instances of frozen dataclasses be parameters in model files; a class is known by its name.

    Every field of ``__init__`` is written, in the same forms as a parameter. A field that a file lacks has the default
    of the class. A ValueError of ``__post_init__`` is reported as damage.
    """
    for cls in classes:
        options = getattr(cls, "__dataclass_params__", None)  # of a dataclass
        if options is None or not options.frozen:
            raise TypeError(f"{cls.__name__} must be a frozen dataclass")
        if VALUE_TYPES.setdefault(cls.__name__, cls) is not cls:
            raise ValueError(f"another class is already registered as {cls.__name__}")


register(Groups, Tree, Intersection, AdditiveChi2, AdditiveGaussian, Polynomial, KernelPath, *MEASURE_TYPES)
