"""Numeric scores: one score per task with an interval, bias, scale and noise of each rater, reliability."""
