"""Damaged input given to the command line at random; `python -m tests.fuzz`."""
