"""Probabilistic models of the answers: E- and M-steps over blocks."""
