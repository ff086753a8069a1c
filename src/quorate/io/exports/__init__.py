"""Exports of other tools, one module per format: how to recognise it, read its answers, and write labels back.

`formats.py` lists the formats; add a new one there.
"""
