"""Similarities of bags to training instances."""
