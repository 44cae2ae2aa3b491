"""Papers 1 and 2: the feature generating machine."""
