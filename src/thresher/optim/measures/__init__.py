"""Measures such as F1 as losses: most violated labellings, and cuts."""
