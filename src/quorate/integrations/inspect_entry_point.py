"""Module of the entry point ``inspect_ai``, which Inspect imports; the import registers the score reducer."""

from quorate.integrations.inspect_ai import register

register()
