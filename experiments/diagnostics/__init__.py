"""Findings of the diagnosis on crowds with planted faults."""
