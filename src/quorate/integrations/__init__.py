"""Connections to other running programs: Label Studio servers and Inspect."""
