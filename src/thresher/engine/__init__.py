"""The turn that every family repeats: grow() scans, takes, solves and certifies; thresh() eliminates what was taken."""

from thresher.engine.growth import Plan, grow
from thresher.engine.threshing import thresh

__all__ = ["Plan", "grow", "thresh"]
