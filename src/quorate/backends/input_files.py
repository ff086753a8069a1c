"""The files behind a table of an engine, recorded as inputs of the call, so that no output replaces one of them.

The engine is asked which files it reads: the matches of a pattern, the file of a database, the sources of a view.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from quorate.backends.engine import Engine
from quorate.backends.expressions import EngineTable
from quorate.io.inputs import is_guarding, local_path, record_input
from quorate.io.read_table import Source

SIDECARS = ("-wal", "-journal", "-shm", ".wal")  # files that SQLite and DuckDB keep next to an open database
QUOTED = re.compile(r"""'((?:[^']|'')+)'|"((?:[^"]|"")+)\"""")
FILE_LIST = re.compile(r"list_value\(([^()]*)\)")  # how ibis passes the files of a view to DuckDB


def record_engine_inputs(engine: Engine, table: EngineTable, source: Source) -> None:
    """Record the files that an engine reads for a table.

    Args:
        engine: DuckDB, SQLite or Spark; other engines are on servers, or read no local files.
        table: table of the answers.
        source: the path, pattern or address that the table was made from; for any other source, the engine is asked.

    Raises:
        OptionError: one of the files has been announced as an output.

    >>> from quorate.backends.engine import connect
    >>> engine = connect()
    >>> record_engine_inputs(engine, engine.backend.create_table("answers", schema={"task": "string"}), None)
    """
    if not is_guarding():
        return
    for path in _database_files(engine):
        for file in (path, *(f"{path}{ending}" for ending in SIDECARS)):
            record_input(file)
    if engine.name == "pyspark":
        from quorate.backends.spark import spark_frame

        for address in spark_frame(engine, table).inputFiles():
            record_input(address)
            record_input(unquote(address))
    elif engine.name == "duckdb":
        names = [str(source)] if isinstance(source, str | Path) else _quoted_names(engine, table)
        for name in names:
            for path in _matches(engine, name):
                record_input(path)


def _database_files(engine: Engine) -> list[str]:
    """Return the paths of the databases that a connection has open."""
    queries = {"duckdb": "SELECT path FROM duckdb_databases()", "sqlite": "SELECT file FROM pragma_database_list"}
    if engine.name not in queries:
        return []
    return [path for (path,) in _rows(engine, queries[engine.name]) if path]


def _quoted_names(engine: Engine, table: EngineTable) -> set[str]:
    """Return the possible file names in the query of a table and in the views that the query uses."""
    query = str(engine.backend.compile(table))
    views = dict(_rows(engine, "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal"))
    texts = [query]
    for text in texts:  # the list grows: a view may use another view
        used = [name for name in views if name in text]
        texts += [views.pop(name) for name in used]
    names = {name for text in texts for name in _literals(text) if "/" in name or "." in name or os.sep in name}
    return names | {name for text in texts for files in FILE_LIST.findall(text) for name in _literals(files)}


def _literals(text: str) -> list[str]:
    return [single.replace("''", "'") or double.replace('""', '"') for single, double in QUOTED.findall(text)]


def _matches(engine: Engine, name: str) -> Iterable[str]:
    """Return the files that DuckDB reads for a path, a pattern or a folder."""
    pattern = os.path.join(name, "**") if os.path.isdir(local_path(name)) else name
    try:
        return [path for (path,) in _rows(engine, "SELECT file FROM glob(?)", [pattern])]
    except Exception:  # an address whose files cannot be listed
        return [name]


def _rows(engine: Engine, query: str, parameters: Iterable[str] = ()) -> list[Any]:
    connection: Any = engine.backend.con
    rows: list[Any] = connection.execute(query, list(parameters)).fetchall()
    return rows
