"""Blocks: columns in memory, and what solvers compute with them."""
