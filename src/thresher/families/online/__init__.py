"""Paper 4: online selection under a budget."""
