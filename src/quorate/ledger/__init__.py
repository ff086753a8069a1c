"""Answers that arrive in batches, in memory (`Ledger`) or in a folder to which batches are added (`append`)."""

from quorate.ledger.entries import Added
from quorate.ledger.ledger import Ledger
from quorate.ledger.storage import append, compact

__all__ = ["Added", "Ledger", "append", "compact"]
