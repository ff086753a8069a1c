"""Tests for problems of the data, one module per kind of problem; `diagnose.py` runs them all."""
