"""Answers -> one self-contained HTML page that a manager of annotators reads in a minute."""

from quorate.report.build import Report, make_report

__all__ = ["Report", "make_report"]
