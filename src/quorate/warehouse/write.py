"""Labels -> a file or a table of the engine, which appears when it is complete.

An engine with transactions creates and fills the table in one; elsewhere (Spark and others) the table is filled under a
temporary name and renamed.
"""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from quorate.addresses import render_address
from quorate.errors import EngineError, UnwritableFileError, shown
from quorate.reading.inputs import local_path, refuse_input
from quorate.warehouse.batches import TRANSACTIONAL, fill_table
from quorate.warehouse.engine import Engine
from quorate.warehouse.statements import drop_table, has_table, longest_name, rename_table
from quorate.writing.whole import check_target, together

ENDINGS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".jsonl": "jsonl"}


def check_output(engine: Engine, output: str | Path | None, output_table: str | None) -> None:
    """Refuse, before anything is counted, what could not be written afterwards.

    Raises:
        UnwritableFileError: the ending, or the folder, will not do.
        EngineError: there is a table of that name.

    >>> from quorate.warehouse.engine import connect
    >>> check_output(connect(), "labels.parquet", None)
    """
    if output is not None:
        path = Path(local_path(output))
        if path.suffix.lower() not in ENDINGS:
            raise UnwritableFileError(
                f"cannot tell how to write {render_address(output)}; end it in .parquet, .csv or .jsonl"
            )
        if not is_remote(output):
            _check_place(path)
        elif engine.name != "duckdb" or format_of_labels(output) == "jsonl":
            raise UnwritableFileError(
                f"only DuckDB writes to {render_address(output)}, Parquet or CSV; name a file here, or a table"
            )
    if output_table is not None:
        check_table(engine, output_table)


def check_table(engine: Engine, name: str) -> None:
    """Refuse to make a table that exists already, or whose name the engine would cut short.

    Raises:
        EngineError: it exists, or its name is too long.

    >>> from quorate.warehouse.engine import connect
    >>> check_table(connect(), "labels")
    """
    most = longest_name(engine.backend)
    for part in name.rpartition(".")[::2]:
        size = len(part.encode())
        if most is not None and size > most:
            raise EngineError(
                f"the name {shown(part)} has {size} bytes in UTF-8, and {engine.name} cuts names to {most}; "
                "choose a shorter one"
            )
    if has_table(engine.backend, name):
        raise EngineError(f"there is a table {name!r} already; drop it, or choose another name")


def _check_place(path: Path) -> None:
    if not path.absolute().parent.is_dir():
        raise UnwritableFileError(f"cannot write {path}: there is no such folder. Make it, or choose another")
    if any(mark in path.name for mark in "*?["):
        raise UnwritableFileError(f"cannot write {path}: to an engine that is a pattern. Choose another name")
    check_target(path)


def format_of_labels(output: str | Path) -> str:
    """Name the format that a file's ending stands for.

    >>> format_of_labels("labels.pq")
    'parquet'
    """
    return ENDINGS[Path(output).suffix.lower()]


def write_remote(engine: Engine, file: Path, output: str) -> None:
    r"""Let DuckDB copy a Parquet file of labels to another place, in the format that its name says.

    >>> import tempfile
    >>> from pyarrow import parquet
    >>> from quorate.warehouse.engine import connect
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     parquet.write_table(pa.table({"task": [1]}), f"{folder}/here.parquet")
    ...     write_remote(connect(), Path(folder, "here.parquet"), f"{folder}/there.csv")
    ...     Path(folder, "there.csv").read_text()
    'task\n1\n'
    """
    refuse_input(output)
    with engine.running("handing out the labels"):
        rows = engine.backend.read_parquet(str(file))
        write = {"parquet": engine.backend.to_parquet, "csv": engine.backend.to_csv}[format_of_labels(output)]
        write(rows, output)  # what writes there makes its files appear when they are complete


def put_table(engine: Engine, rows: pa.Table | Iterator[pa.RecordBatch], name: str) -> None:
    """Make a table in the engine of rows that are in memory, or that arrive batch by batch, one batch at least.

    The table appears when it is complete.

    >>> from quorate.warehouse.engine import connect
    >>> engine = connect()
    >>> put_table(engine, pa.table({"task": [1]}), "labels")
    >>> engine.backend.table("labels").to_pyarrow().to_pydict()
    {'task': [1]}
    """
    failed: list[Exception] = []

    def coming(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        except Exception as error:
            failed.append(error)
            raise

    def make(own: str, database: str | None) -> None:
        try:
            fill_table(engine.backend, given, own, database)
        except Exception:
            if failed:  # what the engine tells of rows that stop coming may be no more than that
                raise failed[0] from None
            raise

    given: pa.Table | pa.RecordBatchReader = rows
    if not isinstance(rows, pa.Table):
        first = next(rows)
        given = pa.RecordBatchReader.from_batches(first.schema, chain([first], coming(rows)))
    if engine.backend.name in TRANSACTIONAL:
        database, _, own = name.rpartition(".")
        with engine.running("voting"):
            make(own, database or None)
    else:
        _under_its_name(engine, name, make)


def put_spark_table(engine: Engine, frame: Any, name: str) -> None:
    """Let Spark's executors write a table; it has its name only when it is complete.

    >>> put_spark_table  # doctest: +ELLIPSIS
    <function put_spark_table at ...>
    """

    def make(own: str, database: str | None) -> None:
        within = database or engine.backend.raw_sql("SELECT current_database()").first()[0]  # type: ignore[attr-defined]
        frame.write.saveAsTable(f"`{within}`.`{own}`")

    _under_its_name(engine, name, make)


@contextmanager
def all_or_none(engine: Engine) -> Iterator[list[str | None]]:
    """Let the files that are written within appear together at the end; where anything fails, none, and no table.

    Tables that were made within are put on the list that this hands out, to be taken back.

    >>> from quorate.warehouse.engine import connect
    >>> engine = connect()
    >>> with suppress(ZeroDivisionError), all_or_none(engine) as made:
    ...     put_table(engine, pa.table({"task": [1]}), "labels")
    ...     made.append("labels")
    ...     _ = 1 / 0
    >>> has_table(engine.backend, "labels")
    False
    """
    made: list[str | None] = []
    try:
        with together():
            yield made
    except BaseException:  # also when interrupted
        for name in made:
            if name is not None:
                with suppress(Exception):  # the connection itself may be gone
                    drop_table(engine.backend, name)
        raise


def is_remote(path: str | Path) -> bool:
    """Whether a path is the URL of another place.

    >>> is_remote("s3://crowd/labels.parquet"), is_remote("file:///labels.parquet"), is_remote("labels.parquet")
    (True, False, False)
    """
    return "://" in local_path(path)


def _under_its_name(engine: Engine, name: str, make: Callable[[str, str | None], object]) -> None:
    """Make a table under a temporary name, and rename it when it is complete.

    The temporary name has 24 bytes whatever the name asked for: no engine cuts it, and its 64 random bits are those of
    no other table, so that the table which is dropped after an error is the one that was made here.
    """
    backend = engine.backend
    database = name.rpartition(".")[0]
    own = f"quorate_{secrets.token_hex(8)}"
    temporary = f"{database}.{own}" if database else own
    try:
        with engine.running("voting"):
            make(own, database or None)
            rename_table(backend, temporary, name)
    except BaseException:  # also when interrupted
        with suppress(Exception):  # the connection itself may be gone
            drop_table(backend, temporary)
        raise
