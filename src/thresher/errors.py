"""What can go wrong, named.

Every error derives from the built-in exception that scikit-learn's users expect, so that ``except ValueError``
keeps working.
"""


class InvalidDataError(ValueError):
    """X, y or the weights cannot be used: wrong shape, broken sparse structure, NaN or infinity."""


class InvalidDataTypeError(TypeError):
    """X or a parameter is of a type that cannot be used."""


class ModelFileError(ValueError):
    """A model file cannot be used: damaged, truncated, hostile, or written by a newer version."""


class InconsistentResultError(ValueError):
    """A result, or the state of a learner, contradicts itself; raised by its ``check``."""


class FewerFeaturesWarning(UserWarning):
    """Fewer features than asked for came back; the message says why."""


class CompilationCacheWarning(UserWarning):
    """Compiled loops cannot be kept on disk; every new process compiles them again."""


class UnsupportedDesignError(TypeError):
    """A design cannot do what an estimator needs of it; the message says what and which way is open."""
