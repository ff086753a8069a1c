"""Answers -> one self-contained HTML page that a manager of annotators reads in a minute."""
