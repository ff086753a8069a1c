"""Which worker should answer which task next, when to stop, and what an expert should label. Start in `advise.py`."""
