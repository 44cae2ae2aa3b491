"""The loss side: losses, and the problems that solvers solve."""
