"""Losses, penalties, proximal maps and solvers. They see Blocks and numbers, never storage and never p."""
