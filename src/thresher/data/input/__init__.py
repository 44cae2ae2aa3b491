"""X as users pass it: validated once, put on a scale, fingerprinted."""
