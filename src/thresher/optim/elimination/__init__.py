"""Backward elimination on columns in memory."""
