"""The labels of all blocks, with the ids of their tasks -> a file or a table, piece by piece."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO

import numpy as np  # noqa: F401 (for the examples)
import pyarrow as pa

from quorate.methods.fitted import Fitted
from quorate.progress import report
from quorate.voting.vote import EXPECTED_COST, ConfidenceTotals, LabelRows
from quorate.warehouse.block_files import FileBlocks
from quorate.warehouse.packing import task_names

AT_ONCE = 1 << 20  # labels that are written at a time


@dataclass
class LabelTally(ConfidenceTotals):
    """How sure the labels are that have gone by."""

    columns: tuple[str, ...] = ()  # of the labels, where they are put to batches

    def add_rows(self, rows: LabelRows) -> None:
        """Count the labels of a block."""
        self.add(rows.label, rows.confidence, rows.tied, rows.extra_columns.get(EXPECTED_COST))


def label_batches(fitted: Fitted, blocks: FileBlocks, tally: LabelTally) -> Iterator[pa.RecordBatch]:
    """Vote on every block, and put the ids of its tasks to the labels.

    >>> from quorate.methods.over_blocks import fit_blocks
    >>> from quorate.reading.options import ReadOptions
    >>> from quorate.warehouse.block_files import pack_blocks
    >>> rows = pa.table({"task": [7, 5, 7], "worker": ["a", "a", "b"], "label": ["x", "y", "x"]})
    >>> blocks = pack_blocks(rows.to_batches(), 3, ReadOptions(), engine="duckdb")
    >>> batch = next(label_batches(fit_blocks(blocks, "majority"), blocks, LabelTally()))
    >>> batch["task"].to_pylist(), batch["label"].to_pylist()
    ([5, 7], ['y', 'x'])
    """
    names, classes = _Names(task_names(blocks.packed)), blocks.roster.classes
    labelled = ((part, labels_of_part(part, names.next(len(part.label)), classes)) for part in fitted.labels(blocks))
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
            waiting, n = [], 0
        report("voting", tally.n, n_tasks)
    if waiting:
        yield _together(waiting)


def labels_of_part(part: LabelRows, names: pa.Array, classes: pa.Array) -> pa.RecordBatch:
    """Put names to the codes of a block's labels: one row a task, as `quorate.Result.labels` has them.

    >>> part = LabelRows(np.array([1]), np.array([0.9]), np.array([0.8]), np.array([3]), np.array([False]))
    >>> labels_of_part(part, pa.array(["t1"]), pa.array(["cat", "dog"])).to_pylist()[0]["label"]
    'dog'
    """
    return pa.RecordBatch.from_pydict(part.columns(names, classes))


def _together(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    (batch,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return batch


class _Names:
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
    from quorate.writing.tables import to_json

    for batch in batches:
        for row in batch.to_pylist():
            stream.write(to_json(row).encode() + b"\n")
