"""Answers in an engine (DuckDB, Spark, databases that ibis supports), read into memory if they are few."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quorate.backends.source import read as read
    from quorate.diagnostics.from_engine import diagnose as diagnose
    from quorate.methods.from_engine import aggregate as aggregate
    from quorate.ranking.from_engine import rank as rank
    from quorate.rating.from_engine import rate as rate

# Imported when first used: a local file needs no engine.
_HOMES = {
    "aggregate": "methods.from_engine",
    "diagnose": "diagnostics.from_engine",
    "rank": "ranking.from_engine",
    "rate": "rating.from_engine",
    "read": "backends.source",
}
__all__ = ["aggregate", "diagnose", "rank", "rate", "read"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"quorate.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'quorate.backends' has no attribute {name!r}")
