"""Read files, tables and other tools' exports into `Answers`, and write tables to files.

`read.py` reads any source, `rows.py` converts a plain table to `Answers`, and `conflicts.py` decides between answers
that contradict each other. The package `exports` has one module per tool whose exports are read: `mturk.py`,
`label_studio.py` and others. `write_table.py` writes tables.
"""
