"""Deprecated name of `quorate.io.exports.detect`; removed in the release after 0.3."""

from quorate.io.exports.detect import read_export as read_export
from quorate.io.exports.detect import recognise as recognise
