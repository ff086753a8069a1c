"""Other tools' exports -> the table that `quorate.read` takes, and results back to those tools.

Each format has a file that says what it is recognised by and where its answers are; `registry.py` lists them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quorate.formats.export import Export as Export
    from quorate.formats.reading import read_answers as read_answers
    from quorate.formats.reading import read_export as read_export
    from quorate.formats.reading import recognise as recognise
    from quorate.formats.results import results_for as results_for
    from quorate.formats.results import write_results as write_results

_HOMES = {
    "Export": "export",
    "read_answers": "reading",
    "read_export": "reading",
    "recognise": "reading",
    "results_for": "results",
    "write_results": "results",
}
__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'quorate.formats' has no attribute {name!r}")
    return getattr(import_module(f"quorate.formats.{_HOMES[name]}"), name)
