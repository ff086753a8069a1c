"""The engine that holds the answers. Every query to it goes through this module, which names and records it."""

import os
import re
import secrets
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec

import pyarrow as pa

from quorate.addresses import hide_secrets, public_cause, render_address
from quorate.backends.engine_options import DUCKDB as DUCKDB
from quorate.backends.engine_options import EngineOptions as EngineOptions
from quorate.backends.expressions import Backend, ColumnExpression, EngineTable
from quorate.backends.transfer import batches_of, drop_table, table_from
from quorate.errors import EngineError, QuorateError, in_shell, not_installed
from quorate.progress import listener, report

# The module that each engine needs in addition to ibis.
EXTRAS = {"duckdb": "duckdb", "spark": "pyspark", "postgres": "psycopg", "sqlite": "regex"}
# Its common name, and the extra that installs it.
NEEDS = {
    "duckdb": ("DuckDB", "warehouse"),
    "spark": ("Spark", "spark"),
    "postgres": ("the driver for PostgreSQL", "warehouse"),
    "sqlite": ("the driver for SQLite", "warehouse"),
}
TRACEBACK = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)*(\S.*)")


@dataclass(frozen=True)
class Engine:
    """A connection, and the names of the queries that ran over it."""

    connection: Backend | None  # None in a pickled copy
    journal: list[str] = field(default_factory=list)  # the name of each query over the answers, in order
    # Tables that we made in the engine, by name; None for those that are dropped by name.
    our_tables: dict[str, EngineTable | None] = field(default_factory=dict, repr=False)
    last_name: str = ""  # the name of the engine in ibis, in a pickled copy
    is_ours: bool = False  # whether the connection was made here, and must be closed here

    @property
    def backend(self) -> Backend:
        """The backend of ibis."""
        if self.connection is None:
            raise EngineError(
                f"This copy has no connection to {self.last_name}, because connections cannot be pickled. Open the "
                "answers again"
            )
        return self.connection

    @property
    def name(self) -> str:
        """The name of the engine in ibis."""
        return self.last_name if self.connection is None else str(self.connection.name)

    def without_connection(self) -> "Engine":
        """Return a copy without the connection: the name of the engine, and the queries that ran."""
        return Engine(None, list(self.journal), {}, self.name)

    def fetch(self, expression: EngineTable | ColumnExpression, stage: str) -> pa.Table:
        """Run a query and return its (small) result in memory."""
        with self.running(stage):
            return table_from(self.backend, expression.as_table())

    def stream(self, expression: EngineTable, stage: str, n_rows: int | None = None) -> Iterator[pa.RecordBatch]:
        """Run a query and yield its result in batches."""
        with self.running(stage):
            yield from batches_of(self.backend, expression, n_rows)

    def keep(self, expression: EngineTable, stage: str) -> EngineTable:
        """Run a query and keep its result in the engine until `release`; return its table."""
        with self.running(stage):
            name = f"quorate_{secrets.token_hex(8)}"
            try:
                table = self.backend.create_table(name, expression, temp=True)
                self.our_tables[name] = None
            except NotImplementedError:  # Spark keeps the rows, or how to compute them again
                table = expression.cache()
                self.our_tables[table.op().name] = table
            return table

    def release(self, *but: EngineTable) -> None:
        """Remove our tables from the engine, except the given ones."""
        stay = {table.op().name for table in but}
        for name in [name for name in self.our_tables if name not in stay]:
            table_kept = self.our_tables.pop(name)
            if table_kept is None:
                drop_table(self.backend, name)
            elif hasattr(table_kept, "release"):
                table_kept.release()

    def close(self) -> None:
        """Close a connection that was made here; those of the caller and of Spark, which may be shared, stay open."""
        if self.is_ours and self.connection is not None:
            self.connection.disconnect()

    def upload(self, table: pa.Table) -> EngineTable:
        """Copy a small table into the engine, and return it as a table there."""
        import ibis

        memory_table: EngineTable = ibis.memtable(table)
        self.backend.to_pyarrow(memory_table.count())  # the engine gets the table with the first query over it
        self.our_tables[memory_table.op().name] = memory_table
        return self.backend.table(memory_table.op().name)

    @contextmanager
    def running(self, stage: str) -> Iterator[None]:
        """Record a query, report its progress, and name it if it fails.

        Raises:
            EngineError: the engine could not run it.
        """
        self.journal.append(stage)
        report(stage, 0, 100)
        try:
            with _report_progress(self.backend, stage):
                yield
        except (QuorateError, KeyboardInterrupt, GeneratorExit):
            raise
        except Exception as error:  # every engine has its own exceptions
            raise EngineError(
                f"the engine {self.name} failed while {stage}: {first_line(error)}{_remedy(error)}"
            ) from public_cause(error)
        report(stage, 100, 100)


def connect(engine_options: EngineOptions = DUCKDB) -> Engine:
    """Connect to an engine.

    Raises:
        EngineError: it is not installed, or does not answer.

    >>> connect(EngineOptions(memory="500MB")).name
    'duckdb'
    """
    if engine_options.connect is not None:
        return _connect_url(engine_options.connect, engine_options)
    name = engine_options.name
    _check_installed(name)
    try:
        return (
            _duckdb(engine_options.memory, engine_options.temp) if name == "duckdb" else _spark(engine_options.master)
        )
    except QuorateError:
        raise
    except Exception as error:
        raise EngineError(f"cannot start {name}: {first_line(error)}") from public_cause(error)


def _check_installed(engine: str) -> None:
    if find_spec("ibis") is None or find_spec(EXTRAS[engine]) is None:
        name, extra = NEEDS[engine]
        raise not_installed("this source", name, f"[{extra}]", error=EngineError)


def _duckdb(memory: str | None, temp: str | None) -> Engine:
    import ibis

    # The order of rows has no meaning here, and preserving it takes memory.
    options: dict[str, bool | str] = {"preserve_insertion_order": False}
    if memory is not None:
        options["memory_limit"] = memory
    if temp is not None:
        options["temp_directory"] = temp
    return Engine(_without_progress_bar(ibis.duckdb.connect(**options)), is_ours=True)


def _without_progress_bar(backend: Backend) -> Backend:
    """Let DuckDB report its progress on request, without its own progress bar."""
    if backend.name == "duckdb":
        backend.con.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
    return backend


def _spark(master: str | None) -> Engine:
    import ibis
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("quorate").config("spark.sql.execution.arrow.pyspark.enabled", "true")
    builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.log.level", "ERROR")
    with _without_jvm_messages():
        session = (builder if master is None else builder.master(master)).getOrCreate()
        return Engine(ibis.pyspark.connect(session))


@contextmanager
def _without_jvm_messages() -> Iterator[None]:
    """On the command line, discard what Java writes to standard error: it inherits the stream when it starts."""
    if not in_shell.get():
        yield
        return
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")  # warnings about versions of pandas
    sys.stderr.flush()
    saved_stderr = os.dup(2)
    try:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(saved_stderr, 2)
        os.close(saved_stderr)


def _connect_url(url: str, engine_options: EngineOptions) -> Engine:
    scheme = url.partition(":")[0].replace("postgresql", "postgres")
    if scheme in EXTRAS:  # the error names the extra of this engine
        _check_installed(scheme)
    if find_spec("ibis") is None:
        raise not_installed("a connection to another engine", "ibis", "[warehouse]", error=EngineError)
    if "://" not in url:
        raise EngineError(
            "--connect takes the URL of an engine, such as postgres://host/database; the given text has no ://"
        )
    import ibis

    _check_database_file(scheme, url)
    try:
        backend = _without_progress_bar(ibis.connect(url))
        for setting, value in (("memory_limit", engine_options.memory), ("temp_directory", engine_options.temp)):
            if backend.name == "duckdb" and value is not None:
                quoted = value.replace("'", "''")
                backend.con.execute(f"SET {setting} = '{quoted}'")
        return Engine(backend, is_ours=backend.name != "pyspark")
    except Exception as error:
        # The message of the library may contain the whole address, and a traceback would show it too.
        raise EngineError(f"cannot connect to {render_address(url)}: {first_line(error, url)}") from None


def _check_database_file(scheme: str, url: str) -> None:
    """Refuse the address of a database file that does not exist, which the engine would create empty."""
    path = url.partition("://")[2].partition("?")[0]
    is_file = scheme in ("duckdb", "sqlite") and path and not path.startswith((":", "md:", "/md:"))
    if is_file and not os.path.exists(path):
        absolute = f"; an absolute path has three slashes: {scheme}:///" if not path.startswith("/") else ""
        raise EngineError(f"There is no database file {render_address(path)}{absolute}")


@contextmanager
def _report_progress(backend: Backend, stage: str) -> Iterator[None]:
    """Report DuckDB's progress to the callback, if there is one, every 0.2 seconds; other engines report none."""
    on_progress = listener.get()
    done = threading.Event()
    if on_progress is None or backend.name != "duckdb":
        yield
        return

    def ask() -> None:
        while not done.wait(0.2):
            on_progress(stage, max(int(backend.con.query_progress()), 0), 100)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    try:
        yield
    finally:
        done.set()
        asking.join()


def first_line(error: Exception, *addresses: str) -> str:
    """Return the first line of an engine's message; of a failure on Spark's executors, the last line of the traceback.

    Args:
        error: exception of another library.
        addresses: addresses that the library was given; their secrets are removed from the message.

    >>> first_line(ValueError("no such column"))
    'no such column'
    """
    match = TRACEBACK.search(str(error))
    if match is not None:
        line = match[1]
    else:
        lines = str(error).strip().splitlines()
        line = lines[0] if lines else type(error).__name__
    return hide_secrets(line, *addresses)[:300]


def _remedy(error: Exception) -> str:
    if "out of memory" not in str(error).lower():
        return ""
    return (
        ". Allow more memory= (--engine duckdb:memory=16GB), or a larger disk for temp= (--engine duckdb:temp=FOLDER)"
    )
