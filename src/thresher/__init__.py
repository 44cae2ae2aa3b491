"""Feature selection in very wide data, with a certificate of how near the selection is to the best of its size."""

import importlib
from typing import TYPE_CHECKING, Any

from thresher._garbage import uncollected
from thresher._version import __version__

if TYPE_CHECKING:  # type checkers and editors cannot follow __getattr__
    from thresher.data.designs.base import Design
    from thresher.errors import (
        ColumnsLeftOutWarning,
        CompilationCacheWarning,
        ContinuousLabelsWarning,
        FewerFeaturesWarning,
        FewerFoldsWarning,
        InconsistentResultError,
        IndexColumnWarning,
        InvalidDataError,
        InvalidDataTypeError,
        LeakWarning,
        MissingBagsWarning,
        ModelFileError,
        UnseenLevelsWarning,
        UnsupportedDesignError,
        UnusableColumnsError,
    )
    from thresher.estimators.alignment.classifier import AlignmentPathClassifier
    from thresher.estimators.alignment.functions import alignment_path, alignments
    from thresher.estimators.alignment.kernel_path import KernelPath
    from thresher.estimators.fgm.classifier import FGMClassifier
    from thresher.estimators.miles.bags import bag_scorer
    from thresher.estimators.miles.classifier import MILESClassifier
    from thresher.estimators.sparse_svm.path import SparseSVCPath
    from thresher.estimators.sparse_svm.svc import SparseSVC
    from thresher.estimators.stream.classifier import StreamClassifier
    from thresher.features.additive.spec import AdditiveChi2, AdditiveGaussian, Intersection
    from thresher.features.groups.spec import Groups, Tree, group_by_prefix
    from thresher.features.polynomial.spec import Polynomial
    from thresher.io.table import Source
    from thresher.models import load, load_checkpoint, save, save_checkpoint
    from thresher.optim.measures.values import (
        F1,
        PRBEP,
        AveragePrecision,
        ErrorRate,
        FBeta,
        PrecisionAtK,
        RecallAtK,
        RocArea,
    )
    from thresher.report.grid_display import GridDisplay
    from thresher.report.path_display import PathDisplay
    from thresher.results import (
        AlignmentPath,
        AlignmentPoint,
        Certificate,
        FeaturePath,
        Grid,
        GridPoint,
        GroupLabels,
        Interchangeable,
        Milestone,
        Path,
        ProvenInactive,
        Selection,
        Spread,
        Station,
        Step,
        Stop,
        StopReason,
        Trace,
        Turn,
    )

__all__ = [  # noqa: RUF022 - F1 and PRBEP are classes, too
    "AdditiveChi2",
    "AdditiveGaussian",
    "AlignmentPath",
    "AlignmentPathClassifier",
    "AlignmentPoint",
    "AveragePrecision",
    "Certificate",
    "ColumnsLeftOutWarning",
    "CompilationCacheWarning",
    "ContinuousLabelsWarning",
    "Design",
    "ErrorRate",
    "F1",
    "FBeta",
    "FGMClassifier",
    "FeaturePath",
    "FewerFeaturesWarning",
    "FewerFoldsWarning",
    "Grid",
    "GridDisplay",
    "GridPoint",
    "GroupLabels",
    "Groups",
    "InconsistentResultError",
    "IndexColumnWarning",
    "Interchangeable",
    "Intersection",
    "InvalidDataError",
    "InvalidDataTypeError",
    "KernelPath",
    "LeakWarning",
    "MILESClassifier",
    "Milestone",
    "MissingBagsWarning",
    "ModelFileError",
    "PRBEP",
    "Path",
    "PathDisplay",
    "Polynomial",
    "PrecisionAtK",
    "ProvenInactive",
    "RecallAtK",
    "RocArea",
    "Selection",
    "Source",
    "SparseSVC",
    "SparseSVCPath",
    "Spread",
    "Station",
    "Step",
    "Stop",
    "StopReason",
    "StreamClassifier",
    "Trace",
    "Tree",
    "Turn",
    "UnseenLevelsWarning",
    "UnsupportedDesignError",
    "UnusableColumnsError",
    "__version__",
    "alignment_path",
    "alignments",
    "bag_scorer",
    "group_by_prefix",
    "load",
    "load_checkpoint",
    "save",
    "save_checkpoint",
]

# Imported on first access, so that `import thresher` loads nothing that is not used.
_MODULES = {
    "AdditiveChi2": "thresher.features.additive.spec",
    "AdditiveGaussian": "thresher.features.additive.spec",
    "AlignmentPath": "thresher.results",
    "AlignmentPathClassifier": "thresher.estimators.alignment.classifier",
    "AlignmentPoint": "thresher.results",
    "AveragePrecision": "thresher.optim.measures.values",
    "Certificate": "thresher.results",
    "ColumnsLeftOutWarning": "thresher.errors",
    "CompilationCacheWarning": "thresher.errors",
    "ContinuousLabelsWarning": "thresher.errors",
    "Design": "thresher.data.designs.base",
    "ErrorRate": "thresher.optim.measures.values",
    "F1": "thresher.optim.measures.values",
    "FBeta": "thresher.optim.measures.values",
    "FGMClassifier": "thresher.estimators.fgm.classifier",
    "FeaturePath": "thresher.results",
    "FewerFeaturesWarning": "thresher.errors",
    "FewerFoldsWarning": "thresher.errors",
    "Grid": "thresher.results",
    "GridDisplay": "thresher.report.grid_display",
    "GridPoint": "thresher.results",
    "GroupLabels": "thresher.results",
    "Groups": "thresher.features.groups.spec",
    "InconsistentResultError": "thresher.errors",
    "IndexColumnWarning": "thresher.errors",
    "Interchangeable": "thresher.results",
    "Intersection": "thresher.features.additive.spec",
    "InvalidDataError": "thresher.errors",
    "InvalidDataTypeError": "thresher.errors",
    "KernelPath": "thresher.estimators.alignment.kernel_path",
    "LeakWarning": "thresher.errors",
    "MILESClassifier": "thresher.estimators.miles.classifier",
    "Milestone": "thresher.results",
    "MissingBagsWarning": "thresher.errors",
    "ModelFileError": "thresher.errors",
    "PRBEP": "thresher.optim.measures.values",
    "Path": "thresher.results",
    "PathDisplay": "thresher.report.path_display",
    "Polynomial": "thresher.features.polynomial.spec",
    "PrecisionAtK": "thresher.optim.measures.values",
    "ProvenInactive": "thresher.results",
    "RecallAtK": "thresher.optim.measures.values",
    "RocArea": "thresher.optim.measures.values",
    "Selection": "thresher.results",
    "Source": "thresher.io.table",
    "SparseSVC": "thresher.estimators.sparse_svm.svc",
    "SparseSVCPath": "thresher.estimators.sparse_svm.path",
    "Spread": "thresher.results",
    "Station": "thresher.results",
    "Step": "thresher.results",
    "Stop": "thresher.results",
    "StopReason": "thresher.results",
    "StreamClassifier": "thresher.estimators.stream.classifier",
    "Trace": "thresher.results",
    "Tree": "thresher.features.groups.spec",
    "Turn": "thresher.results",
    "UnseenLevelsWarning": "thresher.errors",
    "UnsupportedDesignError": "thresher.errors",
    "UnusableColumnsError": "thresher.errors",
    "alignment_path": "thresher.estimators.alignment.functions",
    "alignments": "thresher.estimators.alignment.functions",
    "bag_scorer": "thresher.estimators.miles.bags",
    "group_by_prefix": "thresher.features.groups.spec",
    "load": "thresher.models",
    "load_checkpoint": "thresher.models",
    "save": "thresher.models",
    "save_checkpoint": "thresher.models",
}
# thresher.io.read(...) after `import thresher` alone
_PACKAGES = ("datasets", "features", "io", "losses", "measures", "testing")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        with uncollected():
            module = importlib.import_module(_MODULES[name])
        return getattr(module, name)
    if name in _PACKAGES:
        return importlib.import_module(f"thresher.{name}")
    raise AttributeError(f"module 'thresher' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
