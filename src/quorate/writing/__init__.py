"""Tables and labels -> files, whole or not at all."""
