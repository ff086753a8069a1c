"""Reading and writing: a file, a table or another tool's export -> `Answers`; tables -> files.

`read.py` opens any source, `rows.py` makes `Answers` of a plain table, and `conflicts.py` decides between answers that
contradict each other. The package `exports` has one file per tool whose exports are read: `mturk.py`,
`label_studio.py` and others. `write_table.py` writes tables.
"""
