"""Blocks in the partitions of Spark: a pass sends parameters to the executors, which return worker-sized sums.

Also the labels of these blocks: written by the executors, or returned in batches.
"""

import pickle
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from quorate.answers import CrowdInfo
from quorate.arrays import BoolArray, IntArray
from quorate.backends.engine import Engine
from quorate.backends.expressions import EngineTable
from quorate.backends.output import LabelTally, labels_of_part, larger_batches
from quorate.backends.partition import Coder, PartitionedRows
from quorate.backends.spark_executor import (
    CombinedSlices,
    OnEach,
    PieceReading,
    Slices,
    Summing,
    bitwise_or,
    component_roots_in,
    count_answers,
    peer_bits_in,
    tasks_up_to_hash,
    tasks_with_gold,
)
from quorate.backends.spark_packing import Piece, RowTotals, list_workers_and_classes, pack_in_spark
from quorate.backends.task_rows import Totals, check_totals, classes_in_use, crowd_info_of, no_totals, points_in_use
from quorate.blocks.block import Block, Sampled, Sums, added, in_order_of_hash, one_block
from quorate.blocks.files import LostBlocks
from quorate.blocks.memory import BITS_OF_BYTE, named_answers
from quorate.blocks.numpy_kernels import unite
from quorate.blocks.sampling import expected_share, hash_below, trim_sample
from quorate.blocks.worker_rows import ROW_BYTES, joined_slices
from quorate.io.gold import LocalGold
from quorate.io.options import ReadOptions
from quorate.voting.vote import ConfidenceStats, ConfidenceTotals, LabelRows

MAX_COLLECTED_BYTES = 1 << 28  # of the sums of all partitions; larger sums are added up by the executors
MAX_PEER_BITS = 1 << 28  # of a table of peers in each partition: 32 MB
T = TypeVar("T")


@dataclass(frozen=True)
class SparkBlocks:
    """All answers in the partitions of a Spark RDD, which is unpersisted when this object is deleted."""

    crowd_info: CrowdInfo
    reading: PieceReading = field(repr=False)
    rdd: Any = field(repr=False)  # of pieces, persisted
    engine: Engine = field(repr=False)
    kind: pa.DataType  # type of the task ids
    keeper: Any = field(repr=False, default=None)  # broadcast variables of the packing, which executors may need again

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return self.crowd_info.n_tasks

    @property
    def n_workers(self) -> int:
        """Number of workers."""
        return self.reading.n_workers

    @property
    def n_classes(self) -> int:
        """M, the number of classes."""
        return self.reading.n_classes

    @property
    def class_of_symbol(self) -> IntArray | None:
        """The class of each symbol; None where every label is a class."""
        return self.reading.class_of_symbol

    @cached_property
    def n_answers(self) -> int:
        """Number of answers."""
        return self.crowd_info.n_answers

    @property
    def per_worker(self) -> IntArray:
        """N_i, the number of answers of each worker."""
        return self.crowd_info.per_worker

    def sum(self, kernel: Callable[..., Sums], *parameters: Any) -> Sums:
        """Add up what ``kernel(blocks, *parameters)`` returns for every partition, in the order of the partitions."""
        m = self.n_classes
        symbols = 1 if self.class_of_symbol is None else len(self.class_of_symbol)  # a kernel may count them
        n_rows = min(self.n_workers * m, -(-self.n_answers // max(self.rdd.getNumPartitions(), 1)))
        of_matrices = n_rows * (8 * m + ROW_BYTES)
        size = max(len(pickle.dumps(parameters, protocol=5)), 8 * self.n_workers * m * symbols, of_matrices)
        return self._combine(added, size, kernel, parameters)

    def _combine(
        self,
        combine: Callable[[Iterable[Sums]], Sums],
        size: int,
        kernel: Callable[..., Sums],
        parameters: tuple[Any, ...],
    ) -> Sums:
        """Combine the sums of the partitions: in the driver or, if they are large, in the executors, a slice each."""
        n = self.rdd.getNumPartitions()
        with self._broadcast(kernel, parameters) as broadcast:
            if size * n <= MAX_COLLECTED_BYTES:
                return combine(self.rdd.mapPartitionsWithIndex(Summing(broadcast)).collect())
            cut = self.rdd.mapPartitionsWithIndex(Slices(Summing(broadcast), n)).groupByKey(n)
            parts = [
                part for _, part in sorted(cut.mapValues(CombinedSlices(combine)).collect(), key=lambda part: part[0])
            ]
        slices_of_sums = zip(*(slices for _, slices in parts), strict=True)
        return tuple(joined_slices(slices, shape) for slices, shape in zip(slices_of_sums, parts[0][0], strict=True))

    def map(self, kernel: Callable[..., T], *parameters: Any) -> Iterator[T]:
        """Yield ``kernel(block, *parameters)`` of every block, in order; one partition at a time is in memory."""
        return self._map(kernel, parameters, named=False)

    def each_named(self, kernel: Callable[..., T], *parameters: Any) -> Iterator[T]:
        """Yield ``kernel(block, names, *parameters)`` of every block and the ids of its tasks, in order."""
        return self._map(kernel, parameters, named=True)

    def _map(self, kernel: Callable[..., T], parameters: tuple[Any, ...], *, named: bool) -> Iterator[T]:
        with self._broadcast(kernel, parameters) as broadcast:
            yield from self.rdd.mapPartitionsWithIndex(OnEach(broadcast, named)).toLocalIterator(
                prefetchPartitions=True
            )

    @contextmanager
    def _broadcast(self, kernel: Callable[..., Any], parameters: tuple[Any, ...]) -> Iterator[Any]:
        """Send a kernel and its parameters to the executors, for one pass."""
        broadcast = self.rdd.context.broadcast((self.reading, kernel, parameters))
        try:
            with self.engine.running(f"passing over the answers ({getattr(kernel, '__name__', 'known labels too')})"):
                yield broadcast
        finally:
            broadcast.destroy()

    def sample(self, n_answers: int) -> Sampled:
        """Return the tasks with the smallest hashes, as in memory; cached."""
        samples: dict[int, Sampled] = self.__dict__.setdefault("_samples", {})
        if n_answers not in samples:
            samples[n_answers] = self._draw(n_answers)
        return samples[n_answers]

    def _draw(self, n_answers: int) -> Sampled:
        share = expected_share(self.n_answers, n_answers)
        while True:
            parts = list(self.each_named(tasks_up_to_hash, hash_below(share)))
            if share >= 1 or sum(part[0].answers.stop for part in parts) >= n_answers:
                return trim_sample(self._named_sample(parts), n_answers)
            share *= 2

    def _named_sample(self, parts: list[tuple[Block, pa.Array]]) -> Sampled:
        all_tasks = one_block([block for block, _ in parts])
        names = pa.concat_arrays([names for _, names in parts])
        return Sampled(named_answers(all_tasks, self.class_of_symbol, names, self.crowd_info), all_tasks.gold)

    def gold_tasks(self) -> Block:
        """Return the tasks of known class in memory, in the order of the hashes of their ids."""
        return in_order_of_hash(list(self.each_named(tasks_with_gold)))

    def component_roots(self, is_kept: BoolArray | None = None) -> IntArray:
        """Return the root of each worker and of its copy; see `Blocks.component_roots`."""
        parent = np.arange(2 * self.n_workers, dtype=np.int32)
        all_nodes = parent.copy()
        with self._broadcast(component_roots_in, (self.n_workers, is_kept)) as broadcast:
            for (roots_of_part,) in self.rdd.mapPartitionsWithIndex(Summing(broadcast)).toLocalIterator():
                unite(parent, all_nodes, roots_of_part)
        return parent

    def n_peers(self) -> IntArray:
        """Return the number of peers of each worker; some workers at a time: the table has a bit for each pair."""
        at_once = max(1, MAX_PEER_BITS // max(self.n_workers, 1))
        peers = [np.zeros(0, np.int64)]
        for low in range(0, self.n_workers, at_once):
            span = low, min(low + at_once, self.n_workers), self.n_workers
            (bits,) = self._combine(bitwise_or, MAX_PEER_BITS // 8, peer_bits_in, span)
            n_peers: IntArray = BITS_OF_BYTE[bits.view(np.uint8)].sum(axis=1, dtype=np.int64)
            peers.append(np.maximum(n_peers - 1, 0))  # without the worker itself
        return np.concatenate(peers)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the blocks: a copy has only the results that were computed before."""
        return LostBlocks, (self.n_tasks, self.n_workers, self.n_classes, self.n_answers, self.per_worker)


def spark_lacks(engine: Engine) -> str | None:
    """Return why this Spark cannot hold blocks (no RDDs, or another version of quorate); None if it can."""
    session: Any = engine.backend._session  # type: ignore[attr-defined]
    if "connect" in type(session).__module__.split("."):
        return "Spark Connect sends no kernels to the executors"

    def version(_: int) -> str | None:  # a nested function is pickled by value: it imports nothing on the executor
        try:
            from importlib import import_module

            return str(import_module("quorate").__version__)
        except ImportError:
            return None

    with engine.running("asking the executors for quorate"):
        n = session.sparkContext.defaultParallelism
        versions = set(session.sparkContext.parallelize(range(n), n).map(version).collect())
    own_version = version(0)
    other_versions = sorted(
        "none" if found_version is None else found_version for found_version in versions if found_version != own_version
    )
    return (
        f"its executors have other versions of quorate ({', '.join(other_versions)}, not {own_version})"
        if other_versions
        else None
    )


def spark_frame(engine: Engine, table: EngineTable) -> Any:
    """Return the Spark DataFrame of an ibis table."""
    return engine.backend._session.sql(engine.backend.compile(table))  # type: ignore[attr-defined]


def build_spark_blocks(
    engine: Engine, frame: Any, n_rows: int, reading: ReadOptions, gold: LocalGold | None = None
) -> SparkBlocks:
    """Pack rows of Spark into blocks in its partitions, each task in one block; rows are resolved as in memory.

    Args:
        engine: the engine of the session.
        frame: a Spark DataFrame of task, worker, label, and order if it decides which of two answers came first.
        n_rows: number of rows of the frame.
        reading: how conflicts and missing fields are handled, and the classes.
        gold: known labels.

    Raises:
        InputError: the answers cannot be used as they are; each cause has its own class.
    """
    from pyspark import StorageLevel

    with engine.running("listing workers and classes"):
        rows = list_workers_and_classes(frame, n_rows, reading)
    with engine.running("packing"):
        rdd, broadcast = pack_in_spark(frame, rows, reading, gold)
        rdd = rdd.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            row_totals: list[RowTotals] = rdd.filter(_is_row_totals).collect()
            totals, missing = _merge_totals(row_totals, rows, reading)
            check_totals(totals, rows, reading, missing)
            classes, code = classes_in_use(rows, totals, reading)
            known = _gold_of_tasks(gold, row_totals, classes)
            n_tasks = [0 if part.totals is None else part.totals.n_tasks for part in row_totals]
            first = tuple(int(low) for low in np.cumsum([0, *n_tasks]))
            # There are answers, so there are tasks.
            kind = next(part.kind for part in row_totals if part.kind is not None)
            symbols = points_in_use(totals, rows, classes)
            how = PieceReading(
                len(rows.worker_names), len(classes), first, code, known, symbols, totals.abstained is not None
            )
            blocks = SparkBlocks(crowd_info_of(totals, rows, classes, engine.name), how, rdd, engine, kind, broadcast)
            (per_worker,) = blocks.sum(count_answers)
        except BaseException:
            rdd.unpersist()
            raise
    crowd_info = replace(blocks.crowd_info, per_worker=per_worker.astype(np.int64))
    done = replace(blocks, crowd_info=crowd_info)
    weakref.finalize(done, _unpersist, rdd)
    return done


def _unpersist(rdd: Any) -> None:
    """Remove the pieces from the executors; Spark may have been stopped before, which removes them too."""
    with suppress(Exception):
        rdd.unpersist()


def _is_row_totals(element: Piece | RowTotals) -> bool:
    return isinstance(element, RowTotals)


def _merge_totals(row_totals: list[RowTotals], rows: PartitionedRows, reading: ReadOptions) -> tuple[Totals, Coder]:
    """Return the sums of the totals of all partitions, and their missing task ids."""
    totals = no_totals(rows)
    missing = Coder(reading.columns[0])
    for part in row_totals:
        if part.error is not None:
            raise part.error
        if part.totals is not None and part.missing is not None:
            totals.merge(part.totals)
            if part.missing.example is not None:
                missing.note(part.missing.n_missing, part.missing.example)
    return totals, missing


def _gold_of_tasks(gold: LocalGold | None, row_totals: list[RowTotals], classes: pa.Array) -> IntArray | None:
    """Return the class of each known label, and at the end the class -1 of tasks without one."""
    if gold is None:
        return None
    for totals in row_totals:
        if totals.seen is not None:
            gold.seen[:] |= totals.seen
    gold.check(classes)
    return gold.classed(np.append(np.arange(len(gold.tasks)), -1), classes)


Labelling: TypeAlias = Callable[[Block], LabelRows]  # labels of a block; can be pickled
BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"  # rows per batch that Spark passes to Python


def spark_label_batches(labelling: Labelling, blocks: SparkBlocks, tally: LabelTally) -> Iterator[pa.RecordBatch]:
    """Vote on every block on its executor, and yield the labels in batches."""
    parts = blocks.each_named(_label_block, labelling, blocks.crowd_info.classes)
    return larger_batches(parts, tally, blocks.n_tasks)


def _label_block(
    block: Block, names: pa.Array, labelling: Labelling, classes: pa.Array
) -> tuple[LabelRows, pa.RecordBatch]:
    part = labelling(block)
    return part, labels_of_part(part, names, classes)


def spark_confidence_stats(labelling: Labelling, blocks: SparkBlocks, *, has_costs: bool) -> ConfidenceStats:
    """Return the confidence statistics of the labels by a separate pass: a part that is written twice counts once."""
    n, n_stated, total, doubtful, ties, cost, n_unlabelled = blocks.sum(_confidence_sums, labelling)[0].tolist()
    return ConfidenceTotals(
        n=int(n),
        n_stated=int(n_stated),
        total=total,
        doubtful=int(doubtful),
        ties=int(ties),
        cost=cost if has_costs else None,
        n_unlabelled=int(n_unlabelled),
    ).confidence_stats()


def _confidence_sums(blocks: Iterable[Block], labelling: Labelling) -> Sums:
    tally = LabelTally()
    for block in blocks:
        tally.add_rows(labelling(block))
    totals = (tally.n, tally.n_stated, tally.total, tally.doubtful, tally.ties, tally.cost or 0.0, tally.n_unlabelled)
    return (np.array(totals, np.float64),)


@contextmanager
def label_frame(labelling: Labelling, blocks: SparkBlocks) -> Iterator[Any]:
    """Yield a Spark DataFrame of the labels and the ids of their tasks, which is valid inside the context."""
    from pyspark.sql import SparkSession
    from pyspark.sql.pandas.types import from_arrow_schema

    context = blocks.rdd.context
    classes = blocks.crowd_info.classes
    empty_labels = labels_of_part(labelling(blocks.reading.empty()), pa.array([], blocks.kind), classes)
    schema = from_arrow_schema(empty_labels.schema)
    session = SparkSession(context).newSession()  # a session with its own settings
    session.conf.set(BATCH_ROWS, "1")  # a row is the stream of a whole block
    broadcast = context.broadcast((blocks.reading, _written_as_stream, (labelling, classes)))
    try:
        streams = blocks.rdd.mapPartitionsWithIndex(OnEach(broadcast, named=True))
        frame = session.createDataFrame(streams, "stream binary", verifySchema=False)
        yield frame.mapInArrow(_open_streams, schema)
    finally:
        broadcast.destroy()


def _written_as_stream(block: Block, names: pa.Array, labelling: Labelling, classes: pa.Array) -> tuple[bytearray]:
    rows = labels_of_part(labelling(block), names, classes)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_batch(rows)
    return (bytearray(sink.getvalue()),)


def _open_streams(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for stream in batch.column("stream"):
            yield from pa.ipc.open_stream(stream.as_buffer())
