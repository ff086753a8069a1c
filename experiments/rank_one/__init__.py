"""Accuracy of `rank-one` on sparse crowds, and coverage of its intervals: the figures of docs/theory.md."""
