"""Who is there and how much they answered: all that leaves the engine beside the pairs."""

from dataclasses import dataclass

import pyarrow as pa

from quorate.arrays import IntArray


@dataclass(frozen=True)
class Crowd:
    """The sizes of a crowd whose answers stay in the engine; worker codes follow the order of the ids there.

    >>> import numpy as np
    >>> Crowd(pa.array(["ann", "bob"]), pa.array(["cat"]), np.array([3, 0]), 3, 3).n_workers
    2
    """

    worker_names: pa.Array
    classes: pa.Array
    per_worker: IntArray  # N_i
    n_tasks: int
    n_rows: int
    n_repeats: int = 0  # rows that repeat an answer exactly; counted once
    n_conflicting: int = 0  # rows left out by the conflict policy
    n_skipped: int = 0  # rows left out because a field was missing

    @property
    def n_workers(self) -> int:
        """How many workers there are, those whose answers were all left out included."""
        return len(self.worker_names)

    @property
    def n_classes(self) -> int:
        """M, the number of classes."""
        return len(self.classes)

    @property
    def n_answers(self) -> int:
        """How many answers there are."""
        return int(self.per_worker.sum())
