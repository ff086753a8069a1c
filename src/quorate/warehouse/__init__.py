"""The same counting and voting inside DuckDB, Spark or another engine; the mathematics stays in the library."""

from quorate.warehouse.diagnosis import WarehouseDiagnosis, diagnose
from quorate.warehouse.estimate import aggregate
from quorate.warehouse.result import WarehouseResult

__all__ = ["WarehouseDiagnosis", "WarehouseResult", "aggregate", "diagnose"]
