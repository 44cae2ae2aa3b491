"""MILESClassifier: bags of instances."""
