"""Confidence of the labels: dependence, the calibration law, gold labels, and panels of models."""
