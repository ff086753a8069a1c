"""Reading and writing: a file, a table or another tool's export -> `Answers`; tables -> files."""
