"""Simulated crowds with planted faults."""
