"""Which engine reads the answers if the caller names none, and the reason, which commands print in their first line."""

import os
from dataclasses import dataclass, field, replace
from pathlib import Path

from quorate.addresses import render_address
from quorate.backends.engine_options import EngineOptions
from quorate.errors import OptionError
from quorate.io.open_file import free_memory
from quorate.io.read_table import Source, format_of

# Schemes of remote files, which DuckDB and Spark read; any other scheme is that of an engine.
REMOTE = ("abfs", "abfss", "az", "file", "gcs", "gs", "hdfs", "hf", "http", "https", "r2", "s3", "s3a")
# The first bytes of a database file, their position in the file, and the engine.
MAGIC = ((b"DUCK", 8, "duckdb"), (b"SQLite format 3\x00", 0, "sqlite"))
# Bytes of memory per byte of a file at the peak of the default method: an answer takes about 200 bytes in memory (`make
# bench`), about 20 in text and about 5 in Parquet. After an overestimate DuckDB reads the file, and counts first.
MEMORY_PER_FILE_BYTE = {"parquet": 40, "csv": 10, "tsv": 10, "jsonl": 10}


@dataclass(frozen=True)
class EngineChoice:
    """An engine, what it reads, and why it was chosen."""

    source: Source = field(repr=False)  # files; None for a table
    engine_options: EngineOptions
    name: str
    why: str


def choose_engine(source: Source, engine_options: EngineOptions) -> EngineChoice | None:
    """Return the engine that reads the answers; None if there is no reason for an engine, and they are read as a file.

    Args:
        source: a path, a pattern, the URL of an engine, a database file, a table object; None with ``table=``.
        engine_options: those of the caller.

    Raises:
        OptionError: the options contradict each other, or name a table without an engine.

    >>> choose_engine("lake/*.parquet", EngineOptions()).why
    'lake/*.parquet is a pattern of files'
    >>> chosen = choose_engine("postgres://ann:secret@host/crowd", EngineOptions(table="answers"))
    >>> chosen.name, chosen.engine_options.connect is not None
    ('postgres', True)
    >>> choose_engine("answers.csv", EngineOptions()) is None
    True
    """
    url = _url(source)
    if url is not None:
        if engine_options.connect is not None:
            raise OptionError("FILE is the URL of an engine, and --connect another; give one of them")
        reason = "its URL was given" if "://" in str(source) else f"{source} is a database of this engine"
        return EngineChoice(None, replace(engine_options, connect=url), url.partition(":")[0], reason)
    if engine_options.connect is not None:
        return EngineChoice(source, engine_options, engine_options.connect.partition(":")[0], "--connect was given")
    named = _engine_of_options(engine_options)
    if named is not None:
        return EngineChoice(source, replace(engine_options, engine=named[0]), *named)
    if engine_options.table is not None:
        raise OptionError(
            "table= (--table) needs a database, and none is given. Give its file or URL, or use --engine spark"
        )
    if not isinstance(source, str | Path):
        return None
    why = _pattern(source) or _too_large(source)
    return None if why is None else EngineChoice(source, engine_options, "duckdb", why)


def chosen_or_default(source: Source, engine_options: EngineOptions) -> EngineChoice:
    """Return the engine that `choose_engine` chooses, or else the default engine."""
    choice = choose_engine(source, engine_options)
    return choice or EngineChoice(source, engine_options, engine_options.name, "it is the default")


def _engine_of_options(engine_options: EngineOptions) -> tuple[str, str] | None:
    """Return the engine that an option names or belongs to, and the reason as text."""
    if engine_options.engine is not None:
        return engine_options.engine, "--engine was given"
    for option, engine in (("master", "spark"), ("memory", "duckdb"), ("temp", "duckdb")):
        if getattr(engine_options, option) is not None:
            return engine, f"--{option} was given"
    return None


def _url(source: Source) -> str | None:
    """Return the connection string that a source is: a URL of an engine, or a database file."""
    if not isinstance(source, str | Path):
        return None
    scheme, mark, _ = str(source).partition("://")
    if mark:
        return None if scheme in REMOTE else str(source)
    engine = _database(Path(source))
    return None if engine is None else f"{engine}://{Path(source).absolute()}"


def _database(path: Path) -> str | None:
    """Return the engine of a database file, by its first bytes; None for any other file."""
    try:
        if not path.is_file():  # a pattern, a folder, a pipe (which can be read only once), or no file
            return None
        with path.open("rb") as file:
            head = file.read(32)
    except (OSError, ValueError):
        return None
    return next((engine for magic, start, engine in MAGIC if head[start : start + len(magic)] == magic), None)


def _pattern(source: str | Path) -> str | None:
    text = str(source)
    if "://" in text:
        return f"{render_address(text)} is a remote address"
    is_pattern = any(mark in text for mark in "*?[") and not Path(source).exists()
    return f"{text} is a pattern of files" if is_pattern else None


def _too_large(source: str | Path) -> str | None:
    """Return a sentence if a file is larger than the free memory; only for files that DuckDB reads."""
    factor = MEMORY_PER_FILE_BYTE.get(format_of(source) or "")
    free = free_memory()
    try:
        size = os.path.getsize(source)
    except OSError:
        return None
    if factor is None or free is None or size * factor <= free:
        return None
    return f"{source} would take about {size * factor / 1e9:,.0f} GB, and {free / 1e9:,.0f} GB of memory are free"
