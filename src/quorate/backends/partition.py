"""Rows of any engine -> files on disk, each with whole tasks: workers and labels as integers, task ids unchanged.

The high bits of a hash of its id choose the file of a task (`quorate.blocks.sampling.hash_ids`). So the files do
not depend on the order of the rows, and the first of them are a sample of the tasks.
`quorate.backends.disk.build_file_blocks` calls `partition_rows`, and writes the rows of the files to blocks.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from quorate.arrays import IntArray, from_numpy, table_of, to_numpy
from quorate.blocks.sampling import hash_ids
from quorate.errors import NoRowsError
from quorate.io.columns import encode, in_order_of_ids, one_zero, positions
from quorate.io.labels import alphabet_of, takes_blanks
from quorate.io.options import ROLES, ReadOptions
from quorate.io.rows import missing_value_error, other_fields
from quorate.progress import report

MAX_FILE_ROWS = 3_000_000  # so that a file is sorted within a few hundred megabytes of memory
MAX_FILES = 512  # open at the same time


class Coder:
    """Codes for the values of a column, numbered as they arrive, batch by batch."""

    def __init__(self, name: str, *, is_label: bool = False) -> None:
        self.name = name
        self.is_label = is_label
        self.names: pa.Array | None = None
        self.n_missing = 0
        self.example: dict[str, Any] | None = None  # a row that lacks the value

    def codes(self, batch: Mapping[str, pa.Array], role: str) -> IntArray:
        """Return the code of each value, -1 where it is missing."""
        codes, names = encode(pa.chunked_array([batch[role]]), self.name, is_label=self.is_label)
        missing = np.flatnonzero(codes < 0)
        if len(missing):
            self.note(len(missing), {key: batch[key][int(missing[0])].as_py() for key in ROLES})
        if self.names is None:
            self.names = names
            return codes
        position = positions(names.cast(self.names.type), self.names)
        new = position < 0
        if new.any():
            position[new] = len(self.names) + np.arange(new.sum())
            self.names = pa.concat_arrays([self.names, names.filter(from_numpy(new)).cast(self.names.type)])
        return np.append(position, -1).astype(np.int32)[codes]

    def note(self, n: int, row: dict[str, Any]) -> None:
        """Count missing values, and keep one row without the value as an example."""
        self.n_missing += n
        self.example = self.example or row

    def refuse(self, role: str, columns: Sequence[str]) -> NoReturn:
        """Raise the error that values are missing, with the other fields of one such row.

        Raises:
            MissingFieldError: always.
        """
        assert self.example is not None
        value = self.example[role]
        fields = {name: self.example[key] for key, name in zip(ROLES, columns, strict=True) if key != role}
        raise missing_value_error(self.name, value, self.n_missing, other_fields(fields))


@dataclass(frozen=True)
class PartitionedRows:
    """Rows in files of whole tasks, and what the integers in them mean."""

    files: tuple[Path, ...]  # Arrow streams of task, w, c (and order); w or c is -1 where that field is missing
    worker_names: pa.Array
    classes: pa.Array
    worker_code: IntArray  # the code of each w, in the order of the ids
    class_code: IntArray  # the code of each c, as in `quorate.io.labels.Alphabet`
    n_rows: int
    n_without_task: int  # rows that are in no file
    answer_names: pa.Array | None = None  # the labels that are answers; None where they are the classes
    class_of_symbol: IntArray | None = None  # the class of each of them
    unused_abstention_labels: tuple[str, ...] = ()  # abstention labels that no row has
    n_abstentions: int = 0  # number of abstention labels; a blank is the last one
    labels: pa.Array | None = None  # the label of each c, if c is looked up by label

    @property
    def answered(self) -> pa.Array:
        """The labels that are answers, in the order of their codes."""
        return self.classes if self.answer_names is None else self.answer_names

    @property
    def has_grades(self) -> bool:
        """Whether several labels point to one class."""
        return self.class_of_symbol is not None and bool(np.bincount(self.class_of_symbol).max(initial=0) > 1)

    def symbols(self, n_classes: int) -> IntArray:
        """Return the class of each symbol; -1 for abstentions, which come first."""
        point = self.class_of_symbol if self.has_grades else None
        return np.concatenate([np.full(self.n_abstentions, -1), np.arange(n_classes) if point is None else point])


def partition_rows(
    batches: Iterable[pa.RecordBatch], folder: Path, n_rows: int, reading: ReadOptions
) -> PartitionedRows:
    """Write rows to files of whole tasks.

    Args:
        batches: task, worker, label, and order if it decides between conflicting answers.
        folder: folder of the files.
        n_rows: expected number of rows.
        reading: how missing fields are handled, the classes, and the column names.

    Raises:
        InputError: fields are missing.

    >>> import tempfile
    >>> rows = pa.table({"task": [1, 2, 1], "worker": ["a", "a", "b"], "label": ["x", "y", "x"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     partitioned = partition_rows(rows.to_batches(), Path(folder), 3, ReadOptions())
    ...     len(partitioned.files), partitioned.worker_names.to_pylist(), partitioned.classes.to_pylist()
    (1, ['a', 'b'], ['x', 'y'])
    """
    coders = {role: Coder(name, is_label=role == "label") for role, name in zip(ROLES, reading.columns, strict=True)}
    used = np.zeros(0, np.int64)
    with TaskFiles(folder, bits_for(n_rows)) as files:
        done = 0
        for batch in batches:
            columns = {name: plain_column(batch.column(name)) for name in batch.schema.names}
            w = coders["worker"].codes(columns, "worker")
            c = coders["label"].codes(columns, "label")
            counts = np.bincount(c[(w >= 0) & (c >= 0)], minlength=len(used))
            counts[: len(used)] += used
            used = counts
            out = {"task": columns["task"], "w": from_numpy(w), "c": from_numpy(c)}
            if "order" in columns:
                out["order"] = columns["order"]
            files.write(out, coders["task"], columns)
            done += batch.num_rows
            report("grouping answers by task", done, n_rows)
    if not reading.skip_missing:
        for role, coder in coders.items():
            if coder.n_missing and not (role == "label" and takes_blanks(reading)):
                coder.refuse(role, reading.columns)
    return _code_names(tuple(files.paths), coders, used, done, reading)


def _code_names(
    files: tuple[Path, ...], coders: Mapping[str, Coder], used: IntArray, n_rows: int, reading: ReadOptions
) -> PartitionedRows:
    """Return the partitioned rows with codes of workers in the order of their ids, and of classes in their order."""
    workers = coders["worker"].names
    labels = coders["label"].names
    if workers is None or labels is None or not used.any():
        raise NoRowsError(f"all {n_rows:,} rows lack a field; no answer is left")
    worker_code, worker_names = in_order_of_ids(np.arange(len(workers)), workers)
    alphabet = alphabet_of(labels, used, n_rows, reading, blanks=coders["label"].n_missing > 0)
    codes = worker_code, alphabet.code, n_rows, coders["task"].n_missing
    meant = alphabet.answer_names, alphabet.class_of_symbol, alphabet.unused_abstention_labels, alphabet.n_abstentions
    return PartitionedRows(files, worker_names, alphabet.classes, *codes, *meant)


class TaskFiles:
    """The files that are written: opened when the first rows show their types."""

    def __init__(self, folder: Path, bits: int) -> None:
        self.bits = bits
        self.paths = [folder / f"rows-{number:04d}.arrow" for number in range(1 << bits)]
        self.writers: list[pa.ipc.RecordBatchStreamWriter] = []

    def __enter__(self) -> "TaskFiles":
        return self

    def __exit__(self, *_: object) -> None:
        for writer in self.writers:
            writer.close()

    def write(self, rows: dict[str, pa.Array], tasks: Coder, columns: Mapping[str, pa.Array]) -> None:
        """Write each row to the file of its task; rows without a task are only counted."""
        n_missing = rows["task"].null_count
        if n_missing:
            has_task = rows["task"].is_valid()
            row = int(np.flatnonzero(~to_numpy(has_task))[0])
            tasks.note(n_missing, {key: columns[key][row].as_py() for key in ROLES})
            rows = {name: column.filter(has_task) for name, column in rows.items()}
        part = np.zeros(len(rows["task"]), np.uint16)
        if self.bits:
            part = (hashes_of(rows["task"]) >> np.uint64(64 - self.bits)).astype(np.uint16)
        self.put(table_of(rows), part)

    def put(self, table: pa.Table, part: NDArray[np.uint16]) -> None:
        """Write each row to the file of its number."""
        if not self.writers:
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            self.writers = [pa.ipc.new_stream(str(path), table.schema, options=options) for path in self.paths]
        order = np.argsort(part, kind="stable")
        ends = np.cumsum(np.bincount(part, minlength=len(self.paths)))
        (batch,) = table.take(from_numpy(order)).combine_chunks().to_batches() or [None]
        for writer, low, high in zip(self.writers, [0, *ends[:-1]], ends, strict=True):
            if high > low:
                writer.write_batch(batch.slice(low, high - low))


def bits_for(n_rows: int) -> int:
    """Return how many bits of a hash choose the file, so that each file fits in memory while it is sorted.

    >>> bits_for(1), bits_for(10_000_000)
    (0, 2)
    """
    return min(max(-(-n_rows // MAX_FILE_ROWS) - 1, 0).bit_length(), MAX_FILES.bit_length() - 1)


def hashes_of(tasks: pa.Array) -> NDArray[np.uint64]:
    """Return a hash of each task's id; 0 for a missing id.

    >>> hashes = hashes_of(pa.array([7, None]))
    >>> bool(hashes[0] == hashes_of(pa.array([7]))[0]), int(hashes[1])
    (True, 0)
    """
    tasks = plain_column(tasks)
    if tasks.null_count == 0:
        return hash_ids(tasks)
    hashes = np.zeros(len(tasks), np.uint64)
    hashes[to_numpy(tasks.is_valid())] = hash_ids(tasks.drop_null())
    return hashes


def plain_column(column: pa.Array) -> pa.Array:
    """Return a column without types of the engine: text for types such as DuckDB's UUID, and decoded dictionaries.

    >>> plain_column(pa.array(["a", "b", "a"]).dictionary_encode()).type
    DataType(string)
    """
    if pa.types.is_dictionary(column.type):
        return plain_column(column.dictionary.take(column.indices))
    if pa.types.is_floating(column.type):
        return one_zero(column)
    if isinstance(column.type, pa.BaseExtensionType):
        return pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.string())
    return column
