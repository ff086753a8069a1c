"""A batch of rows -> one entry for each task and worker: the label that stands, and the rows behind it.

Ids of one type, each with a code in order of arrival: what a name costs to find does not grow with their number.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from quorate.arrays import NUMPY_KINDS, TEXT, BoolArray, IntArray, from_numpy, from_strings
from quorate.errors import ColumnTypeError, reason
from quorate.io.columns import encode
from quorate.io.options import ReadOptions
from quorate.io.read_table import Source, read_table
from quorate.io.rows import read_rows

DROPPED = -1  # the label of an entry whose rows conflict and were dropped


@dataclass(frozen=True)
class Entries:
    """Who answered what; one entry for each task and worker."""

    task: IntArray
    worker: IntArray
    label: IntArray  # DROPPED where none stands
    rows: IntArray  # rows read that speak of it
    clashed: BoolArray  # whether those rows gave more than one label
    names: tuple[pa.Array, pa.Array, pa.Array]  # of tasks, workers and labels, by their codes
    n_skipped: int  # rows left out because a field was missing


@dataclass(frozen=True)
class Added:
    """What became of a batch."""

    n_rows: int
    n_answers: int  # by how many the answers grew; negative where more were dropped than added
    n_repeats: int  # further rows that repeat an answer exactly
    n_conflicting: int  # further rows left out by the conflict policy, or replaced by a later one
    n_skipped: int  # rows without a task, a worker or a label


def read_entries(source: Source, reading: ReadOptions) -> Entries:
    """Read a batch and settle what it says of each task and worker.

    Args:
        source: what `quorate.read` takes.
        reading: how.

    Raises:
        InputError: the rows cannot be used; as in `quorate.read`.

    >>> rows = {"task": [1, 1], "worker": ["a", "a"], "label": ["x", "y"]}
    >>> entries = read_entries(rows, ReadOptions(on_conflict="last"))
    >>> entries.label.tolist(), entries.rows.tolist(), entries.clashed.tolist()
    ([1], [2], [True])
    """
    table = read_table(source, reading.wanted(), reading)
    encoded = [encode(table.column(name), name, is_label=k == 2) for k, name in enumerate(reading.columns)]
    present = np.logical_and.reduce([codes >= 0 for codes, _ in encoded])
    if not present.all() and not reading.skip_missing:
        read_rows(table, replace(reading, on_conflict="first"))  # names the rows
    task, worker, label = (codes[present].astype(np.int64) for codes, _ in encoded)
    order = np.lexsort([worker, task])  # stable: the rows of a repeat stay in their order
    task, worker, label = task[order], worker[order], label[order]
    same = (task[1:] == task[:-1]) & (worker[1:] == worker[:-1])
    first, last = np.concatenate([[True], ~same])[: len(task)], np.concatenate([~same, [True]])[: len(task)]
    group = np.cumsum(first) - 1
    n_groups = int(first.sum())
    clashed = np.bincount(group[1:][same & (label[1:] != label[:-1])], minlength=n_groups) > 0
    if reading.on_conflict == "error" and clashed.any():
        read_rows(table, reading)  # names the rows
    stands = label[last if reading.on_conflict == "last" else first]
    return Entries(
        task[first],
        worker[first],
        np.where(clashed, DROPPED, stands) if reading.on_conflict == "drop" else stands,
        np.bincount(group, minlength=n_groups),
        clashed,
        tuple(names for _, names in encoded),
        n_skipped=int((~present).sum()),
    )


def coded(label: IntArray, code: IntArray) -> IntArray:
    """Give labels other codes; DROPPED stays.

    >>> coded(np.array([0, DROPPED, 1]), np.array([7, 8])).tolist()
    [7, -1, 8]
    """
    new: IntArray = np.append(code, DROPPED)[label]  # DROPPED is the last position
    return new


class Names:
    """Names and their codes.

    >>> names = Names("tasks")
    >>> names.learn(pa.array(["b", "a"])).tolist(), names.find(pa.array(["a", "c"])).tolist()
    ([0, 1], [1, -1])
    """

    __slots__ = ("codes", "kind", "what")

    def __init__(self, what: str) -> None:
        self.what, self.kind = what, pa.null()  # no type yet
        self.codes: dict[Any, int] = {}

    def __len__(self) -> int:
        return len(self.codes)

    def find(self, names: pa.Array) -> IntArray:
        """Return the code of each name, -1 for a stranger; nothing is learnt.

        Raises:
            ColumnTypeError: they are of another type than the names that are here.
        """
        keys = _keys(self._alike(names))
        return np.fromiter((self.codes.get(key, -1) for key in keys), np.int64, len(keys))

    def learn(self, names: pa.Array) -> IntArray:
        """Return the code of each name; strangers get new ones."""
        names = self._alike(names)
        if len(names):
            self.kind = names.type
        codes = self.codes
        return np.fromiter((codes.setdefault(key, len(codes)) for key in _keys(names)), np.int64, len(names))

    def array(self) -> pa.Array:
        """Return every name, in order of arrival."""
        return _array(list(self.codes), self.kind)

    def _alike(self, names: pa.Array) -> pa.Array:
        """Bring names to the one type that all of them have here: an id must not become two."""
        try:
            names = names.cast(_one_kind(names.type))
        except pa.ArrowException as error:  # more text than one array holds
            raise ColumnTypeError(f"the {self.what} cannot be kept: {reason(error)}") from None
        if pa.types.is_float16(names.type) or pa.types.is_interval(names.type):
            raise ColumnTypeError(f"the {self.what} are {names.type} values, which have no order; write them as text")
        if len(names) and self.codes and names.type != self.kind:
            raise ColumnTypeError(
                f"the {self.what} of this batch are of type {names.type}, those of the ledger {self.kind}: the same id "
                "would be two. Write both alike (ids from CSV files are text)"
            )
        return names


def _one_kind(kind: pa.DataType) -> pa.DataType:
    """Choose one type for text, and one for whole numbers: which of several a batch has depends on who wrote it."""
    if kind in TEXT:
        return pa.string()
    return pa.int64() if pa.types.is_integer(kind) and kind != pa.uint64() else kind


def _keys(names: pa.Array) -> list[Any]:
    """Return values that a dictionary can look up; dates and times by their number, which loses nothing."""
    if pa.types.is_temporal(names.type):
        names = names.view(pa.int32() if names.type.bit_width == 32 else pa.int64())
    listed: list[Any] = names.to_pylist()
    return listed


def _array(keys: list[Any], kind: pa.DataType) -> pa.Array:
    """Turn keys back into names."""
    if pa.types.is_null(kind) or kind in TEXT:
        return from_strings(keys)
    if pa.types.is_temporal(kind):
        return from_numpy(np.array(keys, np.int32 if kind.bit_width == 32 else np.int64)).view(kind)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return from_numpy(np.array(keys, NUMPY_KINDS[kind]))
    return pa.array(keys, kind)
