"""The elastic-net SVM: its solvers, and safe tests."""
