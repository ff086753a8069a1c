"""A file, a table or another tool's export -> `Answers`."""
