"""The commands: from parsed options to a report."""
