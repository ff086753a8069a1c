"""Rows of a Spark table -> pieces of complete tasks in its partitions, moved once by a hash of the task.

The executors run the same code as other engines: `quorate.backends.task_rows` resolves conflicts, and
`quorate.io.columns` numbers the ids of workers and classes. So a partition that is computed again, because its
machine was lost, has the same result.
"""

import pickle
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from quorate.arrays import BoolArray, IntArray, from_numpy, starts_of, table_of, to_numpy
from quorate.backends.partition import Coder, PartitionedRows, TaskFiles, bits_for, hashes_of, plain_column
from quorate.backends.task_rows import Totals, no_totals, resolve_task_rows
from quorate.blocks.block import Abstentions, Block, check_codes, code_type
from quorate.blocks.memory import MAX_BLOCK_ANSWERS, MIN_LANE_ANSWERS
from quorate.errors import BlankFieldError, QuorateError, count
from quorate.io.columns import encode, in_order_of_ids, positions
from quorate.io.gold import LocalGold
from quorate.io.labels import alphabet_of, takes_blanks
from quorate.io.options import ROLES, ReadOptions


def list_workers_and_classes(frame: Any, n_rows: int, reading: ReadOptions) -> PartitionedRows:
    """Return the workers and classes of a Spark table, in two passes over it.

    Args:
        frame: a Spark DataFrame of task, worker, label (and order).
        n_rows: number of rows.
        reading: how missing fields are handled, and the classes.

    Raises:
        InputError: fields are missing, and such rows are not to be skipped; or no answer is left.
    """
    from pyspark.sql import functions as spark

    if "order" in frame.columns and (missing := frame.where(spark.col("order").isNull()).count()):
        raise BlankFieldError(f"the column that orders the answers is missing in {count(missing, 'row')} or more")
    # Two passes that read one or two columns: a single pass that groups by both columns and is cached costs more.
    by_worker = arrow_of(frame.groupBy("worker").agg(spark.count(spark.lit(1)).alias("n")))
    codes, workers = encode(by_worker.column("worker"), reading.columns[1])
    no_worker = _missing_condition(by_worker.column("worker"), codes, "worker")
    _refuse_missing(frame, by_worker, codes, "worker", no_worker, reading)
    counts = spark.count(spark.lit(1)).alias("n"), spark.count(spark.when(~no_worker, 1)).alias("held")
    by_label = arrow_of(frame.groupBy("label").agg(*counts))
    codes, labels = encode(by_label.column("label"), reading.columns[2], is_label=True)
    _refuse_missing(
        frame, by_label, codes, "label", _missing_condition(by_label.column("label"), codes, "label"), reading
    )
    used = np.bincount(codes[codes >= 0], _numbers(by_label, "held")[codes >= 0], len(labels))
    _, worker_names = in_order_of_ids(np.arange(len(workers)), workers)
    alphabet = alphabet_of(labels, used, n_rows, reading, blanks=bool((codes < 0).any()))
    worker_codes = np.arange(len(worker_names))  # codes are already in the order of the ids
    meaning = alphabet.answer_names, alphabet.class_of_symbol, alphabet.unused_abstention_labels, alphabet.n_abstentions
    return PartitionedRows((), worker_names, alphabet.classes, worker_codes, alphabet.code, n_rows, 0, *meaning, labels)


def arrow_of(frame: Any) -> pa.Table:
    """Return a (small) Spark DataFrame as an Arrow table."""
    if hasattr(frame, "toArrow"):
        return frame.toArrow()
    batches = frame._collect_as_arrow()  # before Spark 4
    return pa.Table.from_batches(batches) if batches else pa.table({name: pa.nulls(0) for name in frame.columns})


def _numbers(table: pa.Table, name: str) -> IntArray:
    return to_numpy(table.column(name).combine_chunks()).astype(np.int64)


def _missing_condition(values: pa.ChunkedArray, codes: IntArray, role: str) -> Any:
    """Return a Spark condition that a field is missing: null, or one of the values that count as missing."""
    from pyspark.sql import functions as spark

    blank = values.filter(from_numpy((codes < 0) & to_numpy(values.combine_chunks().is_valid()))).to_pylist()
    column = spark.col(role)
    return (column.isNull() | column.isin(blank)) if blank else column.isNull()


def _refuse_missing(
    frame: Any, counts: pa.Table, codes: IntArray, role: str, is_missing: Any, reading: ReadOptions
) -> None:
    """Raise an error that shows a row without a field, unless such rows are to be skipped."""
    lacking = int(_numbers(counts, "n")[codes < 0].sum())
    if not lacking or reading.skip_missing or (role == "label" and takes_blanks(reading)):
        return
    row = arrow_of(frame.where(is_missing).limit(1)).to_pylist()[0]
    coder = Coder(reading.columns[ROLES.index(role)])
    coder.note(lacking, {key: row[key] for key in ROLES})
    coder.refuse(role, reading.columns)


MIN_BATCH_ROWS = 1 << 18  # rows that are coded together; Spark passes ten thousand at a time
PARTITIONS_PER_CORE = 3  # so that a slow partition delays the others little
TRIES_PER_PARTITION = 40  # numbers that are tried; a partition gets none with probability e^-40, about 10^-17
HALF_BITS = np.uint64(32)


@dataclass(frozen=True)
class Piece:
    """A block in a partition of Spark, with the ids of its tasks."""

    start: IntArray
    worker: IntArray
    label: IntArray
    known: IntArray | None  # which of the known labels each task has, -1 for none
    names: bytes  # an Arrow stream
    symbol: IntArray | None = None  # [answers], the label given, where there are grades
    abstentions: Abstentions | None = None  # None if there are none


@dataclass(frozen=True)
class RowTotals:
    """Counts of one partition's rows; its last element."""

    totals: Totals | None = None
    missing: Coder | None = None
    seen: BoolArray | None = None  # mask of the known labels whose tasks are in this partition
    kind: pa.DataType | None = None  # type of the task ids; None without tasks
    error: QuorateError | None = None


@dataclass(frozen=True)
class Packing:
    """What an executor needs to number rows and to resolve repeats and conflicts."""

    rows: PartitionedRows
    reading: ReadOptions
    gold: LocalGold | None
    keys: IntArray  # for each partition a number that Spark's hash maps to it
    bits: int  # a partition is sorted in 2**bits parts

    def numbered(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows with codes of workers and classes, and the key of the partition of their task."""
        for table in _merge_small_batches(batches):
            columns = {name: plain_column(table.column(name).combine_chunks()) for name in table.column_names}
            w, c = (self._codes(columns[role], role) for role in ("worker", "label"))
            part = (_shuffle_key(hashes_of(columns["task"]), len(self.keys)) >> HALF_BITS).astype(np.int64)
            out = {"key": from_numpy(self.keys[part]), "task": table.column("task")}
            out |= {"w": from_numpy(w), "c": from_numpy(c)}
            if "order" in columns:
                out["order"] = table.column("order")
            yield from table_of(out).combine_chunks().to_batches()

    def _codes(self, column: pa.Array, role: str) -> IntArray:
        among = self.rows.worker_names if role == "worker" else self.rows.labels
        assert among is not None  # `list_workers_and_classes` gives them
        codes, names = encode(pa.chunked_array([column]), role, is_label=role == "label")
        position = positions(names.cast(among.type), among)
        return np.append(position, -1).astype(np.int32)[codes]

    def packed(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the pieces of a partition and their totals, each as bytes."""
        try:
            for piece in self._pieces(batches):
                yield _as_row(piece)
        except QuorateError as error:  # not raised: Spark would try three more times, and show a traceback
            yield _as_row(RowTotals(error=error))

    def _pieces(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Piece | RowTotals]:
        totals = no_totals(self.rows)
        missing = Coder(self.reading.columns[0])
        gold = None if self.gold is None else replace(self.gold, seen=np.zeros_like(self.gold.seen))
        kind = None
        with tempfile.TemporaryDirectory(prefix="quorate-blocks-") as folder:
            for table in self._parts(batches, Path(folder)):
                resolved = resolve_task_rows(table, self.rows, self.reading, totals, missing)
                names = resolved.names
                rows = resolved.rows
                totals.add(rows, len(names))
                kind = names.type
                start = starts_of(np.bincount(rows.task, minlength=len(names)))
                known = None if gold is None else gold.codes_of(names)
                sizes = len(self.rows.worker_names), len(self.rows.classes)
                all_tasks = check_codes(Block(start, rows.worker, rows.label, *sizes, gold=known))
                if resolved.symbol is not None:
                    narrow = code_type(len(self.rows.symbols(sizes[1])))
                    all_tasks = replace(all_tasks, symbol=resolved.symbol.astype(narrow))
                for block in replace(all_tasks, abstentions=resolved.abstentions).pieces(MAX_BLOCK_ANSWERS):
                    yield _piece(block, names)
        seen = None if gold is None else gold.seen
        yield RowTotals(replace(totals, per_worker=np.zeros(0, np.int64)), missing, seen, kind)

    def _parts(self, batches: Iterable[pa.RecordBatch], folder: Path) -> Iterator[pa.Table]:
        """Yield the rows of a partition in parts that fit in memory, in the order of the hashes."""
        if self.bits == 0:
            table_batches = list(batches)
            if table_batches:
                yield pa.Table.from_batches(table_batches).drop_columns("key")
            return
        with TaskFiles(folder, self.bits) as files:
            for table in _merge_small_batches(batches):
                inside = _shuffle_key(hashes_of(table.column("task").combine_chunks()), len(self.keys)) << HALF_BITS
                files.put(table.drop_columns("key"), (inside >> np.uint64(64 - self.bits)).astype(np.uint16))
        for path in files.paths:
            if path.exists():
                table = pa.ipc.open_stream(pa.memory_map(str(path))).read_all()
                if table.num_rows:
                    yield table
                path.unlink()


def _piece(block: Block, names: pa.Array) -> Piece:
    """Return a block as a piece, with its own part of the arrays that blocks share."""
    rows = block.answers
    return Piece(
        block.start - block.start[0],
        block.worker[rows],
        block.label[rows],
        block.gold,
        to_stream(names[block.tasks]),
        None if block.symbol is None else block.symbol[rows],
        None if block.abstentions is None or not block.abstentions.per_task.any() else block.abstentions.alone(),
    )


def _shuffle_key(hashes: NDArray[np.uint64], n: int) -> NDArray[np.uint64]:
    """Return the position of hashes in n partitions, in their order: the partition << 32 | the position within it."""
    return (hashes >> HALF_BITS) * np.uint64(n)


def _merge_small_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(table.num_rows for table in waiting) >= MIN_BATCH_ROWS:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


def _as_row(element: Piece | RowTotals) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"piece": pa.array([pickle.dumps(element, protocol=5)], pa.binary())})


def to_stream(column: pa.Array) -> bytes:
    """Write a column as an Arrow stream.

    >>> from_stream(to_stream(pa.array([1, None]))).to_pylist()
    [1, None]
    """
    table = pa.table({"task": column})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def from_stream(data: bytes) -> pa.Array:
    """Read a column from an Arrow stream.

    >>> from_stream(to_stream(pa.array(["a"]))).to_pylist()
    ['a']
    """
    column = pa.ipc.open_stream(data).read_all().column("task")
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


@dataclass(frozen=True)
class OnExecutor:
    """A step of packing that reads its `Packing` from a broadcast on the executor."""

    broadcast: Any  # a Spark broadcast of a Packing
    step: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the result of the step on the rows of a partition."""
        packed: Iterator[pa.RecordBatch] = getattr(self.broadcast.value, self.step)(batches)
        return packed


def pack_in_spark(frame: Any, rows: PartitionedRows, reading: ReadOptions, gold: LocalGold | None) -> tuple[Any, Any]:
    """Pack whole tasks into pieces in the partitions of Spark.

    Args:
        frame: a Spark DataFrame of task, worker, label (and order).
        rows: the workers and classes of the frame.
        reading: how conflicts and missing fields are handled.
        gold: known labels.

    Returns an RDD, not computed yet, of `Piece` and, last in each partition, `RowTotals`; and the broadcast variable,
    which must be kept while a partition may have to be computed again.
    """
    from pyspark.sql.types import BinaryType, IntegerType, LongType, StructField, StructType

    session = frame.sparkSession
    n = partitions_for(rows.n_rows, len(rows.worker_names), session.sparkContext.defaultParallelism)
    packing = Packing(rows, reading, gold, _keys(session, n), bits_for(-(-rows.n_rows // n)))
    broadcast = session.sparkContext.broadcast(packing)
    field_of = {field.name: field for field in frame.schema.fields}
    fields = [StructField("key", LongType()), field_of["task"], StructField("w", IntegerType())]
    fields += [StructField("c", IntegerType()), *([field_of["order"]] if "order" in field_of else [])]
    numbered = frame.mapInArrow(OnExecutor(broadcast, "numbered"), StructType(fields))
    shuffled = numbered.repartition(n, "key")
    packed = shuffled.mapInArrow(OnExecutor(broadcast, "packed"), StructType([StructField("piece", BinaryType())]))
    return packed.rdd.map(_unpickle), broadcast


def _unpickle(row: Any) -> Piece | RowTotals:
    piece: Piece | RowTotals = pickle.loads(row.piece)
    return piece


def partitions_for(n_rows: int, n_workers: int, cores: int) -> int:
    """Return the number of partitions: a few per core, but fewer if tables of all workers would cost more than answers.

    >>> partitions_for(10_000_000, 50_000, 2), partitions_for(1_000_000, 50_000, 2)
    (6, 2)
    """
    return max(cores, min(PARTITIONS_PER_CORE * cores, 1 + n_rows // (MIN_LANE_ANSWERS * max(n_workers, 1))))


def _keys(session: Any, n: int) -> IntArray:
    """Return a number for each partition that Spark's hash maps to it; Spark partitions rows by hashes of a column."""
    from pyspark.sql import functions as spark

    tried = session.range(TRIES_PER_PARTITION * n).select(
        "id", spark.pmod(spark.hash("id"), spark.lit(n)).alias("part")
    )
    number, part = (to_numpy(column.combine_chunks()) for column in arrow_of(tried).columns)
    parts, first = np.unique(part, return_index=True)
    keys: IntArray = np.arange(n)  # without such a number, that of another partition; the rows of a task stay together
    keys[parts] = number[first]
    return keys
