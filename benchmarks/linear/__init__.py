"""Benchmarks of the linear part: the scan, the solvers of the master problem, and how the fit converges."""
