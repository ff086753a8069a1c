"""Simulated crowds with known faults."""
