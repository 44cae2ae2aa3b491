"""What is selected: one package for each kind of feature."""
