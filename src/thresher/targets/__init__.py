"""What is predicted: problems for a cost, folds and their judge, predictions."""
