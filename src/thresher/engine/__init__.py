"""The turn that every family repeats: grow() scans, takes, solves and certifies; thresh() eliminates what was taken."""
