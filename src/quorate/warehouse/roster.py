"""Who is there and how much they answered, and once counted, whom they met: all that leaves the engine."""

from dataclasses import dataclass, fields

import numpy as np

from quorate.answers import Roster
from quorate.arrays import IntArray
from quorate.warehouse.counted_pairs import CountedPairs


@dataclass(frozen=True, kw_only=True)
class MetRoster(Roster):
    """A roster, and the pairs of its workers.

    >>> import pyarrow as pa
    >>> from quorate.meetings.pairs import PairStats
    >>> pairs = CountedPairs(3, (PairStats(*np.array([[0, 0], [1, 2], [9, 2], [8, 1]])),), None)  # the last is gold
    >>> names = {"worker_names": pa.array(["ann", "bob"]), "classes": pa.array(["x", "y"])}
    >>> MetRoster(engine="duckdb", **names, per_worker=np.array([9, 9]), n_tasks=9, n_rows=18, pairs=pairs).n_peers()
    array([1, 1])
    """

    pairs: CountedPairs

    def n_peers(self) -> IntArray | None:
        """Return how many others each worker met; gold is no peer. None where there are too many pairs to tell."""
        peers, n = self.pairs.n_peers(), self.n_workers
        if peers is None or self.pairs.n_workers == n:
            return peers
        met_gold = np.zeros(n, np.int64)
        for block in self.pairs.blocks:
            met_gold[block.i[block.j == n]] = 1
        found: IntArray = peers[:n] - met_gold
        return found


def with_pairs(roster: Roster, pairs: CountedPairs) -> MetRoster:
    """Add to a roster whom its workers met.

    >>> import pyarrow as pa
    >>> names = {"worker_names": pa.array(["ann"]), "classes": pa.array(["x", "y"])}
    >>> alone = Roster(engine="duckdb", **names, per_worker=np.array([9]), n_tasks=9, n_rows=9)
    >>> with_pairs(alone, CountedPairs(1, (), None)).n_peers()
    array([0])
    """
    return MetRoster(**{field.name: getattr(roster, field.name) for field in fields(roster)}, pairs=pairs)
