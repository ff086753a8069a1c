"""Figures of `quorate rank`: simulations, public data, peers."""
