"""Labels -> a file or a table of the engine: under a temporary name, which is changed when all is there."""

import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from quorate.errors import EngineError, UnwritableFileError, listing
from quorate.warehouse.batches import fill_table
from quorate.warehouse.engine import Engine
from quorate.warehouse.expressions import EngineTable
from quorate.warehouse.statements import drop_table, has_table, rename_table
from quorate.writing.whole import fill_whole

ENDINGS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv"}


def check_output(engine: Engine, output: str | Path | None, output_table: str | None) -> None:
    """Refuse, before anything is counted, what could not be written afterwards.

    Raises:
        UnwritableFileError: the ending, or the folder, will not do.
        EngineError: there is a table of that name.

    >>> from quorate.warehouse.engine import connect
    >>> check_output(connect(), "labels.parquet", None)
    """
    if output is not None:
        path = Path(output)
        if path.suffix.lower() not in ENDINGS:
            raise UnwritableFileError(f"an engine writes Parquet or CSV; end {output} in .parquet or .csv")
        if not _is_remote(output):
            _check_place(path, is_folder=engine.name == "pyspark")
    if output_table is not None:
        check_table(engine, output_table)


def check_table(engine: Engine, name: str) -> None:
    """Refuse to make a table that is there already.

    Raises:
        EngineError: it is.

    >>> from quorate.warehouse.engine import connect
    >>> check_table(connect(), "labels")
    """
    if has_table(engine.backend, name):
        raise EngineError(f"there is a table {name!r} already; drop it, or choose another name")


def _check_place(path: Path, *, is_folder: bool) -> None:
    if not path.absolute().parent.is_dir():
        raise UnwritableFileError(f"cannot write {path}: there is no such folder. Make it, or choose another")
    if any(mark in path.name for mark in "*?["):
        raise UnwritableFileError(f"cannot write {path}: to an engine that is a pattern. Choose another name")
    if path.is_dir() and not is_folder:
        raise UnwritableFileError(f"cannot write {path}: it is a folder. Name a file")
    strangers = [each.name for each in path.iterdir() if each.name[:1] not in "._p"] if path.is_dir() else []
    if strangers:  # Spark's own files are called part-…, _SUCCESS and .….crc
        raise UnwritableFileError(
            f"cannot write {path}: it is a folder that holds other files, {listing(strangers)}. Choose another"
        )


def write_file(engine: Engine, labels: EngineTable, output: str | Path) -> EngineTable:
    """Let the engine write a file (Spark: a folder of files), and return it as a table.

    >>> import os, tempfile, pyarrow as pa
    >>> from quorate.warehouse.engine import connect
    >>> engine = connect()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = write_file(engine, engine.upload(pa.table({"task": [1]})), f"{folder}/labels.parquet")
    ...     os.listdir(folder)
    ['labels.parquet']
    """
    kind, spark = ENDINGS[Path(output).suffix.lower()], engine.name == "pyspark"

    def write(place: str | Path) -> None:
        path = str(place)
        with engine.running("voting"):
            if kind == "parquet":
                engine.backend.to_parquet(labels, path)
            elif spark:
                engine.backend.to_csv_dir(labels, path, options={"header": "true"})
            else:
                engine.backend.to_csv(labels, path)

    if _is_remote(output):
        write(str(output))  # what writes there makes its files appear when they are complete
    else:
        try:
            fill_whole(output, write, folder=spark)
        except EngineError as error:
            raise type(error)(f"{error}; {output} was not written") from error
    backend = engine.backend
    if kind == "parquet":
        return backend.read_parquet(str(output))
    return backend.read_csv(str(output), header=True, **({"inferSchema": True} if spark else {}))


def write_table(engine: Engine, labels: EngineTable, name: str) -> EngineTable:
    """Let the engine make a table, which has its name only when it is complete.

    >>> import pyarrow as pa
    >>> from quorate.warehouse.engine import connect
    >>> engine = connect()
    >>> write_table(engine, engine.upload(pa.table({"task": [1]})), "labels").to_pyarrow().to_pydict()
    {'task': [1]}
    """
    _under_its_name(engine, name, lambda own, database: engine.backend.create_table(own, labels, database=database))
    return engine.backend.table(name)


def put_table(engine: Engine, rows: pa.Table, name: str) -> None:
    """Make a table in the engine of rows that are here; it has its name only when it is complete.

    >>> from quorate.warehouse.engine import connect
    >>> engine = connect()
    >>> put_table(engine, pa.table({"task": [1]}), "labels")
    >>> engine.backend.table("labels").to_pyarrow().to_pydict()
    {'task': [1]}
    """
    _under_its_name(engine, name, lambda own, database: fill_table(engine.backend, rows, own, database))


def _under_its_name(engine: Engine, name: str, make: Callable[[str, str | None], object]) -> None:
    """Make a table under another name, and give it its own when it is complete."""
    backend, temporary = engine.backend, f"{name}_{secrets.token_hex(4)}"
    database, _, own = temporary.rpartition(".")
    try:
        with engine.running("voting"):
            make(own, database or None)
            rename_table(backend, temporary, name)
    except BaseException:  # also when interrupted
        with suppress(Exception):  # the connection itself may be gone, and then the engine cleans up
            drop_table(backend, temporary)
        raise


def _is_remote(path: str | Path) -> bool:
    return "://" in str(path)
