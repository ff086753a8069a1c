"""Deprecated alias of `quorate.backends`: the name of version 0.2, removed in the release after 0.3."""

import warnings

from quorate import backends

warnings.warn("quorate.warehouse is now quorate.backends", DeprecationWarning, stacklevel=2)


def __getattr__(name: str) -> object:
    return getattr(backends, name)
