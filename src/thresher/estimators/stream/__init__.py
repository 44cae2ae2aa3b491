"""StreamClassifier."""
