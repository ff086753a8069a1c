"""Coverage of estimated statistics, and their constants."""
