"""Benchmarks of the elastic-net SVM: what screening saves (paper 5), against other solvers and against bare passes."""
