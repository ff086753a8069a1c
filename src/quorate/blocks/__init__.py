"""Whole tasks as integers, wherever they lie, and the sums over them that every method is made of."""
