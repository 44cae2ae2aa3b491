"""Additive kernels: several numbers made of each column."""
