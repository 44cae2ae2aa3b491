"""What a scan computes of a column, what it keeps, and the pieces it is cut into."""
