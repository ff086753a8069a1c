"""Answers that arrive in batches, in any order: counts that are always up to date, in one file."""

from quorate.ledger.book import Ledger
from quorate.ledger.entries import Added

__all__ = ["Added", "Ledger"]
