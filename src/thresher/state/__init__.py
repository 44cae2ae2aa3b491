"""What values are written to files as, and back: every value that comes from a file is validated here, part by part."""
