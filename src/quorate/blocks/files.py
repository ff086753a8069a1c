"""Blocks in files: `FileBlocks`, mapped into memory, so that a pass reads them from disk if they do not fit in memory.

`quorate.backends.disk` writes the files. Each holds the numbers of one array of a `Block` of all tasks, in binary; the
ids of the tasks are in Arrow files.
"""

import shutil
import tempfile
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from quorate.answers import CrowdInfo
from quorate.arrays import IntArray, from_numpy
from quorate.blocks.block import Abstentions, Block, Sampled, check_codes, code_type, in_order_of_hash
from quorate.blocks.memory import MemoryBlocks, named_answers
from quorate.blocks.sampling import trim_sample
from quorate.errors import NotInMemoryError

# Files of numbers. START has for each task the position of its first answer, and last the number of answers.
START = "start"
WORKER = "worker"
LABEL = "label"
SYMBOL = "symbol"  # only where several labels mean one class
ABSTENTION_START = "abstention-start"  # the three files of abstentions: only where workers may abstain
ABSTENTION_WORKER = "abstention-worker"
ABSTENTION_SYMBOL = "abstention-symbol"
STARTS = (START, ABSTENTION_START)


def number_type(file_name: str, n_classes: int, n_symbols: int) -> type[Any]:
    """Return the type of the numbers in a file.

    >>> number_type("worker", 2, 0).__name__, number_type("label", 2, 0).__name__
    ('int32', 'uint8')
    """
    if file_name in STARTS:
        return np.int64
    if file_name == LABEL:
        return code_type(n_classes)
    if file_name == SYMBOL:
        return code_type(n_symbols)
    return np.int32


def write_task_names(names: pa.Array, path: Path) -> None:
    """Write the ids of some tasks to a file, which `BlockFiles.task_names` reads.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_task_names(pa.array(["t1", "t2"]), Path(folder) / "names-0000.arrow")
    """
    table = pa.table({"task": names})
    with pa.ipc.new_stream(str(path), table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(table)


@dataclass(frozen=True)
class BlockFiles:
    """The files of blocks on disk, with their workers, classes and known labels."""

    folder: Path  # START to ABSTENTION_SYMBOL; names-*.arrow: the ids of the tasks
    crowd_info: CrowdInfo
    name_files: tuple[Path, ...]  # files of task ids, in the order of the tasks
    gold: IntArray | None  # the known class of each task, -1 where unknown
    class_of_symbol: IntArray | None  # the class of each symbol; None where every label is a class
    has_grades: bool  # whether symbols are kept

    def task_names(self) -> Iterator[pa.Array]:
        """Yield the ids of the tasks, file by file, in the order of the blocks."""
        for path in self.name_files:
            column = pa.ipc.open_stream(pa.memory_map(str(path))).read_all().column("task")
            yield column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()

    def as_block(self) -> Block:
        """Map the files into memory, as one block of all tasks, and check its codes.

        Raises:
            ValueError: a code is out of range, for example because the disk is damaged.
        """
        crowd_info = self.crowd_info
        n_symbols = 0 if self.class_of_symbol is None else len(self.class_of_symbol)
        n_classes = len(crowd_info.classes)

        def mapped(name: str) -> Any:
            return np.memmap(self.folder / name, number_type(name, n_classes, n_symbols), "r")

        abstentions = None
        if crowd_info.n_abstained:
            abstentions = Abstentions(mapped(ABSTENTION_START), mapped(ABSTENTION_WORKER), mapped(ABSTENTION_SYMBOL))
        block = Block(
            mapped(START),
            mapped(WORKER),
            mapped(LABEL),
            len(crowd_info.worker_names),
            n_classes,
            gold=self.gold,
            symbol=mapped(SYMBOL) if self.has_grades else None,
            abstentions=abstentions,
        )
        return check_codes(block)


class TemporaryFolder:
    """A folder that is removed with this object, or when the process ends."""

    def __init__(self, within: str | Path | None = None) -> None:
        if within is not None:
            Path(within).mkdir(parents=True, exist_ok=True)
        self.path = Path(tempfile.mkdtemp(prefix="quorate-blocks-", dir=within))
        self.remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True)
class FileBlocks(MemoryBlocks):
    """All answers in files of a folder, which is removed with this object."""

    files: BlockFiles = field(kw_only=True)
    folder: TemporaryFolder = field(kw_only=True, repr=False)

    @property
    def crowd_info(self) -> CrowdInfo:
        """Their workers and classes."""
        return self.files.crowd_info

    @cached_property
    def per_worker(self) -> IntArray:
        """N_i, the number of answers of each worker; counted when the files were written."""
        return self.files.crowd_info.per_worker

    def sample(self, n_answers: int) -> Sampled:
        """Return the tasks with the smallest hashes, as in memory: files are in the order of the hashes."""
        n_tasks = 0
        names = []
        for part in self.files.task_names():
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
        is_gold = self.all_tasks.is_known
        names = []
        low = 0
        for part in self.files.task_names():
            names.append(part.filter(from_numpy(is_gold[low : low + len(part)])))
            low += len(part)
        return in_order_of_hash([(gold_block, pa.concat_arrays(names))])

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the files: a copy has only the results that were computed before."""
        return LostBlocks, (self.n_tasks, self.n_workers, self.n_classes, self.n_answers, self.per_worker)


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
