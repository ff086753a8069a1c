"""Deprecated alias of `quorate.io.timestamps`: the name of version 0.2, removed in the release after 0.3."""

from quorate.io.timestamps import read_times as read_times
