"""Kernels of columns, and how well each agrees with the labels."""
