"""A query -> its rows in Arrow batches, with the types of the engine and without all rows in memory.

Also what ibis cannot do in every engine: rename or drop a table, check that one exists, limit the length of names.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa

from quorate.backends.expressions import Backend, EngineTable
from quorate.errors import ColumnTypeError


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
    """Drop a table, if it exists.

    >>> import ibis
    >>> drop_table(ibis.duckdb.connect(), "a")
    """
    _run(backend, f"DROP TABLE IF EXISTS {quoted(backend, name)}")


def replace_tables(backend: Backend, table_for_name: Mapping[str, str]) -> None:
    """Give tables the names of existing ones, which are dropped; in one transaction if the engine has transactions.

    Args:
        backend: the engine.
        table_for_name: new name -> table that gets it.

    >>> import ibis
    >>> backend = ibis.duckdb.connect()
    >>> _ = backend.raw_sql("CREATE TABLE a AS SELECT 1 AS one")
    >>> _ = backend.raw_sql("CREATE TABLE b AS SELECT 2 AS one")
    >>> replace_tables(backend, {"a": "b"})
    >>> backend.table("a").to_pyarrow().to_pydict(), has_table(backend, "b")
    ({'one': [2]}, False)
    """
    is_transactional = backend.name in TRANSACTIONAL
    if is_transactional:
        _run(backend, "BEGIN")
    try:
        for name, temporary in table_for_name.items():
            drop_table(backend, name)
            rename_table(backend, temporary, name)
    except BaseException:
        if is_transactional:
            with suppress(Exception):  # the connection itself may be gone
                _run(backend, "ROLLBACK")
        raise
    if is_transactional:
        _run(backend, "COMMIT")


def has_table(backend: Backend, name: str) -> bool:
    """Return whether a table exists, by opening it: not every engine lists its tables in ibis.

    >>> import ibis
    >>> has_table(ibis.duckdb.connect(), "a")
    False
    """
    database, _, table_name = name.rpartition(".")
    try:
        backend.table(table_name, database=database or None)
    except Exception:  # every engine has its own exceptions
        return False
    return True


def longest_name(backend: Backend) -> int | None:
    """Return the bytes of UTF-8 to which an engine truncates names without an error; None if it does not.

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
    if backend.name not in ("duckdb", "pyspark") and hasattr(cursor, "close"):  # these two return the connection
        cursor.close()


def quoted(backend: Backend, name: str) -> str:
    """Return the name of a table, with its database if it has one, quoted for the engine.

    >>> import ibis
    >>> quoted(ibis.duckdb.connect(), "crowd.odd name")
    '"crowd"."odd name"'
    """
    from sqlglot import exp

    database, _, table_name = name.rpartition(".")
    return str(exp.table_(table_name, db=database or None, quoted=True).sql(dialect=backend.dialect))


BATCH_ROWS = 1 << 20  # rows per batch from an engine
CURSORS = ("postgres", "sqlite")  # engines whose rows ibis converts with pandas, or holds in memory all at once
TRANSACTIONAL = ("duckdb", "postgres", "sqlite")  # engines that create and fill a table in one transaction
MAX_SPARK_ROWS = 4_000_000  # per result: by default Spark limits a result to one gigabyte


def batches_of(backend: Backend, query: EngineTable, n_rows: int | None = None) -> Iterator[pa.RecordBatch]:
    """Run a query and return its rows in batches.

    Args:
        backend: the engine.
        query: the query; in Spark, rows are divided by a hash of its first column.
        n_rows: number of rows, if known.

    >>> import ibis
    >>> backend = ibis.duckdb.connect()
    >>> sum(batch.num_rows for batch in batches_of(backend, backend.sql("SELECT range AS n FROM range(3)")))
    3
    """
    if backend.name == "duckdb":  # ibis calls a method that newer versions of DuckDB do not have
        return _from_duckdb(backend.con, backend.compile(query))
    if backend.name == "pyspark":
        return _from_spark(backend, query, n_rows)
    if backend.name == "sqlite":
        return _from_cursor(backend.con.cursor(), backend, query)
    if backend.name == "postgres":
        return _from_postgres(backend, query)
    return iter(backend.to_pyarrow_batches(query, chunk_size=BATCH_ROWS))


def table_from(backend: Backend, query: EngineTable) -> pa.Table:
    """Run a query and return its (small) result in memory.

    >>> import ibis
    >>> backend = ibis.duckdb.connect()
    >>> table_from(backend, backend.sql("SELECT 7 AS n")).to_pydict()
    {'n': [7]}
    """
    if backend.name not in CURSORS:
        return backend.to_pyarrow(query)
    kinds = pa.schema([(name, kind.to_pyarrow()) for name, kind in query.schema().items()])
    return pa.Table.from_batches(batches_of(backend, query), kinds)


def _from_duckdb(con: Any, query: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows; if the error is only that a thread was interrupted, run again with one thread for the cause.

    A thread that fails interrupts the others, and DuckDB reports the first error, which may be the interruption.
    """
    try:
        yield from _reader(con, query)
    except Exception as error:
        if "Interrupted" not in str(error):
            raise
        (threads,) = con.execute("SELECT current_setting('threads')").fetchone()
        con.execute("SET threads = 1")
        try:
            for _ in _reader(con, query):
                pass
        finally:
            con.execute(f"SET threads = {threads}")
        raise


def _reader(con: Any, query: str) -> Iterator[pa.RecordBatch]:
    relation = con.sql(query)
    get = relation.to_arrow_reader if hasattr(relation, "to_arrow_reader") else relation.fetch_record_batch
    return iter(get(BATCH_ROWS))


def _from_spark(backend: Any, query: EngineTable, n_rows: int | None) -> Iterator[pa.RecordBatch]:
    """Yield the rows through Arrow: ibis uses pandas, which converts a column of integers with a null to floats."""
    from pyspark.sql import functions as spark

    frame = backend._session.sql(backend.compile(query))
    pieces = 1 if n_rows is None else -(-n_rows // MAX_SPARK_ROWS)
    if pieces > 1:
        frame = frame.persist()  # otherwise each piece would read the source again
    try:
        for number in range(pieces):
            part = frame.where(spark.pmod(spark.hash(frame.columns[0]), spark.lit(pieces)) == number)
            rows = part.toArrow() if hasattr(part, "toArrow") else pa.Table.from_batches(part._collect_as_arrow())
            yield from rows.to_batches()
    finally:
        if pieces > 1:
            frame.unpersist()


def _from_postgres(backend: Any, query: EngineTable) -> Iterator[pa.RecordBatch]:
    """Yield the rows from a server-side cursor: the usual cursor first transfers the whole result."""
    with backend.con.transaction(), backend.con.cursor(name="quorate_rows") as cursor:
        yield from _from_cursor(cursor, backend, query)


def _from_cursor(cursor: Any, backend: Backend, query: EngineTable) -> Iterator[pa.RecordBatch]:
    """Yield batches from rows of Python values; columns have the types that the engine reports."""
    kinds = {name: kind.to_pyarrow() for name, kind in query.schema().items()}
    cursor.execute(backend.compile(query))
    while rows := cursor.fetchmany(BATCH_ROWS // 8):
        columns = [
            _array(values, name, kinds[name]) for name, values in zip(kinds, zip(*rows, strict=True), strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, names=list(kinds))


def _array(values: tuple[Any, ...], name: str, kind: pa.DataType) -> pa.Array:
    try:
        if pa.types.is_string(kind) or pa.types.is_large_string(
            kind
        ):  # also for ids of a type that only the engine has
            return pa.array(
                (value if value is None or isinstance(value, str) else str(value) for value in values), kind
            )
        if pa.types.is_boolean(kind):  # SQLite stores numbers
            return pa.array((None if value is None else bool(value) for value in values), kind)
        return pa.array(values, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
        raise ColumnTypeError(
            f"column {name!r} is declared as {kind}, but has other values too ({error}); give it one type"
        ) from None


def fill_table(backend: Any, rows: pa.Table | pa.RecordBatchReader, table_name: str, database: str | None) -> None:
    """Create a table in an engine and insert rows from memory or from batches.

    In the engines of `TRANSACTIONAL` this is one transaction: the table appears when it is complete, and after an error
    or in a killed process nothing of it remains.

    >>> import ibis
    >>> backend = ibis.sqlite.connect()
    >>> fill_table(backend, pa.table({"task": ["a", ""], "tied": [True, None]}), "labels", None)
    >>> backend.con.execute("SELECT * FROM labels").fetchall()
    [('a', 1), ('', None)]
    """
    import ibis

    reader = rows.to_reader(BATCH_ROWS // 8) if isinstance(rows, pa.Table) else rows
    name = quoted(backend, f"{database}.{table_name}" if database else table_name)
    if backend.name == "duckdb":
        backend.con.register("quorate_rows", reader)
        try:
            backend.con.execute(f"CREATE TABLE {name} AS SELECT * FROM quorate_rows")
        finally:
            backend.con.unregister("quorate_rows")
    elif backend.name == "postgres":
        with backend.con.transaction():
            backend.con.execute(_create_statement(backend, reader.schema, table_name, database))
            _copy_to_postgres(backend, reader, name)
    elif backend.name == "sqlite":
        with _savepoint(backend.con):
            backend.con.execute(_create_statement(backend, reader.schema, table_name, database))
            marks = ", ".join("?" * len(reader.schema))
            for batch in reader:
                values = zip(*(column.to_pylist() for column in batch.columns), strict=True)
                backend.con.executemany(f"INSERT INTO {name} VALUES ({marks})", values)
    else:
        # As an expression: not every version of sqlglot understands the statement that ibis makes of an Arrow table.
        backend.create_table(table_name, ibis.memtable(reader.read_all()), database=database)


def _create_statement(backend: Backend, columns: pa.Schema, table_name: str, database: str | None) -> str:
    """Write the statement that creates an empty table; `create_table` of ibis would commit it."""
    import ibis
    from sqlglot import exp

    table = exp.table_(table_name, db=database, quoted=True)
    definitions = ibis.Schema.from_pyarrow(columns).to_sqlglot_column_defs(backend.dialect)
    create = exp.Create(kind="TABLE", this=exp.Schema(this=table, expressions=definitions))
    return str(create.sql(dialect=backend.dialect))


@contextmanager
def _savepoint(con: Any) -> Iterator[None]:
    """Undo changes of an SQLite database if the context fails, whether or not a transaction is open already."""
    con.execute("SAVEPOINT quorate_rows")
    try:
        yield
    except BaseException:  # also when interrupted
        with suppress(Exception):  # after some errors, such as a full disk, SQLite has already undone everything
            con.execute("ROLLBACK TO quorate_rows")
            con.execute("RELEASE quorate_rows")
        raise
    con.execute("RELEASE quorate_rows")


def _copy_to_postgres(backend: Any, rows: pa.RecordBatchReader, name: str) -> None:
    from pyarrow import csv

    statement = f"COPY {name} FROM STDIN (FORMAT csv)"
    with backend.con.cursor() as cursor, cursor.copy(statement) as copy:
        for batch in rows:
            piece = pa.BufferOutputStream()
            # Text is quoted, so that empty text differs from a null.
            csv.write_csv(batch, piece, csv.WriteOptions(include_header=False, quoting_style="needed"))
            copy.write(piece.getvalue().to_pybytes())
