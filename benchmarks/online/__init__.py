"""Benchmarks of online selection under a budget (paper 4): accuracy by budget, against peers, and cost per example."""
