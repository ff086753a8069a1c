"""Labels -> a file or a table of the engine, which appears when it is complete.

An engine with transactions creates and fills the table in one transaction; in others (such as Spark) it is filled under
a temporary name and then renamed. Labels are written in batches, with the ids of their tasks. `KeptLabels` are
labels that were written, with their confidence statistics; they are read when they are used.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np  # noqa: F401 (for the examples)
import pyarrow as pa
import pyarrow.compute as pc

from quorate.addresses import render_address
from quorate.arrays import FloatArray, Table
from quorate.backends.engine import Engine
from quorate.backends.expressions import EngineTable
from quorate.backends.source import json_lines_in
from quorate.backends.transfer import TRANSACTIONAL, drop_table, fill_table, has_table, longest_name, rename_table
from quorate.blocks.files import FileBlocks
from quorate.errors import EngineError, NotInMemoryError, UnwritableFileError, shown
from quorate.io.atomic import atomic_batch, check_target
from quorate.io.inputs import is_remote, local_path, refuse_input
from quorate.io.read_table import read_table
from quorate.progress import report
from quorate.voting.vote import EXPECTED_COST, ConfidenceStats, ConfidenceTotals, LabelRows

ENDINGS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".jsonl": "jsonl"}


def check_output(engine: Engine, output: str | Path | None, output_table: str | None) -> None:
    """Check, before any computation, that the labels can be written.

    Raises:
        UnwritableFileError: the ending is unknown, or the folder cannot be written to.
        EngineError: there is a table of that name.

    >>> from quorate.backends.engine import connect
    >>> check_output(connect(), "labels.parquet", None)
    """
    if output is not None:
        path = Path(local_path(output))
        if path.suffix.lower() not in ENDINGS:
            raise UnwritableFileError(
                f"The format of {render_address(output)} is not clear. End the name in .parquet, .csv or .jsonl"
            )
        if not is_remote(output):
            _check_folder(path)
        elif engine.name != "duckdb" or format_of_labels(output) == "jsonl":
            raise UnwritableFileError(
                f"only DuckDB can write to {render_address(output)} (Parquet or CSV); name a local file or a table"
            )
    if output_table is not None:
        check_table(engine, output_table)


def check_table(engine: Engine, name: str) -> None:
    """Check that a table does not exist, and that the engine does not truncate its name.

    Raises:
        EngineError: it exists, or its name is too long.

    >>> from quorate.backends.engine import connect
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
        raise EngineError(f"The table {name!r} exists already. Replace it with --replace, or choose another name")


def _check_folder(path: Path) -> None:
    if not path.absolute().parent.is_dir():
        raise UnwritableFileError(f"cannot write {path}: there is no such folder. Make it, or choose another")
    if any(mark in path.name for mark in "*?["):
        raise UnwritableFileError(
            f"cannot write {path}: in an engine, *, ? and [ in a path stand for a pattern. Choose another name"
        )
    check_target(path)


def format_of_labels(output: str | Path) -> str:
    """Return the format of a file name's ending.

    >>> format_of_labels("labels.pq")
    'parquet'
    """
    return ENDINGS[Path(output).suffix.lower()]


def write_remote(engine: Engine, file: Path, output: str) -> None:
    r"""Let DuckDB copy a Parquet file of labels to another address, in the format of its name.

    >>> import tempfile
    >>> from pyarrow import parquet
    >>> from quorate.backends.engine import connect
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
        write(rows, output)  # DuckDB's writers show a file when it is complete


def put_table(engine: Engine, rows: pa.Table | Iterator[pa.RecordBatch], name: str) -> None:
    """Create a table in the engine from rows in memory, or from at least one batch of rows.

    The table appears when it is complete.

    >>> from quorate.backends.engine import connect
    >>> engine = connect()
    >>> put_table(engine, pa.table({"task": [1]}), "labels")
    >>> engine.backend.table("labels").to_pyarrow().to_pydict()
    {'task': [1]}
    """
    failed: list[Exception] = []

    def recorded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        except Exception as error:
            failed.append(error)
            raise

    def make(table_name: str, database: str | None) -> None:
        try:
            fill_table(engine.backend, content, table_name, database)
        except Exception:
            if failed:  # the engine reports only that the rows ended early
                raise failed[0] from None
            raise

    content: pa.Table | pa.RecordBatchReader = rows
    if not isinstance(rows, pa.Table):
        first = next(rows)
        content = pa.RecordBatchReader.from_batches(first.schema, chain([first], recorded(rows)))
    if engine.backend.name in TRANSACTIONAL:
        database, _, table_name = name.rpartition(".")
        with engine.running("voting"):
            make(table_name, database or None)
    else:
        _make_under_temporary_name(engine, name, make)


def put_spark_table(engine: Engine, frame: Any, name: str) -> None:
    """Let Spark's executors write a table; it gets its name when it is complete."""

    def make(table_name: str, database: str | None) -> None:
        within = database or engine.backend.raw_sql("SELECT current_database()").first()[0]  # type: ignore[attr-defined]
        frame.write.saveAsTable(f"`{within}`.`{table_name}`")

    _make_under_temporary_name(engine, name, make)


@contextmanager
def all_or_none(engine: Engine) -> Iterator[list[str | None]]:
    """Show the files that are written in this context together at its end; after an error, no file and no table.

    The caller appends the names of tables made in this context to the yielded list; after an error they are dropped.

    >>> from quorate.backends.engine import connect
    >>> engine = connect()
    >>> with suppress(ZeroDivisionError), all_or_none(engine) as new_tables:
    ...     put_table(engine, pa.table({"task": [1]}), "labels")
    ...     new_tables.append("labels")
    ...     _ = 1 / 0
    >>> has_table(engine.backend, "labels")
    False
    """
    new_tables: list[str | None] = []
    try:
        with atomic_batch():
            yield new_tables
    except BaseException:  # also when interrupted
        for name in new_tables:
            if name is not None:
                with suppress(Exception):  # the connection itself may be gone
                    drop_table(engine.backend, name)
        raise


def _make_under_temporary_name(engine: Engine, name: str, make: Callable[[str, str | None], object]) -> None:
    """Make a table under a temporary name, and rename it when it is complete.

    The temporary name has 24 bytes, which no engine truncates. Its 64 random bits make it unique, so that after an
    error only the table that was made here is dropped.
    """
    backend = engine.backend
    database = name.rpartition(".")[0]
    temporary_name = f"quorate_{secrets.token_hex(8)}"
    temporary = f"{database}.{temporary_name}" if database else temporary_name
    try:
        with engine.running("voting"):
            make(temporary_name, database or None)
            rename_table(backend, temporary, name)
    except BaseException:  # also when interrupted
        with suppress(Exception):  # the connection itself may be gone
            drop_table(backend, temporary)
        raise


LABELS_PER_BATCH = 1 << 20  # labels that are written together


@dataclass
class LabelTally(ConfidenceTotals):
    """Confidence statistics of the labels counted so far."""

    columns: tuple[str, ...] = ()  # of the batches of labels

    def add_rows(self, rows: LabelRows) -> None:
        """Count the labels of a block."""
        self.add(rows.label, rows.confidence, rows.tied, rows.extra_columns.get(EXPECTED_COST))


def label_batches(parts: Iterable[LabelRows], blocks: FileBlocks, tally: LabelTally) -> Iterator[pa.RecordBatch]:
    """Yield the labels of all blocks with the ids of their tasks, in batches.

    Args:
        parts: labels of each block, in order.
        blocks: the blocks.
        tally: to which the labels are added.

    >>> from quorate.methods.fit_blocks import fit_blocks
    >>> from quorate.io.options import ReadOptions
    >>> from quorate.backends.disk import build_file_blocks
    >>> rows = pa.table({"task": [7, 5, 7], "worker": ["a", "a", "b"], "label": ["x", "y", "x"]})
    >>> blocks = build_file_blocks(rows.to_batches(), 3, ReadOptions(), engine="duckdb")
    >>> batch = next(label_batches(fit_blocks(blocks, "majority").labels(blocks), blocks, LabelTally()))
    >>> batch["task"].to_pylist(), batch["label"].to_pylist()
    ([5, 7], ['y', 'x'])
    """
    names = _TaskNames(blocks.files.task_names())
    classes = blocks.crowd_info.classes
    labelled = ((part, labels_of_part(part, names.next(len(part.label)), classes)) for part in parts)
    return larger_batches(labelled, tally, blocks.n_tasks)


def larger_batches(
    parts: Iterable[tuple[LabelRows, pa.RecordBatch]], tally: LabelTally, n_tasks: int
) -> Iterator[pa.RecordBatch]:
    """Yield the labels of blocks in larger batches, and add them to the tally.

    >>> one = LabelRows(np.array([0]), np.array([0.9]), np.array([0.8]), np.array([3]), np.array([False]))
    >>> rows = labels_of_part(one, pa.array(["t1"]), pa.array(["cat"]))
    >>> [batch.num_rows for batch in larger_batches([(one, rows), (one, rows)], LabelTally(), 2)]
    [2]
    """
    waiting: list[pa.RecordBatch] = []
    n = 0
    for part, rows in parts:
        tally.add_rows(part)
        tally.columns = tuple(rows.schema.names)
        waiting.append(rows)
        n += len(part.label)
        if n >= LABELS_PER_BATCH:
            yield _combine_batches(waiting)
            waiting = []
            n = 0
        report("voting", tally.n, n_tasks)
    if waiting:
        yield _combine_batches(waiting)


def labels_of_part(part: LabelRows, names: pa.Array, classes: pa.Array) -> pa.RecordBatch:
    """Return the labels of a block with names for codes: one row per task, as in `quorate.Result.labels`.

    >>> part = LabelRows(np.array([1]), np.array([0.9]), np.array([0.8]), np.array([3]), np.array([False]))
    >>> labels_of_part(part, pa.array(["t1"]), pa.array(["cat", "dog"])).to_pylist()[0]["label"]
    'dog'
    """
    return pa.RecordBatch.from_pydict(part.columns(names, classes))


def _combine_batches(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    (batch,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return batch


class _TaskNames:
    """The ids of tasks, returned in order, some at a time."""

    def __init__(self, files: Iterator[pa.Array]) -> None:
        self.files = files
        self.left: pa.Array | None = None

    def next(self, n: int) -> pa.Array:
        """Return the next n ids."""
        missing = n
        parts: list[pa.Array] = []
        while missing or not parts:
            if self.left is None or len(self.left) == 0:
                self.left = next(self.files)
            parts.append(self.left[:missing])
            self.left = self.left[missing:]
            missing -= len(parts[-1])
        return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)


def write_batches(batches: Iterator[pa.RecordBatch], stream: IO[bytes], written_as: str) -> None:
    r"""Write labels to a stream, as CSV, Parquet or JSON lines.

    >>> import io
    >>> stream = io.BytesIO()
    >>> write_batches(iter(pa.table({"task": [1], "label": ["cat"]}).to_batches()), stream, "csv")
    >>> stream.getvalue()
    b'task,label\n1,"cat"\n'
    """
    writers: dict[str, Callable[[Iterator[pa.RecordBatch], IO[bytes]], None]] = {
        "csv": _write_csv,
        "parquet": _write_parquet,
        "jsonl": _write_json_lines,
    }
    writers[written_as](batches, stream)


def _write_csv(batches: Iterator[pa.RecordBatch], stream: IO[bytes]) -> None:
    from pyarrow import csv

    for number, batch in enumerate(batches):
        if number == 0:
            stream.write((",".join(batch.schema.names) + "\n").encode())  # our column names need no quotes
        csv.write_csv(batch, stream, csv.WriteOptions(include_header=False, quoting_style="needed"))


def _write_parquet(batches: Iterator[pa.RecordBatch], stream: IO[bytes]) -> None:
    from pyarrow import parquet

    first = next(batches)
    with parquet.ParquetWriter(stream, first.schema, use_dictionary=["label", "n_answers"]) as writer:
        writer.write_batch(first)
        for batch in batches:
            writer.write_batch(batch)


def _write_json_lines(batches: Iterator[pa.RecordBatch], stream: IO[bytes]) -> None:
    from quorate.io.write_table import to_json

    for batch in batches:
        for row in batch.to_pylist():
            stream.write(to_json(row).encode() + b"\n")


@dataclass(frozen=True)
class KeptLabels:
    """Labels in a file or a table, which are read when they are used.

    A pickled copy has the confidence statistics and what was read before, but not the labels of a temporary file.

    >>> import quorate
    >>> rows = {"task": [1, 1, 1, 2, 2, 2], "worker": list("abcabc"), "label": list("xxyxxx")}
    >>> result = quorate.backends.aggregate(rows, "majority", most=0)
    >>> result.label_source.confidence_stats().doubtful, result.engine_table.columns[:2]
    (1, ('task', 'label'))
    """

    engine: Engine
    figures: ConfidenceStats
    output: str | Path | None = field(default=None, repr=False)  # the file or the table that the caller named
    in_table: bool = False  # whether that is a table of the engine
    file: Path | None = None  # the file that was written, at the output or temporary
    columns: tuple[str, ...] = ()  # of what was written
    keeper: Any = field(default=None, repr=False)  # removes a temporary file when it is deleted itself
    summed_chances: FloatArray | None = field(default=None, repr=False)  # as `Vote.chances` returns them

    @property
    def table(self) -> EngineTable:
        """The labels as an ibis table: of the engine, or of a DuckDB that reads the file."""
        import ibis

        if self.in_table:
            database, _, table_name = str(self.output).rpartition(".")
            return self.engine.backend.table(table_name, database=database or None)
        backend = ibis.duckdb.connect()
        file = str(self._file())
        ending = Path(file).suffix.lower()
        ids = ("task", "label")  # DuckDB would make numbers of text such as 007
        if ending == ".csv":
            table: EngineTable = backend.read_csv(file, types=dict.fromkeys(ids, "VARCHAR"))
        elif ending == ".jsonl":
            table = json_lines_in(Engine(backend), file, ids)
        else:
            table = backend.read_parquet(file)
        return table

    def confidence_stats(self) -> ConfidenceStats:
        """Return the confidence statistics of the labels."""
        return self.figures

    def labels(self) -> Table:
        """Read the labels, in the order of the tasks."""
        return Table(pa.Table.from_batches(self.batches()).sort_by("task"))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the labels in batches."""
        if self.in_table:
            return self.engine.stream(self.table, "handing out the labels")
        file = self._file()
        if file.suffix.lower() in (".parquet", ".pq"):
            from pyarrow import parquet

            return iter(parquet.ParquetFile(file).iter_batches())
        return iter(_cast_columns(read_table(file, dict.fromkeys(self.columns, ""))).to_batches())

    def run(self) -> dict[str, str | list[str] | None]:
        """Describe where the labels come from: the engine, the queries that ran there, and what was written."""
        output = None if self.output is None else render_address(self.output)
        return {"engine": self.engine.name, "output": output, "queries": list(self.engine.journal)}

    def _file(self) -> Path:
        if self.file is None or not self.file.exists():
            written = "" if self.output is None else f"; they were written to {render_address(self.output)}"
            raise NotInMemoryError(
                f"This copy of a result has no labels: they are in {self.engine.name}, or in files of the process "
                f"that made it{written}. Read the attribute labels before the result is pickled"
            )
        return self.file

    def __getstate__(self) -> dict[str, object]:
        file = None if self.keeper is not None else self.file
        return {**vars(self), "engine": self.engine.without_connection(), "file": file, "keeper": None}

    def __deepcopy__(self, memo: dict[int, object]) -> "KeptLabels":
        return self


def _cast_columns(table: pa.Table) -> pa.Table:
    """Cast columns of text to their types: the fields of CSV are read as text, missing ones as empty text."""
    kinds = {"n_answers": pa.int64(), "n_abstained": pa.int64(), "tied": pa.bool_()}
    for k, name in enumerate(table.column_names):
        if name not in ("task", "status"):
            column = table.column(name)
            kind = column.type if name == "label" else kinds.get(name, pa.float64())
            if pa.types.is_string(column.type):
                column = pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)
            table = table.set_column(k, name, column.cast(kind))
    return table
