"""Paper 3: the path of kernel weights in p."""
