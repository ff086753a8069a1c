"""Crowds of known truth, methods side by side, and the experiments that anyone can run again."""
