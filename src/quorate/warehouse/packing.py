"""Files of whole tasks -> blocks on disk: rows sorted, repeats and conflicts settled as in memory, ids kept beside."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from quorate.answers import Roster
from quorate.arrays import IntArray
from quorate.blocks.block import code_type
from quorate.progress import tracked
from quorate.reading.options import ReadOptions
from quorate.warehouse.local_gold import LocalGold
from quorate.warehouse.spreading import Coder, Spread
from quorate.warehouse.whole_tasks import (
    Totals,
    WholeTasks,
    check_totals,
    classes_in_use,
    no_totals,
    points_in_use,
    roster_of,
    settle_rows,
)

ANSWERS, SYMBOL = ("start", "worker", "label"), "symbol"  # files of numbers; the second where there are grades
SILENT = ("silent-start", "silent-worker", "silent-symbol")  # where somebody may abstain


@dataclass(frozen=True)
class Packed:
    """Blocks on disk, and who is in them."""

    folder: Path  # ANSWERS, SYMBOL, SILENT: numbers one after another; names-*.arrow: the ids of the tasks
    roster: Roster
    names: tuple[Path, ...]  # of the tasks, a file for each of the rows
    known: IntArray | None  # the known class of each task, -1 where unknown
    points_to: IntArray | None  # the class of each symbol; None where all that is said are classes
    has_grades: bool  # whether symbols are kept


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
    totals, names_in, known = no_totals(rows), list[Path](), list[IntArray]()
    totals.n_skipped = rows.n_without_task
    missing = Coder(reading.columns[0])
    with ExitStack() as opened:
        wanted = (*ANSWERS, *([SYMBOL] if rows.has_grades else []), *(SILENT if rows.n_silent else []))
        files = {name: opened.enter_context((folder / name).open("wb")) for name in wanted}
        for name in {ANSWERS[0], SILENT[0]} & files.keys():
            np.zeros(1, np.int64).tofile(files[name])
        for number, path in tracked("packing", list(enumerate(rows.files))):
            table = _read(path)
            if table is not None:
                whole = settle_rows(table, rows, reading, totals, missing)
                _append(whole, rows, totals, files)
                names_in.append(_keep_names(whole.names, folder / f"names-{number:04d}.arrow"))
                if gold is not None:
                    known.append(gold.codes_of(whole.names))
            path.unlink(missing_ok=True)
    check_totals(totals, rows, reading, missing)
    classes, code = classes_in_use(rows, totals, reading)
    if code is not None:
        _renumber(folder / "label", code, len(rows.classes), len(classes))
    if gold is not None:
        gold.check(classes)
    codes = None if gold is None else gold.classed(np.concatenate(known), classes)
    roster, points_to = roster_of(totals, rows, classes, engine), points_in_use(totals, rows, classes)
    return Packed(folder, roster, tuple(names_in), codes, points_to, rows.has_grades)


def _read(path: Path) -> pa.Table | None:
    """Read the rows of a file; None where it has none."""
    if not path.exists():
        return None
    table = pa.ipc.open_stream(pa.memory_map(str(path))).read_all()
    return table if table.num_rows else None


def _append(whole: WholeTasks, rows: Spread, totals: Totals, files: Mapping[str, BinaryIO]) -> None:
    """Write a file's answers and abstentions after those of the files before."""
    found, n_tasks, n_symbols = whole.found, len(whole.names), len(rows.symbols(len(rows.classes)))
    ends = np.cumsum(np.bincount(found.task, minlength=n_tasks)) + totals.n_answers
    columns: dict[str, IntArray] = dict(zip(ANSWERS, (ends, found.worker, found.label), strict=True))
    if whole.symbol is not None:
        columns[SYMBOL] = whole.symbol
    if whole.silent is not None:
        silent, before = whole.silent, files[SILENT[1]].tell() // np.dtype(np.int32).itemsize
        columns |= dict(zip(SILENT, (silent.start[1:] + before, silent.worker, silent.symbol), strict=True))
    for name, column in columns.items():
        column.astype(kind_of(name, len(rows.classes), n_symbols)).tofile(files[name])
    totals.add(found, n_tasks)


def kind_of(name: str, n_classes: int, n_symbols: int) -> type[Any]:
    """Return the type of the numbers in a file.

    >>> kind_of("worker", 2, 0).__name__, kind_of("label", 2, 0).__name__
    ('int32', 'uint8')
    """
    if name in (ANSWERS[0], SILENT[0]):
        return np.int64
    few = {ANSWERS[2]: n_classes, SYMBOL: n_symbols}
    return code_type(few[name]) if name in few else np.int32


def _keep_names(names: pa.Array, path: Path) -> Path:
    table = pa.table({"task": names})
    with pa.ipc.new_stream(str(path), table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(table)
    return path


def _renumber(path: Path, code: IntArray, before: int, after: int) -> None:
    """Give the labels of a file other numbers."""
    old, new = code_type(before), code_type(after)
    code[np.fromfile(path, old)].astype(new).tofile(path)


def task_names(packed: Packed) -> Iterator[pa.Array]:
    """Read the ids of the tasks, file by file, in the order of the blocks.

    >>> task_names  # doctest: +ELLIPSIS
    <function task_names at ...>
    """
    for path in packed.names:
        column = pa.ipc.open_stream(pa.memory_map(str(path))).read_all().column("task")
        yield column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
