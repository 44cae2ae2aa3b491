"""Checks of losses, measures and feature maps of your own, in the manner of scikit-learn's ``check_estimator``.

Each runs all laws that fits and certificates rely on. The first one that does not hold raises an AssertionError, which
names the law and the numbers.
"""

from thresher.testing.features import check_feature_map
from thresher.testing.losses import check_loss
from thresher.testing.measures import check_measure

__all__ = ["check_feature_map", "check_loss", "check_measure"]
