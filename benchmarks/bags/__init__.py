"""Bags of rows: accuracy on real sets, time and memory on made ones."""
