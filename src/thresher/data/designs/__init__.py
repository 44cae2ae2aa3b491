"""Designs: where all columns live, and how a scan reaches them."""
