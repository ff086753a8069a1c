"""Labels you can trust from many unreliable workers.

`read` -> `Answers`, `aggregate` -> `Result`. The path that the data take is told in `quorate.estimate`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quorate.answers import Answers as Answers
    from quorate.answers import read as read

__version__ = "0.1.0"

# What the package offers at its top, and where it lives. Imported when first used: `quorate --help` needs none of it.
_HOMES = {
    "Answers": "answers",
    "read": "answers",
}
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'quorate' has no attribute {name!r}")
    return getattr(import_module(f"quorate.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
