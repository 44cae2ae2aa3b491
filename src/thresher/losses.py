"""Losses of ``FGMClassifier(loss=...)`` as values, and the base class of your own.

A loss of margins is a value of a subclass of ``Loss``; the strings "squared_hinge" and "logistic" are short for
``SquaredHinge()`` and ``Logistic()``. ``thresher.testing.check_loss`` checks a loss of your own.
"""

from thresher.optim.problems.loss import Loss
from thresher.optim.problems.losses import Logistic, SmoothedHinge, SquaredHinge

__all__ = ["Logistic", "Loss", "SmoothedHinge", "SquaredHinge"]
