"""Strengths of items from pairwise comparisons by judges of unknown skill: Bradley–Terry–Davidson."""
