"""The labels of blocks that lie in Spark: written by its executors, or handed out piece by piece."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa

from quorate.blocks.block import Block, Sums
from quorate.methods.fitted import Fitted, Labelled, labelled
from quorate.voting.vote import SURE, Ballot, Sureness
from quorate.warehouse.label_files import LabelTally, labels_of_part, larger_batches
from quorate.warehouse.spark_blocks import SparkBlocks
from quorate.warehouse.spark_passes import OnEach

ONE = "spark.sql.execution.arrow.maxRecordsPerBatch"  # rows that Spark hands to Python together; ours are large


def spark_label_batches(fitted: Fitted, blocks: SparkBlocks, tally: LabelTally) -> Iterator[pa.RecordBatch]:
    """Vote on every block where it lies, and hand the labels out piece by piece.

    >>> spark_label_batches  # doctest: +ELLIPSIS
    <function spark_label_batches at ...>
    """
    parts = blocks.each_named(_voted_on, fitted.vote, blocks.roster.classes)
    return larger_batches(parts, tally, blocks.n_tasks)


def _voted_on(
    block: Block, names: pa.Array, vote: Callable[[Block], Ballot], classes: pa.Array
) -> tuple[Labelled, pa.RecordBatch]:
    part = labelled(block, vote)
    return part, labels_of_part(part, names, classes)


def spark_sureness(fitted: Fitted, blocks: SparkBlocks) -> Sureness:
    """Tell how sure the labels are, by a pass of its own: a part that is written twice must not count twice.

    >>> spark_sureness  # doctest: +ELLIPSIS
    <function spark_sureness at ...>
    """
    n, total, doubtful, ties = (float(each) for each in blocks.sums(_sure, fitted.vote)[0])
    return Sureness(total / max(n, 1.0), int(doubtful), int(ties))


def _sure(blocks: Iterable[Block], vote: Callable[[Block], Ballot]) -> Sums:
    found = np.zeros(4)
    for block in blocks:
        part = labelled(block, vote)
        found += [len(part.label), part.confidence.sum(), (part.confidence < SURE).sum(), part.tied.sum()]
    return (found,)


@contextmanager
def label_frame(fitted: Fitted, blocks: SparkBlocks) -> Iterator[Any]:
    """Make a Spark DataFrame of the labels and the ids of their tasks, for as long as the block runs.

    >>> label_frame  # doctest: +ELLIPSIS
    <function label_frame at ...>
    """
    from pyspark.sql import SparkSession
    from pyspark.sql.pandas.types import from_arrow_schema

    context, classes = blocks.rdd.context, blocks.roster.classes
    nothing = Labelled(*(np.zeros(0, kind) for kind in (np.int32, float, float, np.int64, bool)))
    schema = from_arrow_schema(labels_of_part(nothing, pa.array([], blocks.kind), classes).schema)
    session = SparkSession(context).newSession()  # whose settings are ours to make
    session.conf.set(ONE, "1")
    sent = context.broadcast((blocks.reading, _written_as_stream, (fitted.vote, classes)))
    try:
        streams = blocks.rdd.mapPartitionsWithIndex(OnEach(sent, named=True))
        frame = session.createDataFrame(streams, "stream binary", verifySchema=False)
        yield frame.mapInArrow(_opened, schema)
    finally:
        sent.destroy()


def _written_as_stream(
    block: Block, names: pa.Array, vote: Callable[[Block], Ballot], classes: pa.Array
) -> tuple[bytearray]:
    rows, sink = labels_of_part(labelled(block, vote), names, classes), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_batch(rows)
    return (bytearray(sink.getvalue()),)


def _opened(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for stream in batch.column("stream"):
            yield from pa.ipc.open_stream(stream.as_buffer())
