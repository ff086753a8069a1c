"""Shares, accuracies and means over all tasks, with intervals; differences of groups; plans of known labels."""
