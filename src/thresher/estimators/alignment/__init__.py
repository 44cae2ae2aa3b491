"""AlignmentPathClassifier, and its functions."""
