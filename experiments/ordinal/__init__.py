"""Ordered classes and grades."""
