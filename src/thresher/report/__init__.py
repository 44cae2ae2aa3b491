"""Pictures of what a fit did. matplotlib is needed to draw them, not to import this."""
