"""Solvers of a problem under a penalty, each with a certified gap."""
