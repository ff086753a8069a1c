"""Inter-annotator agreement: coefficients and their intervals."""
