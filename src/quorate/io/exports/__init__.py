"""Other tools' exports, one file a format: what it is recognised by, where its answers are, how labels go back into it.

`formats.py` lists them; a format is added there.
"""
