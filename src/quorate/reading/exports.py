"""Deprecated alias of `quorate.io.exports.detect`: the name of version 0.2, removed in the release after 0.3."""

from quorate.io.exports.detect import read_export as read_export
from quorate.io.exports.detect import recognise as recognise
