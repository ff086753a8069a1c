"""Answers in an engine -> how often every two workers met and agreed: the one heavy query, and what it leaves out.

A task with R answers makes R(R-1)/2 pairs. Joining it with itself costs (R-1)/2 rows for each of its answers, so tasks
of more than `BIG_TASK` answers stay out of the join: their answers, three small integers each, are taken out of the
engine, and enter every product by sums over the task (`quorate.skills.moments`), which cost R and are exact too.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from quorate.answers import Answers
from quorate.arrays import IntArray, to_numpy
from quorate.errors import TooLargeError
from quorate.meetings.pairs import PairStats, n_meetings, pair_stats
from quorate.warehouse.clean import Cleaned
from quorate.warehouse.engine import Engine
from quorate.warehouse.engine_gold import EngineGold
from quorate.warehouse.expressions import EngineTable

BIG_TASK = 200  # answers: beyond it a task would cost a hundred rows of join for each of its answers
MOST_PAIRS = 50_000_000  # that are put in one sorted table, where somebody asks for that


@dataclass(frozen=True)
class CountedPairs:
    """The pairs of a crowd: those of ordinary tasks counted, those of big tasks as the answers that make them."""

    n_workers: int  # gold included
    blocks: tuple[PairStats, ...]  # disjoint pairs, in no order, in as few bytes as hold them
    big: Answers | None  # the answers of the big tasks

    @property
    def n_meetings(self) -> int:
        """How many two-answers-to-one-task there are."""
        return sum(int(block.shared.sum()) for block in self.blocks) + (0 if self.big is None else n_meetings(self.big))

    @property
    def n_counted(self) -> int:
        """How many pairs the engine counted."""
        return sum(map(len, self.blocks))

    @property
    def is_small(self) -> bool:
        """Whether the pairs fit in one table."""
        return self.n_counted + (0 if self.big is None else n_meetings(self.big)) <= MOST_PAIRS

    @cached_property
    def table(self) -> PairStats:
        """Every pair, sorted, as `quorate.meetings.pairs.pair_stats` has them.

        Raises:
            TooLargeError: there are too many.
        """
        if not self.is_small:
            raise TooLargeError(
                f"a table of all pairs would have more than {MOST_PAIRS:,} rows; weightings, thresholds, signs from "
                "pairs and bounds need one"
            )
        nothing = np.zeros(0, np.int64)
        columns = [
            np.concatenate([getattr(block, name) for block in self.blocks] or [nothing]).astype(np.int64)
            for name in ("i", "j", "shared", "agreed")
        ]
        # Adding a table to an empty one sorts it, and adds up pairs that are there twice.
        counted = PairStats.none() + PairStats(*columns)
        return counted if self.big is None else counted + pair_stats(self.big)

    def n_peers(self) -> IntArray | None:
        """Return how many others each worker met; None where big tasks make too many pairs to tell."""
        if self.big is not None and not self.is_small:
            return None
        blocks = self.blocks if self.big is None else (self.table,)
        peers = np.zeros(self.n_workers, np.int64)
        for block in blocks:
            peers += block.n_peers(self.n_workers)
        return peers


class RepeatsFound(Exception):  # noqa: N818  # no error: the answers are cleaned and counted again
    """A worker answered a task more than once."""


def count_pairs(
    engine: Engine, found: Cleaned, gold: EngineGold | None = None, *, big_task: int = BIG_TASK
) -> CountedPairs:
    """Count the pairs inside the engine; gold is the last worker.

    One query over the answers (which reads them twice), one more for gold, two more where there are big tasks. An
    answer meets itself too, and no other of the same worker if nothing is repeated: then, and only then, the meetings
    of every worker with itself are as many as the answers. To look for repeats beforehand costs more than to notice
    them here.

    Raises:
        RepeatsFound: something is repeated, and `found` did not look for it.

    >>> from quorate.warehouse.clean import clean
    >>> from quorate.warehouse.source import open_source
    >>> engine, source = open_source({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxxy")})
    >>> pairs = count_pairs(engine, clean(engine, source)).table
    >>> pairs.shared.tolist(), pairs.agreed.tolist()
    ([2], [1])
    """
    answers, roster = found.answers, found.roster
    n_workers = roster.n_workers + (gold is not None)
    big = None
    if found.most > big_task:
        sizes = answers.group_by("task").agg(n=answers.count())
        listed = engine.keep(_numbered(sizes.filter(sizes.n > big_task)), "listing the big tasks")
        rows = found.answers.join(listed, "task").select("t", "w", "c")
        big = _big_answers(engine, rows, found, n_workers)
        answers = answers.anti_join(listed, "task")
    n_left = roster.n_answers - (0 if big is None else big.n_answers)
    pairs = engine.stream(pairs_of(answers, with_own=not found.is_settled), "counting pairs")
    blocks, n_own = _blocks(pairs, roster.n_workers)
    if not found.is_settled and n_own != n_left:
        raise RepeatsFound
    if gold is not None:
        blocks += (_with_gold(engine, found.answers, gold, roster.n_workers),)
    return CountedPairs(n_workers, blocks, big)


def pairs_of(answers: EngineTable, *, with_own: bool = False) -> EngineTable:
    """Join the answers with themselves on the task, and count by two workers: i, j, shared, agreed.

    Args:
        answers: ibis: task, w, c.
        with_own: let every answer meet itself as well, as a pair of a worker with itself.

    >>> import ibis
    >>> answers = ibis.memtable(pa.table({"task": [1, 1, 2, 2], "w": [0, 1, 0, 1], "c": [0, 0, 0, 1]}))
    >>> pairs_of(answers).to_pyarrow().to_pylist()
    [{'i': 0, 'j': 1, 'shared': 2, 'agreed': 1}]
    """
    other = answers.view()
    earlier = answers.w <= other.w if with_own else answers.w < other.w
    met = answers.join(other, [answers.task == other.task, earlier])
    met = met.select(i=answers.w, j=other.w, same=(answers.c == other.c).cast("int32"))
    pairs = met.group_by(["i", "j"]).agg(shared=met.count(), agreed=met.same.sum())
    return pairs.cast(dict.fromkeys(pairs.columns, "int32"))


def _blocks(batches: Iterator[pa.RecordBatch], n_workers: int) -> tuple[tuple[PairStats, ...], int]:
    """Turn batches into pairs of small integers (most pairs of a large crowd met once or twice), sorted by i.

    Returns the meetings of workers with themselves apart from the pairs.
    """
    blocks, n_own = [], 0
    for batch in batches:
        i, j, shared, agreed = (to_numpy(batch.column(k)) for k in range(4))
        own = i == j
        if own.any():
            n_own += int(shared[own].sum(dtype=np.int64))
            i, j, shared, agreed = (each[~own] for each in (i, j, shared, agreed))
        if len(i):
            blocks.append(_sorted(i, j, shared, agreed, n_workers))
    return tuple(blocks), n_own


def _sorted(i: IntArray, j: IntArray, shared: IntArray, agreed: IntArray, n: int) -> PairStats:
    """Sort a block by i: by counting, as a matrix is put in order of its rows, with both counts in one entry."""
    from scipy import sparse

    both = (shared.astype(np.int64) << 32) | agreed
    entries = sparse.coo_array((both, (i, j)), shape=(n, n))
    entries.has_canonical_format = True  # no pair is there twice, and the order within a row does not matter
    rows = entries.tocsr()
    first = np.repeat(np.arange(n, dtype=np.min_scalar_type(n)), np.diff(rows.indptr))
    return PairStats(first, *(_smallest(each) for each in (rows.indices, rows.data >> 32, rows.data & 0xFFFFFFFF)))


def _smallest(values: IntArray) -> IntArray:
    return values.astype(np.min_scalar_type(int(values.max())))


def _numbered(tasks: EngineTable) -> EngineTable:
    import ibis

    return tasks.select("task", t=ibis.row_number().over(ibis.window(order_by=tasks.task)).cast("int32"))


def _big_answers(engine: Engine, rows: EngineTable, found: Cleaned, n_workers: int) -> Answers:
    table = engine.fetch(rows, "taking out the big tasks").combine_chunks()
    task, worker, label = (to_numpy(table.column(name).combine_chunks().cast(pa.int32())) for name in ("t", "w", "c"))
    order = np.lexsort([worker, task])
    task, worker, label = task[order], worker[order], label[order]
    if np.any((task[1:] == task[:-1]) & (worker[1:] == worker[:-1])):
        raise RepeatsFound
    return Answers(task, worker, label, pa.nulls(int(task[-1]) + 1), pa.nulls(n_workers), found.roster.classes)


def _with_gold(engine: Engine, answers: EngineTable, gold: EngineGold, code: int) -> PairStats:
    met = answers.join(gold.table, "task")
    rows = engine.fetch(
        met.group_by("w").agg(shared=met.count(), agreed=(met.c == met.g).cast("int64").sum()), "comparing with gold"
    )
    w, shared, agreed = (to_numpy(rows.column(name).combine_chunks().cast(pa.int64())) for name in rows.column_names)
    return PairStats(w, np.full(len(w), code), shared, agreed)
