"""Deprecated alias of `quorate.io`: the name of version 0.2, removed in the release after 0.3."""

import warnings

warnings.warn("quorate.reading is now quorate.io", DeprecationWarning, stacklevel=2)
