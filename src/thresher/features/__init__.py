"""What is selected: one package for each kind of feature.

Model files have values of your own classes once these are known to them: classes that derive from FittedFeatures by
their definition, other frozen dataclasses by ``register``.
"""

from thresher.state import register

__all__ = ["register"]
