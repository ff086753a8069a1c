"""How sure the labels are: dependence, the calibration law, gold labels, and panels of models."""
