"""scikit-learn shells: parameters, validation at the door, fitted attributes. The work is done below."""
