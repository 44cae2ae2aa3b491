"""Which estimators can be saved to model files. Each says itself what of it is saved: ``FeatureEstimator._saved``."""

from sklearn.utils.validation import check_is_fitted

from thresher.estimators.alignment.classifier import AlignmentPathClassifier
from thresher.estimators.fgm.classifier import FGMClassifier
from thresher.estimators.miles.classifier import MILESClassifier
from thresher.estimators.sparse_svm.path import SparseSVCPath
from thresher.estimators.sparse_svm.svc import SparseSVC
from thresher.estimators.stream.classifier import StreamClassifier

ESTIMATORS = {
    cls.__name__: cls
    for cls in (FGMClassifier, MILESClassifier, SparseSVC, SparseSVCPath, StreamClassifier, AlignmentPathClassifier)
}


def type_of(estimator):
    """The name of the class of a fitted estimator; TypeError if it cannot be saved, NotFittedError if not fitted."""
    name = type(estimator).__name__
    if ESTIMATORS.get(name) is not type(estimator):
        raise TypeError(
            f"only {', '.join(ESTIMATORS)} can be saved, got {name}; for a pipeline or a search, save the fitted "
            "thresher estimator inside it"
        )
    check_is_fitted(estimator)
    return name
