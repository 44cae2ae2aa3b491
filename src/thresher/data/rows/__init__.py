"""X by rows, for learners that see one sample at a time."""
