"""What ibis cannot say in every engine: rename or drop a table, whether there is one, how long names may be."""

from typing import Any

from quorate.warehouse.expressions import Backend


def rename_table(backend: Backend, old: str, new: str) -> None:
    """Give a table another name.

    >>> import ibis
    >>> backend = ibis.duckdb.connect()
    >>> _ = backend.raw_sql("CREATE TABLE a AS SELECT 1 AS one")
    >>> rename_table(backend, "a", "b")
    >>> has_table(backend, "a"), has_table(backend, "b")
    (False, True)
    """
    if backend.name != "pyspark":  # there, a name without its database would move to the default one
        new = new.rpartition(".")[2]
    _run(backend, f"ALTER TABLE {quoted(backend, old)} RENAME TO {quoted(backend, new)}")


def drop_table(backend: Backend, name: str) -> None:
    """Remove a table, if it is there.

    >>> import ibis
    >>> drop_table(ibis.duckdb.connect(), "a")
    """
    _run(backend, f"DROP TABLE IF EXISTS {quoted(backend, name)}")


def has_table(backend: Backend, name: str) -> bool:
    """Whether there is a table of that name; asks for its columns, since not every engine lists its tables to ibis.

    >>> import ibis
    >>> has_table(ibis.duckdb.connect(), "a")
    False
    """
    database, _, own = name.rpartition(".")
    try:
        backend.table(own, database=database or None)
    except Exception:  # every engine has exceptions of its own
        return False
    return True


def longest_name(backend: Backend) -> int | None:
    """Return how many bytes (of UTF-8) an engine keeps of a name, cutting the rest without an error; None elsewhere.

    >>> import ibis
    >>> longest_name(ibis.duckdb.connect()) is None
    True
    """
    if backend.name != "postgres":
        return None
    cursor: Any = backend.raw_sql("SHOW max_identifier_length")
    with cursor:
        return int(cursor.fetchone()[0])


def _run(backend: Backend, statement: str) -> None:
    cursor = backend.raw_sql(statement)
    if backend.name not in ("duckdb", "pyspark") and hasattr(cursor, "close"):  # those two hand out the connection
        cursor.close()


def quoted(backend: Backend, name: str) -> str:
    """Write the name of a table, with its database where it has one, as the engine wants it.

    >>> import ibis
    >>> quoted(ibis.duckdb.connect(), "crowd.odd name")
    '"crowd"."odd name"'
    """
    from sqlglot import exp

    database, _, own = name.rpartition(".")
    return str(exp.table_(own, db=database or None, quoted=True).sql(dialect=backend.dialect))
