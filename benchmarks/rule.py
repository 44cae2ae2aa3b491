"""Estimators that fit by rule, for benchmarks that are not about the choice of C and of elimination."""

import functools

from thresher import FGMClassifier, MILESClassifier

BY_RULE = {"C": None, "elimination": None}
fgm_by_rule = functools.partial(FGMClassifier, **BY_RULE)
miles_by_rule = functools.partial(MILESClassifier, **BY_RULE)
