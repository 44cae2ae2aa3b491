"""The iterations shared by all families: grow() scans, takes, solves and certifies; thresh() eliminates."""

from thresher.engine.growth import grow
from thresher.engine.plans import GatherPlan, GrowthPlan
from thresher.engine.threshing import thresh

__all__ = ["GatherPlan", "GrowthPlan", "grow", "thresh"]
