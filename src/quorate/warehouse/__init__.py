"""The same counting and voting inside DuckDB, Spark or another engine; the mathematics stays in the library."""

from quorate.warehouse.diagnosis import diagnose
from quorate.warehouse.estimate import aggregate

__all__ = ["aggregate", "diagnose"]
