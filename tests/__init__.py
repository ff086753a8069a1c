"""Tests of quorate."""

import os

# Errors of the program are raised, so that tests see where they are; see `quorate.cli.app.TRACEBACK`.
os.environ.setdefault("QUORATE_TRACEBACK", "1")
