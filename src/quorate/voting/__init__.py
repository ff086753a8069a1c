"""From scores to labels: posterior, weighted votes, ties, and decisions by cost."""
