"""Deprecated name of `quorate.io.timestamps`; removed in the release after 0.3."""

from quorate.io.timestamps import read_times as read_times
