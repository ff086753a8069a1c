"""The labels of blocks that lie in Spark: written by its executors, or handed out piece by piece."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa

from quorate.blocks.block import Block, Sums
from quorate.methods.fitted import Fitted, Labelling
from quorate.voting.vote import ConfidenceTotals, LabelRows, Sureness
from quorate.warehouse.label_files import LabelTally, labels_of_part, larger_batches
from quorate.warehouse.spark_blocks import SparkBlocks
from quorate.warehouse.spark_passes import OnEach

ONE = "spark.sql.execution.arrow.maxRecordsPerBatch"  # rows that Spark hands to Python together; ours are large


def spark_label_batches(fitted: Fitted, blocks: SparkBlocks, tally: LabelTally) -> Iterator[pa.RecordBatch]:
    """Vote on every block where it lies, and hand the labels out piece by piece.

    >>> spark_label_batches  # doctest: +ELLIPSIS
    <function spark_label_batches at ...>
    """
    parts = blocks.each_named(_voted_on, fitted.labelling, blocks.roster.classes)
    return larger_batches(parts, tally, blocks.n_tasks)


def _voted_on(
    block: Block, names: pa.Array, labelling: Labelling, classes: pa.Array
) -> tuple[LabelRows, pa.RecordBatch]:
    part = labelling(block)
    return part, labels_of_part(part, names, classes)


def spark_sureness(fitted: Fitted, blocks: SparkBlocks) -> Sureness:
    """Tell how sure the labels are, by a pass of its own: a part that is written twice must not count twice.

    >>> spark_sureness  # doctest: +ELLIPSIS
    <function spark_sureness at ...>
    """
    n, n_stated, total, doubtful, ties, cost, n_unlabelled = blocks.sums(_sure, fitted.labelling)[0].tolist()
    return ConfidenceTotals(
        n=int(n),
        n_stated=int(n_stated),
        total=total,
        doubtful=int(doubtful),
        ties=int(ties),
        cost=None if fitted.costs is None else cost,
        n_unlabelled=int(n_unlabelled),
    ).sureness()


def _sure(blocks: Iterable[Block], labelling: Labelling) -> Sums:
    tally = LabelTally()
    for block in blocks:
        tally.add_rows(labelling(block))
    totals = (tally.n, tally.n_stated, tally.total, tally.doubtful, tally.ties, tally.cost or 0.0, tally.n_unlabelled)
    return (np.array(totals, np.float64),)


@contextmanager
def label_frame(fitted: Fitted, blocks: SparkBlocks) -> Iterator[Any]:
    """Make a Spark DataFrame of the labels and the ids of their tasks, for as long as the block runs.

    >>> label_frame  # doctest: +ELLIPSIS
    <function label_frame at ...>
    """
    from pyspark.sql import SparkSession
    from pyspark.sql.pandas.types import from_arrow_schema

    context, classes = blocks.rdd.context, blocks.roster.classes
    nothing = labels_of_part(fitted.labelling(blocks.reading.empty()), pa.array([], blocks.kind), classes)
    schema = from_arrow_schema(nothing.schema)
    session = SparkSession(context).newSession()  # whose settings are ours to make
    session.conf.set(ONE, "1")
    sent = context.broadcast((blocks.reading, _written_as_stream, (fitted.labelling, classes)))
    try:
        streams = blocks.rdd.mapPartitionsWithIndex(OnEach(sent, named=True))
        frame = session.createDataFrame(streams, "stream binary", verifySchema=False)
        yield frame.mapInArrow(_opened, schema)
    finally:
        sent.destroy()


def _written_as_stream(block: Block, names: pa.Array, labelling: Labelling, classes: pa.Array) -> tuple[bytearray]:
    rows, sink = labels_of_part(labelling(block), names, classes), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_batch(rows)
    return (bytearray(sink.getvalue()),)


def _opened(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for stream in batch.column("stream"):
            yield from pa.ipc.open_stream(stream.as_buffer())
