"""Options of the commands, and how their values are read."""
