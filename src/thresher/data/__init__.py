"""Where X lives, and what crosses the border to the solvers: vectors, feature ids and taken columns."""
