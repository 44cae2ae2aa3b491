"""scikit-learn shells: parameters, validation of X and y, fitted attributes. The work is done below."""
