"""Benchmarks of the linear part: the scan, the solvers of the problem on taken columns, and how the fit converges."""
