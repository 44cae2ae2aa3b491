"""Benchmarks of selection for a measure: F1, PRBEP, recall at twice the positives, ROC area, average precision."""
