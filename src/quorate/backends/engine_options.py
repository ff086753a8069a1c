"""`EngineOptions`: where the answers are, and which engine reads them; without loading any engine."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from quorate.errors import OptionError, unknown_name_error

EngineName: TypeAlias = Literal["duckdb", "spark"]
ENGINES: tuple[str, ...] = get_args(EngineName)


@dataclass(frozen=True)
class EngineOptions:
    """Where the answers are, and which engine reads them.

    >>> EngineOptions(memory="4GB").name
    'duckdb'
    """

    engine: str | None = None  # duckdb (the default) or spark
    memory: str | None = None  # limit on this machine, such as 4GB; above it, DuckDB spills to disk
    temp: str | None = None  # the folder that DuckDB spills to
    master: str | None = None  # of Spark, such as local[4] or spark://host:7077; by default from its settings
    connect: str | None = field(default=None, repr=False)  # an ibis connection string, for any other engine
    table: str | None = None  # instead of files; database.name if it is not in the default one
    order: str | None = None  # the column that decides which of two answers came first
    most: int | None = None  # maximum number of answers read into memory; by default 20 million or what `memory` holds

    def __post_init__(self) -> None:
        if self.connect is not None:
            for option in ("engine", "master"):
                if getattr(self, option) is not None:
                    raise OptionError(f"A URL already names the engine. Leave out {option}= (--{option})")
            return
        if self.name not in ENGINES:
            raise unknown_name_error(self.name, ENGINES, "engine= (--engine)")
        for option, owner in (("memory", "duckdb"), ("temp", "duckdb"), ("master", "spark")):
            if getattr(self, option) is not None and owner != self.name:
                raise OptionError(f"The setting {option} of engine= (--engine) is for {owner}, not for {self.name}")

    @property
    def name(self) -> str:
        """Name of the engine, unless a connection string names it."""
        return self.engine or "duckdb"


DUCKDB = EngineOptions()
