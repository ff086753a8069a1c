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

from quorate.answers import Answers, Roster
from quorate.arrays import IntArray, from_numpy
from quorate.blocks.block import NARROW, Block, Blocks, Sampled, check_codes, in_order_of_names
from quorate.blocks.memory import MemoryBlocks
from quorate.errors import NotInMemoryError
from quorate.reading.options import ReadOptions
from quorate.warehouse.local_gold import LocalGold
from quorate.warehouse.packing import Packed, pack, task_names
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
        start, roster = self.whole.start, self.packed.roster
        n_tasks, names = 0, []
        for some in task_names(self.packed):
            names.append(some)
            n_tasks += len(some)
            if start[n_tasks] >= enough:
                break
        until = int(start[n_tasks])
        answers = Answers(
            np.repeat(np.arange(n_tasks, dtype=np.int32), np.diff(start[: n_tasks + 1])),
            np.array(self.whole.worker[:until]),
            self.whole.label[:until].astype(np.int32),
            pa.concat_arrays(names),
            roster.worker_names,
            roster.classes,
        )
        known = self.whole.known
        return Sampled(answers, None if known is None else known[:n_tasks])

    def known_tasks(self) -> Block:
        """Bring the tasks of known class into memory, in the order of their ids."""
        found, known = super().known_tasks(), self.whole.is_known
        names, low = [], 0
        for some in task_names(self.packed):
            names.append(some.filter(from_numpy(known[low : low + len(some)])))
            low += len(some)
        return in_order_of_names([(found, pa.concat_arrays(names))])

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
        n_classes = len(packed.roster.classes)
        kinds = {"start": np.int64, "worker": np.int32, "label": np.uint8 if n_classes <= NARROW else np.int32}
        arrays: dict[str, Any] = {name: np.memmap(place / name, kind, "r") for name, kind in kinds.items()}
        whole = Block(**arrays, n_workers=len(packed.roster.worker_names), n_classes=n_classes, known=packed.known)
    except BaseException:
        folder.remove()
        raise
    return FileBlocks(check_codes(whole), packed=packed, folder=folder)
