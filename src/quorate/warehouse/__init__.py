"""Answers that an engine holds (DuckDB, Spark, what ibis connects to): read where they are few, else packed."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quorate.warehouse.diagnosed import diagnose as diagnose
    from quorate.warehouse.estimate import aggregate as aggregate
    from quorate.warehouse.pairs import rank as rank
    from quorate.warehouse.rate_scores import rate as rate
    from quorate.warehouse.taken_out import read as read

# Imported when first used: a local file needs no engine.
_HOMES = {
    "aggregate": "estimate",
    "diagnose": "diagnosed",
    "rank": "pairs",
    "rate": "rate_scores",
    "read": "taken_out",
}
__all__ = ["aggregate", "diagnose", "rank", "rate", "read"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"quorate.warehouse.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'quorate.warehouse' has no attribute {name!r}")
