"""Entries of a ledger: for each task and worker the label that counts, and the number of rows that gave it.

`read_entries` returns the entries of a batch of rows; `combine` returns the entries of several batches together.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from quorate.arrays import NUMPY_KINDS, TEXT, BoolArray, IntArray, from_numpy, from_strings, to_numpy
from quorate.blocks.ordering import sort_answers
from quorate.errors import ColumnTypeError, ConflictingAnswersError, reason, shown
from quorate.io.columns import encode, in_order_of_ids
from quorate.io.encoded_table import EncodedTable
from quorate.io.options import POLICIES, ReadOptions
from quorate.io.read_table import Source, read_encoded_table, read_table
from quorate.io.rows import read_rows

DROPPED = -1  # the label of an entry whose rows conflict and were dropped
COLUMNS = ("tasks", "workers", "labels")


@dataclass(frozen=True)
class Entries:
    """Answers with their history: one entry for each task and worker, sorted by task, then worker."""

    task: IntArray  # [entries], int32
    worker: IntArray  # [entries], int32
    label: IntArray  # [entries], int32; DROPPED if conflicting labels were dropped
    rows: IntArray  # [entries], int64, number of rows read for this task and worker
    clashed: BoolArray  # [entries], whether these rows gave more than one label
    names: tuple[pa.Array, pa.Array, pa.Array]  # ids of tasks, workers and labels, by their codes
    n_skipped: int  # rows left out because a field was missing

    @property
    def n_answers(self) -> int:
        """Number of entries with a label."""
        return int(np.count_nonzero(self.label != DROPPED))

    @property
    def n_rows(self) -> int:
        """Number of rows read, including those with a missing field."""
        return int(self.rows.sum()) + self.n_skipped

    @property
    def n_repeats(self) -> int:
        """Number of further rows that repeat an answer exactly."""
        return int((self.rows - 1)[~self.clashed].sum())

    @property
    def n_conflicting(self) -> int:
        """Number of rows left out because other rows of the same task and worker have another label."""
        return int((self.rows - (self.label != DROPPED))[self.clashed].sum())


@dataclass(frozen=True)
class Added:
    """Row counts of one batch and their effect on the ledger."""

    n_rows: int
    n_answers: int  # increase of the number of answers; negative if more were dropped than added
    n_repeats: int  # further rows that repeat an answer exactly
    n_conflicting: int  # further rows left out by the conflict policy, or replaced by a later one
    n_skipped: int  # rows without a task, a worker or a label


def no_entries() -> Entries:
    """Return the entries of an empty ledger.

    >>> no_entries().n_answers
    0
    """
    codes = np.zeros(0, np.int32)
    ids = (from_strings([]), from_strings([]), from_strings([]))
    return Entries(codes, codes, codes, np.zeros(0, np.int64), np.zeros(0, dtype=bool), ids, n_skipped=0)


def read_entries(source: Source, reading: ReadOptions) -> Entries:
    """Read a batch and resolve repeats and conflicts within it.

    Args:
        source: what `quorate.read` takes.
        reading: columns, conflict policy, missing fields.

    Raises:
        InputError: the rows cannot be used; as in `quorate.read`.

    >>> rows = {"task": [1, 1], "worker": ["a", "a"], "label": ["x", "y"]}
    >>> entries = read_entries(rows, ReadOptions(on_conflict="last"))
    >>> entries.label.tolist(), entries.rows.tolist(), entries.clashed.tolist()
    ([1], [2], [True])
    """
    read = read_encoded_table if len({*reading.columns}) == len(COLUMNS) else read_table  # codes are overwritten
    table = read(source, reading.required_columns(), reading)
    encoded = [encode(table.column(name), name, is_label=k == 2) for k, name in enumerate(reading.columns)]
    present = np.logical_and.reduce([codes >= 0 for codes, _ in encoded])
    n_skipped = len(present) - int(np.count_nonzero(present))
    if n_skipped and not reading.skip_missing:
        read_rows(_parsed(table), replace(reading, on_conflict="first"))  # names the rows
    # In canonical order, so that a ledger of one batch is not sorted again whenever it is read.
    encoded = [in_order_of_ids(codes, one_type(ids, what)) for (codes, ids), what in zip(encoded, COLUMNS, strict=True)]
    columns = [codes[present] if n_skipped else codes for codes, _ in encoded]
    names = (encoded[0][1], encoded[1][1], encoded[2][1])
    (task, worker, label), has_repeats = sort_answers(*columns, overwrite=True)
    if not has_repeats:
        n = len(task)
        return Entries(task, worker, label, np.ones(n, np.int64), np.zeros(n, dtype=bool), names, n_skipped)
    order = np.lexsort(columns[1::-1])  # stable: the rows of a repeat stay in their order
    task, worker, label = (column[order] for column in columns)
    is_repeat = (task[1:] == task[:-1]) & (worker[1:] == worker[:-1])
    first = np.concatenate([[True], ~is_repeat])
    last = np.concatenate([~is_repeat, [True]])
    group = np.cumsum(first) - 1
    n_groups = int(first.sum())
    clashed = np.bincount(group[1:][is_repeat & (label[1:] != label[:-1])], minlength=n_groups) > 0
    if reading.on_conflict == "error" and clashed.any():
        read_rows(_parsed(table), reading)  # names the rows
    standing = label[last if reading.on_conflict == "last" else first]
    if reading.on_conflict == "drop":
        standing = np.where(clashed, np.int32(DROPPED), standing)
    rows = np.bincount(group, minlength=n_groups)
    return Entries(task[first], worker[first], standing, rows, clashed, names, n_skipped)


def _parsed(table: pa.Table | EncodedTable) -> pa.Table:
    return table if isinstance(table, pa.Table) else table.parsed_again()


@dataclass(frozen=True)
class Batch:
    """Entries with the policy by which they were added."""

    entries: Entries
    on_conflict: str  # error, first, last or drop


def combine(batches: Sequence[Batch]) -> Entries:
    """Return the entries of all batches, added one after another, with ids in canonical order.

    The result does not depend on how rows were divided into batches; for the policies first and last, it depends on the
    order of conflicting batches.

    Raises:
        ColumnTypeError: the ids of two batches are of different types.
        ConflictingAnswersError: a batch whose policy is ``error`` contradicts an earlier one.

    >>> rows = {"task": [1], "worker": ["a"], "label": ["x"]}
    >>> batch = Batch(read_entries(rows, ReadOptions()), "error")
    >>> both = combine([batch, batch])
    >>> both.rows.tolist(), both.n_repeats
    ([2], 1)
    """
    if not batches:
        return no_entries()
    codes, names = zip(
        *(_unify([batch.entries.names[k] for batch in batches], what) for k, what in enumerate(COLUMNS)), strict=True
    )
    parts = []
    for number, batch in enumerate(batches):
        tasks, workers, labels = (column[number] for column in codes)
        entries = batch.entries
        parts.append((tasks[entries.task], workers[entries.worker], recode(entries.label, labels)))
    task, worker, label = (_concatenated(column) for column in zip(*parts, strict=True))
    del parts
    rows = _concatenated([batch.entries.rows for batch in batches])
    clashed = _concatenated([batch.entries.clashed for batch in batches])
    key = entry_keys(task, worker)
    if len(batches) > 1 or np.any(key[1:] < key[:-1]):
        order = np.argsort(key, kind="stable")
        key = key[order]
        is_first = np.concatenate([[True], key[1:] != key[:-1]])[: len(key)]
        first = np.flatnonzero(is_first)
        policy = np.repeat(
            np.array([POLICIES.index(batch.on_conflict) for batch in batches], np.int8),
            [len(batch.entries.task) for batch in batches],
        )
        n_entries = np.diff(np.append(first, len(key)))
        task = task[order][first]
        worker = worker[order][first]
        standing = label[order][first]
        total = rows[order][first]
        mixed = clashed[order][first]
        for k in range(1, int(n_entries.max(initial=1))):  # the k-th further entry of each task and worker
            group = np.flatnonzero(n_entries > k)
            position = order[first[group] + k]
            new = label[position]
            differs = new != standing[group]
            chosen = policy[position]
            refused = np.flatnonzero(differs & (chosen == POLICIES.index("error")))
            if len(refused):
                entry = group[refused[0]]
                raise contradiction(
                    len(refused),
                    names[1][int(worker[entry])],
                    names[0][int(task[entry])],
                    _label_text(names[2], int(standing[entry])),
                    _label_text(names[2], int(new[refused[0]])),
                )
            total[group] += rows[position]
            mixed[group] |= clashed[position] | differs
            standing_or_dropped = np.where(chosen == POLICIES.index("drop"), DROPPED, standing[group])
            standing[group] = np.where((chosen == POLICIES.index("last")) | ~differs, new, standing_or_dropped)
        label = standing
        rows = total
        clashed = mixed
    n_skipped = sum(batch.entries.n_skipped for batch in batches)
    return Entries(task, worker, label, rows, clashed, names, n_skipped)


def entry_keys(task: IntArray, worker: IntArray) -> IntArray:
    """Return one 64-bit integer per entry that sorts by task, then worker.

    >>> (entry_keys(np.array([1], np.int32), np.array([2], np.int32)) == (1 << 32) + 2).tolist()
    [True]
    """
    key: IntArray = task.astype(np.int64)
    key <<= 32
    key |= worker
    return key


def _concatenated(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _unify(names: Sequence[pa.Array], what: str) -> tuple[list[IntArray], pa.Array]:
    """Return for each batch the codes of its ids among the ids of all batches, and these ids in canonical order."""
    arrays = [one_type(ids, what) for ids in names if len(ids)]
    if not arrays:
        return [np.zeros(0, np.int32) for _ in names], from_strings([])
    for ids in arrays:
        check_type(ids.type, arrays[0].type, what)
    if len(arrays) == 1:
        codes, ids = in_order_of_ids(np.arange(len(arrays[0]), dtype=np.int32), arrays[0])
    else:
        encoded = pa.concat_arrays(arrays).dictionary_encode()
        codes, ids = in_order_of_ids(to_numpy(encoded.indices), encoded.dictionary)
    ends = np.cumsum([len(column) for column in names])
    return [part.astype(np.int32) for part in np.split(codes, ends[:-1])], ids


def standing_label(old: int, new: int, on_conflict: str) -> int:
    """Return the label that counts if a batch gives a task and worker another label, or the same one again.

    Args:
        old: the label that counted before, or DROPPED.
        new: the label of the batch.
        on_conflict: the policy of the batch; with ``error``, the caller must refuse another label.

    >>> standing_label(3, 5, "first"), standing_label(3, 5, "last"), standing_label(3, 5, "drop") == DROPPED
    (3, 5, True)
    """
    if new == old or on_conflict == "last":
        return new
    return DROPPED if on_conflict == "drop" else old


def contradiction(n: int, worker: Any, task: Any, old: str, new: str) -> ConflictingAnswersError:
    """Return the error for n answers of a batch that contradict the ledger; the other arguments describe the first.

    >>> str(contradiction(1, "ann", 7, "'cat'", "'dog'")).partition(".")[0]
    "1 answer of this batch contradicts the ledger; worker 'ann' gave task 7 'cat' before and now 'dog'"
    """
    worker_id = worker.as_py() if isinstance(worker, pa.Scalar) else worker
    task_id = task.as_py() if isinstance(task, pa.Scalar) else task
    return ConflictingAnswersError(
        f"{n:,} answer{'s' if n > 1 else ''} of this batch contradict{'s' if n == 1 else ''} the ledger; worker "
        f"{shown(worker_id)} gave task {shown(task_id)} {old} before and now {new}. Nothing was added. "
        "Choose on_conflict='first', 'last' or 'drop' (--on-conflict)"
    )


def first_contradiction(
    entries: Entries, clashes: Sequence[tuple[int, int]], label_of: Callable[[int], Any]
) -> ConflictingAnswersError:
    """Return the error for entries that contradict the ledger.

    Args:
        entries: the batch.
        clashes: indices of entries, each with the code of the label in the ledger; one or more.
        label_of: returns the label of such a code.
    """
    row, old = clashes[0]
    return contradiction(
        len(clashes),
        entries.names[1][int(entries.worker[row])],
        entries.names[0][int(entries.task[row])],
        label_text(None if old == DROPPED else label_of(old)),
        _label_text(entries.names[2], int(entries.label[row])),
    )


def _label_text(names: pa.Array, label: int) -> str:
    return label_text(None if label == DROPPED else names[label].as_py())


def label_text(label: Any) -> str:
    """Return a label as text for a message; None means labels that were dropped.

    >>> label_text("cat"), label_text(None)
    ("'cat'", 'several labels, which were dropped,')
    """
    return "several labels, which were dropped," if label is None else shown(label)


def recode(label: IntArray, code: IntArray) -> IntArray:
    """Return labels with other codes; DROPPED is unchanged.

    >>> recode(np.array([0, DROPPED, 1]), np.array([7, 8])).tolist()
    [7, -1, 8]
    """
    new: IntArray = np.append(code, code.dtype.type(DROPPED))[label]  # DROPPED is the last position
    return new


def one_type(names: pa.Array, what: str) -> pa.Array:
    """Return ids as the type that a ledger uses for text or for integers, so that equal ids remain equal.

    Raises:
        ColumnTypeError: the ids cannot be cast, or have no order.

    >>> one_type(pa.array([1, 2], pa.int16()), "tasks").type
    DataType(int64)
    """
    kind = names.type
    if kind in TEXT:
        kind = pa.string()
    elif pa.types.is_integer(kind) and kind != pa.uint64():
        kind = pa.int64()
    try:
        names = names.cast(kind)
    except pa.ArrowException as error:  # more text than one array holds
        raise ColumnTypeError(f"the {what} cannot be kept: {reason(error)}") from None
    if pa.types.is_float16(names.type) or pa.types.is_interval(names.type):
        raise ColumnTypeError(f"the {what} are {names.type} values, which have no order; write them as text")
    return names


def check_type(new: pa.DataType, known: pa.DataType, what: str) -> None:
    """Raise an error if ids are of another type than those of the ledger.

    Raises:
        ColumnTypeError: the types differ.

    >>> check_type(pa.string(), pa.string(), "tasks")
    """
    if new != known:
        raise ColumnTypeError(
            f"the {what} of this batch are of type {new}, those of the ledger {known}: the same id would "
            "count as two. Write both in the same way (ids from CSV files are text)"
        )


def keys_of(names: pa.Array) -> list[Any]:
    """Return ids as Python values for lookup; dates and times are returned as integers, which is exact.

    >>> keys_of(pa.array(["b", "a"]))
    ['b', 'a']
    """
    if pa.types.is_temporal(names.type):
        names = names.view(pa.int32() if names.type.bit_width == 32 else pa.int64())
    keys: list[Any] = names.to_pylist()
    return keys


def ids_of(keys: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return the ids of a type for the keys of `keys_of`.

    >>> ids_of(["b", "a"], pa.string()).to_pylist()
    ['b', 'a']
    """
    if pa.types.is_null(kind) or kind in TEXT:
        return from_strings(list(keys))
    if pa.types.is_temporal(kind):
        return from_numpy(np.array(keys, np.int32 if kind.bit_width == 32 else np.int64)).view(kind)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return from_numpy(np.array(keys, NUMPY_KINDS[kind]))
    if pa.types.is_decimal(kind):
        return pa.array([Decimal(key) for key in keys], kind)
    return pa.array(keys, kind)
