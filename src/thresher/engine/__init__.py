"""The iterations shared by all families: grow() scans, takes, solves and certifies; thresh() eliminates."""
