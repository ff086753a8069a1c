"""Experiments that choose and check the constants of the package; not installed with it."""
