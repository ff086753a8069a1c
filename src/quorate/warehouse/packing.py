"""Files of whole tasks -> blocks on disk: rows sorted, repeats and conflicts settled as in memory, ids kept beside."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from quorate.answers import Roster
from quorate.arrays import IntArray, from_numpy, take, to_numpy
from quorate.blocks.block import NARROW
from quorate.errors import ConflictingAnswersError, NoRowsError, listing
from quorate.progress import tracked
from quorate.reading.columns import encode, in_order_of_ids, order_classes
from quorate.reading.options import ReadOptions
from quorate.reading.settling import Settled, settle
from quorate.warehouse.local_gold import LocalGold
from quorate.warehouse.spreading import Coder, Spread

SMALL = 31  # bits that a whole number may have beyond the least of its file, to be a code by itself


@dataclass
class _Totals:
    """What is counted on the way."""

    per_worker: IntArray
    per_class: IntArray
    n_tasks: int = 0
    n_answers: int = 0
    n_repeats: int = 0
    n_conflicting: int = 0
    n_skipped: int = 0
    n_clashes: int = 0
    clash: tuple[Any, Any, list[Any]] | None = None  # task, worker and labels of the first conflict
    names: list[Path] = field(default_factory=list)
    tasks_in: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Packed:
    """Blocks on disk, and who is in them."""

    folder: Path  # start, worker, label: numbers one after another; names-*.arrow: the ids of the tasks
    roster: Roster
    names: tuple[Path, ...]  # of the tasks, a file for each of the rows
    tasks_in: tuple[int, ...]  # how many each holds
    known: IntArray | None  # the known class of each task, -1 where unknown


def pack(rows: Spread, folder: Path, reading: ReadOptions, engine: str, gold: LocalGold | None = None) -> Packed:
    """Sort and check the rows of each file, and append them to blocks on disk; the files are removed on the way.

    Args:
        rows: in files of whole tasks.
        folder: where the blocks go.
        reading: what becomes of conflicts and missing fields.
        engine: the name of where the answers come from.
        gold: known labels.

    Raises:
        InputError: the answers cannot be used as they are; each cause has its own class.

    >>> import tempfile
    >>> from quorate.warehouse.spreading import spread
    >>> table = pa.table({"task": [7, 5, 7], "worker": ["a", "a", "b"], "label": ["x", "y", "x"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     there = Path(folder)
    ...     found = pack(spread(table.to_batches(), there, 3, ReadOptions()), there, ReadOptions(), "duckdb")
    ...     np.fromfile(there / "start", np.int64).tolist(), np.fromfile(there / "worker", np.int32).tolist()
    ([0, 1, 3], [0, 0, 1])
    """
    totals = _Totals(np.zeros(len(rows.worker_names), np.int64), np.zeros(len(rows.classes), np.int64))
    totals.n_skipped = rows.n_without_task
    missing = Coder(reading.columns[0])
    known: list[IntArray] = []
    with ExitStack() as files:
        start, worker, label = (
            files.enter_context((folder / name).open("wb")) for name in ("start", "worker", "label")
        )
        np.zeros(1, np.int64).tofile(start)
        for number, path in tracked("packing", list(enumerate(rows.files))):
            table = _read(path)
            if table is not None:
                names, found = _settled(table, rows, reading, totals, missing)
                _append(found, len(names), totals, (start, worker, label))
                _keep_names(names, folder / f"names-{number:04d}.arrow", totals)
                if gold is not None:
                    known.append(gold.codes_of(names))
            path.unlink(missing_ok=True)
    if missing.n_missing and not reading.skip_missing:
        missing.refuse("task", reading.columns)
    if reading.on_conflict == "error" and totals.clash is not None:
        _refuse_conflicts(totals)
    if totals.n_answers == 0:
        raise NoRowsError(f"all {rows.n_rows:,} rows conflict; no answer is left. Keep the 'first' or the 'last'")
    classes = rows.classes if reading.classes is not None else _without_unused(folder / "label", rows, totals)
    roster = Roster(
        engine=engine,
        worker_names=rows.worker_names,
        classes=classes,
        per_worker=totals.per_worker,
        n_tasks=totals.n_tasks,
        n_rows=rows.n_rows,
        n_repeats=totals.n_repeats,
        n_conflicting=totals.n_conflicting,
        n_skipped=totals.n_skipped,
    )
    if gold is not None:
        gold.check(classes)
    codes = None if gold is None else gold.classed(np.concatenate(known), classes)
    return Packed(folder, roster, tuple(totals.names), tuple(totals.tasks_in), codes)


def _read(path: Path) -> pa.Table | None:
    """Read the rows of a file; None where it has none."""
    if not path.exists():
        return None
    table = pa.ipc.open_stream(pa.memory_map(str(path))).read_all()
    return table if table.num_rows else None


def _settled(
    table: pa.Table, rows: Spread, reading: ReadOptions, totals: _Totals, missing: Coder
) -> tuple[pa.Array, Settled]:
    """Name the tasks of a file, in the order of their ids, and settle its answers."""
    w, c = (_numbers(table.column(name)) for name in ("w", "c"))
    present = w >= 0
    worker = np.append(rows.worker_code, -1).astype(np.int32)[w]
    label = np.append(rows.class_code, -1).astype(np.int32)[c]
    column = table.column("task")
    task, names = _direct(column) if present.all() and reading.on_conflict != "drop" else (None, None)
    if task is None:
        codes, names = encode(column, reading.columns[0])
        blank = np.flatnonzero(codes < 0)
        if len(blank):
            one = int(blank[0])
            who = None if worker[one] < 0 else rows.worker_names[int(worker[one])].as_py()
            what = None if label[one] < 0 else rows.classes[int(label[one])].as_py()
            missing.note(len(blank), {"task": column[one].as_py(), "worker": who, "label": what})
            present &= codes >= 0
        task, names = in_order_of_ids(codes, names)
    totals.n_skipped += len(present) - int(present.sum())
    if "order" in table.column_names:
        place = _order(table, label, reading)
        task, worker, label, present = task[place], worker[place], label[place], present[place]
    if not present.all():
        task, worker, label = task[present], worker[present], label[present]
    found = settle(task, worker, label, reading.on_conflict)
    if found.clashing is not None and len(found.clashing):
        _note_clash(found.clashing, (task, worker, label), names, column, rows, totals)
    if names is None:  # the codes are the numbers themselves: give the tasks of the file the next ones
        first = np.ones(len(found.task), dtype=bool)
        first[1:] = found.task[1:] != found.task[:-1]
        names = from_numpy(found.task[first].astype(np.int64) + _least(column)).cast(column.type)
        found = Settled(np.cumsum(first) - 1, found.worker, found.label, found.n_repeats, found.n_conflicting)
    return names, found


def _direct(column: pa.ChunkedArray) -> tuple[IntArray | None, None]:
    """Take whole numbers for codes, less the least, where they are near each other; None where they are not."""
    if not pa.types.is_integer(column.type) or column.null_count:
        return None, None
    low, high = _least(column), int(pc.max(column).as_py())
    if (high - low).bit_length() > SMALL or high >= 1 << 62 or low < -(1 << 62):
        return None, None
    return (_numbers(column).astype(np.int64) - low).astype(np.int32), None


def _least(column: pa.ChunkedArray) -> int:
    return int(pc.min(column).as_py())


def _numbers(column: pa.ChunkedArray) -> IntArray:
    return np.concatenate([to_numpy(chunk) for chunk in column.chunks])


def _order(table: pa.Table, label: IntArray, reading: ReadOptions) -> IntArray:
    """Return the rows in their order; at one place the first class is the one that counts, as in `taken_out`."""
    towards = "ascending" if reading.on_conflict == "first" else "descending"
    keyed = pa.table({"order": table.column("order"), "class": from_numpy(label)})
    return to_numpy(pc.sort_indices(keyed, [("order", "ascending"), ("class", towards)])).astype(np.int64)


def _note_clash(
    rows: IntArray,
    codes: tuple[IntArray, IntArray, IntArray],
    names: pa.Array | None,
    column: pa.ChunkedArray,
    spread: Spread,
    totals: _Totals,
) -> None:
    """Count workers who gave a task two labels, and keep the first of them."""
    task, worker, label = (code[rows] for code in codes)
    new = np.concatenate([[True], (task[1:] != task[:-1]) | (worker[1:] != worker[:-1])])
    totals.n_clashes += int(new.sum())
    if totals.clash is None:
        end = int(np.flatnonzero(new)[1]) if new.sum() > 1 else len(new)
        named = int(task[0]) + _least(column) if names is None else names[int(task[0])].as_py()
        given = take(spread.classes, np.sort(label[:end])).to_pylist()
        totals.clash = (named, spread.worker_names[int(worker[0])].as_py(), given)


def _refuse_conflicts(totals: _Totals) -> None:
    assert totals.clash is not None
    task, worker, given = totals.clash
    raise ConflictingAnswersError(
        f"{totals.n_clashes:,} worker{'s' if totals.n_clashes > 1 else ''} answered a task in two ways; worker "
        f"{worker!r} gave task {task!r} {listing(given)}. Choose on_conflict='first', 'last' or 'drop' (--on-conflict)"
    )


def _append(found: Settled, n_tasks: int, totals: _Totals, files: tuple[BinaryIO, BinaryIO, BinaryIO]) -> None:
    """Write a file's answers after those of the files before."""
    start, worker, label = files
    ends = np.cumsum(np.bincount(found.task, minlength=n_tasks)) + totals.n_answers
    ends.astype(np.int64).tofile(start)
    found.worker.astype(np.int32).tofile(worker)
    found.label.astype(np.uint8 if len(totals.per_class) <= NARROW else np.int32).tofile(label)
    totals.per_worker += np.bincount(found.worker, minlength=len(totals.per_worker))
    totals.per_class += np.bincount(found.label, minlength=len(totals.per_class))
    totals.n_tasks += n_tasks
    totals.n_answers += len(found.task)
    totals.n_repeats += found.n_repeats
    totals.n_conflicting += found.n_conflicting


def _keep_names(names: pa.Array, path: Path, totals: _Totals) -> None:
    table = pa.table({"task": names})
    with pa.ipc.new_stream(str(path), table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(table)
    totals.names.append(path)
    totals.tasks_in.append(len(names))


def _without_unused(path: Path, rows: Spread, totals: _Totals) -> pa.Array:
    """Renumber the classes, where every answer of some of them was dropped."""
    used: IntArray = np.flatnonzero(totals.per_class)
    if len(used) == len(rows.classes):
        return rows.classes
    new, listed = order_classes(used, rows.classes, None)
    code = np.zeros(len(rows.classes), np.int32)
    code[used] = new
    old, kind = (np.uint8 if len(classes) <= NARROW else np.int32 for classes in (rows.classes, listed))
    labels = np.fromfile(path, old)
    code[labels].astype(kind).tofile(path)
    return listed


def task_names(packed: Packed) -> Iterator[pa.Array]:
    """Read the ids of the tasks, file by file, in the order of the blocks.

    >>> task_names  # doctest: +ELLIPSIS
    <function task_names at ...>
    """
    for path in packed.names:
        column = pa.ipc.open_stream(pa.memory_map(str(path))).read_all().column("task")
        yield column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
