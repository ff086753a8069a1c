"""Answers that arrive in batches, in any order: counts that are always up to date, in one file."""

from quorate.ledger.entries import Added
from quorate.ledger.ledger import Ledger

__all__ = ["Added", "Ledger"]
