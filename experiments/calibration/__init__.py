"""Coverage and calibration: intervals, confidence, public crowds."""
