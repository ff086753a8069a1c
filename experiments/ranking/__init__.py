"""Figures of `quorate rank`: simulations, public data, other libraries."""
