"""Groups and trees of columns."""
