"""Labels -> a file or a table of the engine, which appears when it is complete.

An engine with transactions creates and fills the table in one; elsewhere (Spark and others) the table is filled under a
temporary name and renamed.

The labels of all blocks, with the ids of their tasks -> a file or a table, piece by piece.

Labels that were written piece by piece, to a file or a table; how sure they are, and how to have them here.
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
from quorate.backends.disk import FileBlocks, task_names
from quorate.backends.engine import Engine
from quorate.backends.expressions import EngineTable
from quorate.backends.source import json_lines_in
from quorate.backends.transfer import TRANSACTIONAL, drop_table, fill_table, has_table, longest_name, rename_table
from quorate.errors import EngineError, NotInMemoryError, UnwritableFileError, shown
from quorate.io.atomic import check_target, together
from quorate.io.inputs import is_remote, local_path, refuse_input
from quorate.io.read_table import read_table
from quorate.progress import report
from quorate.voting.vote import EXPECTED_COST, ConfidenceStats, ConfidenceTotals, LabelRows

ENDINGS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".jsonl": "jsonl"}


def check_output(engine: Engine, output: str | Path | None, output_table: str | None) -> None:
    """Refuse, before anything is counted, what could not be written afterwards.

    Raises:
        UnwritableFileError: the ending, or the folder, will not do.
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
            _check_place(path)
        elif engine.name != "duckdb" or format_of_labels(output) == "jsonl":
            raise UnwritableFileError(
                f"only DuckDB can write to {render_address(output)} (Parquet or CSV); name a local file or a table"
            )
    if output_table is not None:
        check_table(engine, output_table)


def check_table(engine: Engine, name: str) -> None:
    """Refuse to make a table that exists already, or whose name the engine would cut short.

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


def _check_place(path: Path) -> None:
    if not path.absolute().parent.is_dir():
        raise UnwritableFileError(f"cannot write {path}: there is no such folder. Make it, or choose another")
    if any(mark in path.name for mark in "*?["):
        raise UnwritableFileError(
            f"cannot write {path}: in an engine, *, ? and [ in a path stand for a pattern. Choose another name"
        )
    check_target(path)


def format_of_labels(output: str | Path) -> str:
    """Name the format that a file's ending stands for.

    >>> format_of_labels("labels.pq")
    'parquet'
    """
    return ENDINGS[Path(output).suffix.lower()]


def write_remote(engine: Engine, file: Path, output: str) -> None:
    r"""Let DuckDB copy a Parquet file of labels to another place, in the format of its name.

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
        write(rows, output)  # what writes there makes its files appear when they are complete


def put_table(engine: Engine, rows: pa.Table | Iterator[pa.RecordBatch], name: str) -> None:
    """Make a table in the engine of rows that are in memory, or that arrive batch by batch, one batch at least.

    The table appears when it is complete.

    >>> from quorate.backends.engine import connect
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

    def make(table_name: str, database: str | None) -> None:
        try:
            fill_table(engine.backend, content, table_name, database)
        except Exception:
            if failed:  # the engine's message about rows that end early may not name the cause
                raise failed[0] from None
            raise

    content: pa.Table | pa.RecordBatchReader = rows
    if not isinstance(rows, pa.Table):
        first = next(rows)
        content = pa.RecordBatchReader.from_batches(first.schema, chain([first], coming(rows)))
    if engine.backend.name in TRANSACTIONAL:
        database, _, table_name = name.rpartition(".")
        with engine.running("voting"):
            make(table_name, database or None)
    else:
        _under_its_name(engine, name, make)


def put_spark_table(engine: Engine, frame: Any, name: str) -> None:
    """Let Spark's executors write a table; it has its name only when it is complete.

    >>> put_spark_table  # doctest: +ELLIPSIS
    <function put_spark_table at ...>
    """

    def make(table_name: str, database: str | None) -> None:
        within = database or engine.backend.raw_sql("SELECT current_database()").first()[0]  # type: ignore[attr-defined]
        frame.write.saveAsTable(f"`{within}`.`{table_name}`")

    _under_its_name(engine, name, make)


@contextmanager
def all_or_none(engine: Engine) -> Iterator[list[str | None]]:
    """Let the files that are written within appear together at the end; where anything fails, none, and no table.

    Tables that were made within are put on the list that this hands out, to be taken back.

    >>> from quorate.backends.engine import connect
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


def _under_its_name(engine: Engine, name: str, make: Callable[[str, str | None], object]) -> None:
    """Make a table under a temporary name, and rename it when it is complete.

    The temporary name has 24 bytes whatever the name asked for: no engine cuts it, and its 64 random bits are those of
    no other table, so that the table which is dropped after an error is the one that was made here.
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


AT_ONCE = 1 << 20  # labels that are written at a time


@dataclass
class LabelTally(ConfidenceTotals):
    """How sure the labels are that have gone by."""

    columns: tuple[str, ...] = ()  # of the labels, where they are put to batches

    def add_rows(self, rows: LabelRows) -> None:
        """Count the labels of a block."""
        self.add(rows.label, rows.confidence, rows.tied, rows.extra_columns.get(EXPECTED_COST))


def label_batches(parts: Iterable[LabelRows], blocks: FileBlocks, tally: LabelTally) -> Iterator[pa.RecordBatch]:
    """Yield the labels of all blocks with the ids of their tasks, in batches.

    Args:
        parts: labels of each block, in their order.
        blocks: the blocks.
        tally: counts the labels on the way.

    >>> from quorate.methods.fit_blocks import fit_blocks
    >>> from quorate.io.options import ReadOptions
    >>> from quorate.backends.disk import pack_blocks
    >>> rows = pa.table({"task": [7, 5, 7], "worker": ["a", "a", "b"], "label": ["x", "y", "x"]})
    >>> blocks = pack_blocks(rows.to_batches(), 3, ReadOptions(), engine="duckdb")
    >>> batch = next(label_batches(fit_blocks(blocks, "majority").labels(blocks), blocks, LabelTally()))
    >>> batch["task"].to_pylist(), batch["label"].to_pylist()
    ([5, 7], ['y', 'x'])
    """
    names = _TaskNames(task_names(blocks.packed))
    classes = blocks.crowd_info.classes
    labelled = ((part, labels_of_part(part, names.next(len(part.label)), classes)) for part in parts)
    return larger_batches(labelled, tally, blocks.n_tasks)


def larger_batches(
    parts: Iterable[tuple[LabelRows, pa.RecordBatch]], tally: LabelTally, n_tasks: int
) -> Iterator[pa.RecordBatch]:
    """Put the labels of blocks together to batches that are worth writing, and count them on the way.

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
        if n >= AT_ONCE:
            yield _together(waiting)
            waiting = []
            n = 0
        report("voting", tally.n, n_tasks)
    if waiting:
        yield _together(waiting)


def labels_of_part(part: LabelRows, names: pa.Array, classes: pa.Array) -> pa.RecordBatch:
    """Put names to the codes of a block's labels: one row per task, as `quorate.Result.labels` has them.

    >>> part = LabelRows(np.array([1]), np.array([0.9]), np.array([0.8]), np.array([3]), np.array([False]))
    >>> labels_of_part(part, pa.array(["t1"]), pa.array(["cat", "dog"])).to_pylist()[0]["label"]
    'dog'
    """
    return pa.RecordBatch.from_pydict(part.columns(names, classes))


def _together(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    (batch,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return batch


class _TaskNames:
    """The ids of tasks, handed out in their order, some at a time."""

    def __init__(self, files: Iterator[pa.Array]) -> None:
        self.files = files
        self.left: pa.Array | None = None

    def next(self, n: int) -> pa.Array:
        """Hand out the next n ids."""
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
            stream.write((",".join(batch.schema.names) + "\n").encode())  # our own names, which need no quotes
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
    """Labels that are read when somebody asks for them.

    A copy by pickle has the figures and what was read before; of files that were only for the time being, no more.

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
    file: Path | None = None  # what was written, there or for the time being
    columns: tuple[str, ...] = ()  # of what was written
    keeper: Any = field(default=None, repr=False)  # who removes a file that is for the time being, when it goes itself
    summed_chances: FloatArray | None = field(default=None, repr=False)  # by `Vote.chances`

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
        """Return how sure the labels are."""
        return self.figures

    def labels(self) -> Table:
        """Read the labels, in the order of the tasks."""
        return Table(pa.Table.from_batches(self.batches()).sort_by("task"))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the labels piece by piece."""
        if self.in_table:
            return self.engine.stream(self.table, "handing out the labels")
        file = self._file()
        if file.suffix.lower() in (".parquet", ".pq"):
            from pyarrow import parquet

            return iter(parquet.ParquetFile(file).iter_batches())
        return iter(_typed(read_table(file, dict.fromkeys(self.columns, ""))).to_batches())

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


def _typed(table: pa.Table) -> pa.Table:
    """Give text its types: all fields of CSV are read as text, and those without a value as empty."""
    kinds = {"n_answers": pa.int64(), "n_abstained": pa.int64(), "tied": pa.bool_()}
    for k, name in enumerate(table.column_names):
        if name not in ("task", "status"):
            kind = table.column(name).type if name == "label" else kinds.get(name, pa.float64())
            table = table.set_column(k, name, _null_where_empty(table.column(name)).cast(kind))
    return table


def _null_where_empty(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_string(column.type):
        return column
    return pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)
