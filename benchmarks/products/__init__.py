"""Benchmarks of products of columns."""
