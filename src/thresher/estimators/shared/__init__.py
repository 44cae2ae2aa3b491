"""What estimators share: validation of parameters, labels and X, prediction, cross-validation, progress."""

from thresher.estimators.shared import parameters as check
from thresher.estimators.shared.base import (
    BOOLEAN,
    INTEGER,
    REAL,
    SEEN,
    TEXT,
    Attribute,
    FeatureEstimator,
    MatrixLike,
)
from thresher.estimators.shared.cross_validation import (
    CV_RESULTS,
    FoldScore,
    PrecomputedScores,
    cv_results,
    fold_score,
    warn_of_scoring,
)
from thresher.estimators.shared.folds import Sample, held_out_parts, rarest_class, sampled
from thresher.estimators.shared.progress import (
    JudgeProgress,
    PointProgress,
    Progress,
    StepProgress,
    StreamProgress,
)
from thresher.estimators.shared.ranking import RankedInputs
from thresher.estimators.shared.selector import ColumnSelector, LinearClassifier, probabilities

__all__ = [
    "BOOLEAN",
    "CV_RESULTS",
    "INTEGER",
    "REAL",
    "SEEN",
    "TEXT",
    "Attribute",
    "ColumnSelector",
    "FeatureEstimator",
    "FoldScore",
    "JudgeProgress",
    "LinearClassifier",
    "MatrixLike",
    "PointProgress",
    "PrecomputedScores",
    "Progress",
    "RankedInputs",
    "Sample",
    "StepProgress",
    "StreamProgress",
    "check",
    "cv_results",
    "fold_score",
    "held_out_parts",
    "probabilities",
    "rarest_class",
    "sampled",
    "warn_of_scoring",
]
