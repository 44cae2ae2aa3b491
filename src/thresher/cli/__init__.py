"""The command line: ``thresher select | grid | predict | inspect | demo``."""

from thresher.cli.start import main

__all__ = ["main"]
