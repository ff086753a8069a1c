"""Estimates over all tasks with intervals: class shares, accuracies, means, differences, and plans of known labels."""
