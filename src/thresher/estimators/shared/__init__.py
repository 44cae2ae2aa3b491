"""What estimators share: validation of parameters, labels and X, prediction, progress."""
