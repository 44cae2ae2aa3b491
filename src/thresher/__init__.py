"""Feature selection in very wide data, with a certificate of how good the selection is."""

import importlib

from thresher._version import __version__

__all__ = [
    "Certificate",
    "CompilationCacheWarning",
    "Design",
    "FGMClassifier",
    "FeaturePath",
    "FewerFeaturesWarning",
    "Grid",
    "GridDisplay",
    "GridPoint",
    "InconsistentResultError",
    "InvalidDataError",
    "InvalidDataTypeError",
    "Milestone",
    "ModelFileError",
    "Path",
    "PathDisplay",
    "Selection",
    "Source",
    "SparseSVC",
    "SparseSVCPath",
    "Station",
    "Step",
    "Stop",
    "StopReason",
    "StreamClassifier",
    "Trace",
    "Turn",
    "UnsupportedDesignError",
    "__version__",
    "load",
    "load_checkpoint",
    "save",
    "save_checkpoint",
]

# Imported on first access, so that `import thresher` loads nothing that is not used.
_MODULES = {
    "Certificate": "thresher.results",
    "CompilationCacheWarning": "thresher.errors",
    "Design": "thresher.data.design",
    "FGMClassifier": "thresher.estimators.fgm",
    "FeaturePath": "thresher.results",
    "FewerFeaturesWarning": "thresher.errors",
    "Grid": "thresher.results",
    "GridDisplay": "thresher.report.grid_display",
    "GridPoint": "thresher.results",
    "InconsistentResultError": "thresher.errors",
    "InvalidDataError": "thresher.errors",
    "InvalidDataTypeError": "thresher.errors",
    "Milestone": "thresher.results",
    "ModelFileError": "thresher.errors",
    "Path": "thresher.results",
    "PathDisplay": "thresher.report.path_display",
    "Selection": "thresher.results",
    "Source": "thresher.io.table",
    "SparseSVC": "thresher.estimators.sparse_svm",
    "SparseSVCPath": "thresher.estimators.sparse_svm_path",
    "Station": "thresher.results",
    "Step": "thresher.results",
    "Stop": "thresher.results",
    "StopReason": "thresher.results",
    "StreamClassifier": "thresher.estimators.stream",
    "Trace": "thresher.results",
    "Turn": "thresher.results",
    "UnsupportedDesignError": "thresher.errors",
    "load": "thresher.models",
    "load_checkpoint": "thresher.models",
    "save": "thresher.models",
    "save_checkpoint": "thresher.models",
}


def __getattr__(name):
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'thresher' has no attribute {name!r}")


def __dir__():
    return __all__
