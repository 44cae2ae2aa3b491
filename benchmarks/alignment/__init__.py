"""Benchmarks of the alignment path (paper 3): cost, accuracy along the path, and with half of the data."""
