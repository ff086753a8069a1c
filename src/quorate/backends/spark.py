"""Blocks that lie in Spark's partitions: a pass sends parameters there, and worker-sized sums come back.

The labels of blocks that lie in Spark: written by its executors, or handed out piece by piece.
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
from quorate.backends.disk import LostBlocks
from quorate.backends.engine import Engine
from quorate.backends.expressions import EngineTable
from quorate.backends.output import LabelTally, labels_of_part, larger_batches
from quorate.backends.partition import Coder, PartitionedRows
from quorate.backends.spark_executor import (
    OnEach,
    PieceReading,
    Slices,
    Summing,
    Together,
    count_answers,
    drawn_in,
    either,
    joined_in,
    known_in,
    peer_bits_in,
)
from quorate.backends.spark_packing import Piece, RowTotals, list_everyone, pack_in_spark
from quorate.backends.task_rows import Totals, check_totals, classes_in_use, crowd_info_of, no_totals, points_in_use
from quorate.blocks.block import Block, Sampled, Sums, added, in_order_of_hash, one_block
from quorate.blocks.memory import SET, named_answers
from quorate.blocks.numpy_kernels import unite
from quorate.blocks.sampling import expected_share, hash_below, trimmed
from quorate.blocks.worker_rows import ROW_BYTES, joined_slices
from quorate.io.gold import LocalGold
from quorate.io.options import ReadOptions
from quorate.voting.vote import ConfidenceStats, ConfidenceTotals, LabelRows

LARGE = 1 << 28  # bytes of all partitions' sums, above which they are added up by the executors
BITS = 1 << 28  # of a table of peers, in each partition: 32 MB
T = TypeVar("T")


@dataclass(frozen=True)
class SparkBlocks:
    """All answers in the partitions of a Spark RDD, which is let go with this object."""

    crowd_info: CrowdInfo
    reading: PieceReading = field(repr=False)
    rdd: Any = field(repr=False)  # of pieces, persisted
    engine: Engine = field(repr=False)
    kind: pa.DataType  # of the ids of the tasks
    keeper: Any = field(repr=False, default=None)  # what the executors were sent to pack, and may need again

    @property
    def n_tasks(self) -> int:
        """How many tasks."""
        return self.crowd_info.n_tasks

    @property
    def n_workers(self) -> int:
        """How many workers."""
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
        """How many answers."""
        return self.crowd_info.n_answers

    @property
    def per_worker(self) -> IntArray:
        """N_i, the answers of each worker."""
        return self.crowd_info.per_worker

    def sum(self, kernel: Callable[..., Sums], *parameters: Any) -> Sums:
        """Add up what ``kernel(blocks, *parameters)`` returns for every partition, in the order of those."""
        m = self.n_classes
        symbols = 1 if self.class_of_symbol is None else len(self.class_of_symbol)  # of which they may be counted
        n_rows = min(self.n_workers * m, -(-self.n_answers // max(self.rdd.getNumPartitions(), 1)))
        of_matrices = n_rows * (8 * m + ROW_BYTES)
        size = max(len(pickle.dumps(parameters, protocol=5)), 8 * self.n_workers * m * symbols, of_matrices)
        return self._combined(added, size, kernel, parameters)

    def _combined(
        self,
        combine: Callable[[Iterable[Sums]], Sums],
        size: int,
        kernel: Callable[..., Sums],
        parameters: tuple[Any, ...],
    ) -> Sums:
        """Put the partitions' sums together: here, or where they are large by the executors, a slice each."""
        n = self.rdd.getNumPartitions()
        with self._sent(kernel, parameters) as sent:
            if size * n <= LARGE:
                return combine(self.rdd.mapPartitionsWithIndex(Summing(sent)).collect())
            cut = self.rdd.mapPartitionsWithIndex(Slices(Summing(sent), n)).groupByKey(n)
            parts = [part for _, part in sorted(cut.mapValues(Together(combine)).collect(), key=lambda part: part[0])]
        slices_of_sums = zip(*(slices for _, slices in parts), strict=True)
        return tuple(joined_slices(slices, shape) for slices, shape in zip(slices_of_sums, parts[0][0], strict=True))

    def map(self, kernel: Callable[..., T], *parameters: Any) -> Iterator[T]:
        """Return ``kernel(block, *parameters)`` of every block, in order; a partition's are here at a time."""
        return self._map(kernel, parameters, named=False)

    def each_named(self, kernel: Callable[..., T], *parameters: Any) -> Iterator[T]:
        """Return ``kernel(block, names, *parameters)`` of every block and the ids of its tasks, in order."""
        return self._map(kernel, parameters, named=True)

    def _map(self, kernel: Callable[..., T], parameters: tuple[Any, ...], *, named: bool) -> Iterator[T]:
        with self._sent(kernel, parameters) as sent:
            yield from self.rdd.mapPartitionsWithIndex(OnEach(sent, named)).toLocalIterator(prefetchPartitions=True)

    @contextmanager
    def _sent(self, kernel: Callable[..., Any], parameters: tuple[Any, ...]) -> Iterator[Any]:
        """Send a kernel and its parameters to the executors, for one pass."""
        sent = self.rdd.context.broadcast((self.reading, kernel, parameters))
        try:
            with self.engine.running(f"passing over the answers ({getattr(kernel, '__name__', 'known labels too')})"):
                yield sent
        finally:
            sent.destroy()

    def sample(self, n_answers: int) -> Sampled:
        """Bring the first tasks by the hash of their ids into memory: those up to a hash, which are enough."""
        kept: dict[int, Sampled] = self.__dict__.setdefault("_samples", {})
        if n_answers not in kept:
            kept[n_answers] = self._draw(n_answers)
        return kept[n_answers]

    def _draw(self, n_answers: int) -> Sampled:
        share = expected_share(self.n_answers, n_answers)
        while True:
            parts = list(self.each_named(drawn_in, hash_below(share)))
            if share >= 1 or sum(part[0].answers.stop for part in parts) >= n_answers:
                return trimmed(self._sampled(parts), n_answers)
            share *= 2

    def _sampled(self, parts: list[tuple[Block, pa.Array]]) -> Sampled:
        all_tasks = one_block([block for block, _ in parts])
        names = pa.concat_arrays([names for _, names in parts])
        return Sampled(named_answers(all_tasks, self.class_of_symbol, names, self.crowd_info), all_tasks.gold)

    def gold_tasks(self) -> Block:
        """Bring the tasks of known class into memory, in the order of the hashes of their ids."""
        return in_order_of_hash(list(self.each_named(known_in)))

    def joined(self, is_kept: BoolArray | None = None) -> IntArray:
        """Return a root for each worker, and for its other copy, joined by the tasks that kept workers share."""
        parent = np.arange(2 * self.n_workers, dtype=np.int32)
        all_nodes = parent.copy()
        with self._sent(joined_in, (self.n_workers, is_kept)) as sent:
            for (roots_of_part,) in self.rdd.mapPartitionsWithIndex(Summing(sent)).toLocalIterator():
                unite(parent, all_nodes, roots_of_part)
        return parent

    def n_peers(self) -> IntArray:
        """Return how many others each worker shares a task with; some workers at a time, for a bit for every two."""
        at_once = max(1, BITS // max(self.n_workers, 1))
        peers = [np.zeros(0, np.int64)]
        for low in range(0, self.n_workers, at_once):
            span = low, min(low + at_once, self.n_workers), self.n_workers
            (bits,) = self._combined(either, BITS // 8, peer_bits_in, span)
            n_peers: IntArray = SET[bits.view(np.uint8)].sum(axis=1, dtype=np.int64)
            peers.append(np.maximum(n_peers - 1, 0))  # themselves
        return np.concatenate(peers)

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave the blocks behind in a copy by pickle, which then has only what was asked for before."""
        return LostBlocks, (self.n_tasks, self.n_workers, self.n_classes, self.n_answers, self.per_worker)


def spark_lacks(engine: Engine) -> str | None:
    """Explain why this Spark cannot hold blocks: no RDDs, or another version of quorate; None where it can.

    >>> spark_lacks  # doctest: +ELLIPSIS
    <function spark_lacks at ...>
    """
    session: Any = engine.backend._session  # type: ignore[attr-defined]
    if "connect" in type(session).__module__.split("."):
        return "Spark Connect sends no kernels to the executors"

    def version(_: int) -> str | None:  # a function within another travels whole, and imports nothing there
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
    """Return the Spark DataFrame that an ibis table stands for.

    >>> spark_frame  # doctest: +ELLIPSIS
    <function spark_frame at ...>
    """
    return engine.backend._session.sql(engine.backend.compile(table))  # type: ignore[attr-defined]


def pack_blocks_in_spark(
    engine: Engine, frame: Any, n_rows: int, reading: ReadOptions, gold: LocalGold | None = None
) -> SparkBlocks:
    """Put rows of Spark into blocks that stay there, each task in one block; rows are resolved as in memory.

    Args:
        engine: whose session it is.
        frame: a Spark DataFrame of task, worker, label, and order if it decides which of two answers came first.
        n_rows: how many rows it has.
        reading: what becomes of conflicts and missing fields, and the classes.
        gold: known labels.

    Raises:
        InputError: the answers cannot be used as they are; each cause has its own class.

    >>> pack_blocks_in_spark  # doctest: +ELLIPSIS
    <function pack_blocks_in_spark at ...>
    """
    from pyspark import StorageLevel

    with engine.running("listing workers and classes"):
        rows = list_everyone(frame, n_rows, reading)
    with engine.running("packing"):
        rdd, sent = pack_in_spark(frame, rows, reading, gold)
        rdd = rdd.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            row_totals: list[RowTotals] = rdd.filter(_is_row_totals).collect()
            totals, missing = _merged(row_totals, rows, reading)
            check_totals(totals, rows, reading, missing)
            classes, code = classes_in_use(rows, totals, reading)
            known = _known(gold, row_totals, classes)
            n_tasks = [0 if part.totals is None else part.totals.n_tasks for part in row_totals]
            first = tuple(int(low) for low in np.cumsum([0, *n_tasks]))
            # There are answers, so there are tasks.
            kind = next(part.kind for part in row_totals if part.kind is not None)
            symbols = points_in_use(totals, rows, classes)
            how = PieceReading(
                len(rows.worker_names), len(classes), first, code, known, symbols, totals.abstained is not None
            )
            blocks = SparkBlocks(crowd_info_of(totals, rows, classes, engine.name), how, rdd, engine, kind, sent)
            (per_worker,) = blocks.sum(count_answers)
        except BaseException:
            rdd.unpersist()
            raise
    crowd_info = replace(blocks.crowd_info, per_worker=per_worker.astype(np.int64))
    done = replace(blocks, crowd_info=crowd_info)
    weakref.finalize(done, _let_go, rdd)
    return done


def _let_go(rdd: Any) -> None:
    """Let the executors forget the pieces; Spark may have been stopped before, and have forgotten them by itself."""
    with suppress(Exception):
        rdd.unpersist()


def _is_row_totals(element: Piece | RowTotals) -> bool:
    return isinstance(element, RowTotals)


def _merged(row_totals: list[RowTotals], rows: PartitionedRows, reading: ReadOptions) -> tuple[Totals, Coder]:
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


def _known(gold: LocalGold | None, row_totals: list[RowTotals], classes: pa.Array) -> IntArray | None:
    """Return the class of each known label, and last what a task without one finds."""
    if gold is None:
        return None
    for totals in row_totals:
        if totals.seen is not None:
            gold.seen[:] |= totals.seen
    gold.check(classes)
    return gold.classed(np.append(np.arange(len(gold.tasks)), -1), classes)


Labelling: TypeAlias = Callable[[Block], LabelRows]  # labels of a block; can be pickled
ONE = "spark.sql.execution.arrow.maxRecordsPerBatch"  # rows that Spark hands to Python together; ours are large


def spark_label_batches(labelling: Labelling, blocks: SparkBlocks, tally: LabelTally) -> Iterator[pa.RecordBatch]:
    """Vote on every block where it lies, and hand the labels out piece by piece.

    >>> spark_label_batches  # doctest: +ELLIPSIS
    <function spark_label_batches at ...>
    """
    parts = blocks.each_named(_voted_on, labelling, blocks.crowd_info.classes)
    return larger_batches(parts, tally, blocks.n_tasks)


def _voted_on(
    block: Block, names: pa.Array, labelling: Labelling, classes: pa.Array
) -> tuple[LabelRows, pa.RecordBatch]:
    part = labelling(block)
    return part, labels_of_part(part, names, classes)


def spark_confidence_stats(labelling: Labelling, blocks: SparkBlocks, *, has_costs: bool) -> ConfidenceStats:
    """Sum up the confidence of the labels in a separate pass: a part that is written twice must not count twice.

    >>> spark_confidence_stats  # doctest: +ELLIPSIS
    <function spark_confidence_stats at ...>
    """
    n, n_stated, total, doubtful, ties, cost, n_unlabelled = blocks.sum(_sure, labelling)[0].tolist()
    return ConfidenceTotals(
        n=int(n),
        n_stated=int(n_stated),
        total=total,
        doubtful=int(doubtful),
        ties=int(ties),
        cost=cost if has_costs else None,
        n_unlabelled=int(n_unlabelled),
    ).confidence_stats()


def _sure(blocks: Iterable[Block], labelling: Labelling) -> Sums:
    tally = LabelTally()
    for block in blocks:
        tally.add_rows(labelling(block))
    totals = (tally.n, tally.n_stated, tally.total, tally.doubtful, tally.ties, tally.cost or 0.0, tally.n_unlabelled)
    return (np.array(totals, np.float64),)


@contextmanager
def label_frame(labelling: Labelling, blocks: SparkBlocks) -> Iterator[Any]:
    """Make a Spark DataFrame of the labels and the ids of their tasks, for as long as the block runs.

    >>> label_frame  # doctest: +ELLIPSIS
    <function label_frame at ...>
    """
    from pyspark.sql import SparkSession
    from pyspark.sql.pandas.types import from_arrow_schema

    context = blocks.rdd.context
    classes = blocks.crowd_info.classes
    empty_labels = labels_of_part(labelling(blocks.reading.empty()), pa.array([], blocks.kind), classes)
    schema = from_arrow_schema(empty_labels.schema)
    session = SparkSession(context).newSession()  # whose settings are ours to make
    session.conf.set(ONE, "1")
    sent = context.broadcast((blocks.reading, _written_as_stream, (labelling, classes)))
    try:
        streams = blocks.rdd.mapPartitionsWithIndex(OnEach(sent, named=True))
        frame = session.createDataFrame(streams, "stream binary", verifySchema=False)
        yield frame.mapInArrow(_opened, schema)
    finally:
        sent.destroy()


def _written_as_stream(block: Block, names: pa.Array, labelling: Labelling, classes: pa.Array) -> tuple[bytearray]:
    rows = labels_of_part(labelling(block), names, classes)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_batch(rows)
    return (bytearray(sink.getvalue()),)


def _opened(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for stream in batch.column("stream"):
            yield from pa.ipc.open_stream(stream.as_buffer())
