"""What Inspect imports for the entry point ``inspect_ai`` of this package: importing it registers the score reducer."""

from quorate.integrations.inspect_ai import register

register()
