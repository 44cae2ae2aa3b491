"""FGMClassifier, and the fit of every estimator that selects by FGM."""
