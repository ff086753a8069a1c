"""Labels you can trust from many unreliable workers.

`read` -> `Answers`, `aggregate` -> `Result`. The path that the data take is told in `quorate.estimate`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quorate import simulate as simulate
    from quorate.answers import Answers as Answers
    from quorate.answers import read as read
    from quorate.methods import aggregate as aggregate
    from quorate.methods import majority_vote as majority_vote
    from quorate.result import Result as Result

__version__ = "0.1.0"

# What the package offers at its top, and where it lives. Imported when first used: `quorate --help` needs none of it.
_HOMES = {
    "Answers": "answers",
    "Result": "result",
    "aggregate": "methods",
    "majority_vote": "methods",
    "read": "answers",
}
_MODULES = ["simulate"]
__all__ = ["__version__", *_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"quorate.{_HOMES[name]}"), name)
    if name in _MODULES:
        return import_module(f"quorate.{name}")
    raise AttributeError(f"module 'quorate' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
