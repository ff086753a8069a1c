"""Answers -> one self-contained HTML page that a manager of annotators reads in a minute."""

from quorate.reporting.build import Report, report

__all__ = ["Report", "report"]
