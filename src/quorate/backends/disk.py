"""Rows of answers -> blocks in files (`quorate.blocks.files`), for answers that do not fit in memory.

`build_file_blocks` partitions the rows into files of whole tasks. `write_block_files` sorts the rows of each file and
resolves repeats and conflicts as in memory.
"""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from quorate.arrays import IntArray
from quorate.backends.partition import Coder, PartitionedRows, partition_rows
from quorate.backends.task_rows import (
    TaskRows,
    Totals,
    check_totals,
    classes_in_use,
    crowd_info_of,
    no_totals,
    points_in_use,
    resolve_task_rows,
)
from quorate.blocks.block import code_type
from quorate.blocks.files import (
    ABSTENTION_START,
    ABSTENTION_SYMBOL,
    ABSTENTION_WORKER,
    LABEL,
    START,
    STARTS,
    SYMBOL,
    WORKER,
    BlockFiles,
    FileBlocks,
    TemporaryFolder,
    number_type,
    write_task_names,
)
from quorate.io.gold import LocalGold
from quorate.io.options import ReadOptions
from quorate.progress import tracked


def build_file_blocks(
    batches: Iterable[pa.RecordBatch],
    n_rows: int,
    reading: ReadOptions,
    *,
    engine: str,
    gold: LocalGold | None = None,
    temp: str | Path | None = None,
) -> FileBlocks:
    """Write rows to blocks on disk, each task in one block; rows are resolved as in memory.

    Args:
        batches: task, worker, label, and order if it decides which of two answers came first.
        n_rows: number of rows.
        reading: how conflicts and missing fields are handled, and the classes.
        engine: name of the engine that the rows come from.
        gold: known labels.
        temp: folder in which a temporary folder of the files is made; it is removed with the blocks.

    Raises:
        InputError: the answers cannot be used as they are; each cause has its own class.

    >>> rows = pa.table({"task": [7, 5, 7], "worker": ["a", "a", "b"], "label": ["x", "y", "x"]})
    >>> blocks = build_file_blocks(rows.to_batches(), 3, ReadOptions(), engine="duckdb")
    >>> blocks.n_tasks, blocks.per_worker.tolist(), blocks.n_peers().tolist()
    (2, [2, 1], [1, 1])
    """
    folder = TemporaryFolder(temp)
    try:
        rows = partition_rows(batches, folder.path, n_rows, reading)
        files = write_block_files(rows, folder.path, reading, engine, gold)
        all_tasks = files.as_block()
    except BaseException:
        folder.remove()
        raise
    return FileBlocks(all_tasks, files.class_of_symbol, files=files, folder=folder)


def write_block_files(
    rows: PartitionedRows, folder: Path, reading: ReadOptions, engine: str, gold: LocalGold | None = None
) -> BlockFiles:
    """Sort and check the rows of each file, and append them to blocks on disk; each file is then removed.

    Args:
        rows: rows in files of whole tasks.
        folder: folder of the blocks.
        reading: how conflicts and missing fields are handled.
        engine: name of the engine that the answers come from.
        gold: known labels.

    Raises:
        InputError: the answers cannot be used as they are; each cause has its own class.

    >>> import tempfile
    >>> from quorate.backends.partition import partition_rows
    >>> table = pa.table({"task": [7, 5, 7], "worker": ["a", "a", "b"], "label": ["x", "y", "x"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder)
    ...     rows = partition_rows(table.to_batches(), path, 3, ReadOptions())
    ...     files = write_block_files(rows, path, ReadOptions(), "duckdb")
    ...     [names.to_pylist() for names in files.task_names()]
    ...     np.fromfile(path / START, np.int64).tolist(), np.fromfile(path / WORKER, np.int32).tolist()
    [[5, 7]]
    ([0, 1, 3], [0, 0, 1])
    """
    totals = no_totals(rows)
    totals.n_skipped = rows.n_without_task
    missing_tasks = Coder(reading.columns[0])
    name_files: list[Path] = []
    gold_codes: list[IntArray] = []
    with ExitStack() as opened:
        files = {name: opened.enter_context((folder / name).open("wb")) for name in _file_names(rows)}
        for name in STARTS:
            if name in files:
                np.zeros(1, np.int64).tofile(files[name])  # start of the first task; each task appends its end
        for number, path in tracked("packing", list(enumerate(rows.files))):
            table = _read(path)
            if table is not None:
                tasks = resolve_task_rows(table, rows, reading, totals, missing_tasks)
                _append(tasks, rows, totals, files)
                name_files.append(folder / f"names-{number:04d}.arrow")
                write_task_names(tasks.names, name_files[-1])
                if gold is not None:
                    gold_codes.append(gold.codes_of(tasks.names))
            path.unlink(missing_ok=True)
    check_totals(totals, rows, reading, missing_tasks)
    classes, new_code = classes_in_use(rows, totals, reading)
    if new_code is not None:  # not every label of the rows is a class: number the classes anew
        code = np.fromfile(folder / LABEL, code_type(len(rows.classes)))
        new_code[code].astype(code_type(len(classes))).tofile(folder / LABEL)
    gold_of_task = None
    if gold is not None:
        gold.check(classes)
        gold_of_task = gold.classed(np.concatenate(gold_codes), classes)
    return BlockFiles(
        folder,
        crowd_info_of(totals, rows, classes, engine),
        tuple(name_files),
        gold_of_task,
        points_in_use(totals, rows, classes),
        rows.has_grades,
    )


def _file_names(rows: PartitionedRows) -> list[str]:
    """List the files of numbers that these rows need."""
    names = [START, WORKER, LABEL]
    if rows.has_grades:
        names.append(SYMBOL)
    if rows.n_abstentions:
        names += [ABSTENTION_START, ABSTENTION_WORKER, ABSTENTION_SYMBOL]
    return names


def _read(path: Path) -> pa.Table | None:
    """Read the rows of a file; None where it has none."""
    if not path.exists():
        return None
    table = pa.ipc.open_stream(pa.memory_map(str(path))).read_all()
    return table if table.num_rows else None


def _append(tasks: TaskRows, rows: PartitionedRows, totals: Totals, files: Mapping[str, BinaryIO]) -> None:
    """Append the answers and abstentions of a file to those of the previous files."""
    resolved = tasks.rows
    n_tasks = len(tasks.names)
    n_symbols = len(rows.symbols(len(rows.classes)))
    end_of_task = np.cumsum(np.bincount(resolved.task, minlength=n_tasks)) + totals.n_answers
    columns: dict[str, IntArray] = {START: end_of_task, WORKER: resolved.worker, LABEL: resolved.label}
    if tasks.symbol is not None:
        columns[SYMBOL] = tasks.symbol
    if tasks.abstentions is not None:
        n_before = files[ABSTENTION_WORKER].tell() // np.dtype(np.int32).itemsize
        columns[ABSTENTION_START] = tasks.abstentions.start[1:] + n_before
        columns[ABSTENTION_WORKER] = tasks.abstentions.worker
        columns[ABSTENTION_SYMBOL] = tasks.abstentions.symbol
    for name, column in columns.items():
        column.astype(number_type(name, len(rows.classes), n_symbols)).tofile(files[name])
    totals.add(resolved, n_tasks)
