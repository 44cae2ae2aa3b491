"""Penalties, their proximal maps, and the layout of coordinates."""
