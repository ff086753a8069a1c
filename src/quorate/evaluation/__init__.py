"""Labels against truth, and methods side by side."""
