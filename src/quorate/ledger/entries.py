"""A batch of rows -> one entry for each task and worker: the label that stands, and the rows behind it."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from quorate.arrays import BoolArray, IntArray
from quorate.reading.columns import encode
from quorate.reading.files import Source, read_table
from quorate.reading.options import ReadOptions
from quorate.reading.rows import read_rows

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
