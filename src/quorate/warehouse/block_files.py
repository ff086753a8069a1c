"""Blocks that lie in files: mapped into memory, so that a pass reads them from disk where they do not fit."""

import shutil
import tempfile
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from quorate.answers import Roster
from quorate.arrays import IntArray, from_numpy
from quorate.blocks.block import Block, Blocks, Sampled, Silent, check_codes, in_order_of_hash
from quorate.blocks.memory import MemoryBlocks, named_answers
from quorate.blocks.scatter import trimmed
from quorate.errors import NotInMemoryError
from quorate.reading.options import ReadOptions
from quorate.warehouse.local_gold import LocalGold
from quorate.warehouse.packing import ANSWERS, SILENT, SYMBOL, Packed, kind_of, pack, task_names
from quorate.warehouse.spreading import spread


@dataclass(frozen=True)
class FileBlocks(MemoryBlocks):
    """All answers in files of a folder, which is removed with this object."""

    packed: Packed = field(kw_only=True)
    folder: "PassingFolder" = field(kw_only=True, repr=False)

    @property
    def roster(self) -> Roster:
        """Who is in them."""
        return self.packed.roster

    @cached_property
    def per_worker(self) -> IntArray:
        """N_i, the answers of each worker; counted while packing."""
        return self.packed.roster.per_worker

    def sample(self, enough: int) -> Sampled:
        """Bring the first tasks by the hash of their ids into memory: whole files, which are laid out so."""
        n_tasks, names = 0, []
        for part in task_names(self.packed):
            names.append(part)
            n_tasks += len(part)
            if self.whole.start[n_tasks] >= enough:
                break
        some = self.whole.span(0, n_tasks)
        found = Sampled(named_answers(some, self.points_to, pa.concat_arrays(names), self.roster), some.known)
        return trimmed(found, enough)

    def known_tasks(self) -> Block:
        """Bring the tasks of known class into memory, in the order of the hashes of their ids."""
        found, known = super().known_tasks(), self.whole.is_known
        names, low = [], 0
        for some in task_names(self.packed):
            names.append(some.filter(from_numpy(known[low : low + len(some)])))
            low += len(some)
        return in_order_of_hash([(found, pa.concat_arrays(names))])

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave the files behind in a copy by pickle, which then has only what was asked for before."""
        return LostBlocks, (self.n_tasks, self.n_workers, self.n_classes, self.n_answers, self.per_worker)


class PassingFolder:
    """A folder that is removed with this object, or when the process ends."""

    def __init__(self, within: str | Path | None = None) -> None:
        if within is not None:
            Path(within).mkdir(parents=True, exist_ok=True)
        self.path = Path(tempfile.mkdtemp(prefix="quorate-blocks-", dir=within))
        self.remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True)
class LostBlocks:
    """What a copy by pickle has instead of blocks on disk: how many there are of everything."""

    n_tasks: int
    n_workers: int
    n_classes: int
    n_answers: int
    per_worker: IntArray

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotInMemoryError(
            "this copy of a result has no answers, which lay in files of the process that made it. Ask for `workers` "
            "before the result is pickled, and they travel with it"
        )


@dataclass(frozen=True, kw_only=True)
class BlockRoster(Roster):
    """A roster, and the blocks that tell whom its workers met."""

    blocks: Blocks = field(repr=False)

    def n_peers(self) -> IntArray | None:
        """Return how many others each worker shares a task with."""
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
    """Write rows to blocks on disk, each task whole; missing fields, repeats and conflicts are settled as in memory.

    Args:
        batches: task, worker, label, and order where that says which of two answers came first.
        n_rows: how many rows there are.
        reading: what becomes of conflicts and missing fields, and the classes.
        engine: the name of where the rows come from.
        gold: known labels.
        temp: the folder in which the files lie, in a folder of their own, for as long as the blocks are used.

    Raises:
        InputError: the answers cannot be used as they are; each cause has its own class.

    >>> rows = pa.table({"task": [7, 5, 7], "worker": ["a", "a", "b"], "label": ["x", "y", "x"]})
    >>> found = pack_blocks(rows.to_batches(), 3, ReadOptions(), engine="duckdb")
    >>> found.n_tasks, found.per_worker.tolist(), found.n_peers().tolist()
    (2, [2, 1], [1, 1])
    """
    folder = PassingFolder(temp)
    try:
        place = folder.path
        packed = pack(spread(batches, place, n_rows, reading), place, reading, engine, gold)
        whole = check_codes(_mapped(packed))
    except BaseException:
        folder.remove()
        raise
    return FileBlocks(whole, packed.points_to, packed=packed, folder=folder)


def _mapped(packed: Packed) -> Block:
    """Map the files into memory, as one block."""
    roster, n_symbols = packed.roster, 0 if packed.points_to is None else len(packed.points_to)
    n_classes = len(roster.classes)

    def mapped(name: str) -> Any:
        return np.memmap(packed.folder / name, kind_of(name, n_classes, n_symbols), "r")

    start, worker, label = (mapped(name) for name in ANSWERS)
    return Block(
        start,
        worker,
        label,
        len(roster.worker_names),
        n_classes,
        known=packed.known,
        symbol=mapped(SYMBOL) if packed.has_grades else None,
        silent=Silent(*(mapped(name) for name in SILENT)) if roster.n_abstained else None,
    )
