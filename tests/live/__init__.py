"""Tests against real servers, run by `make labelstudio`."""
