"""Statistics over all tasks with error bars: what share, how good, and how many labels that takes."""
