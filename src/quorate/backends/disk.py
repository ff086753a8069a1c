"""Blocks in files, mapped into memory: a pass reads them from disk if they do not fit in memory.

Files of whole tasks -> blocks on disk: rows sorted, repeats and conflicts resolved as in memory, with their ids.
"""

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from quorate.answers import CrowdInfo
from quorate.arrays import IntArray, from_numpy
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
from quorate.blocks.block import Abstentions, Block, Sampled, StoredBlocks, check_codes, code_type, in_order_of_hash
from quorate.blocks.memory import MemoryBlocks, named_answers
from quorate.blocks.sampling import trim_sample
from quorate.errors import NotInMemoryError
from quorate.io.gold import LocalGold
from quorate.io.options import ReadOptions
from quorate.progress import tracked

# Files of numbers. START has for each task the position of its first answer, and last the number of answers.
START = "start"
WORKER = "worker"
LABEL = "label"
SYMBOL = "symbol"  # only where several labels mean one class
ABSTENTION_START = "abstention-start"  # the three files of abstentions: only where workers may abstain
ABSTENTION_WORKER = "abstention-worker"
ABSTENTION_SYMBOL = "abstention-symbol"
STARTS = (START, ABSTENTION_START)


@dataclass(frozen=True)
class Packed:
    """Blocks on disk, with their workers and classes."""

    folder: Path  # START to ABSTENTION_SYMBOL; names-*.arrow: the ids of the tasks
    crowd_info: CrowdInfo
    names: tuple[Path, ...]  # files of task ids, one for each file of rows
    known: IntArray | None  # the known class of each task, -1 where unknown
    class_of_symbol: IntArray | None  # the class of each symbol; None where every label is a class
    has_grades: bool  # whether symbols are kept


def pack(
    rows: PartitionedRows, folder: Path, reading: ReadOptions, engine: str, gold: LocalGold | None = None
) -> Packed:
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
    ...     packed = pack(partition_rows(table.to_batches(), path, 3, ReadOptions()), path, ReadOptions(), "duckdb")
    ...     np.fromfile(path / START, np.int64).tolist(), np.fromfile(path / WORKER, np.int32).tolist()
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
                name_files.append(_keep_names(tasks.names, folder / f"names-{number:04d}.arrow"))
                if gold is not None:
                    gold_codes.append(gold.codes_of(tasks.names))
            path.unlink(missing_ok=True)
    check_totals(totals, rows, reading, missing_tasks)
    classes, new_code = classes_in_use(rows, totals, reading)
    if new_code is not None:
        _renumber(folder / LABEL, new_code, len(rows.classes), len(classes))
    known = None
    if gold is not None:
        gold.check(classes)
        known = gold.classed(np.concatenate(gold_codes), classes)
    return Packed(
        folder,
        crowd_info_of(totals, rows, classes, engine),
        tuple(name_files),
        known,
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
        column.astype(kind_of(name, len(rows.classes), n_symbols)).tofile(files[name])
    totals.add(resolved, n_tasks)


def kind_of(name: str, n_classes: int, n_symbols: int) -> type[Any]:
    """Return the type of the numbers in a file.

    >>> kind_of("worker", 2, 0).__name__, kind_of("label", 2, 0).__name__
    ('int32', 'uint8')
    """
    if name in STARTS:
        return np.int64
    if name == LABEL:
        return code_type(n_classes)
    if name == SYMBOL:
        return code_type(n_symbols)
    return np.int32


def _keep_names(names: pa.Array, path: Path) -> Path:
    table = pa.table({"task": names})
    with pa.ipc.new_stream(str(path), table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(table)
    return path


def _renumber(path: Path, code: IntArray, before: int, after: int) -> None:
    """Replace the label codes of a file."""
    old = code_type(before)
    new = code_type(after)
    code[np.fromfile(path, old)].astype(new).tofile(path)


def task_names(packed: Packed) -> Iterator[pa.Array]:
    """Yield the ids of the tasks, file by file, in the order of the blocks.

    >>> task_names  # doctest: +ELLIPSIS
    <function task_names at ...>
    """
    for path in packed.names:
        column = pa.ipc.open_stream(pa.memory_map(str(path))).read_all().column("task")
        yield column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


@dataclass(frozen=True)
class FileBlocks(MemoryBlocks):
    """All answers in files of a folder, which is removed with this object."""

    packed: Packed = field(kw_only=True)
    folder: "TemporaryFolder" = field(kw_only=True, repr=False)

    @property
    def crowd_info(self) -> CrowdInfo:
        """Their workers and classes."""
        return self.packed.crowd_info

    @cached_property
    def per_worker(self) -> IntArray:
        """N_i, the number of answers of each worker; counted while packing."""
        return self.packed.crowd_info.per_worker

    def sample(self, n_answers: int) -> Sampled:
        """Return the tasks with the smallest hashes, as in memory: files are in the order of the hashes."""
        n_tasks = 0
        names = []
        for part in task_names(self.packed):
            names.append(part)
            n_tasks += len(part)
            if self.all_tasks.start[n_tasks] >= n_answers:
                break
        first_tasks = self.all_tasks.span(0, n_tasks)
        sample = Sampled(
            named_answers(first_tasks, self.class_of_symbol, pa.concat_arrays(names), self.crowd_info),
            first_tasks.gold,
        )
        return trim_sample(sample, n_answers)

    def gold_tasks(self) -> Block:
        """Return the tasks of known class in memory, in the order of the hashes of their ids."""
        gold_block = super().gold_tasks()
        known = self.all_tasks.is_known
        names = []
        low = 0
        for batch in task_names(self.packed):
            names.append(batch.filter(from_numpy(known[low : low + len(batch)])))
            low += len(batch)
        return in_order_of_hash([(gold_block, pa.concat_arrays(names))])

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the files: a copy has only the results that were computed before."""
        return LostBlocks, (self.n_tasks, self.n_workers, self.n_classes, self.n_answers, self.per_worker)


class TemporaryFolder:
    """A folder that is removed with this object, or when the process ends."""

    def __init__(self, within: str | Path | None = None) -> None:
        if within is not None:
            Path(within).mkdir(parents=True, exist_ok=True)
        self.path = Path(tempfile.mkdtemp(prefix="quorate-blocks-", dir=within))
        self.remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True)
class LostBlocks:
    """The sizes of blocks, which a pickled copy has instead of the blocks."""

    n_tasks: int
    n_workers: int
    n_classes: int
    n_answers: int
    per_worker: IntArray

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotInMemoryError(
            "This copy of a result has no answers: they are in files of the process that made it. Read the "
            "attribute workers before the result is pickled"
        )


@dataclass(frozen=True, kw_only=True)
class BlockCrowdInfo(CrowdInfo):
    """`CrowdInfo` with the blocks from which the peers of its workers are counted."""

    blocks: StoredBlocks = field(repr=False)

    def n_peers(self) -> IntArray | None:
        """Return the number of other workers with whom each worker shares a task."""
        return self.blocks.n_peers()


def pack_blocks(
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
    >>> blocks = pack_blocks(rows.to_batches(), 3, ReadOptions(), engine="duckdb")
    >>> blocks.n_tasks, blocks.per_worker.tolist(), blocks.n_peers().tolist()
    (2, [2, 1], [1, 1])
    """
    folder = TemporaryFolder(temp)
    try:
        rows = partition_rows(batches, folder.path, n_rows, reading)
        packed = pack(rows, folder.path, reading, engine, gold)
        all_tasks = check_codes(_mapped(packed))
    except BaseException:
        folder.remove()
        raise
    return FileBlocks(all_tasks, packed.class_of_symbol, packed=packed, folder=folder)


def _mapped(packed: Packed) -> Block:
    """Map the files into memory, as one block."""
    crowd_info = packed.crowd_info
    n_symbols = 0 if packed.class_of_symbol is None else len(packed.class_of_symbol)
    n_classes = len(crowd_info.classes)

    def mapped(name: str) -> Any:
        return np.memmap(packed.folder / name, kind_of(name, n_classes, n_symbols), "r")

    abstentions = None
    if crowd_info.n_abstained:
        abstentions = Abstentions(mapped(ABSTENTION_START), mapped(ABSTENTION_WORKER), mapped(ABSTENTION_SYMBOL))
    return Block(
        mapped(START),
        mapped(WORKER),
        mapped(LABEL),
        len(crowd_info.worker_names),
        n_classes,
        gold=packed.known,
        symbol=mapped(SYMBOL) if packed.has_grades else None,
        abstentions=abstentions,
    )
